/* ConvInteger and QLinearConv: direct convolution of bytes with int32 sums, one output plane at a time. Each
 * weight is spread over the plane row by row, so that the inner loop runs along the output's last axis. */
#include <omp.h>
#include <string.h>

#include "kernel/copies.h"
#include "kernel/forward/quantize.h"
#include "kernel/lowers.h"
#include "ops/quantize.h"

/* Operands: x, w, x_zero, w_zero, x_scale, w_scale, y_scale, y_zero, bias. */
enum operand { X, W, X_ZERO, W_ZERO, X_SCALE, W_SCALE, Y_SCALE, Y_ZERO, BIAS };

struct conv {
    plim__conv_geometry g; /* always three axes: missing ones in front have one element */
    plim_dtype x_type, w_type, y_type;
    bool many_zeros, many_scales, has_bias;
    int64_t in_points, out_points, taps;
    int threads;
};

static int32_t byte_at(plim_dtype dtype, const void *data, int64_t i) {
    return dtype == PLIM_I8 ? ((const int8_t *)data)[i] : ((const uint8_t *)data)[i];
}

/* A weight that an input plane is multiplied by, minus the zero points of both. */
struct factor {
    const void *x;
    int64_t plane; /* of x, in elements */
    int32_t x_zero, weight;
};

/* One row of the output plane plus weight · one row of the input. */
static void spread_row(const struct conv *s, const struct factor *f, int64_t row, int64_t tap, int32_t *sums) {
    const plim__conv_geometry *g = &s->g;
    int64_t shift = tap * g->dilation[2] - g->pad[2];
    for (int64_t o = 0; o < g->out[2]; o++) {
        int64_t i = o * g->stride[2] + shift;
        if (i >= 0 && i < g->in[2]) sums[o] += f->weight * (byte_at(s->x_type, f->x, row + i) - f->x_zero);
    }
}

static void spread(const struct conv *s, const struct factor *f, int64_t tap, int32_t *sums) {
    const plim__conv_geometry *g = &s->g;
    int64_t taps[3] = {tap / g->kernel[2] / g->kernel[1], tap / g->kernel[2] % g->kernel[1], tap % g->kernel[2]};
    for (int64_t d = 0; d < g->out[0]; d++) {
        int64_t z = d * g->stride[0] + taps[0] * g->dilation[0] - g->pad[0];
        if (z < 0 || z >= g->in[0]) continue;
        for (int64_t h = 0; h < g->out[1]; h++) {
            int64_t y = h * g->stride[1] + taps[1] * g->dilation[1] - g->pad[1];
            if (y < 0 || y >= g->in[1]) continue;
            spread_row(s, f, f->plane + (z * g->in[1] + y) * g->in[2], taps[2], sums + (d * g->out[1] + h) * g->out[2]);
        }
    }
}

static void sum_plane(const struct conv *s, const plim__call *call, int64_t n, int64_t channel, int32_t *sums) {
    const plim__conv_geometry *g = &s->g;
    int64_t group_in = g->in_channels / g->groups, group = channel / (g->out_channels / g->groups);
    int32_t x_zero = call->in[X_ZERO] ? byte_at(s->x_type, call->in[X_ZERO], 0) : 0;
    int32_t w_zero = call->in[W_ZERO] ? byte_at(s->w_type, call->in[W_ZERO], s->many_zeros ? channel : 0) : 0;
    int32_t start = s->has_bias ? ((const int32_t *)call->in[BIAS])[channel] : 0;
    for (int64_t i = 0; i < s->out_points; i++) sums[i] = start;
    for (int64_t c = 0; c < group_in; c++) {
        int64_t plane = (n * g->in_channels + group * group_in + c) * s->in_points;
        for (int64_t tap = 0; tap < s->taps; tap++) {
            int32_t weight = byte_at(s->w_type, call->in[W], (channel * group_in + c) * s->taps + tap) - w_zero;
            if (weight != 0) spread(s, &(struct factor){call->in[X], plane, x_zero, weight}, tap, sums);
        }
    }
}

static plim_status run_conv(const plim__call *call) {
    const struct conv *s = call->state;
    int64_t planes = s->g.batch * s->g.out_channels;
    int threads = plim__copy_threads(planes * s->out_points * s->taps, s->threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t p = 0; p < planes; p++) {
        int64_t channel = p % s->g.out_channels, first = p * s->out_points;
        bool narrow = s->y_type != PLIM_I32;
        int32_t *sums =
            narrow ? (int32_t *)call->scratch + omp_get_thread_num() * s->out_points : (int32_t *)call->out[0] + first;
        sum_plane(s, call, p / s->g.out_channels, channel, sums);
        if (!narrow) continue;
        float factor = *(const float *)call->in[X_SCALE] *
                       ((const float *)call->in[W_SCALE])[s->many_scales ? channel : 0] /
                       *(const float *)call->in[Y_SCALE];
        int32_t zero = byte_at(s->y_type, call->in[Y_ZERO], 0);
        for (int64_t i = 0; i < s->out_points; i++)
            plim__requantize(s->y_type, call->out[0], first + i, sums[i], factor, zero);
    }
    return PLIM_OK;
}

/* Axes move to the back; the new ones in front have one element. */
static void to_three_axes(plim__conv_geometry *g) {
    int missing = PLIM__CONV_AXES - g->axes;
    int64_t *lists[] = {g->in, g->out, g->kernel, g->stride, g->dilation, g->pad};
    for (size_t k = 0; k < 6; k++) {
        memmove(lists[k] + missing, lists[k], (size_t)g->axes * sizeof **lists);
        for (int i = 0; i < missing; i++) lists[k][i] = k == 5 ? 0 : 1;
    }
    g->axes = PLIM__CONV_AXES;
}

static plim_status lower_conv(plim__lower *l, const char *label, const size_t *inputs, size_t count) {
    plim__infer reading = plim__lower_reading(l);
    struct conv state = {.y_type = plim__lower_output_dtype(l, 0), .threads = plim__lower_threads(l)}, *s;
    PLIM_TRY(plim__conv_geometry_read(&reading, inputs[X], inputs[W], &state.g));
    to_three_axes(&state.g);
    state.x_type = plim__lower_input_dtype(l, inputs[X]);
    state.w_type = plim__lower_input_dtype(l, inputs[W]);
    state.in_points = state.g.in[0] * state.g.in[1] * state.g.in[2];
    state.out_points = state.g.out[0] * state.g.out[1] * state.g.out[2];
    state.taps = state.g.kernel[0] * state.g.kernel[1] * state.g.kernel[2];
    for (size_t i = 0; i < count; i++) {
        PLIM_TRY(plim__lower_input(l, inputs[i], PLIM__DENSE, NULL));
        if (!plim__lower_has_input(l, inputs[i])) continue;
        int64_t elements = plim__shape_elements(plim__lower_input_shape(l, inputs[i]));
        if (i == W_ZERO) state.many_zeros = elements > 1;
        if (i == W_SCALE) state.many_scales = elements > 1;
        if (i == BIAS) state.has_bias = true;
    }
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    if (state.y_type != PLIM_I32)
        PLIM_TRY(plim__lower_scratch(l, (size_t)state.threads * (size_t)state.out_points * sizeof(int32_t)));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = state;
    return plim__lower_emit(l, label, run_conv, s, plim__free);
}

plim_status plim__lower_conv_integer(plim__lower *l) {
    return lower_conv(l, "ConvInteger", (const size_t[]){0, 1, 2, 3}, 4);
}

plim_status plim__lower_qlinear_conv(plim__lower *l) {
    return lower_conv(l, "QLinearConv", (const size_t[]){0, 3, 2, 5, 1, 4, 6, 7, 8}, 9);
}
