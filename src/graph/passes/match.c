/* Recognising patterns. */
#include "graph/passes/match.h"

#include <math.h>
#include <string.h>

#include "core/error.h"

bool plim__match_op(const plim__node *node, const char *name) {
    return node && !node->dead && !*node->domain && strcmp(node->op_name, name) == 0;
}

plim__node *plim__match_producer(const plim_graph *g, plim_value value, const char *name) {
    if (value < 0 || g->values.items[value].producer < 0) return NULL;
    plim__node *node = &g->nodes.items[g->values.items[value].producer];
    return plim__match_op(node, name) ? node : NULL;
}

plim__node *plim__match_user(const plim_graph *g, plim_value value, const char *name) {
    int32_t user = plim__graph_only_user(g, value);
    return user >= 0 && plim__match_op(&g->nodes.items[user], name) ? &g->nodes.items[user] : NULL;
}

bool plim__match_load(const plim_graph *g, plim__tensor *tensor) {
    plim_error error;
    if (plim__tensor_load(tensor, &error) == PLIM_OK) return true;
    plim__graph_fail((plim_graph *)g, error.status, "%s", error.message); /* passes own the graph that they read */
    return false;
}

bool plim__match_scalar(const plim_graph *g, plim_value value, double *number) {
    plim__tensor *tensor = g->trains ? plim__graph_constant_tensor(g, value) : plim__graph_tensor(g, value);
    if (!tensor || plim__shape_elements(&tensor->shape) != 1 || !plim__match_load(g, tensor)) return false;
    *number = plim__tensor_at(tensor, 0);
    return true;
}

bool plim__match_near(double a, double b) { return fabs(a - b) <= 1e-3 * fabs(b); }

bool plim__match_with_scalar(const plim_graph *g, const plim__node *node, double number, plim_value *other,
                             double *found) {
    if (!node || node->inputs.count != 2) return false;
    bool ordered = plim__match_op(node, "Sub") || plim__match_op(node, "Div") || plim__match_op(node, "Pow");
    for (size_t i = 2; i-- > (ordered ? 1u : 0u);) {
        double scalar;
        if (!plim__match_scalar(g, node->inputs.items[i], &scalar)) continue;
        if (!isnan(number) && !plim__match_near(scalar, number)) continue;
        const plim__shape *one = &g->values.items[node->inputs.items[i]].shape,
                          *rest = &g->values.items[node->inputs.items[1 - i]].shape;
        if (one->rank > rest->rank) continue; /* [1,1] with [8] gives [1,8]: more than a scalar's work */
        *other = node->inputs.items[1 - i];
        if (found) *found = scalar;
        return true;
    }
    return false;
}

plim_value plim__match_other(const plim__node *node, plim_value one) {
    if (node->inputs.count != 2) return PLIM_NO_VALUE;
    return node->inputs.items[0] == one   ? node->inputs.items[1]
           : node->inputs.items[1] == one ? node->inputs.items[0]
                                          : PLIM_NO_VALUE;
}

static bool in_order(const plim__node *node) {
    size_t count;
    const int64_t *order = plim__node_ints(node, "perm", &count);
    for (size_t i = 0; order && i < count; i++)
        if (order[i] != (int64_t)i) return false;
    return order != NULL;
}

/* Shapes that stay the same tell that nothing was moved, but for a Transpose of equal sizes; a Slice may go backwards. */
plim_value plim__match_through(const plim_graph *g, plim_value value) {
    static const char *const ops[] = {"Cast", "Expand", "Reshape", "Identity", "Unsqueeze", "Squeeze", "Transpose"};
    while (value >= 0 && g->values.items[value].producer >= 0) {
        const plim__node *node = &g->nodes.items[g->values.items[value].producer];
        const plim__value *in = &g->values.items[node->inputs.count ? node->inputs.items[0] : value],
                          *out = &g->values.items[value];
        bool moves = true;
        for (size_t i = 0; moves && i < sizeof ops / sizeof *ops; i++) moves = !plim__match_op(node, ops[i]);
        moves |= plim__node_attribute(node, PLIM__DETACHED) != NULL;
        if (moves || in->dtype != out->dtype || !plim__shape_equal(&in->shape, &out->shape) ||
            (plim__match_op(node, "Transpose") && !in_order(node)))
            return value;
        value = node->inputs.items[0];
    }
    return value;
}

int32_t plim__match_build(plim_graph *g, plim__made made, const char *name, const plim_value *inputs, size_t count,
                          plim_value like) {
    char label[256]; /* nodes may move in memory while we add one */
    strncpy(label, name, sizeof label - 1);
    label[sizeof label - 1] = 0;
    plim_dtype dtype = g->values.items[like].dtype;
    plim__shape shape = g->values.items[like].shape;
    int32_t node = plim__graph_add_node(g, made.domain, made.op, label, made.version);
    for (size_t i = 0; i < count; i++) plim__node_add_input(g, node, inputs[i]);
    plim__node_add_output(g, node, plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, dtype, &shape));
    return g->failure.status == PLIM_OK ? node : -1;
}

/* The node that makes the value dies when nothing uses any of its outputs, and then what only it used. A
 * zombie would otherwise count as a user and keep the next pattern from matching. */
static void bury(plim_graph *g, plim_value value) {
    int32_t producer = value < 0 ? -1 : g->values.items[value].producer;
    if (producer < 0 || g->nodes.items[producer].dead) return;
    plim__node *node = &g->nodes.items[producer];
    for (size_t i = 0; i < node->outputs.count; i++)
        if (node->outputs.items[i] >= 0 && plim__graph_is_used(g, node->outputs.items[i])) return;
    node->dead = true;
    for (size_t i = 0; i < node->inputs.count; i++) bury(g, node->inputs.items[i]);
}

plim_status plim__match_replace(plim_graph *g, plim_value old, int32_t node) {
    if (node < 0) return g->failure.status;
    plim_value made = g->nodes.items[node].outputs.items[0];
    bool output = plim__graph_is_output(g, old); /* replacing it carries its name over */
    PLIM_TRY(plim__graph_replace(g, old, made));
    if (!output) PLIM_TRY(plim__graph_swap_names(g, old, made)); /* reports speak of the names that people know */
    bury(g, old);
    return PLIM_OK;
}

plim_status plim__match_copy_window(plim_graph *g, int32_t from, int32_t to) {
    static const char *const lists[] = {"kernel_shape", "strides", "dilations", "pads"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        size_t count;
        const int64_t *values = plim__node_ints(&g->nodes.items[from], lists[i], &count);
        if (values) plim_graph_set_ints(g, to, lists[i], values, count);
    }
    plim_graph_set_int(g, to, "group", plim__node_int(&g->nodes.items[from], "group", 1));
    const char *mode = plim__node_string(&g->nodes.items[from], "auto_pad", NULL);
    if (mode) plim_graph_set_string(g, to, "auto_pad", mode);
    return g->failure.status;
}

void plim__match_statistics(const plim_graph *g, bool *statistics) {
    for (size_t n = 0; n < g->nodes.count; n++)
        for (size_t i = 3; i < 5 && plim__match_op(&g->nodes.items[n], "BatchNormalization"); i++) {
            plim_value v = plim__node_in(&g->nodes.items[n], i);
            if (v >= 0) statistics[v] = true;
        }
}
