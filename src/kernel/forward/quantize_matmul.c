/* MatMulInteger and QLinearMatMul: sums of 8-bit products in int32.
 *
 *     Σ (a - za) (b - zb)  =  Σ (a - za) b  -  zb Σ (a - za)
 *
 * so that the inner loop needs no zero point of b. */
#include <omp.h>
#include <string.h>

#include "core/scalar.h"
#include "kernel/copies.h"
#include "kernel/forward/quantize.h"
#include "kernel/lowers.h"
#include "ops/quantize.h"

/* Operands: a, b, then (absent ones NULL) a_zero, b_zero, a_scale, b_scale, y_scale, y_zero. */
enum operand { A, B, A_ZERO, B_ZERO, A_SCALE, B_SCALE, Y_SCALE, Y_ZERO };

struct product {
    plim__product_geometry g;
    plim_dtype a_type, b_type, y_type; /* y_type int32: the sums themselves */
    bool many_a, many_b;               /* one zero point for each row of a, column of b */
    bool many_a_scales, many_b_scales;
    int64_t batches;
    int threads;
};

static int32_t byte_at(plim_dtype dtype, const void *data, int64_t i) {
    return dtype == PLIM_I8 ? ((const int8_t *)data)[i] : ((const uint8_t *)data)[i];
}

#define ACCUMULATE(name, type)                                                                                         \
    static void accumulate_##name(int32_t *sums, int32_t a, const type *b, int64_t n) {                                \
        for (int64_t i = 0; i < n; i++) sums[i] += a * (int32_t)b[i];                                                  \
    }
ACCUMULATE(u8, uint8_t)
ACCUMULATE(i8, int8_t)

/* sums[n] of one row. */
static void sum_row(const struct product *s, const plim__call *call, int64_t a_row, int64_t b_matrix, int64_t m,
                    int32_t *sums) {
    int32_t a_zero = call->in[A_ZERO] ? byte_at(s->a_type, call->in[A_ZERO], s->many_a ? m : 0) : 0, total = 0;
    memset(sums, 0, (size_t)s->g.n * sizeof *sums);
    for (int64_t k = 0; k < s->g.k; k++) {
        int32_t a = byte_at(s->a_type, call->in[A], a_row * s->g.k + k) - a_zero;
        int64_t line = (b_matrix * s->g.k + k) * s->g.n;
        total += a;
        if (s->b_type == PLIM_I8)
            accumulate_i8(sums, a, (const int8_t *)call->in[B] + line, s->g.n);
        else
            accumulate_u8(sums, a, (const uint8_t *)call->in[B] + line, s->g.n);
    }
    for (int64_t n = 0; call->in[B_ZERO] && n < s->g.n; n++)
        sums[n] -= byte_at(s->b_type, call->in[B_ZERO], s->many_b ? n : 0) * total;
}

static void narrow_row(const struct product *s, const plim__call *call, int64_t m, const int32_t *sums, int64_t first) {
    const float *a_scale = call->in[A_SCALE], *b_scale = call->in[B_SCALE], *y_scale = call->in[Y_SCALE];
    int32_t zero = byte_at(s->y_type, call->in[Y_ZERO], 0);
    for (int64_t n = 0; n < s->g.n; n++) {
        float factor = a_scale[s->many_a_scales ? m : 0] * b_scale[s->many_b_scales ? n : 0] / *y_scale;
        plim__requantize(s->y_type, call->out[0], first + n, sums[n], factor, zero);
    }
}

static plim_status run_product(const plim__call *call) {
    const struct product *s = call->state;
    int64_t rows = s->batches * s->g.m;
    int threads = plim__copy_threads(rows * s->g.n * s->g.k, s->threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        int64_t m = row % s->g.m, a_matrix = 0, b_matrix = 0, rest = row / s->g.m;
        for (int i = s->g.batch_rank - 1; i >= 0; i--) {
            a_matrix += rest % s->g.batch[i] * s->g.a_strides[i];
            b_matrix += rest % s->g.batch[i] * s->g.b_strides[i];
            rest /= s->g.batch[i];
        }
        bool narrow = s->y_type != PLIM_I32;
        int32_t *sums =
            narrow ? (int32_t *)call->scratch + omp_get_thread_num() * s->g.n : (int32_t *)call->out[0] + row * s->g.n;
        sum_row(s, call, a_matrix * s->g.m + m, b_matrix, m, sums);
        if (narrow) narrow_row(s, call, m, sums, row * s->g.n);
    }
    return PLIM_OK;
}

/* inputs[]: the node's input for each operand; 0 in a later place means that the operator has none. */
static plim_status lower_product(plim__lower *l, const char *label, const size_t inputs[8], size_t count) {
    plim__infer reading = plim__lower_reading(l);
    struct product state = {.y_type = plim__lower_output_dtype(l, 0), .threads = plim__lower_threads(l), .batches = 1},
                   *s;
    PLIM_TRY(plim__product_geometry_read(&reading, inputs[A], inputs[B], &state.g));
    state.a_type = plim__lower_input_dtype(l, inputs[A]);
    state.b_type = plim__lower_input_dtype(l, inputs[B]);
    for (int i = 0; i < state.g.batch_rank; i++) state.batches *= state.g.batch[i];
    bool *many[] = {NULL, NULL, &state.many_a, &state.many_b, &state.many_a_scales, &state.many_b_scales, NULL, NULL};
    for (size_t i = 0; i < count; i++) {
        PLIM_TRY(plim__lower_input(l, inputs[i], PLIM__DENSE, NULL));
        if (many[i] && plim__lower_has_input(l, inputs[i]))
            *many[i] = plim__shape_elements(plim__lower_input_shape(l, inputs[i])) > 1;
    }
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    if (state.y_type != PLIM_I32)
        PLIM_TRY(plim__lower_scratch(l, (size_t)state.threads * (size_t)state.g.n * sizeof(int32_t)));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = state;
    return plim__lower_emit(l, label, run_product, s, plim__free);
}

plim_status plim__lower_matmul_integer(plim__lower *l) {
    return lower_product(l, "MatMulInteger", (size_t[8]){0, 1, 2, 3}, 4);
}

plim_status plim__lower_qlinear_matmul(plim__lower *l) {
    return lower_product(l, "QLinearMatMul", (size_t[8]){0, 3, 2, 5, 1, 4, 6, 7}, 8);
}
