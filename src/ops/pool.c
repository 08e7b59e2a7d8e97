/* Pools. */
#include "ops/window.h"

plim_status plim__infer_pool(plim__infer *ctx) {
    const plim__shape *x = plim__infer_shape(ctx, 0);
    plim__window window;
    const char *why;
    plim_status status = plim__window_read(ctx->node, x, NULL, &window, &why);
    if (status != PLIM_OK) return plim__infer_fail(ctx, status, "%s", why);
    plim__shape y = *x;
    for (int i = 0; i < window.axes; i++) y.dims[i + 2] = window.out[i];
    PLIM_TRY(plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &y));
    return plim__infer_output(ctx, 1, PLIM_I64, &y); /* indices of MaxPool */
}

plim_status plim__infer_global_pool(plim__infer *ctx) {
    plim__shape y = *plim__infer_shape(ctx, 0);
    if (y.rank < 3)
        return plim__infer_fail(ctx, PLIM_SHAPE, "the input needs a batch axis, a channel axis and spatial axes");
    for (int i = 2; i < y.rank; i++) y.dims[i] = 1;
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &y);
}

/* MaxUnpool: the sizes from output_shape (input 2), or as if pooling were undone. */
plim_status plim__infer_max_unpool(plim__infer *ctx) {
    const plim__shape *x = plim__infer_shape(ctx, 0);
    plim__window window;
    const char *why;
    plim_status status = plim__window_read_transposed(ctx->node, x, NULL, &window, &why);
    size_t count;
    const int64_t *kernel = plim__node_ints(ctx->node, "kernel_shape", &count);
    char text[PLIM_SHAPE_TEXT];
    if (status != PLIM_OK || !kernel) return plim__infer_fail(ctx, PLIM_SHAPE, "%s", why);
    if (!plim__shape_equal(x, plim__infer_shape(ctx, 1)))
        return plim__infer_fail(ctx, PLIM_SHAPE, "there is not one index for each element: they are %s",
                                plim__shape_text(plim__infer_shape(ctx, 1), NULL, text));
    plim__shape y = *x;
    for (int i = 0; i < window.axes; i++) y.dims[i + 2] = window.out[i];
    if (plim__infer_has(ctx, 2)) {
        int64_t dims[PLIM_MAX_RANK];
        PLIM_TRY(plim__infer_ints(ctx, 2, dims, PLIM_MAX_RANK, &count));
        if (count != (size_t)x->rank)
            return plim__infer_fail(ctx, PLIM_SHAPE, "output_shape has %zu sizes for rank %d", count, x->rank);
        y = plim__shape_of(x->rank, dims);
    }
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &y);
}

void plim__cost_pool(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    size_t count;
    const int64_t *kernel = plim__node_ints(node, "kernel_shape", &count);
    for (size_t i = 0; i < count; i++) cost->flops *= (double)kernel[i];
}

/* A global pool reads every input element once. */
void plim__cost_global_pool(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    cost->flops = (double)plim__shape_elements(&g->values.items[node->inputs.items[0]].shape);
}
