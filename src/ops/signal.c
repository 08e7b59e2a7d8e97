/* Windows of signal processing, which are known as soon as their size is; determinants. */
#include <math.h>

#include "core/half.h"
#include "ops/op.h"

/* A window is computed when the model is read, so a file must not ask for gigabytes: minutes of sound are enough. */
#define MOST_SAMPLES ((int64_t)1 << 24)

/* a - b cos(2πk / N) + c cos(4πk / N); N is the size, one less where the window is symmetric. */
static plim_status window(plim__infer *ctx, double a, double b, double c) {
    int64_t size;
    size_t count;
    PLIM_TRY(plim__infer_ints(ctx, 0, &size, 1, &count));
    plim_dtype dtype = (plim_dtype)plim__node_int(ctx->node, "output_datatype", PLIM_F32);
    if (count != 1 || size < 0) return plim__infer_fail(ctx, PLIM_INVALID, "the size is not one number of at least 0");
    if (size > MOST_SAMPLES)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: a window of %lld samples; %lld are the most",
                                (long long)size, (long long)MOST_SAMPLES);
    if (dtype != PLIM_F32 && dtype != PLIM_F64 && dtype != PLIM_F16)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator %s of %s", ctx->node->op_name,
                                plim_dtype_name(dtype));
    plim__shape shape = plim__shape_of(1, &size);
    plim__tensor *tensor;
    PLIM_TRY(plim__tensor_create(dtype, &shape, &tensor, ctx->error));
    double period = (double)(plim__node_int(ctx->node, "periodic", 1) || size < 2 ? size : size - 1);
    for (int64_t k = 0; k < size; k++) {
        double angle = 2 * M_PI * (double)k / period, value = a - b * cos(angle) + c * cos(2 * angle);
        if (dtype == PLIM_F32)
            ((float *)tensor->data)[k] = (float)value;
        else if (dtype == PLIM_F64)
            ((double *)tensor->data)[k] = value;
        else
            ((uint16_t *)tensor->data)[k] = plim__float_to_half((float)value);
    }
    return plim__infer_constant(ctx, 0, tensor);
}

plim_status plim__infer_hann_window(plim__infer *ctx) { return window(ctx, 0.5, 0.5, 0); }
plim_status plim__infer_hamming_window(plim__infer *ctx) { return window(ctx, 25.0 / 46, 21.0 / 46, 0); }
plim_status plim__infer_blackman_window(plim__infer *ctx) { return window(ctx, 0.42, 0.5, 0.08); }

/* (..., n, n) to (...) */
plim_status plim__infer_det(plim__infer *ctx) {
    plim__shape shape = *plim__infer_shape(ctx, 0);
    if (shape.rank < 2 || shape.dims[shape.rank - 1] != shape.dims[shape.rank - 2])
        return plim__infer_fail(ctx, PLIM_SHAPE, "the last two axes are not a square matrix");
    shape.rank -= 2;
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

/* The matrices are the last input, of the gradient too: a gradient of one determinant is a scalar. */
void plim__cost_det(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    const plim__shape *x = &g->values.items[node->inputs.items[node->inputs.count - 1]].shape;
    plim__cost_pointwise(g, node, cost);
    cost->flops *= pow((double)x->dims[x->rank - 1], 3) * 2 / 3;
}
