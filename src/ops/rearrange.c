/* Shapes of operators that write their data to new places: concatenation, tiles, padding, blocks of space. */
#include <string.h>

#include "ops/movement.h"

plim_status plim__infer_concat(plim__infer *ctx) {
    plim__shape shape = *plim__infer_shape(ctx, 0);
    plim_dtype dtype = plim__infer_dtype(ctx, 0);
    int axis;
    PLIM_TRY(plim__axis_read(ctx, "axis", 1, shape.rank, &axis));
    for (size_t k = 1; k < ctx->node->inputs.count; k++) {
        if (!plim__infer_has(ctx, k)) return plim__infer_fail(ctx, PLIM_CORRUPT, "input %zu is missing", k);
        const plim__shape *next = plim__infer_shape(ctx, k);
        if (plim__infer_dtype(ctx, k) != dtype)
            return plim__infer_fail(ctx, PLIM_DTYPE, "inputs are %s and %s", plim_dtype_name(dtype),
                                    plim_dtype_name(plim__infer_dtype(ctx, k)));
        bool fits = next->rank == shape.rank;
        for (int i = 0; fits && i < shape.rank; i++) fits = i == axis || next->dims[i] == shape.dims[i];
        char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
        if (!fits || __builtin_add_overflow(shape.dims[axis], next->dims[axis], &shape.dims[axis]))
            return plim__infer_fail(ctx, PLIM_SHAPE, "%s and %s do not join along axis %d",
                                    plim__shape_text(&shape, NULL, a), plim__shape_text(next, NULL, b), axis);
    }
    return plim__infer_output(ctx, 0, dtype, &shape);
}

/* --- Tile ------------------------------------------------------------------------------------------------------------
 */

plim_status plim__tile_read(plim__infer *ctx, int64_t repeats[PLIM_MAX_RANK]) {
    const plim__shape *in = plim__infer_shape(ctx, 0);
    size_t count;
    for (int i = 0; i < in->rank; i++) repeats[i] = 1;
    if (ctx->node->version < 6) { /* one axis, given by two scalars */
        int64_t tiles, axis;
        int normal;
        PLIM_TRY(plim__infer_ints(ctx, 1, &tiles, 1, &count));
        PLIM_TRY(plim__infer_ints(ctx, 2, &axis, 1, &count));
        if (!plim__axis_normalize(axis, in->rank, &normal) || tiles < 0)
            return plim__infer_fail(ctx, PLIM_SHAPE, "cannot repeat axis %lld %lld times", (long long)axis,
                                    (long long)tiles);
        repeats[normal] = tiles;
        return PLIM_OK;
    }
    PLIM_TRY(plim__infer_ints(ctx, 1, repeats, PLIM_MAX_RANK, &count));
    if (count != (size_t)in->rank) return plim__infer_fail(ctx, PLIM_SHAPE, "%zu repeats for rank %d", count, in->rank);
    for (int i = 0; i < in->rank; i++)
        if (repeats[i] < 0)
            return plim__infer_fail(ctx, PLIM_SHAPE, "cannot repeat axis %d %lld times", i, (long long)repeats[i]);
    return PLIM_OK;
}

plim_status plim__infer_tile(plim__infer *ctx) {
    int64_t repeats[PLIM_MAX_RANK];
    PLIM_TRY(plim__tile_read(ctx, repeats));
    plim__shape shape = *plim__infer_shape(ctx, 0);
    for (int i = 0; i < shape.rank; i++)
        if (__builtin_mul_overflow(shape.dims[i], repeats[i], &shape.dims[i]))
            return plim__infer_fail(ctx, PLIM_OVERFLOW, "axis %d repeated %lld times is too long", i,
                                    (long long)repeats[i]);
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

/* --- Pad ------------------------------------------------------------------------------------------------------ */

static plim_status pad_mode(plim__infer *ctx, plim__pad_mode *mode) {
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    const char *given = plim__node_string(ctx->node, "mode", "constant");
    for (int i = 0; i < 4; i++)
        if (strcmp(given, names[i]) == 0) {
            *mode = (plim__pad_mode)i;
            return PLIM_OK;
        }
    return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator Pad with mode '%s'", given);
}

plim_status plim__pad_read(plim__infer *ctx, plim__pad *pad) {
    const plim__shape *in = plim__infer_shape(ctx, 0);
    int64_t given[2 * PLIM_MAX_RANK] = {0};
    int axes[PLIM_MAX_RANK], count = 0;
    size_t length = 0;
    *pad = (plim__pad){.value = plim__node_float(ctx->node, "value", 0), .value_is_input = plim__infer_has(ctx, 2)};
    PLIM_TRY(pad_mode(ctx, &pad->mode));
    const int64_t *attribute = plim__node_ints(ctx->node, ctx->node->version < 2 ? "paddings" : "pads", &length);
    if (attribute && length <= 2 * PLIM_MAX_RANK)
        memcpy(given, attribute, length * sizeof *given);
    else if (!attribute)
        PLIM_TRY(plim__infer_ints(ctx, 1, given, 2 * PLIM_MAX_RANK, &length));
    PLIM_TRY(plim__infer_axes(ctx, "axes", 3, in->rank, axes, &count));
    if (!plim__infer_has(ctx, 3))
        for (count = 0; count < in->rank; count++) axes[count] = count;
    if (length != 2 * (size_t)count) return plim__infer_fail(ctx, PLIM_SHAPE, "%zu pads for %d axes", length, count);
    for (int k = 0; k < count; k++) {
        pad->before[axes[k]] = given[k];
        pad->after[axes[k]] = given[count + k];
    }
    return PLIM_OK;
}

plim_status plim__infer_pad(plim__infer *ctx) {
    plim__pad pad;
    PLIM_TRY(plim__pad_read(ctx, &pad));
    plim__shape shape = *plim__infer_shape(ctx, 0);
    for (int i = 0; i < shape.rank; i++) {
        int64_t size = shape.dims[i];
        if (__builtin_add_overflow(size, pad.before[i], &size) || __builtin_add_overflow(size, pad.after[i], &size) ||
            size < 0)
            return plim__infer_fail(ctx, PLIM_SHAPE, "axis %d of %lld elements cannot be padded by %lld and %lld", i,
                                    (long long)shape.dims[i], (long long)pad.before[i], (long long)pad.after[i]);
        if (pad.before[i] < -shape.dims[i] || pad.after[i] < -shape.dims[i])
            return plim__infer_fail(ctx, PLIM_SHAPE, "axis %d has only %lld elements to cut off", i,
                                    (long long)shape.dims[i]);
        if (shape.dims[i] == 0 && size > 0 && pad.mode != PLIM__PAD_CONSTANT)
            return plim__infer_fail(ctx, PLIM_SHAPE, "axis %d is empty: there is nothing to pad it with", i);
        shape.dims[i] = size;
    }
    if (pad.value_is_input && plim__infer_dtype(ctx, 2) != plim__infer_dtype(ctx, 0))
        return plim__infer_fail(ctx, PLIM_DTYPE, "the value is %s, the data %s",
                                plim_dtype_name(plim__infer_dtype(ctx, 2)), plim_dtype_name(plim__infer_dtype(ctx, 0)));
    if (pad.value_is_input && plim__shape_elements(plim__infer_shape(ctx, 2)) != 1)
        return plim__infer_fail(ctx, PLIM_SHAPE, "the value is not one element");
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

/* --- blocks of space ------------------------------------------------------------------------------------------ */

static plim_status block_of_space(plim__infer *ctx, int64_t *block) {
    *block = plim__node_int(ctx->node, "blocksize", 0);
    if (*block < 1 || *block > INT32_MAX)
        return plim__infer_fail(ctx, PLIM_INVALID, "blocksize is %lld", (long long)*block);
    if (plim__infer_shape(ctx, 0)->rank != 4)
        return plim__infer_fail(ctx, PLIM_SHAPE, "the input has rank %d, expected 4", plim__infer_shape(ctx, 0)->rank);
    return PLIM_OK;
}

plim_status plim__infer_depth_to_space(plim__infer *ctx) {
    int64_t block;
    PLIM_TRY(block_of_space(ctx, &block));
    plim__shape shape = *plim__infer_shape(ctx, 0);
    if (shape.dims[1] % (block * block) != 0)
        return plim__infer_fail(ctx, PLIM_SHAPE, "%lld channels do not divide into blocks of %lld",
                                (long long)shape.dims[1], (long long)block);
    shape.dims[1] /= block * block;
    if (__builtin_mul_overflow(shape.dims[2], block, &shape.dims[2]) ||
        __builtin_mul_overflow(shape.dims[3], block, &shape.dims[3]))
        return plim__infer_fail(ctx, PLIM_OVERFLOW, "the output is too large");
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

plim_status plim__infer_space_to_depth(plim__infer *ctx) {
    int64_t block;
    PLIM_TRY(block_of_space(ctx, &block));
    plim__shape shape = *plim__infer_shape(ctx, 0);
    if (shape.dims[2] % block != 0 || shape.dims[3] % block != 0)
        return plim__infer_fail(ctx, PLIM_SHAPE, "%lld × %lld does not divide into blocks of %lld",
                                (long long)shape.dims[2], (long long)shape.dims[3], (long long)block);
    if (__builtin_mul_overflow(shape.dims[1], block * block, &shape.dims[1]))
        return plim__infer_fail(ctx, PLIM_OVERFLOW, "the output is too large");
    shape.dims[2] /= block;
    shape.dims[3] /= block;
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

plim_status plim__infer_center_crop_pad(plim__infer *ctx) {
    plim__shape shape = *plim__infer_shape(ctx, 0);
    int64_t wanted[PLIM_MAX_RANK];
    int axes[PLIM_MAX_RANK], count;
    size_t length;
    PLIM_TRY(plim__infer_ints(ctx, 1, wanted, PLIM_MAX_RANK, &length));
    PLIM_TRY(plim__infer_axes(ctx, "axes", PLIM__MANY, shape.rank, axes, &count));
    if (!plim__node_attribute(ctx->node, "axes"))
        for (count = 0; count < shape.rank; count++) axes[count] = count;
    if ((size_t)count != length) return plim__infer_fail(ctx, PLIM_SHAPE, "%zu sizes for %d axes", length, count);
    for (int k = 0; k < count; k++) shape.dims[axes[k]] = wanted[k];
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

/* --- windows and grids ---------------------------------------------------------------------------------------- */

/* input [N, C · block, L], image_shape, block_shape → [N, C, image...] */
plim_status plim__infer_col2im(plim__infer *ctx) {
    const plim__shape *in = plim__infer_shape(ctx, 0);
    int64_t image[PLIM_MAX_RANK], block[PLIM_MAX_RANK], area = 1;
    size_t count, block_count;
    PLIM_TRY(plim__infer_ints(ctx, 1, image, PLIM_MAX_RANK - 2, &count));
    PLIM_TRY(plim__infer_ints(ctx, 2, block, PLIM_MAX_RANK - 2, &block_count));
    if (in->rank != 3 || count != block_count || count < 1)
        return plim__infer_fail(ctx, PLIM_SHAPE, "rank %d, image of rank %zu, block of rank %zu do not fit together",
                                in->rank, count, block_count);
    for (size_t i = 0; i < count; i++)
        if (block[i] < 1 || image[i] < 0 || __builtin_mul_overflow(area, block[i], &area))
            return plim__infer_fail(ctx, PLIM_SHAPE, "a block of %lld in an axis of %lld", (long long)block[i],
                                    (long long)image[i]);
    if (in->dims[1] % area != 0)
        return plim__infer_fail(ctx, PLIM_SHAPE, "%lld rows do not divide into blocks of %lld", (long long)in->dims[1],
                                (long long)area);
    plim__shape shape = {.rank = 2 + (int)count, .dims = {in->dims[0], in->dims[1] / area}};
    memcpy(shape.dims + 2, image, count * sizeof *image);
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

/* x [N, C, D1..Dk], grid [N, O1..Ok, k] → [N, C, O1..Ok] */
plim_status plim__infer_grid_sample(plim__infer *ctx) {
    const plim__shape *x = plim__infer_shape(ctx, 0), *grid = plim__infer_shape(ctx, 1);
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    int spatial = x->rank - 2;
    if (spatial < 1 || grid->rank != x->rank || grid->dims[0] != x->dims[0] || grid->dims[grid->rank - 1] != spatial)
        return plim__infer_fail(ctx, PLIM_SHAPE, "a grid of %s does not fit an input of %s",
                                plim__shape_text(grid, NULL, b), plim__shape_text(x, NULL, a));
    if (spatial > 3)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator GridSample of rank %d", x->rank);
    plim__shape shape = *x;
    for (int i = 0; i < spatial; i++) shape.dims[2 + i] = grid->dims[1 + i];
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

/* theta [N, k, k + 1], size (N, C, D1..Dk) → [N, D1..Dk, k] */
plim_status plim__infer_affine_grid(plim__infer *ctx) {
    const plim__shape *theta = plim__infer_shape(ctx, 0);
    int64_t size[5];
    size_t count;
    PLIM_TRY(plim__infer_ints(ctx, 1, size, 5, &count));
    int64_t axes = (int64_t)count - 2;
    if (axes < 2 || theta->rank != 3 || theta->dims[0] != size[0] || theta->dims[1] != axes ||
        theta->dims[2] != axes + 1)
        return plim__infer_fail(ctx, PLIM_SHAPE, "theta and size do not fit together");
    plim__shape shape = {.rank = (int)axes + 2, .dims = {size[0]}};
    for (int64_t i = 0; i < axes; i++) shape.dims[1 + i] = size[2 + i];
    shape.dims[1 + axes] = axes;
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}
