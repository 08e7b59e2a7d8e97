/* Calls of a model's own functions become copies of their bodies, so that nothing after reading a file knows of functions.
 *
 *   x ─→ own::Layer(w; bend=0.3) ─→ y         x, w ─→ MatMul ─→ h ─→ own::Act(slope=0.3) ─→ ... ─→ y
 *
 * Bodies come at the end of the nodes, so calls inside of them are inlined in their turn. */
#include "graph/passes/inline.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"

#define MOST_NESTED 16

void plim__function_key(char key[PLIM__FUNCTION_KEY], const char *domain, const char *name) {
    snprintf(key, PLIM__FUNCTION_KEY, "%s::%s", domain, name);
}

void plim__functions_free(plim__functions *functions) {
    for (size_t i = 0; i < functions->list.count; i++) {
        plim__function *f = &functions->list.items[i];
        for (size_t k = 0; k < f->defaults.count; k++) plim__attribute_free(&f->defaults.items[k]);
        plim__vec_free(&f->defaults);
        plim_graph_free(f->body);
    }
    plim__vec_free(&functions->list);
    plim__map_free(&functions->names);
}

/* What a call gives for an attribute of the function, or the function's default; NULL for neither. */
static const plim__attribute *given(const plim__node *call, const plim__function *f, const char *name) {
    const plim__attribute *a = plim__node_attribute(call, name);
    for (size_t i = 0; !a && i < f->defaults.count; i++)
        if (strcmp(f->defaults.items[i].name, name) == 0) a = &f->defaults.items[i];
    return a;
}

/* Attributes that refer to those of the call become these; without one they are left out. Subgraphs have some too. */
static bool resolve(plim_graph *g, size_t n, const plim__node *call, const plim__function *f) {
    plim__node *node = &g->nodes.items[n];
    for (size_t i = 0; i < node->attributes.count;) {
        plim__attribute *a = &node->attributes.items[i];
        for (size_t k = 0; a->graph && k < a->graph->nodes.count; k++) {
            a->rewritten = true;
            if (!resolve(a->graph, k, call, f)) return false;
        }
        if (a->type != PLIM__ATTRIBUTE_REFERENCE) {
            i++;
            continue;
        }
        const plim__attribute *from = given(call, f, a->s);
        plim__attribute copy = {0};
        if (from && !plim__attribute_clone(from, a->name, &copy)) return false;
        plim__attribute_free(a);
        if (from) {
            node->attributes.items[i++] = copy;
        } else {
            memmove(a, a + 1, (node->attributes.count - i - 1) * sizeof *a);
            node->attributes.count--;
        }
    }
    return true;
}

static plim_status connect(plim_graph *g, size_t n, const plim_value *made, plim_error *error) {
    for (size_t i = 0; i < g->nodes.items[n].outputs.count; i++) {
        plim_value out = g->nodes.items[n].outputs.items[i];
        if (out < 0) continue;
        if (made[i] < 0)
            return plim__fail(error, PLIM_CORRUPT, "an output of the function is an input that is missing");
        int32_t identity = plim__graph_add_node(g, "", "Identity", "", plim__graph_opset(g, ""));
        plim__node_add_input(g, identity, made[i]);
        plim__node_add_output(g, identity, out);
    }
    g->nodes.items[n].dead = true;
    return plim_graph_status(g, error);
}

static plim_status inline_call(plim_graph *g, size_t n, const plim__function *f, plim_error *error) {
    const plim_graph *body = f->body;
    size_t takes = body->inputs.count, makes = body->outputs.count, first = g->nodes.count;
    const plim__node *call = &g->nodes.items[n];
    if (call->inputs.count > takes || call->outputs.count > makes)
        return plim__fail(error, PLIM_CORRUPT, "the function takes %zu inputs and makes %zu outputs, not %zu and %zu",
                          takes, makes, call->inputs.count, call->outputs.count);
    plim_value *ends = plim__alloc_array(takes + makes, sizeof *ends);
    if (!ends) return plim__fail_memory(error, "a function", (takes + makes) * sizeof *ends);
    for (size_t i = 0; i < takes; i++) ends[i] = plim__node_in(call, i);
    plim_status status = plim__graph_copy_into(g, body, &(plim__splice){ends, ends + takes, false}, error);
    for (size_t k = first; status == PLIM_OK && k < g->nodes.count; k++)
        if (!resolve(g, k, &g->nodes.items[n], f)) status = plim__fail_memory(error, "a function", sizeof *ends);
    if (status == PLIM_OK) status = connect(g, n, ends + takes, error);
    plim__free(ends);
    return status;
}

/* Also in subgraphs; all of them share `left`, the nodes that may still be added. */
static plim_status inline_all(plim_graph *g, const plim__functions *functions, int depth, size_t *left,
                              plim_error *error) {
    if (depth > MOST_NESTED)
        return plim__fail(error, PLIM_UNSUPPORTED, "unsupported: functions in subgraphs that nest deeper than %d",
                          MOST_NESTED);
    for (size_t n = 0; n < g->nodes.count; n++) {
        char key[PLIM__FUNCTION_KEY];
        const plim__node *node = &g->nodes.items[n];
        if (node->dead) continue;
        for (size_t i = 0; i < node->attributes.count; i++) {
            plim__attribute *a = &node->attributes.items[i];
            size_t before = *left;
            if (!a->graph || a->graph->failure.status != PLIM_OK) continue;
            PLIM_TRY(inline_all(a->graph, functions, depth + 1, left, error));
            a->rewritten |= *left != before;
        }
        plim__function_key(key, node->domain, node->op_name);
        int64_t index = plim__map_get(&functions->names, key, -1);
        if (index < 0) continue;
        size_t before = g->nodes.count;
        plim_status status = inline_call(g, n, &functions->list.items[index], error);
        size_t added = g->nodes.count - before + 1;
        if (status == PLIM_OK && added > *left)
            status = plim__fail(error, PLIM_UNSUPPORTED,
                                "unsupported: functions that become more than %d nodes; do they call themselves?",
                                PLIM__FUNCTION_NODES);
        if (status != PLIM_OK)
            return plim__fail_context(error, status, "node '%.200s' (%.100s)", plim__node_label(g, &g->nodes.items[n]),
                                      g->nodes.items[n].op_name);
        *left -= added;
    }
    return depth ? plim__graph_sort(g, error) : PLIM_OK;
}

plim_status plim__functions_inline(plim_graph *g, const plim__functions *functions, plim_error *error) {
    size_t left = PLIM__FUNCTION_NODES;
    return functions->list.count ? inline_all(g, functions, 0, &left, error) : PLIM_OK;
}
