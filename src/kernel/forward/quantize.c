/* QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. */
#include "kernel/forward/quantize.h"

#include <math.h>

#include "core/scalar.h"
#include "kernel/copies.h"
#include "kernel/lowers.h"
#include "ops/quantize.h"

struct linear {
    plim__quantization q;
    plim_dtype wide, narrow, scale_type;
    bool saturate;
    int threads;
};

/* The number of the scale of the first element of line (o, a); inside a blocked line it counts on. */
static int64_t scale_index(const plim__quantization *q, int64_t o, int64_t a) {
    if (q->kind == PLIM__PER_TENSOR) return 0;
    return q->kind == PLIM__PER_AXIS ? a : (o * q->blocks + a / q->block) * q->inner;
}

static void quantize_bytes(const float *x, uint8_t *y, int64_t count, float scale, int zero, bool is_signed) {
    float low = (float)((is_signed ? -128 : 0) - zero), high = (float)((is_signed ? 127 : 255) - zero);
    for (int64_t i = 0; i < count; i++) {
        float v = x[i] / scale;
        v = v > low ? v : low;
        v = v < high ? v : high;
        y[i] = (uint8_t)((int)lrintf(v) + zero);
    }
}

static void quantize_line(const struct linear *s, const plim__call *call, int64_t line) {
    const plim__quantization *q = &s->q;
    int64_t first = scale_index(q, line / q->length, line % q->length);
    bool bytes = s->narrow == PLIM_U8 || s->narrow == PLIM_I8;
    if (bytes && s->wide == PLIM_F32 && s->scale_type == PLIM_F32 && q->kind != PLIM__BLOCKED) {
        int zero = call->in[2] ? (int)plim__narrow_get(s->narrow, call->in[2], first) : 0;
        quantize_bytes((const float *)call->in[0] + line * q->inner, (uint8_t *)call->out[0] + line * q->inner,
                       q->inner, ((const float *)call->in[1])[first], zero, s->narrow == PLIM_I8);
        return;
    }
    bool whole = plim__scalar_known(s->narrow) || s->narrow == PLIM_I4 || s->narrow == PLIM_U4;
    for (int64_t i = 0; i < q->inner; i++) {
        int64_t at = first + (q->kind == PLIM__BLOCKED ? i : 0);
        double value = (double)((float)plim__scalar_get(s->wide, call->in[0], line * q->inner + i) /
                                (float)plim__scalar_get(s->scale_type, call->in[1], at));
        double zero = call->in[2] ? plim__narrow_get(s->narrow, call->in[2], at) : 0;
        plim__narrow_set(s->narrow, call->out[0], line * q->inner + i, (whole ? nearbyint(value) : value) + zero,
                         s->saturate);
    }
}

static void dequantize_line(const struct linear *s, const plim__call *call, int64_t line) {
    const plim__quantization *q = &s->q;
    int64_t first = scale_index(q, line / q->length, line % q->length);
    for (int64_t i = 0; i < q->inner; i++) {
        int64_t at = first + (q->kind == PLIM__BLOCKED ? i : 0);
        double zero = call->in[2] ? plim__narrow_get(s->narrow, call->in[2], at) : 0;
        double value = plim__narrow_get(s->narrow, call->in[0], line * q->inner + i) - zero;
        plim__scalar_set(s->scale_type, call->out[0], line * q->inner + i,
                         value * plim__scalar_get(s->scale_type, call->in[1], at));
    }
}

/* One line for each (o, a); a tensor with a single scale is cut into lines so that threads share it. */
static plim_status run_lines(const plim__call *call,
                             void (*line_kernel)(const struct linear *, const plim__call *, int64_t)) {
    const struct linear *s = call->state;
    int64_t lines = s->q.outer * s->q.length;
    int threads = plim_dtype_bits(s->narrow) < 8
                      ? 1
                      : plim__copy_threads(lines * s->q.inner, s->threads); /* nibbles share bytes */
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t line = 0; line < lines; line++) line_kernel(s, call, line);
    return PLIM_OK;
}

static plim_status run_quantize(const plim__call *call) { return run_lines(call, quantize_line); }
static plim_status run_dequantize(const plim__call *call) { return run_lines(call, dequantize_line); }

static plim_status lower_linear(plim__lower *l, bool quantize) {
    plim__infer reading = plim__lower_reading(l);
    struct linear state = {.scale_type = plim__lower_input_dtype(l, 1), .threads = plim__lower_threads(l)}, *s;
    state.wide = quantize ? plim__lower_input_dtype(l, 0) : plim__lower_output_dtype(l, 0);
    state.narrow = quantize ? plim__lower_output_dtype(l, 0) : plim__lower_input_dtype(l, 0);
    state.saturate = plim__node_int(plim__lower_node(l), "saturate", 1) != 0;
    PLIM_TRY(plim__quantization_read(&reading, &state.q));
    if (!plim__narrow_known(state.narrow) || !plim__scalar_known(state.wide) || !plim__scalar_known(state.scale_type))
        return plim__lower_unsupported(l, "with these element types");
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    plim__quantization *q = &state.q;
    for (int64_t part = 4096; q->kind == PLIM__PER_TENSOR && part > 1; part /= 2)
        if (q->inner >= 4 * part && q->inner % part == 0) { /* the scale is the same for every line */
            q->outer = part;
            q->inner /= part;
            break;
        }
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = state;
    return plim__lower_emit(l, quantize ? "QuantizeLinear" : "DequantizeLinear",
                            quantize ? run_quantize : run_dequantize, s, plim__free);
}

plim_status plim__lower_quantize_linear(plim__lower *l) { return lower_linear(l, true); }
plim_status plim__lower_dequantize_linear(plim__lower *l) { return lower_linear(l, false); }

/* --- DynamicQuantizeLinear ------------------------------------------------------------------------------------ */

struct dynamic {
    int64_t elements;
    int threads;
};

static plim_status run_dynamic(const plim__call *call) {
    const struct dynamic *s = call->state;
    const float *x = call->in[0];
    float low = 0, high = 0;
    int threads = plim__copy_threads(s->elements, s->threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static) reduction(min                          \
                                                                                          : low) reduction(max         \
                                                                                                           : high)
    for (int64_t i = 0; i < s->elements; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    float scale = (high - low) / 255;
    double zero = scale > 0 ? nearbyint((double)(-low / scale)) : 0;
    int zero_point = (int)plim__scalar_whole(zero, 0, 255);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t line = 0; line < (s->elements + 4095) / 4096; line++) {
        int64_t first = line * 4096, count = s->elements - first < 4096 ? s->elements - first : 4096;
        if (call->out[0])
            quantize_bytes(x + first, (uint8_t *)call->out[0] + first, count, scale > 0 ? scale : 1, zero_point, false);
    }
    if (call->out[1]) *(float *)call->out[1] = scale;
    if (call->out[2]) *(uint8_t *)call->out[2] = (uint8_t)zero_point;
    return PLIM_OK;
}

plim_status plim__lower_dynamic_quantize_linear(plim__lower *l) {
    struct dynamic *s;
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct dynamic){plim__shape_elements(plim__lower_input_shape(l, 0)), plim__lower_threads(l)};
    return plim__lower_emit(l, "DynamicQuantizeLinear", run_dynamic, s, plim__free);
}
