/* Root mean square norm and its backward pass, row by row:
 *
 *   y = x / sqrt(mean(x²) + epsilon) · scale          over the last axes
 *
 * Backward saves nothing but x: the root is computed again. Each thread sums up the gradient of the scale over its rows.
 *
 *   scratch of backward:  | thread 0: width sums | thread 1 | ... */
#include <string.h>

#include "kernel/copies.h"
#include "kernel/loops.h"
#include "kernel/lowers.h"
#include "kernel/simd/rms_norm.h"

struct rows {
    int64_t rows, width;
    float epsilon;
    int threads;
};

static plim_status run_forward(const plim__call *call) {
    const struct rows *s = call->state;
    const float *x = call->in[0], *scale = call->in[1];
    float *y = call->out[0];
    int threads = plim__loop_threads(s->rows * s->width);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < s->rows; i++)
        plim__simd_rms_norm_table()->forward(y + i * s->width, x + i * s->width, scale, s->width, s->epsilon);
    return PLIM_OK;
}

static plim_status run_backward(const plim__call *call) {
    const struct rows *s = call->state;
    float *dx = call->out[0], *dscale = call->out[1], *sums = call->scratch;
    memset(sums, 0, (size_t)s->threads * (size_t)s->width * sizeof *sums);
#pragma omp parallel for num_threads(s->threads) if (s->threads > 1) schedule(static)
    for (int t = 0; t < s->threads; t++) {
        int64_t from, to;
        plim__loop_part(s->rows, t, s->threads, &from, &to);
        for (int64_t i = from; i < to; i++) {
            const float *in[] = {(const float *)call->in[0] + i * s->width, (const float *)call->in[1] + i * s->width,
                                 call->in[2]};
            plim__simd_rms_norm_table()->backward(dx + i * s->width, sums + t * s->width, in, s->width, s->epsilon);
        }
    }
    for (int64_t j = 0; dscale && j < s->width; j++) {
        float sum = 0;
        for (int t = 0; t < s->threads; t++) sum += sums[t * s->width + j];
        dscale[j] = sum;
    }
    return PLIM_OK;
}

/* x is node input i. */
static plim_status read_rows(plim__lower *l, size_t i, struct rows *s) {
    const plim__shape *x = plim__lower_input_shape(l, i);
    int axis = 0;
    if (plim__lower_input_dtype(l, i) != PLIM_F32)
        PLIM_TRY(plim__lower_unsupported(l, "with another type than float32"));
    plim__axis_normalize(plim__node_int(plim__lower_node(l), "axis", -1), x->rank, &axis);
    *s = (struct rows){.rows = plim__shape_product(x, 0, axis),
                       .width = plim__shape_product(x, axis, x->rank),
                       .epsilon = plim__node_float(plim__lower_node(l), "epsilon", 1e-5f),
                       .threads = plim__lower_threads(l)};
    return PLIM_OK;
}

plim_status plim__lower_rms_norm(plim__lower *l) {
    struct rows *s, made;
    PLIM_TRY(read_rows(l, 0, &made));
    for (size_t i = 0; i < 2; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    plim__lower_inplace(l, 0, 0);
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = made;
    return plim__lower_emit(l, "RmsNorm", run_forward, s, plim__free);
}

plim_status plim__lower_rms_norm_grad(plim__lower *l) {
    struct rows *s, made;
    PLIM_TRY(read_rows(l, 1, &made));
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < 2; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    plim__lower_inplace(l, 0, 0);
    PLIM_TRY(plim__lower_scratch(l, (size_t)made.threads * (size_t)made.width * sizeof(float)));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = made;
    return plim__lower_emit(l, "RmsNormGrad", run_backward, s, plim__free);
}
