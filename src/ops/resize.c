/* Resize and Upsample: output sizes, and where each output index lies in the input. */
#include <math.h>
#include <string.h>

#include "ops/movement.h"

static plim_status choose(plim__infer *ctx, const char *attribute, const char *missing, const char *const *names,
                          int count, int *chosen) {
    const char *given = plim__node_string(ctx->node, attribute, missing);
    for (int i = 0; i < count; i++)
        if (strcmp(given, names[i]) == 0) {
            *chosen = i;
            return PLIM_OK;
        }
    return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator %s with %s '%s'", ctx->node->op_name,
                            attribute, given);
}

static plim_status read_modes(plim__infer *ctx, plim__resize *r) {
    static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear"};
    static const char *const coordinates[] = {"half_pixel",           "half_pixel_symmetric", "pytorch_half_pixel",
                                              "tf_half_pixel_for_nn", "align_corners",        "asymmetric",
                                              "tf_crop_and_resize"};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    bool old = ctx->node->version < 11;
    int mode = 0, where = 0, rounding = 0;
    PLIM_TRY(choose(ctx, "mode", "nearest", modes, 4, &mode));
    PLIM_TRY(choose(ctx, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel", coordinates, 7, &where));
    PLIM_TRY(choose(ctx, "nearest_mode", old ? "floor" : "round_prefer_floor", roundings, 4, &rounding));
    r->mode = mode == 3 ? PLIM__RESIZE_LINEAR : (plim__resize_mode)mode;
    r->coordinates = (plim__resize_coordinates)where;
    r->rounding = (plim__resize_rounding)rounding;
    r->antialias = plim__node_int(ctx->node, "antialias", 0) != 0;
    r->exclude_outside = plim__node_int(ctx->node, "exclude_outside", 0) != 0;
    r->cubic_a = plim__node_float(ctx->node, "cubic_coeff_a", -0.75f);
    r->extrapolation = plim__node_float(ctx->node, "extrapolation_value", 0);
    return PLIM_OK;
}

/* A list of numbers from input i; count 0 when it is absent or empty. Float initializers are parameters, but
 * no model trains a scale. */
static plim_status read_numbers(plim__infer *ctx, size_t i, double *values, size_t most, size_t *count) {
    *count = 0;
    if (!plim__infer_has(ctx, i) || plim__shape_elements(plim__infer_shape(ctx, i)) == 0) return PLIM_OK;
    plim__tensor *tensor = plim__graph_tensor(ctx->graph, plim__node_in(ctx->node, i));
    if (!tensor)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator %s whose input %zu depends on data",
                                ctx->node->op_name, i);
    int64_t elements = plim__shape_elements(&tensor->shape);
    if (elements < 0 || elements > (int64_t)most)
        return plim__infer_fail(ctx, PLIM_SHAPE, "input %zu has %lld elements, at most %zu fit", i, (long long)elements,
                                most);
    PLIM_TRY(plim__tensor_load(tensor, ctx->error));
    for (int64_t k = 0; k < elements; k++) values[k] = plim__tensor_at(tensor, k);
    *count = (size_t)elements;
    return PLIM_OK;
}

/* Upsample's attributes: a list, or (opset 1) height and width. */
static size_t attribute_scales(const plim__node *node, int rank, double scales[PLIM_MAX_RANK]) {
    size_t count;
    const float *list = plim__node_floats(node, "scales", &count);
    if (list) {
        for (size_t i = 0; i < count && i < PLIM_MAX_RANK; i++) scales[i] = list[i];
        return count;
    }
    if (!plim__node_attribute(node, "height_scale") || rank != 4) return 0;
    scales[0] = scales[1] = 1;
    scales[2] = plim__node_float(node, "height_scale", 1);
    scales[3] = plim__node_float(node, "width_scale", 1);
    return 4;
}

static plim_status apply_scales(plim__infer *ctx, plim__resize *r, const double *scales, const int *axes, int count) {
    for (int k = 0; k < count; k++) {
        int axis = axes[k];
        double size = floor((double)r->out.dims[axis] * scales[k]);
        if (!(scales[k] > 0) || !(size < 9e18))
            return plim__infer_fail(ctx, PLIM_SHAPE, "axis %d cannot be scaled by %g", axis, scales[k]);
        r->scale[axis] = scales[k];
        r->out.dims[axis] = (int64_t)size;
    }
    return PLIM_OK;
}

static plim_status apply_sizes(plim__infer *ctx, plim__resize *r, const int64_t *sizes, const int *axes, int count) {
    const char *policy = plim__node_string(ctx->node, "keep_aspect_ratio_policy", "stretch");
    bool larger = strcmp(policy, "not_smaller") == 0, keep = larger || strcmp(policy, "not_larger") == 0;
    double common = larger ? 0 : HUGE_VAL;
    for (int k = 0; k < count; k++) {
        int64_t in = r->out.dims[axes[k]];
        if (sizes[k] < 0 || (in == 0 && sizes[k] > 0))
            return plim__infer_fail(ctx, PLIM_SHAPE, "axis %d of %lld elements cannot become %lld", axes[k],
                                    (long long)in, (long long)sizes[k]);
        r->scale[axes[k]] = in ? (double)sizes[k] / (double)in : 1;
        common = larger ? fmax(common, r->scale[axes[k]]) : fmin(common, r->scale[axes[k]]);
    }
    for (int k = 0; k < count; k++) {
        int64_t *dim = &r->out.dims[axes[k]];
        if (keep && !(common * (double)*dim < 9e18))
            return plim__infer_fail(ctx, PLIM_OVERFLOW, "axis %d becomes too long", axes[k]);
        if (keep) {
            r->scale[axes[k]] = common;
            *dim = (int64_t)floor(common * (double)*dim + 0.5);
        } else {
            *dim = sizes[k];
        }
    }
    return PLIM_OK;
}

static plim_status apply_roi(plim__infer *ctx, plim__resize *r, const int *axes, int count) {
    double roi[2 * PLIM_MAX_RANK];
    size_t length;
    for (int i = 0; i < PLIM_MAX_RANK; i++) r->roi_start[i] = 0, r->roi_end[i] = 1;
    if (r->coordinates != PLIM__TF_CROP_AND_RESIZE) return PLIM_OK;
    PLIM_TRY(read_numbers(ctx, 1, roi, 2 * PLIM_MAX_RANK, &length));
    if (length != 2 * (size_t)count)
        return plim__infer_fail(ctx, PLIM_SHAPE, "%zu numbers of interest for %d axes", length, count);
    for (int k = 0; k < count; k++) {
        r->roi_start[axes[k]] = roi[k];
        r->roi_end[axes[k]] = roi[count + k];
    }
    return PLIM_OK;
}

plim_status plim__resize_read(plim__infer *ctx, plim__resize *r) {
    const plim__shape *in = plim__infer_shape(ctx, 0);
    double scales[PLIM_MAX_RANK];
    int64_t sizes[PLIM_MAX_RANK];
    size_t scale_count, size_count = 0;
    int axes[PLIM_MAX_RANK], count = 0;
    memset(r, 0, sizeof *r);
    r->out = *in;
    for (int i = 0; i < PLIM_MAX_RANK; i++) r->scale[i] = 1;
    PLIM_TRY(read_modes(ctx, r));
    PLIM_TRY(plim__infer_axes(ctx, "axes", PLIM__MANY, in->rank, axes, &count));
    if (count == 0)
        for (; count < in->rank; count++) axes[count] = count;
    scale_count = attribute_scales(ctx->node, in->rank, scales);
    if (scale_count == 0)
        PLIM_TRY(read_numbers(ctx, ctx->node->version < 11 ? 1 : 2, scales, PLIM_MAX_RANK, &scale_count));
    if (scale_count == 0 && plim__infer_has(ctx, 3))
        PLIM_TRY(plim__infer_ints(ctx, 3, sizes, PLIM_MAX_RANK, &size_count));
    if (scale_count + size_count != (size_t)count)
        return plim__infer_fail(ctx, PLIM_SHAPE, "%zu scales or sizes for %d axes", scale_count + size_count, count);
    PLIM_TRY(apply_roi(ctx, r, axes, count));
    return scale_count ? apply_scales(ctx, r, scales, axes, count) : apply_sizes(ctx, r, sizes, axes, count);
}

plim_status plim__infer_resize(plim__infer *ctx) {
    plim__resize r;
    PLIM_TRY(plim__resize_read(ctx, &r));
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &r.out);
}

double plim__resize_coordinate(const plim__resize *r, int axis, int64_t in, int64_t x) {
    double scale = r->scale[axis], length = (double)in, width = scale * length, at = (double)x;
    int64_t out = r->out.dims[axis];
    switch (r->coordinates) {
    case PLIM__HALF_PIXEL: return (at + 0.5) / scale - 0.5;
    case PLIM__HALF_PIXEL_SYMMETRIC: {
        double adjustment = (double)out / width, center = length / 2;
        return center * (1 - adjustment) + (at + 0.5) / scale - 0.5;
    }
    case PLIM__PYTORCH_HALF_PIXEL: return width == 1 || out == 1 ? 0 : (at + 0.5) / scale - 0.5;
    case PLIM__TF_HALF_PIXEL_FOR_NN: return (at + 0.5) / scale;
    case PLIM__ALIGN_CORNERS: return width == 1 || out == 1 ? 0 : at * (length - 1) / (width - 1);
    case PLIM__ASYMMETRIC: return at / scale;
    case PLIM__TF_CROP_AND_RESIZE: {
        double start = r->roi_start[axis], end = r->roi_end[axis];
        return out > 1 ? start * (length - 1) + at * (end - start) * (length - 1) / (double)(out - 1)
                       : 0.5 * (start + end) * (length - 1);
    }
    }
    return 0;
}

int64_t plim__resize_nearest(const plim__resize *r, int axis, int64_t in, int64_t x) {
    double at = plim__resize_coordinate(r, axis, in, x), rounded = 0;
    if (r->coordinates == PLIM__TF_CROP_AND_RESIZE && !(at >= 0 && at <= (double)(in - 1))) return -1;
    switch (r->rounding) {
    case PLIM__ROUND_PREFER_FLOOR: rounded = ceil(at - 0.5); break;
    case PLIM__ROUND_PREFER_CEIL: rounded = floor(at + 0.5); break;
    case PLIM__FLOOR: rounded = floor(at); break;
    case PLIM__CEIL: rounded = ceil(at); break;
    }
    return rounded > 0 ? rounded < (double)in ? (int64_t)rounded : in - 1 : 0;
}
