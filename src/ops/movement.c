/* Shapes of operators that see the same memory in another shape: reshapes, transposes, slices, splits. */
#include "ops/movement.h"

#include <string.h>

plim_status plim__axis_read(plim__infer *ctx, const char *name, int64_t missing, int rank, int *axis) {
    int64_t given = plim__node_int(ctx->node, name, missing);
    if (!plim__axis_normalize(given, rank, axis))
        return plim__infer_fail(ctx, PLIM_SHAPE, "axis %lld is out of range for rank %d", (long long)given, rank);
    return PLIM_OK;
}

/* A list that older opsets give as an attribute and newer ones as input i. */
static plim_status read_list(plim__infer *ctx, const char *name, size_t i, int64_t *values, size_t most,
                             size_t *count) {
    const int64_t *attribute = plim__node_ints(ctx->node, name, count);
    if (!attribute) {
        *count = 0;
        return plim__infer_has(ctx, i) ? plim__infer_ints(ctx, i, values, most, count) : PLIM_OK;
    }
    if (*count > most)
        return plim__infer_fail(ctx, PLIM_SHAPE, "%zu values in '%s', at most %zu fit", *count, name, most);
    memcpy(values, attribute, *count * sizeof *values);
    return PLIM_OK;
}

/* --- Reshape, Flatten, Squeeze, Unsqueeze --------------------------------------------------------------------- */

/* Replaces 0 (keep) and -1 (whatever is left) in `to`. */
static plim_status resolve_reshape(plim__infer *ctx, const plim__shape *from, plim__shape *to, bool keep_zeros) {
    int64_t elements = plim__shape_elements(from), known = 1;
    int open = -1;
    char text[PLIM_SHAPE_TEXT];
    for (int i = 0; i < to->rank; i++) {
        if (to->dims[i] == 0 && !keep_zeros) {
            if (i >= from->rank)
                return plim__infer_fail(ctx, PLIM_SHAPE, "dimension %d is copied, but the input has none", i);
            to->dims[i] = from->dims[i];
        }
        if (to->dims[i] == -1) {
            if (open >= 0) return plim__infer_fail(ctx, PLIM_SHAPE, "more than one dimension is -1");
            open = i;
        } else if (to->dims[i] < 0 || __builtin_mul_overflow(known, to->dims[i], &known)) {
            return plim__infer_fail(ctx, PLIM_SHAPE, "dimension %d cannot be %lld", i, (long long)to->dims[i]);
        }
    }
    if (open >= 0 && known > 0 && elements % known == 0) {
        to->dims[open] = elements / known;
        known = elements;
    }
    if (known != elements || (open >= 0 && to->dims[open] < 0))
        return plim__infer_fail(ctx, PLIM_SHAPE, "%lld elements of %s do not fill the new shape", (long long)elements,
                                plim__shape_text(from, NULL, text));
    return PLIM_OK;
}

plim_status plim__infer_reshape(plim__infer *ctx) {
    int64_t dims[PLIM_MAX_RANK];
    size_t count;
    PLIM_TRY(read_list(ctx, "shape", 1, dims, PLIM_MAX_RANK, &count));
    plim__shape shape = plim__shape_of((int)count, dims);
    PLIM_TRY(resolve_reshape(ctx, plim__infer_shape(ctx, 0), &shape, plim__node_int(ctx->node, "allowzero", 0) != 0));
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

plim_status plim__infer_flatten(plim__infer *ctx) {
    const plim__shape *in = plim__infer_shape(ctx, 0);
    int64_t axis = plim__node_int(ctx->node, "axis", 1);
    if (axis < 0) axis += in->rank;
    if (axis < 0 || axis > in->rank)
        return plim__infer_fail(ctx, PLIM_SHAPE, "axis %lld is out of range for rank %d",
                                (long long)plim__node_int(ctx->node, "axis", 1), in->rank);
    plim__shape shape = {.rank = 2};
    shape.dims[0] = plim__shape_product(in, 0, (int)axis);
    shape.dims[1] = plim__shape_product(in, (int)axis, in->rank);
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

plim_status plim__infer_squeeze(plim__infer *ctx) {
    const plim__shape *in = plim__infer_shape(ctx, 0);
    int axes[PLIM_MAX_RANK], count;
    PLIM_TRY(plim__infer_axes(ctx, "axes", 1, in->rank, axes, &count));
    bool all = !plim__node_attribute(ctx->node, "axes") && !plim__infer_has(ctx, 1);
    plim__shape shape = {.rank = 0};
    for (int i = 0; i < in->rank; i++) {
        bool named = false;
        for (int k = 0; k < count; k++) named |= axes[k] == i;
        if (named && in->dims[i] != 1)
            return plim__infer_fail(ctx, PLIM_SHAPE, "axis %d has %lld elements, only 1 can be squeezed", i,
                                    (long long)in->dims[i]);
        if (!named && !(all && in->dims[i] == 1)) shape.dims[shape.rank++] = in->dims[i];
    }
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

plim_status plim__infer_unsqueeze(plim__infer *ctx) {
    const plim__shape *in = plim__infer_shape(ctx, 0);
    size_t given = 0;
    if (!plim__node_ints(ctx->node, "axes", &given) && plim__infer_has(ctx, 1)) {
        int64_t elements = plim__shape_elements(plim__infer_shape(ctx, 1));
        given = elements < 0 ? 0 : (size_t)elements;
    }
    if (given > (size_t)(PLIM_MAX_RANK - in->rank))
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator Unsqueeze to more than %d axes",
                                PLIM_MAX_RANK);
    plim__shape shape = {.rank = in->rank + (int)given};
    int axes[PLIM_MAX_RANK], count;
    PLIM_TRY(plim__infer_axes(ctx, "axes", 1, shape.rank, axes, &count));
    for (int k = 0; k < count; k++) shape.dims[axes[k]] = -1;
    for (int i = 0, next = 0; i < shape.rank; i++) shape.dims[i] = shape.dims[i] == -1 ? 1 : in->dims[next++];
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

/* --- Transpose, Slice, Split, Expand -------------------------------------------------------------------------- */

plim_status plim__transpose_read(plim__infer *ctx, int order[PLIM_MAX_RANK]) {
    int rank = plim__infer_shape(ctx, 0)->rank;
    size_t count;
    const int64_t *perm = plim__node_ints(ctx->node, "perm", &count);
    if (perm && count != (size_t)rank)
        return plim__infer_fail(ctx, PLIM_SHAPE, "perm has %zu axes, the input %d", count, rank);
    unsigned seen = 0;
    for (int i = 0; i < rank; i++) {
        int64_t axis = perm ? perm[i] : rank - 1 - i;
        if (!plim__axis_normalize(axis, rank, &order[i]) || seen >> order[i] & 1)
            return plim__infer_fail(ctx, PLIM_SHAPE, "perm is not a permutation of 0..%d", rank - 1);
        seen |= 1u << order[i];
    }
    return PLIM_OK;
}

plim_status plim__infer_transpose(plim__infer *ctx) {
    int order[PLIM_MAX_RANK];
    PLIM_TRY(plim__transpose_read(ctx, order));
    const plim__shape *in = plim__infer_shape(ctx, 0);
    plim__shape shape = {.rank = in->rank};
    for (int i = 0; i < in->rank; i++) shape.dims[i] = in->dims[order[i]];
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

static void slice_axis(plim__slice *slice, int axis, int64_t dim, int64_t start, int64_t end, int64_t step) {
    if (start < 0) start += dim;
    if (end < 0) end += dim;
    step = clamp(step, -dim - 1, dim + 1); /* larger ones pick one element just as well */
    int64_t size;
    if (step > 0) {
        start = clamp(start, 0, dim);
        end = clamp(end, 0, dim);
        size = end > start ? (end - start + step - 1) / step : 0;
    } else {
        start = clamp(start, 0, dim - 1);
        end = clamp(end, -1, dim - 1);
        size = start > end ? (start - end - step - 1) / -step : 0;
    }
    if (dim == 0 || size == 0) start = size = 0;
    slice->start[axis] = start;
    slice->step[axis] = size <= 1 ? 1 : step;
    slice->size[axis] = size;
}

plim_status plim__slice_read(plim__infer *ctx, plim__slice *slice) {
    const plim__shape *in = plim__infer_shape(ctx, 0);
    int64_t starts[PLIM_MAX_RANK], ends[PLIM_MAX_RANK], steps[PLIM_MAX_RANK];
    int axes[PLIM_MAX_RANK], axis_count;
    size_t count, end_count, step_count;
    PLIM_TRY(read_list(ctx, "starts", 1, starts, PLIM_MAX_RANK, &count));
    PLIM_TRY(read_list(ctx, "ends", 2, ends, PLIM_MAX_RANK, &end_count));
    PLIM_TRY(plim__infer_axes(ctx, "axes", 3, in->rank, axes, &axis_count));
    PLIM_TRY(read_list(ctx, "steps", 4, steps, PLIM_MAX_RANK, &step_count));
    if (axis_count == 0)
        for (; axis_count < (int)count && axis_count < in->rank; axis_count++) axes[axis_count] = axis_count;
    if (end_count != count || axis_count != (int)count || (step_count && step_count != count))
        return plim__infer_fail(ctx, PLIM_SHAPE, "%zu starts, %zu ends, %d axes and %zu steps do not fit together",
                                count, end_count, axis_count, step_count);
    for (int i = 0; i < in->rank; i++) {
        if (in->dims[i] > INT64_MAX / 4) return plim__infer_fail(ctx, PLIM_OVERFLOW, "axis %d is too long", i);
        slice->start[i] = 0;
        slice->step[i] = 1;
        slice->size[i] = in->dims[i];
    }
    for (size_t k = 0; k < count; k++) {
        int64_t step = step_count ? steps[k] : 1;
        if (step == 0) return plim__infer_fail(ctx, PLIM_INVALID, "the step along axis %d is 0", axes[k]);
        slice_axis(slice, axes[k], in->dims[axes[k]], starts[k], ends[k], step);
    }
    return PLIM_OK;
}

plim_status plim__infer_slice(plim__infer *ctx) {
    plim__slice slice;
    PLIM_TRY(plim__slice_read(ctx, &slice));
    plim__shape shape = plim__shape_of(plim__infer_shape(ctx, 0)->rank, slice.size);
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

/* Equal parts; the last one is smaller when opset 18's num_outputs does not divide. */
static plim_status equal_parts(plim__infer *ctx, int64_t dim, int64_t *sizes) {
    int64_t parts = (int64_t)ctx->node->outputs.count, asked = plim__node_int(ctx->node, "num_outputs", parts);
    if (asked != parts)
        return plim__infer_fail(ctx, PLIM_SHAPE, "num_outputs is %lld, but there are %lld outputs", (long long)asked,
                                (long long)parts);
    int64_t size = dim / parts + (dim % parts != 0), left = dim;
    if (dim % parts != 0 && ctx->node->version < 18)
        return plim__infer_fail(ctx, PLIM_SHAPE, "%lld elements do not split into %lld equal parts", (long long)dim,
                                (long long)parts);
    for (int64_t i = 0; i < parts; i++) {
        sizes[i] = left < size ? left : size;
        left -= sizes[i];
    }
    return PLIM_OK;
}

plim_status plim__split_read(plim__infer *ctx, int *axis, int64_t *sizes) {
    const plim__shape *in = plim__infer_shape(ctx, 0);
    PLIM_TRY(plim__axis_read(ctx, "axis", 0, in->rank, axis));
    size_t outputs = ctx->node->outputs.count, count;
    PLIM_TRY(read_list(ctx, "split", 1, sizes, outputs, &count));
    if (count == 0) return equal_parts(ctx, in->dims[*axis], sizes);
    int64_t left = in->dims[*axis];
    for (size_t i = 0; i < count; i++) {
        if (sizes[i] < 0 || sizes[i] > left)
            return plim__infer_fail(ctx, PLIM_SHAPE, "part %zu does not fit into the axis", i);
        left -= sizes[i];
    }
    if (count != outputs || left != 0)
        return plim__infer_fail(ctx, PLIM_SHAPE, "%zu parts for %zu outputs leave %lld of %lld elements", count,
                                outputs, (long long)left, (long long)in->dims[*axis]);
    return PLIM_OK;
}

plim_status plim__infer_split(plim__infer *ctx) {
    size_t outputs = ctx->node->outputs.count;
    int64_t *sizes = plim__alloc_array(outputs, sizeof *sizes);
    if (!sizes) return plim__fail_memory(ctx->error, "the sizes of a Split", outputs * sizeof *sizes);
    int axis;
    plim_status status = plim__split_read(ctx, &axis, sizes);
    plim__shape shape = *plim__infer_shape(ctx, 0);
    for (size_t i = 0; status == PLIM_OK && i < outputs; i++) {
        shape.dims[axis] = sizes[i];
        status = plim__infer_output(ctx, i, plim__infer_dtype(ctx, 0), &shape);
    }
    plim__free(sizes);
    return status;
}

plim_status plim__infer_expand(plim__infer *ctx) {
    int64_t dims[PLIM_MAX_RANK];
    size_t count;
    PLIM_TRY(plim__infer_ints(ctx, 1, dims, PLIM_MAX_RANK, &count));
    plim__shape wanted = plim__shape_of((int)count, dims), shape;
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    if (!plim__shape_is_concrete(&wanted) || !plim__shape_broadcast(plim__infer_shape(ctx, 0), &wanted, &shape))
        return plim__infer_fail(ctx, PLIM_SHAPE, "%s does not expand to %s",
                                plim__shape_text(plim__infer_shape(ctx, 0), NULL, a),
                                plim__shape_text(&wanted, NULL, b));
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}
