/* Sliding windows: reading the attributes, computing sizes and padding. */
#include "ops/window.h"

#include <string.h>

static bool read_list(const plim__node *node, const char *name, int count, int64_t missing, int64_t *values) {
    size_t given;
    const int64_t *list = plim__node_ints(node, name, &given);
    if (list && given != (size_t)count) return false;
    for (int i = 0; i < count; i++) values[i] = list ? list[i] : missing;
    return true;
}

static plim_status read_common(const plim__node *node, const plim__shape *x, const int64_t *kernel, plim__window *w,
                               const char **why) {
    *w = (plim__window){.axes = x->rank - 2};
    int64_t pads[2 * PLIM__MAX_SPATIAL] = {0};
    *why = "the input needs a batch axis, a channel axis and spatial axes";
    if (x->rank < 3) return PLIM_SHAPE;
    *why = "kernel_shape, strides, dilations and pads must fit the spatial axes";
    if (!read_list(node, "kernel_shape", w->axes, 1, w->kernel) || !read_list(node, "strides", w->axes, 1, w->stride) ||
        !read_list(node, "dilations", w->axes, 1, w->dilation) || !read_list(node, "pads", 2 * w->axes, 0, pads))
        return PLIM_SHAPE;
    *why = "kernel, strides and dilations must be positive and of reasonable size";
    for (int i = 0; i < w->axes; i++) {
        if (kernel) w->kernel[i] = kernel[i];
        w->in[i] = x->dims[i + 2];
        w->before[i] = pads[i];
        w->after[i] = pads[w->axes + i];
        if (w->kernel[i] == 1) w->dilation[i] = 1; /* whatever a file says: there is nothing to spread */
        if (w->kernel[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1 || w->before[i] < 0 || w->after[i] < 0)
            return PLIM_SHAPE;
        int64_t limit = INT32_MAX; /* far beyond any real window; keeps the arithmetic below from overflowing */
        if (w->kernel[i] > limit || w->stride[i] > limit || w->dilation[i] > limit || w->before[i] > limit ||
            w->after[i] > limit || w->in[i] > (int64_t)1 << 40)
            return PLIM_SHAPE;
    }
    return PLIM_OK;
}

static int64_t extent(const plim__window *w, int i) { return (w->kernel[i] - 1) * w->dilation[i] + 1; }

/* SAME pads so that out = ceil(in / stride); the cell that is left over goes to the end (UPPER) or the start (LOWER). */
static void pad_same(plim__window *w, bool upper) {
    for (int i = 0; i < w->axes; i++) {
        int64_t out = (w->in[i] + w->stride[i] - 1) / w->stride[i],
                total = (out - 1) * w->stride[i] + extent(w, i) - w->in[i];
        if (total < 0) total = 0;
        w->before[i] = upper ? total / 2 : total - total / 2;
        w->after[i] = total - w->before[i];
    }
}

plim_status plim__window_read(const plim__node *node, const plim__shape *x, const int64_t *kernel, plim__window *w,
                              const char **why) {
    const char *ignored;
    if (!why) why = &ignored;
    PLIM_TRY(read_common(node, x, kernel, w, why));
    const char *mode = plim__node_string(node, "auto_pad", "NOTSET");
    if (strcmp(mode, "SAME_UPPER") == 0 || strcmp(mode, "SAME_LOWER") == 0)
        pad_same(w, strcmp(mode, "SAME_UPPER") == 0);
    if (strcmp(mode, "VALID") == 0)
        for (int i = 0; i < w->axes; i++) w->before[i] = w->after[i] = 0;
    bool up = plim__node_int(node, "ceil_mode", 0) != 0;
    *why = "the window is larger than the padded input";
    for (int i = 0; i < w->axes; i++) {
        int64_t room = w->in[i] + w->before[i] + w->after[i] - extent(w, i);
        if (room < 0) return PLIM_SHAPE;
        w->out[i] = (room + (up ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
        /* a window that would start in the padding at the end sees nothing */
        if (up && (w->out[i] - 1) * w->stride[i] >= w->in[i] + w->before[i]) w->out[i]--;
    }
    return PLIM_OK;
}

plim_status plim__window_read_transposed(const plim__node *node, const plim__shape *x, const int64_t *kernel,
                                         plim__window *w, const char **why) {
    const char *ignored;
    if (!why) why = &ignored;
    PLIM_TRY(read_common(node, x, kernel, w, why));
    int64_t extra[PLIM__MAX_SPATIAL] = {0}, shape[PLIM_MAX_RANK];
    size_t given;
    const int64_t *wanted = plim__node_ints(node, "output_shape", &given);
    *why = "output_padding or output_shape does not fit the spatial axes";
    if (!read_list(node, "output_padding", w->axes, 0, extra)) return PLIM_SHAPE;
    if (wanted && given != (size_t)w->axes && given != (size_t)w->axes + 2) return PLIM_SHAPE;
    if (wanted) memcpy(shape, wanted + (given - (size_t)w->axes), (size_t)w->axes * sizeof *shape);
    const char *mode = plim__node_string(node, "auto_pad", "NOTSET");
    bool same = strncmp(mode, "SAME", 4) == 0, upper = strcmp(mode, "SAME_UPPER") == 0;
    for (int i = 0; i < w->axes; i++) {
        int64_t full = (w->in[i] - 1) * w->stride[i] + extent(w, i) + extra[i];
        if (strcmp(mode, "VALID") == 0) w->before[i] = w->after[i] = 0;
        if (wanted || same) {
            w->out[i] = wanted ? shape[i] : w->in[i] * w->stride[i];
            int64_t total = full - w->out[i];
            if (total < 0) total = 0;
            w->before[i] = upper ? total / 2 : total - total / 2;
            w->after[i] = total - w->before[i];
        } else {
            w->out[i] = full - w->before[i] - w->after[i];
        }
        if (extra[i] < 0 || w->out[i] < 1) return PLIM_SHAPE;
    }
    return PLIM_OK;
}
