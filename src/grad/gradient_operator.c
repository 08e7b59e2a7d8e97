/* ONNX's operator Gradient: values for the tensors named in "xs" and "zs" go in, the gradients of tensor "y" by the xs
 * come out.
 *
 *   W ──→ Conv ──→ H ──→ Gemm ──→ Y          Gradient(xs = [W, Z], zs = [X], y = Y)
 *          ↑              ↑
 *          X              Z
 *
 * The attributes cut a part out of the graph; the inputs say at which point it is differentiated. Mostly that is where
 * the graph is anyway, and its own values serve. Otherwise the part is copied, with the inputs in place of the names.
 * A y of several numbers counts as their sum, so that gradients have the shapes of the xs. */
#include <string.h>

#include "core/error.h"
#include "grad/gradient.h"

static bool is_gradient(const plim__node *node) {
    return !node->dead && strcmp(node->op_name, "Gradient") == 0 &&
           strcmp(node->domain, "ai.onnx.preview.training") == 0;
}

/* One node, and the tensors it names. */
struct request {
    plim_graph *g;
    plim_error *error;
    const char *id;        /* the node's own name, which stays where it is while nodes are sorted */
    size_t targets, count; /* xs; xs and zs */
    plim_value *named;     /* xs, then zs */
    plim_value *points;    /* where it is differentiated: the same, or copies of the inputs */
    plim_value *gradients; /* of the xs */
    plim_value y;
};

static plim__node *self(const struct request *r) {
    plim__node *node = r->g->nodes.items;
    while (node->name != r->id) node++;
    return node;
}

static char **names_in(const plim__node *node, const char *attribute, size_t *count) {
    const plim__attribute *a = plim__node_attribute(node, attribute);
    *count = a && a->type == PLIM__ATTRIBUTE_STRINGS ? a->length : 0;
    return *count ? a->strings : NULL;
}

static plim_status find(const struct request *r, const char *name, plim_value *value) {
    *value = name ? plim_graph_find(r->g, name) : PLIM_NO_VALUE;
    if (*value >= 0) return PLIM_OK;
    return plim__fail(r->error, PLIM_CORRUPT, "node '%s' (Gradient): the graph has no tensor '%.100s'",
                      plim__node_label(r->g, self(r)), name ? name : "");
}

static plim_status read_names(struct request *r) {
    size_t targets, others;
    char **xs = names_in(self(r), "xs", &targets), **zs = names_in(self(r), "zs", &others);
    if (targets + others != r->count)
        return plim__fail(r->error, PLIM_CORRUPT, "node '%s' (Gradient): inputs do not fit xs and zs",
                          plim__node_label(r->g, self(r)));
    r->targets = targets;
    for (size_t k = 0; k < r->count; k++) PLIM_TRY(find(r, k < targets ? xs[k] : zs[k - targets], &r->named[k]));
    for (size_t k = 0; k < r->targets; k++) /* what depends on it has been computed already, and is no longer a graph */
        if (r->g->values.items[r->named[k]].kind == PLIM__VALUE_CONSTANT)
            return plim__fail(r->error, PLIM_UNSUPPORTED, "unsupported: operator Gradient by the constant '%s'",
                              r->g->values.items[r->named[k]].name);
    memcpy(r->points, r->named, r->count * sizeof *r->points);
    return find(r, plim__node_string(self(r), "y", NULL), &r->y);
}

/* --- the part of the graph that is differentiated -------------------------------------------------------------- */

static bool reads(const plim__node *node, const bool *marked) {
    for (size_t i = 0; !node->dead && i < node->inputs.count; i++)
        if (node->inputs.items[i] >= 0 && marked[node->inputs.items[i]]) return true;
    return false;
}

static bool is_named(const struct request *r, plim_value v) {
    for (size_t k = 0; k < r->count; k++)
        if (r->named[k] == v) return true;
    return false;
}

/* Whether the graph's own values will do: the inputs are the tensors named, and none is computed from an x. */
static bool is_in_place(const struct request *r, bool *reached) {
    for (size_t k = 0; k < r->count; k++)
        if (plim__node_in(self(r), k) != r->named[k]) return false;
    for (size_t k = 0; k < r->targets; k++) reached[r->named[k]] = true;
    for (size_t n = 0; n < r->g->nodes.count; n++) {
        const plim__node *node = &r->g->nodes.items[n];
        if (!reads(node, reached)) continue;
        for (size_t i = 0; i < node->outputs.count; i++) {
            if (node->outputs.items[i] < 0) continue;
            if (is_named(r, node->outputs.items[i])) return false;
            reached[node->outputs.items[i]] = true;
        }
    }
    return true;
}

/* Whether y depends on this node through values that are not named. Nodes are sorted; called from the last to the
 * first. */
static bool belongs(const struct request *r, const plim__node *node, bool *inside) {
    bool here = false;
    for (size_t i = 0; !node->dead && i < node->outputs.count; i++) {
        plim_value v = node->outputs.items[i];
        here |= v >= 0 && inside[v] && !is_named(r, v);
    }
    for (size_t i = 0; here && i < node->inputs.count; i++)
        if (node->inputs.items[i] >= 0) inside[node->inputs.items[i]] = true;
    return here;
}

static plim_value new_value(plim_graph *g, plim_value like) {
    plim_dtype dtype = g->values.items[like].dtype;
    plim__shape shape = g->values.items[like].shape;
    return plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, dtype, &shape);
}

static void add_identity(plim_graph *g, plim_value from, plim_value to) {
    int32_t node = plim__graph_add_node(g, "", "Identity", NULL, PLIM__GRADIENT_OPSET);
    plim__node_add_input(g, node, from);
    plim__node_add_output(g, node, to);
    if (node >= 0) g->nodes.items[node].op = plim__op_find("", "Identity", PLIM__GRADIENT_OPSET);
}

/* A copy of the node that reads what is replaced, and whose outputs are replaced from now on. */
static void copy_node(plim_graph *g, int32_t n, plim_value *replaced) {
    const plim__node *from = &g->nodes.items[n];
    int32_t node = plim__graph_add_node(g, from->domain, from->op_name, NULL, from->version);
    if (node < 0) return;
    from = &g->nodes.items[n]; /* nodes may have moved */
    for (size_t i = 0; i < from->inputs.count; i++) {
        plim_value v = from->inputs.items[i];
        plim__node_add_input(g, node, v >= 0 && replaced[v] >= 0 ? replaced[v] : v);
    }
    for (size_t i = 0; i < from->outputs.count; i++) {
        plim_value v = from->outputs.items[i], copy = v < 0 ? v : new_value(g, v);
        plim__node_add_output(g, node, copy);
        if (v >= 0) replaced[v] = copy;
    }
    if (!plim__node_copy_attributes(g, node, from))
        plim__graph_fail(g, PLIM_NO_MEMORY, "out of memory while expanding a gradient");
}

/* The part once more, from values of its own, so that nothing else flows back. */
static plim_status copy_part(struct request *r, bool *inside, bool *part, plim_value *replaced) {
    plim_graph *g = r->g;
    size_t nodes = g->nodes.count, values = g->values.count;
    for (size_t v = 0; v < values; v++) replaced[v] = PLIM_NO_VALUE;
    inside[r->y] = true;
    for (size_t n = nodes; n-- > 0;) part[n] = belongs(r, &g->nodes.items[n], inside);
    for (size_t k = 0; k < r->count; k++) {
        plim_value from = plim__node_in(self(r), k), to = new_value(g, from);
        if (to >= 0) add_identity(g, from, to);
        r->points[k] = replaced[r->named[k]] = to;
    }
    for (size_t n = 0; n < nodes && g->failure.status == PLIM_OK; n++) {
        if (!part[n]) continue;
        for (size_t i = 0; i < g->nodes.items[n].outputs.count; i++)
            if (is_named(r, plim__node_out(&g->nodes.items[n], i)))
                return plim__fail(r->error, PLIM_UNSUPPORTED,
                                  "unsupported: operator Gradient at one of two outputs of node '%s'",
                                  plim__node_label(g, &g->nodes.items[n]));
        copy_node(g, (int32_t)n, replaced);
    }
    if (replaced[r->y] >= 0) r->y = replaced[r->y];
    PLIM_TRY(plim_graph_status(g, r->error));
    return plim__infer_graph(g, NULL, NULL, r->error);
}

static plim_status settle_points(struct request *r) {
    size_t values = r->g->values.count, nodes = r->g->nodes.count;
    bool *reached = plim__alloc_zero(values, sizeof *reached), *inside = plim__alloc_zero(values, sizeof *inside),
         *part = plim__alloc_zero(nodes, sizeof *part);
    plim_value *replaced = plim__alloc_array(values, sizeof *replaced);
    plim_status status = reached && inside && part && replaced
                             ? PLIM_OK
                             : plim__fail_memory(r->error, "a gradient", values * sizeof *replaced);
    if (status == PLIM_OK && !is_in_place(r, reached)) status = copy_part(r, inside, part, replaced);
    plim__free(reached);
    plim__free(inside);
    plim__free(part);
    plim__free(replaced);
    return status;
}

/* --- gradients ------------------------------------------------------------------------------------------------- */

static plim_status sum_up(struct request *r) {
    plim_graph *g = r->g;
    if (plim__shape_elements(&g->values.items[r->y].shape) == 1) return PLIM_OK;
    plim__gradient d = {.graph = g, .node = -1, .error = r->error};
    int32_t node = plim__gradient_begin(&d, "", "ReduceSum", &r->y, 1, 1);
    plim_graph_set_int(g, node, "keepdims", 0);
    r->y = plim__gradient_end(&d, node);
    return plim_graph_status(g, r->error);
}

/* The operator's outputs are the gradients; zeros where y does not depend on an x. */
static plim_status connect(struct request *r) {
    plim_graph *g = r->g;
    plim__gradient d = {.graph = g, .node = -1, .error = r->error};
    for (size_t i = 0; i < self(r)->outputs.count; i++) {
        plim_value to = plim__node_out(self(r), i);
        if (to < 0) continue;
        plim_value gradient = r->gradients[i] >= 0 ? r->gradients[i] : plim__gradient_zeros(&d, to);
        if (gradient >= 0) add_identity(g, gradient, to);
        PLIM_TRY(plim_graph_status(g, r->error));
    }
    plim__node *node = self(r);
    node->outputs.count = 0;
    node->dead = true;
    for (size_t n = 0; n < g->nodes.count; n++) g->nodes.items[n].phase = PLIM__FORWARD; /* part of the model itself */
    return plim__graph_sort(g, r->error);
}

static plim_status expand(struct request *r) {
    PLIM_TRY(read_names(r));
    PLIM_TRY(settle_points(r));
    PLIM_TRY(sum_up(r));
    PLIM_TRY(plim__gradients_build(r->g, r->y, r->points, r->targets, r->gradients, r->error));
    return connect(r);
}

static plim_status expand_node(plim_graph *g, int32_t n, plim_error *error) {
    size_t count = g->nodes.items[n].inputs.count;
    struct request r = {.g = g, .error = error, .id = g->nodes.items[n].name, .count = count};
    r.named = plim__alloc_array(count, sizeof *r.named);
    r.points = plim__alloc_array(count, sizeof *r.points);
    r.gradients = plim__alloc_array(count, sizeof *r.gradients);
    plim_status status = r.named && r.points && r.gradients
                             ? expand(&r)
                             : plim__fail_memory(error, "a gradient", count * sizeof *r.named);
    plim__free(r.named);
    plim__free(r.points);
    plim__free(r.gradients);
    return status;
}

/* Whether the y of a node depends on another such operator (a derivative of second order), which comes first then. */
static bool must_wait(const plim_graph *g, const plim__node *node, bool *inside) {
    plim_value y = plim_graph_find(g, plim__node_string(node, "y", ""));
    memset(inside, 0, g->values.count * sizeof *inside);
    if (y >= 0) inside[y] = true;
    for (size_t n = g->nodes.count; n-- > 0;) {
        const plim__node *other = &g->nodes.items[n];
        bool here = false;
        for (size_t i = 0; !other->dead && i < other->outputs.count; i++)
            here |= other->outputs.items[i] >= 0 && inside[other->outputs.items[i]];
        if (here && is_gradient(other)) return true;
        for (size_t i = 0; here && i < other->inputs.count; i++)
            if (other->inputs.items[i] >= 0) inside[other->inputs.items[i]] = true;
    }
    return false;
}

/* The next node that can be expanded: -1 when there is none, or when each waits for another. */
static plim_status choose(const plim_graph *g, int32_t *chosen, plim_error *error) {
    bool *inside = NULL, any = false;
    *chosen = -1;
    for (size_t n = 0; *chosen < 0 && n < g->nodes.count; n++) {
        if (!is_gradient(&g->nodes.items[n])) continue;
        any = true;
        if (!inside) inside = plim__alloc_array(g->values.count, sizeof *inside);
        if (!inside) return plim__fail_memory(error, "a gradient", g->values.count);
        if (!must_wait(g, &g->nodes.items[n], inside)) *chosen = (int32_t)n;
    }
    plim__free(inside);
    return any && *chosen < 0 ? plim__fail(error, PLIM_CORRUPT, "operators Gradient depend on each other") : PLIM_OK;
}

plim_status plim__gradient_operators_expand(plim_graph *g, bool *expanded, plim_error *error) {
    if (expanded) *expanded = false;
    for (;;) {
        int32_t node;
        PLIM_TRY(choose(g, &node, error));
        if (node < 0) return PLIM_OK;
        PLIM_TRY(expand_node(g, node, error));
        if (expanded) *expanded = true;
    }
}
