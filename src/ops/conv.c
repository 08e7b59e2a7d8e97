/* Convolutions. */
#include "ops/window.h"

static plim_status infer(plim__infer *ctx, bool transposed) {
    const plim__shape *x = plim__infer_shape(ctx, 0), *w = plim__infer_shape(ctx, 1);
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    int64_t group = plim__node_int(ctx->node, "group", 1), channels;
    PLIM_TRY(plim__infer_same_types(ctx, 0, 1));
    PLIM_TRY(plim__infer_same_types(ctx, 0, 2));
    if (x->rank < 3 || w->rank != x->rank)
        return plim__infer_fail(ctx, PLIM_SHAPE, "input %s and weights %s need the same rank of 3 or more",
                                plim__shape_text(x, NULL, a), plim__shape_text(w, NULL, b));
    if (__builtin_mul_overflow(w->dims[1], transposed ? 1 : group, &channels)) group = 0;
    if (transposed) channels = w->dims[0];
    if (group < 1 || x->dims[1] != channels || w->dims[0] % group != 0)
        return plim__infer_fail(ctx, PLIM_SHAPE, "input %s, weights %s and %lld groups do not fit",
                                plim__shape_text(x, NULL, a), plim__shape_text(w, NULL, b), (long long)group);
    if (x->dims[1] == 0) return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: a convolution of no channels");
    plim__window window;
    const char *why;
    plim_status status = transposed ? plim__window_read_transposed(ctx->node, x, w->dims + 2, &window, &why)
                                    : plim__window_read(ctx->node, x, w->dims + 2, &window, &why);
    if (status != PLIM_OK) return plim__infer_fail(ctx, status, "%s", why);
    plim__shape y = {.rank = x->rank, .dims = {x->dims[0], transposed ? w->dims[1] * group : w->dims[0]}};
    for (int i = 0; i < window.axes; i++) y.dims[i + 2] = window.out[i];
    plim__shape list = {.rank = 1, .dims = {y.dims[1]}};
    if (plim__infer_has(ctx, 2) && !plim__shape_equal(plim__infer_shape(ctx, 2), &list))
        return plim__infer_fail(ctx, PLIM_SHAPE, "the bias is %s, which is not one number for each of %lld channels",
                                plim__shape_text(plim__infer_shape(ctx, 2), NULL, a), (long long)y.dims[1]);
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &y);
}

plim_status plim__infer_conv(plim__infer *ctx) { return infer(ctx, false); }
plim_status plim__infer_conv_transpose(plim__infer *ctx) { return infer(ctx, true); }

/* Each output element (each input element, transposed) meets every weight of its group. */
void plim__cost_conv(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    const plim__shape *w = &g->values.items[node->inputs.items[1]].shape;
    cost->flops *= 2.0 * (double)plim__shape_product(w, 1, w->rank);
}

void plim__cost_conv_transpose(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    const plim__shape *x = &g->values.items[node->inputs.items[0]].shape,
                      *w = &g->values.items[node->inputs.items[1]].shape;
    cost->flops = 2.0 * (double)plim__shape_elements(x) * (double)plim__shape_product(w, 1, w->rank);
}
