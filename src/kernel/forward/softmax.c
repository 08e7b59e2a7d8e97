/* Softmax, LogSoftmax and Hardmax along an axis; before opset 13 along all axes from `axis` on as one. */
#include <math.h>
#include <omp.h>

#include "core/alloc.h"
#include "core/half.h"
#include "kernel/elementwise.h"
#include "kernel/lowers.h"
#include "kernel/simd/reduce.h"

enum form { SOFTMAX, LOG_SOFTMAX, HARDMAX };

/* The data as [outer, n, inner], normalised along n. */
typedef struct softmax_state {
    plim_dtype dtype;
    enum form form;
    int64_t outer, n, inner;
} softmax_state;

/* --- float32 -------------------------------------------------------------------------------------------------- */

#define WIDTH 256 /* columns at a time */

static void rows_f32(const softmax_state *s, float *y, const float *x, int64_t from, int64_t to) {
    const plim__simd_reduce *loops = plim__simd_reduce_table();
    for (int64_t i = from; i < to; i++)
        (s->form == SOFTMAX ? loops->softmax : loops->log_softmax)(y + i * s->n, x + i * s->n, s->n);
}

static void columns_f32(const softmax_state *s, float *y, const float *x, int64_t from, int64_t to) {
    float peaks[WIDTH], sums[WIDTH];
    int64_t pieces = (s->inner + WIDTH - 1) / WIDTH;
    for (int64_t t = from; t < to; t++) {
        int64_t first = t % pieces * WIDTH, width = s->inner - first < WIDTH ? s->inner - first : WIDTH;
        int64_t at = t / pieces * s->n * s->inner + first;
        plim__simd_reduce_table()->softmax_columns(y + at, x + at, (plim__columns){s->n, s->inner, width}, peaks, sums,
                                                   s->form == LOG_SOFTMAX);
    }
}

static plim_status run_f32(const plim__call *call) {
    const softmax_state *s = call->state;
    bool rows = s->inner == 1;
    int64_t tasks = rows ? s->outer : s->outer * ((s->inner + WIDTH - 1) / WIDTH);
    int threads = plim__loop_threads(s->outer * s->n * s->inner * 4); /* an exponential is worth a few additions */
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        int64_t from, to;
        plim__loop_part(tasks, omp_get_thread_num(), omp_get_num_threads(), &from, &to);
        (rows ? rows_f32 : columns_f32)(s, call->out[0], call->in[0], from, to);
    }
    return PLIM_OK;
}

/* --- other types, and hardmax --------------------------------------------------------------------------------- */

#define LINE(label, T, load, store)                                                                                    \
    static void label(const softmax_state *s, void *out, const void *in, int64_t at) {                                 \
        const T *x = (const T *)in + at;                                                                               \
        T *y = (T *)out + at;                                                                                          \
        int64_t best = 0, step = s->inner;                                                                             \
        double peak = (double)load(x[0]), sum = 0;                                                                     \
        for (int64_t i = 1; i < s->n; i++) {                                                                           \
            double v = (double)load(x[i * step]);                                                                      \
            if (v > peak || (v != v && peak == peak)) peak = v, best = i;                                              \
        }                                                                                                              \
        for (int64_t i = 0; i < s->n && s->form != HARDMAX; i++) sum += exp((double)load(x[i * step]) - peak);         \
        for (int64_t i = 0; i < s->n; i++) {                                                                           \
            double v = (double)load(x[i * step]) - peak;                                                               \
            double r = s->form == SOFTMAX       ? exp(v) / sum                                                         \
                       : s->form == LOG_SOFTMAX ? v - log(sum)                                                         \
                                                : (double)(i == best);                                                 \
            y[i * step] = store(r);                                                                                    \
        }                                                                                                              \
    }
#define TO_FLOAT(x)  ((float)(x))
#define TO_HALF(x)   plim__float_to_half((float)(x))
#define TO_BFLOAT(x) plim__float_to_bfloat((float)(x))
LINE(line_f32, float, PLIM__AS_IS, TO_FLOAT)
LINE(line_f64, double, PLIM__AS_IS, PLIM__AS_IS)
LINE(line_f16, uint16_t, plim__half_to_float, TO_HALF)
LINE(line_bf16, uint16_t, plim__bfloat_to_float, TO_BFLOAT)

static plim_status run_lines(const plim__call *call) {
    const softmax_state *s = call->state;
    int64_t lines = s->outer * s->inner;
    int threads = plim__loop_threads(lines * s->n);
    if (s->n == 0) return PLIM_OK;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < lines; i++) {
        int64_t at = i / s->inner * s->n * s->inner + i % s->inner;
        switch (s->dtype) {
        case PLIM_F64: line_f64(s, call->out[0], call->in[0], at); break;
        case PLIM_F16: line_f16(s, call->out[0], call->in[0], at); break;
        case PLIM_BF16: line_bf16(s, call->out[0], call->in[0], at); break;
        default: line_f32(s, call->out[0], call->in[0], at); break;
        }
    }
    return PLIM_OK;
}

/* --- lowering ------------------------------------------------------------------------------------------------- */

static plim_status lower_softmax(plim__lower *l, enum form form) {
    const plim__node *node = plim__lower_node(l);
    const plim__shape *shape = plim__lower_input_shape(l, 0);
    plim_dtype dtype = plim__lower_input_dtype(l, 0);
    bool flattened = node->version < 13;
    int axis = 0;
    if (dtype != PLIM_F32 && dtype != PLIM_F64 && dtype != PLIM_F16 && dtype != PLIM_BF16)
        return plim__lower_unsupported_type(l, 0);
    if (shape->rank > 0 &&
        !plim__axis_normalize(plim__node_int(node, "axis", flattened ? 1 : -1), shape->rank, &axis)) {
        if (!flattened || plim__node_int(node, "axis", 1) != shape->rank)
            return plim__lower_fail(l, PLIM_SHAPE, "axis is out of range");
        axis = shape->rank; /* nothing is left of the axis: every element is its own maximum */
    }
    int end = flattened || shape->rank == 0 ? shape->rank : axis + 1;
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    plim__lower_inplace(l, 0, 0);
    softmax_state *state = plim__alloc(sizeof *state);
    if (!state) return plim__lower_fail(l, PLIM_NO_MEMORY, "no memory for its loop");
    *state = (softmax_state){.dtype = dtype,
                             .form = form,
                             .outer = plim__shape_product(shape, 0, axis),
                             .n = plim__shape_product(shape, axis, end),
                             .inner = plim__shape_product(shape, end, shape->rank)};
    bool fast = dtype == PLIM_F32 && form != HARDMAX;
    return plim__lower_emit(l, node->op->name, fast ? run_f32 : run_lines, state, plim__free);
}

plim_status plim__lower_softmax(plim__lower *l) { return lower_softmax(l, SOFTMAX); }
plim_status plim__lower_log_softmax(plim__lower *l) { return lower_softmax(l, LOG_SOFTMAX); }
plim_status plim__lower_hardmax(plim__lower *l) { return lower_softmax(l, HARDMAX); }
