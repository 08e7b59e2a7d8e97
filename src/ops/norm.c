/* Normalisations. */
#include "ops/op.h"

/* x (N, C, ...); scale, bias, mean, variance (C). In training mode the running statistics come out too. */
/* Input i must be a list of one number for each channel, or group of them. */
static plim_status check_list(plim__infer *ctx, size_t i, int64_t channels, int64_t groups) {
    const plim__shape *given = plim__infer_shape(ctx, i);
    char text[PLIM_SHAPE_TEXT];
    if (given->rank == 1 && (given->dims[0] == channels || given->dims[0] == groups)) return PLIM_OK;
    return plim__infer_fail(ctx, PLIM_SHAPE, "input %zu is %s, which is not one number for each of %lld channels", i,
                            plim__shape_text(given, NULL, text), (long long)channels);
}

plim_status plim__infer_batch_norm(plim__infer *ctx) {
    const plim__shape *x = plim__infer_shape(ctx, 0);
    int64_t channels = x->rank > 1 ? x->dims[1] : 1;
    plim__shape statistics = {.rank = 1, .dims = {channels}};
    for (size_t i = 1; i < 5; i++) PLIM_TRY(check_list(ctx, i, channels, channels));
    PLIM_TRY(plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), x));
    for (size_t i = 1; i < ctx->node->outputs.count; i++)
        PLIM_TRY(plim__infer_output(ctx, i, plim__infer_dtype(ctx, 3), &statistics));
    return PLIM_OK;
}

/* x; scale and bias over the axes from `axis` on. Mean and inverse deviation keep the axes before. */
plim_status plim__infer_layer_norm(plim__infer *ctx) {
    const plim__shape *x = plim__infer_shape(ctx, 0);
    int axis;
    if (!plim__axis_normalize(plim__node_int(ctx->node, "axis", -1), x->rank, &axis))
        return plim__infer_fail(ctx, PLIM_SHAPE, "the axis is out of range");
    plim__shape statistics = *x, broadcast;
    for (int i = axis; i < x->rank; i++) statistics.dims[i] = 1;
    for (size_t i = 1; i < ctx->node->inputs.count; i++)
        if (plim__infer_has(ctx, i) &&
            (!plim__shape_broadcast(x, plim__infer_shape(ctx, i), &broadcast) || !plim__shape_equal(x, &broadcast)))
            return plim__infer_fail(ctx, PLIM_SHAPE, "scale or bias does not fit the input");
    PLIM_TRY(plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), x));
    for (size_t i = 1; i < ctx->node->outputs.count; i++) PLIM_TRY(plim__infer_output(ctx, i, PLIM_F32, &statistics));
    return PLIM_OK;
}

plim_status plim__infer_channel_norm(plim__infer *ctx) {
    const plim__shape *x = plim__infer_shape(ctx, 0);
    if (x->rank < 2) return plim__infer_fail(ctx, PLIM_SHAPE, "the input needs a batch axis and a channel axis");
    int64_t groups = plim__node_int(ctx->node, "num_groups", x->dims[1]);
    if (groups < 1 || x->dims[1] % groups != 0)
        return plim__infer_fail(ctx, PLIM_SHAPE, "%lld channels do not divide into %lld groups", (long long)x->dims[1],
                                (long long)groups);
    for (size_t i = 1; i < 3; i++) PLIM_TRY(check_list(ctx, i, x->dims[1], groups));
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), x);
}

/* Some eight operations an element, whatever the kind. */
void plim__cost_norm(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    cost->flops *= 8;
}

plim_status plim__infer_dropout(plim__infer *ctx) {
    PLIM_TRY(plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), plim__infer_shape(ctx, 0)));
    return plim__infer_output(ctx, 1, ctx->node->version < 10 ? plim__infer_dtype(ctx, 0) : PLIM_BOOL,
                              plim__infer_shape(ctx, 0));
}

plim_status plim__infer_dropout_train(plim__infer *ctx) {
    bool float_mask = plim__node_int(ctx->node, "float_mask", 0) != 0;
    PLIM_TRY(plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), plim__infer_shape(ctx, 0)));
    return plim__infer_output(ctx, 1, float_mask ? plim__infer_dtype(ctx, 0) : PLIM_BOOL, plim__infer_shape(ctx, 0));
}
