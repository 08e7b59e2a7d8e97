/* GridSample: values at given places of an image, and the gradients of both. */
#include <string.h>

#include "core/scalar.h"
#include "kernel/copies.h"
#include "kernel/lowers.h"
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
    double slope[4]; /* of each weight, by the coordinate of the grid */
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

static double cubic_slope(double x) {
    const double a = -0.75;
    double sign = x < 0 ? -1 : 1;
    x = fabs(x);
    if (x <= 1) return sign * ((3 * (a + 2)) * x - 2 * (a + 3)) * x;
    return x < 2 ? sign * ((3 * a * x - 10 * a) * x + 8 * a) : 0;
}

/* The elements along one axis that coordinate g (-1..1 spans the axis) touches. */
static struct taps axis_taps(const struct grid_sample *s, double g, int64_t n) {
    struct taps t = {0};
    double x = s->corners ? (g + 1) / 2 * (double)(n - 1) : ((g + 1) * (double)n - 1) / 2;
    double step = s->corners ? (double)(n - 1) / 2 : (double)n / 2; /* of x, by g */
    double low = s->corners ? 0 : -0.5, high = s->corners ? (double)(n - 1) : (double)n - 0.5;
    if (s->mode == NEAREST) x = nearbyint(x);
    if (x < low || x > high) {
        if (s->padding == BORDER) {
            x = x < 0 ? 0 : (double)(n - 1);
            step = 0;
        } else if (s->padding == REFLECTION && isfinite(x)) {
            double turns = high > low ? floor(fabs(x - low) / (high - low)) : 0;
            if ((fmod(turns, 2) != 0) != (x < low)) step = -step; /* it runs the other way between two mirrors */
            x = reflect(x, low, high);
        }
    }
    if (s->mode == NEAREST) {
        t = (struct taps){1, {place(s, x, n)}, {1}, {0}};
        return t;
    }
    double base = floor(x);
    t.count = s->mode == LINEAR ? 2 : 4;
    for (int k = 0; k < t.count; k++) {
        double at = base + (s->mode == LINEAR ? k : k - 1);
        t.index[k] = place(s, at, n);
        t.weight[k] = s->mode == LINEAR ? 1 - fabs(x - at) : cubic(x - at);
        t.slope[k] = step * (s->mode == LINEAR ? (k ? 1 : -1) : cubic_slope(x - at));
    }
    return t;
}

static int combinations(const struct grid_sample *s, const struct taps *taps) {
    int total = 1;
    for (int a = 0; a < s->axes; a++) total *= taps[a].count;
    return total;
}

/* Combination c of taps: its place in the plane (-1: zero) and its weight, by the slope along axis `sloped` if that is
 * not -1. */
static int64_t combination(const struct grid_sample *s, const struct taps *taps, int c, int sloped, double *weight) {
    int64_t at = 0;
    bool inside = true;
    *weight = 1;
    for (int a = 0; a < s->axes; c /= taps[a].count, a++) {
        int k = c % taps[a].count;
        inside &= taps[a].index[k] >= 0;
        at = at * s->in[a] + taps[a].index[k];
        *weight *= a == sloped ? taps[a].slope[k] : taps[a].weight[k];
    }
    return inside ? at : -1;
}

/* The weighted sum over all combinations of taps, for the plane that begins at `plane`. */
static double weigh(const struct grid_sample *s, const struct taps *taps, const void *x, int64_t plane, int sloped) {
    double sum = 0, weight;
    for (int c = 0; c < combinations(s, taps); c++) {
        int64_t at = combination(s, taps, c, sloped, &weight);
        if (at >= 0 && weight != 0) sum += weight * plim__scalar_get(s->dtype, x, plane + at);
    }
    return sum;
}

/* The taps of point p (of all samples); the grid names the fastest axis first. */
static void point_taps(const struct grid_sample *s, const void *grid, int64_t p, struct taps *taps) {
    for (int a = 0; a < s->axes; a++)
        taps[a] = axis_taps(s, plim__scalar_get(s->grid_type, grid, p * s->axes + s->axes - 1 - a), s->in[a]);
}

static plim_status run_grid_sample(const plim__call *call) {
    const struct grid_sample *s = call->state;
    int threads = plim__copy_threads(s->batch * s->points * s->channels, s->threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t p = 0; p < s->batch * s->points; p++) {
        struct taps taps[3];
        point_taps(s, call->in[1], p, taps);
        for (int64_t c = 0; c < s->channels; c++) {
            int64_t plane = p / s->points * s->channels + c;
            plim__scalar_set(s->dtype, call->out[0], plane * s->points + p % s->points,
                             weigh(s, taps, call->in[0], plane * s->in_points, -1));
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

/* Node inputs first and first + 1 are x and the grid; y has this shape. */
static plim_status read_sample(plim__lower *l, size_t first, const plim__shape *y, struct grid_sample **state) {
    const plim__shape *x = plim__lower_input_shape(l, first);
    struct grid_sample s = {.dtype = plim__lower_input_dtype(l, first),
                            .grid_type = plim__lower_input_dtype(l, first + 1),
                            .axes = x->rank - 2,
                            .threads = plim__lower_threads(l),
                            .batch = x->dims[0],
                            .channels = x->dims[1],
                            .points = plim__shape_product(y, 2, y->rank),
                            .in_points = plim__shape_product(x, 2, x->rank)};
    if (!plim__scalar_known(s.dtype) || !plim__scalar_known(s.grid_type))
        return plim__lower_unsupported(l, "with this element type");
    memcpy(s.in, x->dims + 2, (size_t)s.axes * sizeof *s.in);
    PLIM_TRY(sample_modes(l, &s));
    for (size_t i = 0; i < first + 2; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    if (first > 0) PLIM_TRY(plim__lower_output(l, 1, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof **state, state));
    **state = s;
    return PLIM_OK;
}

plim_status plim__lower_grid_sample(plim__lower *l) {
    struct grid_sample *s = NULL;
    PLIM_TRY(read_sample(l, 0, plim__lower_output_shape(l, 0), &s));
    return plim__lower_emit(l, "GridSample", run_grid_sample, s, plim__free);
}

/* --- backward: (dy, x, grid) → dx, dgrid ---------------------------------------------------------------------- */

/* A thread owns a plane, so that no two add to the same element. */
static void image_gradient(const struct grid_sample *s, const plim__call *call, int64_t plane) {
    for (int64_t i = 0; i < s->in_points; i++) plim__scalar_set(s->dtype, call->out[0], plane * s->in_points + i, 0);
    for (int64_t p = 0; p < s->points; p++) {
        struct taps taps[3];
        double weight, dy = plim__scalar_get(s->dtype, call->in[0], plane * s->points + p);
        point_taps(s, call->in[2], plane / s->channels * s->points + p, taps);
        for (int c = 0; c < combinations(s, taps); c++) {
            int64_t at = combination(s, taps, c, -1, &weight);
            if (at < 0) continue;
            at += plane * s->in_points;
            plim__scalar_set(s->dtype, call->out[0], at, plim__scalar_get(s->dtype, call->out[0], at) + dy * weight);
        }
    }
}

static void grid_gradient(const struct grid_sample *s, const plim__call *call, int64_t p) {
    struct taps taps[3];
    point_taps(s, call->in[2], p, taps);
    for (int a = 0; a < s->axes; a++) {
        double sum = 0;
        for (int64_t c = 0; c < s->channels; c++) {
            int64_t plane = p / s->points * s->channels + c;
            sum += plim__scalar_get(s->dtype, call->in[0], plane * s->points + p % s->points) *
                   weigh(s, taps, call->in[1], plane * s->in_points, a);
        }
        plim__scalar_set(s->grid_type, call->out[1], p * s->axes + s->axes - 1 - a, sum);
    }
}

static plim_status run_grid_sample_grad(const plim__call *call) {
    const struct grid_sample *s = call->state;
    int threads = plim__copy_threads(s->batch * s->points * s->channels, s->threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t plane = 0; plane < s->batch * s->channels; plane++) image_gradient(s, call, plane);
    if (!call->out[1]) return PLIM_OK;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t p = 0; p < s->batch * s->points; p++) grid_gradient(s, call, p);
    return PLIM_OK;
}

plim_status plim__lower_grid_sample_grad(plim__lower *l) {
    struct grid_sample *s = NULL;
    PLIM_TRY(read_sample(l, 1, plim__lower_input_shape(l, 0), &s));
    return plim__lower_emit(l, "GridSampleGrad", run_grid_sample_grad, s, plim__free);
}
