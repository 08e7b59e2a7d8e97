/* Col2Im: columns of windows added back into an image, [N, C · block, L] → [N, C, image..], and its gradient. */
#include <string.h>

#include "core/scalar.h"
#include "kernel/copies.h"
#include "kernel/lowers.h"
#include "ops/movement.h"

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

/* Backward: every element of a column is that of its place again, 0 for padding. */
static plim_status run_col2im_grad(const plim__call *call) {
    const struct col2im *s = call->state;
    int threads = plim__copy_threads(s->planes * s->block_points * s->windows, s->threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t row = 0; row < s->planes * s->block_points; row++)
        for (int64_t w = 0; w < s->windows; w++) {
            int64_t at = image_place(s, row % s->block_points, w);
            double value =
                at < 0 ? 0 : plim__scalar_get(s->dtype, call->in[0], row / s->block_points * s->image_points + at);
            plim__scalar_set(s->dtype, call->out[0], row * s->windows + w, value);
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

/* image (N, C, image...) and columns (N, C · block, L). */
static plim_status lower_col2im(plim__lower *l, const char *label, const plim__shape *out, const plim__shape *columns,
                                plim__kernel run) {
    struct col2im state = {.dtype = plim__lower_input_dtype(l, 0),
                           .axes = out->rank - 2,
                           .threads = plim__lower_threads(l),
                           .planes = out->dims[0] * out->dims[1],
                           .block_points = 1,
                           .windows = columns->dims[2],
                           .image_points = plim__shape_product(out, 2, out->rank)};
    struct col2im *s;
    if (!plim__scalar_known(state.dtype)) return plim__lower_unsupported(l, "with this element type");
    memcpy(state.image, out->dims + 2, (size_t)state.axes * sizeof *state.image);
    PLIM_TRY(col2im_geometry(l, &state));
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = state;
    return plim__lower_emit(l, label, run, s, plim__free);
}

plim_status plim__lower_col2im(plim__lower *l) {
    return lower_col2im(l, "Col2Im", plim__lower_output_shape(l, 0), plim__lower_input_shape(l, 0), run_col2im);
}

plim_status plim__lower_col2im_grad(plim__lower *l) {
    return lower_col2im(l, "Col2ImGrad", plim__lower_input_shape(l, 0), plim__lower_output_shape(l, 0),
                        run_col2im_grad);
}
