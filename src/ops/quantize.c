/* Shapes of the quantized operators. */
#include "ops/quantize.h"

#include <string.h>

#include "ops/movement.h"

/* --- QuantizeLinear, DequantizeLinear ------------------------------------------------------------------------- */

static plim_status blocked_scale(plim__infer *ctx, plim__quantization *q, int axis, int64_t block) {
    const plim__shape *x = plim__infer_shape(ctx, 0), *scale = plim__infer_shape(ctx, 1);
    q->kind = PLIM__BLOCKED;
    q->block = block;
    q->blocks = x->dims[axis] / block + (x->dims[axis] % block != 0);
    bool fits = scale->rank == x->rank;
    for (int i = 0; fits && i < x->rank; i++) fits = scale->dims[i] == (i == axis ? q->blocks : x->dims[i]);
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    if (fits) return PLIM_OK;
    return plim__infer_fail(ctx, PLIM_SHAPE, "a scale of %s does not fit %s in blocks of %lld",
                            plim__shape_text(scale, NULL, a), plim__shape_text(x, NULL, b), (long long)block);
}

plim_status plim__quantization_read(plim__infer *ctx, plim__quantization *q) {
    const plim__shape *x = plim__infer_shape(ctx, 0), *scale = plim__infer_shape(ctx, 1);
    int64_t block = plim__node_int(ctx->node, "block_size", 0), elements = plim__shape_elements(scale);
    *q = (plim__quantization){
        .kind = PLIM__PER_TENSOR, .outer = 1, .length = 1, .inner = plim__shape_elements(x), .block = 1, .blocks = 1};
    if (plim__infer_has(ctx, 2) && plim__shape_elements(plim__infer_shape(ctx, 2)) != elements)
        return plim__infer_fail(ctx, PLIM_SHAPE, "scale and zero point differ in size");
    if (block < 0) return plim__infer_fail(ctx, PLIM_INVALID, "block_size is %lld", (long long)block);
    if (block == 0 && scale->rank <= 1 && elements == 1) return PLIM_OK;
    int axis;
    PLIM_TRY(plim__axis_read(ctx, "axis", 1, x->rank, &axis));
    q->outer = plim__shape_product(x, 0, axis);
    q->length = x->dims[axis];
    q->inner = plim__shape_product(x, axis + 1, x->rank);
    if (block > 0) return blocked_scale(ctx, q, axis, block);
    q->kind = PLIM__PER_AXIS;
    if (scale->rank != 1 || elements != q->length)
        return plim__infer_fail(ctx, PLIM_SHAPE, "%lld scales for axis %d of %lld elements", (long long)elements, axis,
                                (long long)q->length);
    return PLIM_OK;
}

plim_status plim__infer_quantize_linear(plim__infer *ctx) {
    plim__quantization q;
    PLIM_TRY(plim__quantization_read(ctx, &q));
    if (plim__node_int(ctx->node, "precision", 0) != 0) /* since opset 23 */
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator QuantizeLinear with a precision");
    int64_t asked = plim__node_int(ctx->node, "output_dtype", 0);
    plim_dtype dtype = plim__infer_has(ctx, 2)                 ? plim__infer_dtype(ctx, 2)
                       : asked > 0 && asked < PLIM_DTYPE_COUNT ? (plim_dtype)asked
                                                               : PLIM_U8;
    return plim__infer_output(ctx, 0, dtype, plim__infer_shape(ctx, 0));
}

plim_status plim__infer_dequantize_linear(plim__infer *ctx) {
    plim__quantization q;
    PLIM_TRY(plim__quantization_read(ctx, &q));
    PLIM_TRY(plim__infer_same_types(ctx, 0, 2));
    int64_t asked = plim__node_int(ctx->node, "output_dtype", 0); /* since opset 23 */
    if (asked != 0 && asked != (int64_t)plim__infer_dtype(ctx, 1))
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator DequantizeLinear with an output_dtype");
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 1), plim__infer_shape(ctx, 0));
}

plim_status plim__infer_dynamic_quantize_linear(plim__infer *ctx) {
    plim__shape scalar = {.rank = 0};
    if (plim__infer_dtype(ctx, 0) != PLIM_F32)
        return plim__infer_fail(ctx, PLIM_DTYPE, "the input is %s, expected float32",
                                plim_dtype_name(plim__infer_dtype(ctx, 0)));
    PLIM_TRY(plim__infer_output(ctx, 0, PLIM_U8, plim__infer_shape(ctx, 0)));
    PLIM_TRY(plim__infer_output(ctx, 1, PLIM_F32, &scalar));
    return plim__infer_output(ctx, 2, PLIM_U8, &scalar);
}

static plim_status need_bytes(plim__infer *ctx, size_t i) {
    plim_dtype dtype = plim__infer_dtype(ctx, i);
    if (dtype == PLIM_I8 || dtype == PLIM_U8) return PLIM_OK;
    return plim__infer_fail(ctx, PLIM_DTYPE, "input %zu is %s, expected int8 or uint8", i, plim_dtype_name(dtype));
}

/* A zero point or scale: one number, or one for each of `many`. */
static plim_status need_count(plim__infer *ctx, size_t i, int64_t many) {
    if (!plim__infer_has(ctx, i)) return PLIM_OK;
    int64_t elements = plim__shape_elements(plim__infer_shape(ctx, i));
    if (elements == 1 || elements == many) return PLIM_OK;
    return plim__infer_fail(ctx, PLIM_SHAPE, "input %zu has %lld elements, expected 1 or %lld", i, (long long)elements,
                            (long long)many);
}

static plim_status need_floats(plim__infer *ctx, size_t i) {
    if (plim__infer_dtype(ctx, i) == PLIM_F32) return PLIM_OK;
    return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator %s with a scale of %s", ctx->node->op_name,
                            plim_dtype_name(plim__infer_dtype(ctx, i)));
}

/* --- products ------------------------------------------------------------------------------------------------- */

static void batch_strides(const plim__shape *shape, int matrix_axes, const plim__product_geometry *p,
                          int64_t *strides) {
    int64_t step = 1;
    int own = shape->rank - matrix_axes;
    for (int i = p->batch_rank - 1, j = own - 1; i >= 0; i--, j--) {
        int64_t dim = j >= 0 ? shape->dims[j] : 1;
        strides[i] = dim == 1 ? 0 : step;
        step *= dim;
    }
}

plim_status plim__product_geometry_read(plim__infer *ctx, size_t ia, size_t ib, plim__product_geometry *p) {
    const plim__shape *a = plim__infer_shape(ctx, ia), *b = plim__infer_shape(ctx, ib);
    char ta[PLIM_SHAPE_TEXT], tb[PLIM_SHAPE_TEXT];
    memset(p, 0, sizeof *p);
    int a_matrix = a->rank == 1 ? 1 : 2, b_matrix = b->rank == 1 ? 1 : 2;
    plim__shape batch_a = {.rank = a->rank - a_matrix}, batch_b = {.rank = b->rank - b_matrix}, batch;
    bool fits = a->rank > 0 && b->rank > 0;
    if (fits) {
        memcpy(batch_a.dims, a->dims, sizeof batch_a.dims);
        memcpy(batch_b.dims, b->dims, sizeof batch_b.dims);
        p->m = a_matrix == 2 ? a->dims[a->rank - 2] : 1;
        p->k = a->dims[a->rank - 1];
        p->n = b_matrix == 2 ? b->dims[b->rank - 1] : 1;
        fits = b->dims[b->rank - b_matrix] == p->k && plim__shape_broadcast(&batch_a, &batch_b, &batch);
    }
    if (!fits)
        return plim__infer_fail(ctx, PLIM_SHAPE, "%s and %s do not multiply", plim__shape_text(a, NULL, ta),
                                plim__shape_text(b, NULL, tb));
    p->batch_rank = batch.rank;
    memcpy(p->batch, batch.dims, sizeof p->batch);
    batch_strides(a, a_matrix, p, p->a_strides);
    batch_strides(b, b_matrix, p, p->b_strides);
    p->out = batch;
    if (a_matrix == 2) p->out.dims[p->out.rank++] = p->m;
    if (b_matrix == 2) p->out.dims[p->out.rank++] = p->n;
    return PLIM_OK;
}

plim_status plim__infer_matmul_integer(plim__infer *ctx) {
    plim__product_geometry p;
    PLIM_TRY(need_bytes(ctx, 0));
    PLIM_TRY(need_bytes(ctx, 1));
    PLIM_TRY(plim__product_geometry_read(ctx, 0, 1, &p));
    PLIM_TRY(need_count(ctx, 2, p.m));
    PLIM_TRY(need_count(ctx, 3, p.n));
    return plim__infer_output(ctx, 0, PLIM_I32, &p.out);
}

/* a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero */
plim_status plim__infer_qlinear_matmul(plim__infer *ctx) {
    plim__product_geometry p;
    PLIM_TRY(need_bytes(ctx, 0));
    PLIM_TRY(need_bytes(ctx, 3));
    PLIM_TRY(need_bytes(ctx, 7));
    PLIM_TRY(plim__product_geometry_read(ctx, 0, 3, &p));
    for (size_t i = 1; i <= 2; i++) PLIM_TRY(need_count(ctx, i, p.m));
    for (size_t i = 4; i <= 5; i++) PLIM_TRY(need_count(ctx, i, p.n));
    for (size_t i = 6; i <= 7; i++) PLIM_TRY(need_count(ctx, i, 1));
    static const size_t scales[] = {1, 4, 6};
    for (size_t i = 0; i < 3; i++) PLIM_TRY(need_floats(ctx, scales[i]));
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 7), &p.out);
}

void plim__cost_integer_product(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    plim_value a = plim__node_in(node, 0);
    const plim__shape *shape = a >= 0 ? &g->values.items[a].shape : NULL;
    if (shape && shape->rank > 0) cost->flops *= 2 * (double)shape->dims[shape->rank - 1];
}

/* --- convolutions --------------------------------------------------------------------------------------------- */

static int64_t list_at(const plim__node *node, const char *name, size_t i, size_t expected, int64_t missing) {
    size_t count;
    const int64_t *list = plim__node_ints(node, name, &count);
    return list && count == expected ? list[i] : missing;
}

static plim_status conv_axis(plim__infer *ctx, plim__conv_geometry *c, int i) {
    const char *automatic = plim__node_string(ctx->node, "auto_pad", "NOTSET");
    size_t axes = (size_t)c->axes, k = (size_t)i;
    c->stride[i] = list_at(ctx->node, "strides", k, axes, 1);
    c->dilation[i] = list_at(ctx->node, "dilations", k, axes, 1);
    int64_t before = list_at(ctx->node, "pads", k, 2 * axes, 0),
            after = list_at(ctx->node, "pads", axes + k, 2 * axes, 0), reach;
    if (c->in[i] > INT64_MAX / 4 || c->stride[i] > INT64_MAX / 4 || c->stride[i] < 1 || c->dilation[i] < 1 ||
        c->kernel[i] < 1 || before < 0 || after < 0 || before > INT32_MAX || after > INT32_MAX ||
        __builtin_mul_overflow(c->kernel[i] - 1, c->dilation[i], &reach) || reach > INT64_MAX / 4)
        return plim__infer_fail(ctx, PLIM_INVALID, "stride, dilation, kernel or pad of axis %d is not valid", i);
    if (strncmp(automatic, "SAME", 4) == 0) {
        int64_t out = (c->in[i] + c->stride[i] - 1) / c->stride[i],
                total = (out - 1) * c->stride[i] + reach + 1 - c->in[i];
        if (total < 0) total = 0;
        before = strcmp(automatic, "SAME_LOWER") == 0 ? (total + 1) / 2 : total / 2;
        after = total - before;
    } else if (strcmp(automatic, "VALID") == 0) {
        before = after = 0;
    }
    int64_t room = c->in[i] + before + after - reach - 1;
    if (room < 0) return plim__infer_fail(ctx, PLIM_SHAPE, "the kernel is larger than axis %d", i);
    c->pad[i] = before;
    c->out[i] = room / c->stride[i] + 1;
    return PLIM_OK;
}

plim_status plim__conv_geometry_read(plim__infer *ctx, size_t ix, size_t iw, plim__conv_geometry *c) {
    const plim__shape *x = plim__infer_shape(ctx, ix), *w = plim__infer_shape(ctx, iw);
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    memset(c, 0, sizeof *c);
    c->axes = x->rank - 2;
    c->groups = plim__node_int(ctx->node, "group", 1);
    if (c->axes < 1 || c->axes > PLIM__CONV_AXES || w->rank != x->rank || c->groups < 1 || c->groups > w->dims[0] ||
        w->dims[0] % c->groups != 0 || x->dims[1] % c->groups != 0 || x->dims[1] / c->groups != w->dims[1])
        return plim__infer_fail(ctx, PLIM_SHAPE, "%s and a weight of %s in %lld groups do not fit",
                                plim__shape_text(x, NULL, a), plim__shape_text(w, NULL, b), (long long)c->groups);
    c->batch = x->dims[0];
    c->in_channels = x->dims[1];
    c->out_channels = w->dims[0];
    for (int i = 0; i < c->axes; i++) {
        c->in[i] = x->dims[2 + i];
        c->kernel[i] = w->dims[2 + i];
        PLIM_TRY(conv_axis(ctx, c, i));
    }
    return PLIM_OK;
}

static plim_status conv_output(plim__infer *ctx, const plim__conv_geometry *c, plim_dtype dtype) {
    plim__shape shape = {.rank = 2 + c->axes, .dims = {c->batch, c->out_channels}};
    memcpy(shape.dims + 2, c->out, (size_t)c->axes * sizeof *c->out);
    return plim__infer_output(ctx, 0, dtype, &shape);
}

plim_status plim__infer_conv_integer(plim__infer *ctx) {
    plim__conv_geometry c;
    PLIM_TRY(need_bytes(ctx, 0));
    PLIM_TRY(need_bytes(ctx, 1));
    PLIM_TRY(plim__conv_geometry_read(ctx, 0, 1, &c));
    PLIM_TRY(need_count(ctx, 2, 1));
    PLIM_TRY(need_count(ctx, 3, c.out_channels));
    return conv_output(ctx, &c, PLIM_I32);
}

/* x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias */
plim_status plim__infer_qlinear_conv(plim__infer *ctx) {
    static const size_t single[] = {1, 2, 6, 7}, scales[] = {1, 4, 6}, bytes[] = {0, 3, 7};
    plim__conv_geometry c;
    for (size_t i = 0; i < 3; i++) PLIM_TRY(need_bytes(ctx, bytes[i]));
    for (size_t i = 0; i < 3; i++) PLIM_TRY(need_floats(ctx, scales[i]));
    PLIM_TRY(plim__conv_geometry_read(ctx, 0, 3, &c));
    for (size_t i = 0; i < 4; i++) PLIM_TRY(need_count(ctx, single[i], 1));
    PLIM_TRY(need_count(ctx, 4, c.out_channels));
    PLIM_TRY(need_count(ctx, 5, c.out_channels));
    if (plim__infer_has(ctx, 8) &&
        (plim__infer_dtype(ctx, 8) != PLIM_I32 || plim__shape_elements(plim__infer_shape(ctx, 8)) != c.out_channels))
        return plim__infer_fail(ctx, PLIM_SHAPE, "the bias is not one int32 for each of %lld channels",
                                (long long)c.out_channels);
    return conv_output(ctx, &c, plim__infer_dtype(ctx, 7));
}

static void conv_cost(const plim_graph *g, const plim__node *node, size_t w, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    plim_value weight = plim__node_in(node, w);
    const plim__shape *shape = weight >= 0 ? &g->values.items[weight].shape : NULL;
    if (shape && shape->rank > 1 && shape->dims[0] > 0)
        cost->flops *= 2 * (double)plim__shape_product(shape, 1, shape->rank);
}

void plim__cost_conv_integer(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    conv_cost(g, node, 1, cost);
}
void plim__cost_qlinear_conv(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    conv_cost(g, node, 3, cost);
}
