/* fuse-rms-norm: the spelled-out root mean square norm becomes one operator, which saves its input and nothing else.
 *
 *   y = x / sqrt(mean(x²) + ε) · scale       over the last axes; also x · reciprocal(sqrt(...))
 */
#include <math.h>

#include "graph/pass.h"
#include "graph/passes/match.h"

static bool is_square(const plim_graph *g, plim_value v, plim_value x) {
    plim__node *product = plim__match_producer(g, v, "Mul");
    plim_value base;
    if (product)
        return plim__match_through(g, product->inputs.items[0]) == x &&
               plim__match_through(g, product->inputs.items[1]) == x;
    return plim__match_with_scalar(g, plim__match_producer(g, v, "Pow"), 2, &base, NULL) &&
           plim__match_through(g, base) == x;
}

/* sqrt(mean(x²) + ε) */
static bool is_root(const plim_graph *g, plim_value v, plim_value x, int *axis, double *epsilon) {
    plim__node *root = plim__match_producer(g, v, "Sqrt");
    plim_value mean;
    if (!root ||
        !plim__match_with_scalar(g, plim__match_producer(g, root->inputs.items[0], "Add"), NAN, &mean, epsilon))
        return false;
    plim__node *node = plim__match_producer(g, mean, "ReduceMean");
    return node && plim__match_mean(g, node, axis) && is_square(g, node->inputs.items[0], x);
}

/* The reciprocal of a root. */
static bool is_inverse(const plim_graph *g, plim_value v, plim_value x, int *axis, double *epsilon) {
    plim__node *node = plim__match_producer(g, v, "Reciprocal");
    if (node) return is_root(g, node->inputs.items[0], x, axis, epsilon);
    double one;
    node = plim__match_producer(g, v, "Div");
    return node && plim__match_scalar(g, node->inputs.items[0], &one) && one == 1 &&
           is_root(g, node->inputs.items[1], x, axis, epsilon);
}

/* What is normalised by this node; PLIM_NO_VALUE for nothing. */
static plim_value normalized(const plim_graph *g, const plim__node *node, int *axis, double *epsilon) {
    if (plim__match_op(node, "Div")) {
        plim_value x = plim__match_through(g, node->inputs.items[0]);
        return is_root(g, node->inputs.items[1], x, axis, epsilon) ? x : PLIM_NO_VALUE;
    }
    for (size_t i = 0; plim__match_op(node, "Mul") && i < 2; i++) {
        plim_value x = plim__match_through(g, node->inputs.items[i]);
        if (is_inverse(g, node->inputs.items[1 - i], x, axis, epsilon)) return x;
    }
    return PLIM_NO_VALUE;
}

/* Exactly the normalised axes. */
static bool is_scale(const plim_graph *g, plim_value v, const plim__shape *x, int axis) {
    plim__shape inner = {.rank = x->rank - axis};
    for (int i = axis; i < x->rank; i++) inner.dims[i - axis] = x->dims[i];
    return v >= 0 && plim__shape_equal(&g->values.items[v].shape, &inner);
}

static plim_status fuse(plim_graph *g, size_t n, bool *changed) {
    const plim__node *node = &g->nodes.items[n];
    int axis;
    double epsilon;
    plim_value x = normalized(g, node, &axis, &epsilon), out = node->outputs.items[0];
    if (x < 0 || g->values.items[x].dtype != PLIM_F32) return PLIM_OK;
    int32_t user = plim__graph_only_user(g, out);
    for (; user >= 0; user = plim__graph_only_user(g, out)) { /* a cast that changes nothing may stand between */
        plim_value next = plim__node_out(&g->nodes.items[user], 0);
        if (next < 0 || next == out || plim__match_through(g, next) != plim__match_through(g, out)) break;
        out = next;
    }
    if (user < 0 || !plim__match_op(&g->nodes.items[user], "Mul")) return PLIM_OK;
    const plim__node *scaled = &g->nodes.items[user];
    plim_value scale = plim__match_other(scaled, out);
    if (!is_scale(g, scale, &g->values.items[x].shape, axis)) return PLIM_OK;
    plim_value last = scaled->outputs.items[0];
    int32_t made =
        plim__match_build(g, (plim__made){PLIM__DOMAIN, "RmsNorm", 1}, node->name, (plim_value[]){x, scale}, 2, last);
    plim_graph_set_int(g, made, "axis", axis);
    plim_graph_set_float(g, made, "epsilon", (float)epsilon);
    *changed = true;
    return plim__match_replace(g, last, made);
}

plim_status plim__pass_rms_norm(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    for (size_t n = 0; n < g->nodes.count; n++)
        if (!g->nodes.items[n].dead && fuse(g, n, changed) != PLIM_OK) return g->failure.status;
    return PLIM_OK;
}
