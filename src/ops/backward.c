/* Shapes of backward operators. What cannot be read off the inputs, the gradient functions say in attributes. */
#include "ops/op.h"

/* Output 0 has the shape of attribute "shape" and the type of input 0. */
plim_status plim__infer_shaped(plim__infer *ctx) {
    size_t rank;
    const int64_t *dims = plim__node_ints(ctx->node, "shape", &rank);
    if ((!dims && rank) || rank > PLIM_MAX_RANK)
        return plim__infer_fail(ctx, PLIM_CORRUPT, "the attribute 'shape' is missing");
    plim__shape shape = plim__shape_of((int)rank, dims);
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

plim_status plim__infer_bits(plim__infer *ctx) {
    plim__shape words = {.rank = 1, .dims = {(plim__shape_elements(plim__infer_shape(ctx, 0)) + 31) / 32}};
    return plim__infer_output(ctx, 0, PLIM_U32, &words);
}

/* The third input is not read. */
void plim__cost_bits_grad(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    cost->bytes -= 4 * (double)plim__shape_elements(&g->values.items[node->inputs.items[2]].shape);
}

plim_status plim__infer_narrow(plim__infer *ctx) {
    plim__shape flat = {.rank = 1, .dims = {plim__shape_elements(plim__infer_shape(ctx, 0))}};
    return plim__infer_output(ctx, 0, (plim_dtype)plim__node_int(ctx->node, "to", PLIM_BF16), &flat);
}

plim_status plim__infer_widen(plim__infer *ctx) {
    return plim__infer_output(ctx, 0, PLIM_F32, plim__infer_shape(ctx, 1));
}

/* The second input is not read. */
void plim__cost_widen(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    cost->bytes -= 4 * (double)plim__shape_elements(&g->values.items[node->inputs.items[1]].shape);
}

/* (dy, x) → dw of attribute "shape", and dbias with an element a channel of dy. */
plim_status plim__infer_conv_grad_weight(plim__infer *ctx) {
    plim__shape bias = {.rank = 1, .dims = {plim__infer_shape(ctx, 0)->dims[1]}};
    PLIM_TRY(plim__infer_shaped(ctx));
    return plim__infer_output(ctx, 1, plim__infer_dtype(ctx, 0), &bias);
}

/* As the forward convolution: every element of dy meets every weight of its group. The weights are input 1 or output 0. */
static void conv_grad(const plim_graph *g, const plim__node *node, plim_value weight, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    const plim__shape *w = &g->values.items[weight].shape, *dy = &g->values.items[node->inputs.items[0]].shape;
    cost->flops = 2.0 * (double)plim__shape_elements(dy) * (double)plim__shape_product(w, 1, w->rank);
}

void plim__cost_conv_grad_input(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    conv_grad(g, node, node->inputs.items[1], cost);
}

void plim__cost_conv_grad_weight(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    conv_grad(g, node, node->outputs.items[0], cost);
}

/* Where the maximum was, as an index into the window: a byte, unless windows are larger. */
plim_status plim__infer_pool_train(plim__infer *ctx) {
    PLIM_TRY(plim__infer_pool(ctx));
    size_t count;
    const int64_t *kernel = plim__node_ints(ctx->node, "kernel_shape", &count);
    int64_t cells = 1;
    for (size_t i = 0; kernel && i < count; i++) cells *= kernel[i];
    plim__shape y = ctx->graph->values.items[plim__node_out(ctx->node, 0)].shape;
    return plim__infer_output(ctx, 1, cells < 256 ? PLIM_U8 : PLIM_I32, &y);
}

/* x, scale, bias → y, mean, variance of the batch. */
plim_status plim__infer_batch_norm_train(plim__infer *ctx) {
    const plim__shape *x = plim__infer_shape(ctx, 0);
    if (x->rank < 2) return plim__infer_fail(ctx, PLIM_SHAPE, "the input needs a batch axis and a channel axis");
    plim__shape channel = {.rank = 1, .dims = {x->dims[1]}};
    PLIM_TRY(plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), x));
    PLIM_TRY(plim__infer_output(ctx, 1, plim__infer_dtype(ctx, 0), &channel));
    return plim__infer_output(ctx, 2, plim__infer_dtype(ctx, 0), &channel);
}

/* dx like x; dscale and dbias like scale. */
plim_status plim__infer_norm_grad(plim__infer *ctx) {
    PLIM_TRY(plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 1), plim__infer_shape(ctx, 1)));
    PLIM_TRY(plim__infer_output(ctx, 1, plim__infer_dtype(ctx, 2), plim__infer_shape(ctx, 2)));
    return plim__infer_output(ctx, 2, plim__infer_dtype(ctx, 2), plim__infer_shape(ctx, 2));
}

plim_status plim__infer_rms_norm_grad(plim__infer *ctx) {
    PLIM_TRY(plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 1), plim__infer_shape(ctx, 1)));
    return plim__infer_output(ctx, 1, plim__infer_dtype(ctx, 2), plim__infer_shape(ctx, 2));
}

plim_status plim__infer_attention_grad(plim__infer *ctx) {
    for (size_t i = 0; i < 3; i++)
        PLIM_TRY(plim__infer_output(ctx, i, plim__infer_dtype(ctx, i + 1), plim__infer_shape(ctx, i + 1)));
    return PLIM_OK;
}

/* Five products where the forward pass has two. */
void plim__cost_attention_grad(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    const plim__shape *q = &g->values.items[node->inputs.items[1]].shape,
                      *v = &g->values.items[node->inputs.items[3]].shape;
    int r = q->rank;
    double pairs = (double)plim__shape_product(q, 0, r - 1) * (double)v->dims[r - 2];
    if (plim__node_int(node, "causal", 0)) pairs /= 2;
    cost->flops = 2 * pairs * (double)(3 * q->dims[r - 1] + 2 * v->dims[r - 1]);
}

/* dX, dW, dR, dB, dh0, dc0, dP and those of the gates like inputs 3 to 6, 8 to 10 and 12. */
plim_status plim__infer_recurrent_grad(plim__infer *ctx) {
    static const size_t like[] = {3, 4, 5, 6, 8, 9, 10, 12};
    for (size_t i = 0; i < sizeof like / sizeof *like; i++)
        if (plim__infer_has(ctx, like[i]))
            PLIM_TRY(plim__infer_output(ctx, i, plim__infer_dtype(ctx, like[i]), plim__infer_shape(ctx, like[i])));
    return PLIM_OK;
}

/* Two products of the size of X·Wᵀ, two of h·Rᵀ. */
void plim__cost_recurrent_grad(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    const plim__shape *x = &g->values.items[node->inputs.items[3]].shape,
                      *r = &g->values.items[node->inputs.items[5]].shape;
    double rows = (double)(x->dims[0] * x->dims[1]), units = (double)(r->dims[0] * r->dims[1]);
    cost->flops = 4 * rows * units * (double)(x->dims[2] + r->dims[2]);
}

/* The same without X: the gradient of the table's products, of which there are `rows`, stands where dX does. */
plim_status plim__infer_table_recurrent_grad(plim__infer *ctx) {
    const plim__shape *r = plim__infer_shape(ctx, 5);
    int64_t rows = plim__node_int(ctx->node, "rows", 0);
    if (r->rank != 3 || rows < 1) return plim__infer_fail(ctx, PLIM_CORRUPT, "R needs three axes and the table rows");
    plim__shape products = {.rank = 2, .dims = {rows, r->dims[0] * r->dims[1]}};
    PLIM_TRY(plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 5), &products));
    return plim__infer_recurrent_grad(ctx);
}

/* Two products of the size of h·Rᵀ, and a sum over rows. */
void plim__cost_table_recurrent_grad(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    const plim__shape *taken = &g->values.items[node->inputs.items[4]].shape,
                      *r = &g->values.items[node->inputs.items[5]].shape;
    double rows = (double)(taken->dims[0] * taken->dims[1]), units = (double)(r->dims[0] * r->dims[1]);
    cost->flops = rows * units * (4 * (double)r->dims[2] + 1);
}

/* dx and dgrid like inputs 1 and 2. */
plim_status plim__infer_grid_sample_grad(plim__infer *ctx) {
    for (size_t i = 0; i < 2; i++)
        PLIM_TRY(plim__infer_output(ctx, i, plim__infer_dtype(ctx, i + 1), plim__infer_shape(ctx, i + 1)));
    return PLIM_OK;
}

plim_status plim__infer_det_grad(plim__infer *ctx) {
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 1), plim__infer_shape(ctx, 1));
}
