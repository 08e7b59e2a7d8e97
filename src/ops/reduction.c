/* Shapes and types of reductions, softmax, arg and cumulative operators. */
#include "ops/op.h"

/* The input's shape with the axes that are marked gone or, with `keepdims`, of size 1. */
static plim__shape reduced_shape(const plim__infer *ctx, const bool *axes) {
    const plim__shape *in = plim__infer_shape(ctx, 0);
    bool keep = plim__node_int(ctx->node, "keepdims", 1) != 0;
    plim__shape out = {0};
    for (int i = 0; i < in->rank; i++)
        if (!axes[i])
            out.dims[out.rank++] = in->dims[i];
        else if (keep)
            out.dims[out.rank++] = 1;
    return out;
}

plim_status plim__infer_reduce(plim__infer *ctx) {
    int rank = plim__infer_shape(ctx, 0)->rank, list[PLIM_MAX_RANK], count;
    bool axes[PLIM_MAX_RANK] = {false};
    PLIM_TRY(plim__infer_axes(ctx, "axes", 1, rank, list, &count));
    for (int i = 0; i < count; i++) axes[list[i]] = true;
    if (count == 0 && !plim__node_int(ctx->node, "noop_with_empty_axes", 0))
        for (int i = 0; i < rank; i++) axes[i] = true;
    plim__shape out = reduced_shape(ctx, axes);
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &out);
}

plim_status plim__infer_arg(plim__infer *ctx) {
    const plim__shape *in = plim__infer_shape(ctx, 0);
    bool axes[PLIM_MAX_RANK] = {false};
    int axis = 0;
    if (in->rank > 0) {
        if (!plim__axis_normalize(plim__node_int(ctx->node, "axis", 0), in->rank, &axis))
            return plim__infer_fail(ctx, PLIM_SHAPE, "axis %lld is out of range for rank %d",
                                    (long long)plim__node_int(ctx->node, "axis", 0), in->rank);
        if (in->dims[axis] == 0) return plim__infer_fail(ctx, PLIM_SHAPE, "axis %d is empty", axis);
        axes[axis] = true;
    }
    plim__shape out = reduced_shape(ctx, axes);
    return plim__infer_output(ctx, 0, PLIM_I64, &out);
}

/* Two passes over the data and a few operations an element. */
void plim__cost_softmax(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    cost->flops *= 5;
}

/* One operation for each element that is read. */
void plim__cost_reduce(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    plim_value in = plim__node_in(node, 0);
    if (in >= 0) cost->flops = (double)plim__shape_elements(&g->values.items[in].shape);
}
