/* A subgraph becomes part of the graph around it. Its values get new ones outside: those that it captures are there
 * already, as inputs of the node; the others are made, under their own name where that is free.
 *
 *   x ─→ If(condition; x) ─→ y          x ─→ Relu ─→ r ─→ Identity ─→ y
 *        then: x ─→ Relu ─→ r
 */
#include <inttypes.h>

#include "core/error.h"
#include "graph/passes/match.h"

size_t plim__node_captured(const plim__node *node) {
    size_t captured = 0;
    for (size_t i = 0; i < node->attributes.count; i++) captured += node->attributes.items[i].captured;
    return captured;
}

/* What the copy is made from and to. */
struct copying {
    plim_graph *g;
    const plim_graph *from;
    plim_value *outside; /* of each value of `from` */
    bool fixed;
};

static plim_value outside(const struct copying *c, plim_value inner) { return inner < 0 ? inner : c->outside[inner]; }

static void copy_value(const struct copying *c, plim_value inner) {
    const plim__value *value = &c->from->values.items[inner];
    const char *name = plim__map_get(&c->g->names, value->name, -1) < 0 ? value->name : NULL;
    if (value->tensor) {
        plim__value_kind kind = c->fixed ? PLIM__VALUE_CONSTANT : value->kind;
        c->outside[inner] = plim__graph_add_tensor(c->g, name, kind, plim__tensor_retain(value->tensor));
    } else {
        c->outside[inner] = plim__graph_add_value(c->g, name, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN);
    }
}

static void copy_node(const struct copying *c, const plim__node *from) {
    int32_t node = plim__graph_add_node(c->g, from->domain, from->op_name, from->name, from->version);
    for (size_t i = 0; i < from->inputs.count; i++) plim__node_add_input(c->g, node, outside(c, from->inputs.items[i]));
    for (size_t i = 0; i < from->outputs.count; i++)
        plim__node_add_output(c->g, node, outside(c, from->outputs.items[i]));
    if (node >= 0 && !plim__node_copy_attributes(c->g, node, from))
        plim__graph_fail(c->g, PLIM_NO_MEMORY, "out of memory while copying a subgraph");
}

plim_status plim__graph_copy_into(plim_graph *g, const plim_graph *from, const plim__splice *ends, plim_error *error) {
    struct copying c = {g, from, plim__alloc_array(from->values.count, sizeof *c.outside), ends->fixed};
    if (!c.outside) return plim__fail_memory(error, "a subgraph", c.from->values.count * sizeof *c.outside);
    for (size_t v = 0; v < c.from->values.count; v++) c.outside[v] = PLIM_NO_VALUE;
    for (size_t i = 0; i < from->inputs.count; i++) c.outside[from->inputs.items[i]] = ends->inputs[i];
    for (size_t v = 0; v < c.from->values.count; v++)
        if (c.from->values.items[v].kind != PLIM__VALUE_INPUT) copy_value(&c, (plim_value)v);
    for (size_t i = 0; i < c.from->nodes.count; i++)
        if (!c.from->nodes.items[i].dead) copy_node(&c, &c.from->nodes.items[i]);
    for (size_t i = 0; i < c.from->outputs.count; i++) ends->outputs[i] = outside(&c, c.from->outputs.items[i]);
    plim__free(c.outside);
    return plim_graph_status(g, error);
}

/* The captured inputs of the subgraph come after its own; they are those of the node that come after its own and after
 * those of its other subgraphs. */
plim_status plim__graph_splice(plim_graph *g, int32_t n, const char *name, const plim__splice *ends,
                               plim_error *error) {
    const plim__node *node = &g->nodes.items[n];
    const plim__attribute *sub = plim__node_attribute(node, name);
    size_t count = sub->graph->inputs.count, own = count - sub->captured;
    size_t at = node->inputs.count - plim__node_captured(node);
    for (const plim__attribute *a = node->attributes.items; a < sub; a++) at += a->captured;
    plim_value *inputs = plim__alloc_array(count, sizeof *inputs);
    if (!inputs) return plim__fail_memory(error, "a subgraph", count * sizeof *inputs);
    for (size_t i = 0; i < count; i++)
        inputs[i] = i >= own ? node->inputs.items[at + i - own] : ends->inputs ? ends->inputs[i] : PLIM_NO_VALUE;
    plim_status status =
        plim__graph_copy_into(g, sub->graph, &(plim__splice){inputs, ends->outputs, ends->fixed}, error);
    plim__free(inputs);
    return status;
}

/* What the branch makes becomes what the node made. */
static plim_status take(plim_graph *g, int32_t n, const plim__attribute *branch, bool fixed, plim_error *error) {
    size_t count = branch->graph->outputs.count;
    plim_value *made = plim__alloc_array(count, sizeof *made);
    if (!made) return plim__fail_memory(error, "a branch", count * sizeof *made);
    plim_status status = plim__graph_splice(g, n, branch->name, &(plim__splice){NULL, made, fixed}, error);
    for (size_t i = 0; status == PLIM_OK && i < count; i++) {
        plim_value out = g->nodes.items[n].outputs.items[i];
        if (out < 0) continue;
        int32_t identity = plim__graph_add_node(g, "", "Identity", "", plim__graph_opset(g, ""));
        plim__node_add_input(g, identity, made[i]);
        plim__node_add_output(g, identity, out);
    }
    g->nodes.items[n].dead = true;
    plim__free(made);
    return status == PLIM_OK ? plim_graph_status(g, error) : status;
}

static plim_status choose(plim_graph *g, int32_t n, plim__tensor *condition, bool fixed, plim_error *error) {
    if (condition->dtype != PLIM_BOOL || plim__shape_elements(&condition->shape) != 1)
        return plim__fail(error, PLIM_DTYPE, "its condition is %s with %" PRId64 " elements, not one bool",
                          plim_dtype_name(condition->dtype), plim__shape_elements(&condition->shape));
    PLIM_TRY(plim__tensor_load(condition, error));
    const plim__node *node = &g->nodes.items[n];
    const char *name = plim__tensor_at(condition, 0) != 0 ? "then_branch" : "else_branch";
    const plim__attribute *branch = plim__node_attribute(node, name);
    if (!branch || !branch->graph) return plim__fail(error, PLIM_CORRUPT, "it has no %s", name);
    plim_status status = plim_graph_status(branch->graph, error);
    if (status != PLIM_OK) return plim__fail_context(error, status, "%s", name);
    size_t own = branch->graph->inputs.count - branch->captured;
    if (own) return plim__fail(error, PLIM_CORRUPT, "its %s takes %zu inputs; a branch takes none", name, own);
    if (branch->graph->outputs.count != node->outputs.count)
        return plim__fail(error, PLIM_CORRUPT, "its %s makes %zu outputs, not %zu", name, branch->graph->outputs.count,
                          node->outputs.count);
    return take(g, n, branch, fixed, error);
}

plim_status plim__graph_take_branch(plim_graph *g, int32_t node, plim__tensor *condition, bool fixed,
                                    plim_error *error) {
    plim_status status = choose(g, node, condition, fixed, error);
    if (status != PLIM_OK)
        plim__fail_context(error, status, "node '%.200s' (If)", plim__node_label(g, &g->nodes.items[node]));
    return status;
}

plim__tensor *plim__graph_told(const plim_graph *g, plim_value value) {
    for (int steps = 0; value >= 0 && steps < 64; steps++) { /* a graph that was just read may have cycles */
        int32_t producer = g->values.items[value].producer;
        if (producer < 0) return plim__graph_constant_tensor(g, value);
        const plim__node *node = &g->nodes.items[producer];
        const plim__attribute *a = plim__node_attribute(node, "value");
        if (plim__match_op(node, "Constant")) return a ? a->tensor : NULL;
        value = plim__match_op(node, "Identity") ? plim__node_in(node, 0) : PLIM_NO_VALUE;
    }
    return NULL;
}

/* Nodes of a branch come at the end, so those in it are inspected too. */
plim_status plim__graph_take_known_branches(plim_graph *g, plim_error *error) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        plim__tensor *condition = plim__match_op(node, "If") ? plim__graph_told(g, plim__node_in(node, 0)) : NULL;
        if (condition) PLIM_TRY(plim__graph_take_branch(g, (int32_t)n, condition, false, error));
    }
    return PLIM_OK;
}
