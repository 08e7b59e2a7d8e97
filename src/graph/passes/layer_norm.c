/* fuse-layer-norm: the spelled-out layer norm becomes one operator.
 *
 *   d = x - mean(x);   y = d / sqrt(mean(d²) + ε) · scale + bias       over the last axes
 */
#include <math.h>

#include "graph/pass.h"
#include "graph/passes/match.h"

bool plim__match_mean(const plim_graph *g, const plim__node *node, int *axis) {
    if (!plim__match_op(node, "ReduceMean") || !plim__node_int(node, "keepdims", 1)) return false;
    int64_t axes[PLIM_MAX_RANK];
    size_t count;
    const int64_t *given = plim__node_ints(node, "axes", &count);
    plim__tensor *tensor = plim__graph_constant_tensor(g, plim__node_in(node, 1));
    if (!given) {
        if (!tensor || !plim__match_load(g, tensor) ||
            plim__tensor_ints(tensor, axes, PLIM_MAX_RANK, &count, NULL) != PLIM_OK)
            return false;
        given = axes;
    }
    int rank = g->values.items[node->inputs.items[0]].shape.rank, seen = 0;
    if (count > (size_t)rank) return false; /* an axis twice */
    *axis = rank - (int)count;
    for (size_t i = 0; i < count; i++) {
        int normal;
        if (!plim__axis_normalize(given[i], rank, &normal) || normal < *axis) return false;
        seen |= 1 << normal;
    }
    return count > 0 && seen == (((1 << rank) - 1) & ~((1 << *axis) - 1));
}

/* sqrt(mean(d²) + ε) */
static bool is_deviation(const plim_graph *g, plim_value v, plim_value d, int axis, double *epsilon) {
    plim__node *root = plim__match_producer(g, v, "Sqrt");
    plim_value variance, base;
    if (!root ||
        !plim__match_with_scalar(g, plim__match_producer(g, root->inputs.items[0], "Add"), NAN, &variance, epsilon))
        return false;
    int32_t producer = g->values.items[variance].producer;
    int variance_axis;
    if (producer < 0 || !plim__match_mean(g, &g->nodes.items[producer], &variance_axis) || variance_axis != axis)
        return false;
    plim_value square = g->nodes.items[producer].inputs.items[0];
    plim__node *product = plim__match_producer(g, square, "Mul");
    if (product) return product->inputs.items[0] == d && product->inputs.items[1] == d;
    return plim__match_with_scalar(g, plim__match_producer(g, square, "Pow"), 2, &base, NULL) && base == d;
}

/* A scale or bias: data with exactly the normalised axes. */
static bool is_affine(const plim_graph *g, plim_value v, const plim__shape *x, int axis) {
    plim__tensor *tensor = plim__graph_tensor(g, v);
    if (!tensor || tensor->shape.rank > x->rank) return false;
    plim__shape inner = {.rank = x->rank - axis};
    for (int i = axis; i < x->rank; i++) inner.dims[i - axis] = x->dims[i];
    return plim__shape_equal(&tensor->shape, &inner);
}

static plim_status fuse(plim_graph *g, const plim__node *division, bool *changed) {
    plim_value d = division->inputs.items[0], out = division->outputs.items[0];
    plim__node *difference = plim__match_producer(g, d, "Sub");
    if (!difference) return PLIM_OK;
    plim_value x = difference->inputs.items[0];
    int32_t mean = g->values.items[difference->inputs.items[1]].producer;
    int axis;
    double epsilon;
    if (mean < 0 || !plim__match_mean(g, &g->nodes.items[mean], &axis) || g->nodes.items[mean].inputs.items[0] != x)
        return PLIM_OK;
    if (!is_deviation(g, division->inputs.items[1], d, axis, &epsilon)) return PLIM_OK;
    plim__node *scaled = plim__match_user(g, out, "Mul");
    plim_value scale = scaled ? plim__match_other(scaled, out) : PLIM_NO_VALUE;
    if (scale < 0 || !is_affine(g, scale, &g->values.items[x].shape, axis)) return PLIM_OK;
    plim_value inputs[3] = {x, scale, PLIM_NO_VALUE}, last = scaled->outputs.items[0];
    plim__node *shifted = plim__match_user(g, last, "Add");
    plim_value bias = shifted ? plim__match_other(shifted, last) : PLIM_NO_VALUE;
    if (bias >= 0 && is_affine(g, bias, &g->values.items[x].shape, axis)) {
        inputs[2] = bias;
        last = shifted->outputs.items[0];
    }
    int32_t made = plim__match_build(g, (plim__made){"", "LayerNormalization", 17}, division->name, inputs,
                                     inputs[2] >= 0 ? 3 : 2, last);
    plim_graph_set_int(g, made, "axis", axis);
    plim_graph_set_float(g, made, "epsilon", (float)epsilon);
    *changed = true;
    return plim__match_replace(g, last, made);
}

plim_status plim__pass_layer_norm(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    for (size_t n = 0; n < g->nodes.count; n++)
        if (plim__match_op(&g->nodes.items[n], "Div") && fuse(g, &g->nodes.items[n], changed) != PLIM_OK)
            return g->failure.status;
    return PLIM_OK;
}
