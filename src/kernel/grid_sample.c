/* GridSample (values at given places of an image) and Col2Im (columns of windows added back into an image). */
#include <string.h>

#include "core/scalar.h"
#include "kernel/copies.h"
#include "ops/movement.h"

enum sample_mode { NEAREST, LINEAR, CUBIC };
enum sample_padding { ZEROS, BORDER, REFLECTION };

struct grid_sample {
    plim_dtype dtype, grid_type;
    enum sample_mode mode;
    enum sample_padding padding;
    bool corners;
    int axes, threads;
    int64_t batch, channels, points; /* points: places in one sample */
    int64_t in[3], in_points;
};

struct taps {
    int count;
    int64_t index[4]; /* -1: zero */
    double weight[4];
};

/* Mirrors x at low and high until it lies between. */
static double reflect(double x, double low, double high) {
    double range = high - low;
    if (!(range > 0)) return low;
    double away = fabs(x - low), turns = floor(away / range), rest = away - turns * range;
    return fmod(turns, 2) == 0 ? low + rest : high - rest;
}

static int64_t place(const struct grid_sample *s, double x, int64_t n) {
    if (x >= 0 && x <= (double)(n - 1)) return (int64_t)x;
    if (s->padding == ZEROS || !isfinite(x)) return -1;
    if (s->padding == BORDER) return x < 0 ? 0 : n - 1;
    double at = s->corners ? reflect(x, 0, (double)(n - 1)) : reflect(x, -0.5, (double)n - 0.5);
    int64_t i = (int64_t)at;
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static double cubic(double x) {
    const double a = -0.75;
    x = fabs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* The elements along one axis that coordinate g (-1..1 spans the axis) touches. */
static struct taps axis_taps(const struct grid_sample *s, double g, int64_t n) {
    struct taps t = {0};
    double x = s->corners ? (g + 1) / 2 * (double)(n - 1) : ((g + 1) * (double)n - 1) / 2;
    double low = s->corners ? 0 : -0.5, high = s->corners ? (double)(n - 1) : (double)n - 0.5;
    if (s->mode == NEAREST) x = nearbyint(x);
    if (x < low || x > high) {
        if (s->padding == BORDER)
            x = x < 0 ? 0 : (double)(n - 1);
        else if (s->padding == REFLECTION && isfinite(x))
            x = reflect(x, low, high);
    }
    if (s->mode == NEAREST) {
        t = (struct taps){1, {place(s, x, n)}, {1}};
        return t;
    }
    double base = floor(x);
    t.count = s->mode == LINEAR ? 2 : 4;
    for (int k = 0; k < t.count; k++) {
        double at = base + (s->mode == LINEAR ? k : k - 1);
        t.index[k] = place(s, at, n);
        t.weight[k] = s->mode == LINEAR ? 1 - fabs(x - at) : cubic(x - at);
    }
    return t;
}

/* The weighted sum over all combinations of taps, for the plane that begins at `plane`. */
static double weigh(const struct grid_sample *s, const struct taps *taps, const void *x, int64_t plane) {
    int total = 1;
    for (int a = 0; a < s->axes; a++) total *= taps[a].count;
    double sum = 0;
    for (int c = 0; c < total; c++) {
        int64_t at = 0;
        double weight = 1;
        bool inside = true;
        for (int a = 0, rest = c; a < s->axes; rest /= taps[a].count, a++) {
            int k = rest % taps[a].count;
            inside &= taps[a].index[k] >= 0;
            at = at * s->in[a] + taps[a].index[k];
            weight *= taps[a].weight[k];
        }
        if (inside && weight != 0) sum += weight * plim__scalar_get(s->dtype, x, plane + at);
    }
    return sum;
}

static plim_status run_grid_sample(const plim__call *call) {
    const struct grid_sample *s = call->state;
    int threads = plim__copy_threads(s->batch * s->points * s->channels, s->threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t p = 0; p < s->batch * s->points; p++) {
        struct taps taps[3];
        for (int a = 0; a < s->axes; a++) /* the grid names the fastest axis first */
            taps[a] =
                axis_taps(s, plim__scalar_get(s->grid_type, call->in[1], p * s->axes + s->axes - 1 - a), s->in[a]);
        for (int64_t c = 0; c < s->channels; c++) {
            int64_t plane = p / s->points * s->channels + c;
            plim__scalar_set(s->dtype, call->out[0], plane * s->points + p % s->points,
                             weigh(s, taps, call->in[0], plane * s->in_points));
        }
    }
    return PLIM_OK;
}

static plim_status sample_modes(plim__lower *l, struct grid_sample *s) {
    const plim__node *node = plim__lower_node(l);
    const char *mode = plim__node_string(node, "mode", "linear"),
               *padding = plim__node_string(node, "padding_mode", "zeros");
    if (strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0)
        s->mode = LINEAR;
    else if (strcmp(mode, "nearest") == 0)
        s->mode = NEAREST;
    else if (strcmp(mode, "cubic") == 0 || strcmp(mode, "bicubic") == 0)
        s->mode = CUBIC;
    else
        return plim__lower_unsupported(l, "with this mode");
    if (strcmp(padding, "zeros") == 0)
        s->padding = ZEROS;
    else if (strcmp(padding, "border") == 0)
        s->padding = BORDER;
    else if (strcmp(padding, "reflection") == 0)
        s->padding = REFLECTION;
    else
        return plim__lower_unsupported(l, "with this padding mode");
    s->corners = plim__node_int(node, "align_corners", 0) != 0;
    return PLIM_OK;
}

plim_status plim__lower_grid_sample(plim__lower *l) {
    const plim__shape *x = plim__lower_input_shape(l, 0), *out = plim__lower_output_shape(l, 0);
    struct grid_sample state = {.dtype = plim__lower_input_dtype(l, 0),
                                .grid_type = plim__lower_input_dtype(l, 1),
                                .axes = x->rank - 2,
                                .threads = plim__lower_threads(l),
                                .batch = x->dims[0],
                                .channels = x->dims[1],
                                .points = plim__shape_product(out, 2, out->rank),
                                .in_points = plim__shape_product(x, 2, x->rank)};
    struct grid_sample *s;
    if (!plim__scalar_known(state.dtype) || !plim__scalar_known(state.grid_type))
        return plim__lower_unsupported(l, "with this element type");
    memcpy(state.in, x->dims + 2, (size_t)state.axes * sizeof *state.in);
    PLIM_TRY(sample_modes(l, &state));
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = state;
    return plim__lower_emit(l, "GridSample", run_grid_sample, s, plim__free);
}

/* --- Col2Im: [N, C · block, L] → [N, C, image..] -------------------------------------------------------------- */

struct col2im {
    plim_dtype dtype;
    int axes, threads;
    int64_t planes, block_points, windows, image_points;
    int64_t image[PLIM_MAX_RANK], block[PLIM_MAX_RANK], steps[PLIM_MAX_RANK]; /* steps: windows along an axis */
    int64_t stride[PLIM_MAX_RANK], dilation[PLIM_MAX_RANK], pad[PLIM_MAX_RANK];
};

/* Where element `b` of window `w` lies in the image; -1 for padding. */
static int64_t image_place(const struct col2im *s, int64_t b, int64_t w) {
    int64_t at = 0, step = 1;
    for (int a = s->axes - 1; a >= 0; a--) {
        int64_t x = w % s->steps[a] * s->stride[a] + b % s->block[a] * s->dilation[a] - s->pad[a];
        if (x < 0 || x >= s->image[a]) return -1;
        at += x * step;
        step *= s->image[a];
        w /= s->steps[a];
        b /= s->block[a];
    }
    return at;
}

static plim_status run_col2im(const plim__call *call) {
    const struct col2im *s = call->state;
    int threads = plim__copy_threads(s->planes * s->block_points * s->windows, s->threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t plane = 0; plane < s->planes; plane++) {
        for (int64_t i = 0; i < s->image_points; i++)
            plim__scalar_set(s->dtype, call->out[0], plane * s->image_points + i, 0);
        for (int64_t b = 0; b < s->block_points; b++)
            for (int64_t w = 0; w < s->windows; w++) {
                int64_t at = image_place(s, b, w);
                if (at < 0) continue;
                at += plane * s->image_points;
                double sum = plim__scalar_get(s->dtype, call->out[0], at) +
                             plim__scalar_get(s->dtype, call->in[0], (plane * s->block_points + b) * s->windows + w);
                plim__scalar_set(s->dtype, call->out[0], at, sum);
            }
    }
    return PLIM_OK;
}

static int64_t entry(const plim__node *node, const char *name, int i, size_t expected, int64_t missing) {
    size_t count;
    const int64_t *list = plim__node_ints(node, name, &count);
    return list && count == expected ? list[i] : missing;
}

/* Numbers whose sums and products stay far from overflow. */
static bool moderate(int64_t value) { return value >= -INT32_MAX && value <= INT32_MAX; }

static plim_status col2im_geometry(plim__lower *l, struct col2im *s) {
    const plim__node *node = plim__lower_node(l);
    plim__infer reading = plim__lower_reading(l);
    size_t count, axes = (size_t)s->axes;
    int64_t windows = 1;
    PLIM_TRY(plim__infer_ints(&reading, 2, s->block, PLIM_MAX_RANK, &count));
    for (int a = 0; a < s->axes; a++) {
        int64_t after = entry(node, "pads", s->axes + a, 2 * axes, 0);
        s->stride[a] = entry(node, "strides", a, axes, 1);
        s->dilation[a] = entry(node, "dilations", a, axes, 1);
        s->pad[a] = entry(node, "pads", a, 2 * axes, 0);
        if (!moderate(s->image[a]) || !moderate(s->block[a]) || !moderate(s->pad[a]) || !moderate(after) ||
            !moderate(s->dilation[a]))
            return plim__lower_fail(l, PLIM_OVERFLOW, "axis %d is too long", a);
        int64_t room = s->image[a] + s->pad[a] + after - s->dilation[a] * (s->block[a] - 1) - 1;
        if (s->stride[a] < 1 || s->dilation[a] < 1 || room < 0)
            return plim__lower_fail(l, PLIM_SHAPE, "the windows do not fit the image");
        s->steps[a] = room / s->stride[a] + 1;
        if (__builtin_mul_overflow(windows, s->steps[a], &windows))
            return plim__lower_fail(l, PLIM_OVERFLOW, "there are too many windows");
        s->block_points *= s->block[a];
    }
    if (windows != s->windows)
        return plim__lower_fail(l, PLIM_SHAPE, "%lld columns for %lld windows", (long long)s->windows,
                                (long long)windows);
    return PLIM_OK;
}

plim_status plim__lower_col2im(plim__lower *l) {
    const plim__shape *out = plim__lower_output_shape(l, 0);
    struct col2im state = {.dtype = plim__lower_input_dtype(l, 0),
                           .axes = out->rank - 2,
                           .threads = plim__lower_threads(l),
                           .planes = out->dims[0] * out->dims[1],
                           .block_points = 1,
                           .windows = plim__lower_input_shape(l, 0)->dims[2],
                           .image_points = plim__shape_product(out, 2, out->rank)};
    struct col2im *s;
    if (!plim__scalar_known(state.dtype)) return plim__lower_unsupported(l, "with this element type");
    memcpy(state.image, out->dims + 2, (size_t)state.axes * sizeof *state.image);
    PLIM_TRY(col2im_geometry(l, &state));
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = state;
    return plim__lower_emit(l, "Col2Im", run_col2im, s, plim__free);
}
