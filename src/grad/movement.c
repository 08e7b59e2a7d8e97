/* Gradients of operators that move data: the same movement, backwards. */
#include <string.h>

#include "grad/gradient.h"
#include "ops/movement.h"

/* Reshape, Flatten, Squeeze, Unsqueeze. */
plim_status plim__gradient_reshaped(plim__gradient *d) {
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    return plim__gradient_set(d, 0, plim__gradient_reshape(d, plim__gradient_of_output(d, 0), &shape));
}

plim_status plim__gradient_transposed(plim__gradient *d) {
    int order[PLIM_MAX_RANK], inverse[PLIM_MAX_RANK] = {0};
    plim__infer reading = plim__gradient_reading(d);
    PLIM_TRY(plim__transpose_read(&reading, order));
    for (int i = 0; i < plim__gradient_shape(d, plim__gradient_input(d, 0)).rank; i++) inverse[order[i]] = i;
    return plim__gradient_set(d, 0, plim__gradient_transpose(d, plim__gradient_of_output(d, 0), inverse));
}

plim_status plim__gradient_slice(plim__gradient *d) {
    plim__slice slice;
    plim__infer reading = plim__gradient_reading(d);
    PLIM_TRY(plim__slice_read(&reading, &slice));
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    return plim__gradient_set(d, 0,
                              plim__gradient_embed(d, plim__gradient_of_output(d, 0), &shape, slice.start, slice.step));
}

/* The pieces' gradients side by side again. */
plim_status plim__gradient_split(plim__gradient *d) {
    size_t count = plim__gradient_self(d)->outputs.count;
    plim_value *pieces = plim__alloc_array(count, sizeof *pieces);
    if (!pieces) return plim__graph_fail(d->graph, PLIM_NO_MEMORY, "out of memory while building gradients");
    int axis;
    int64_t *sizes = plim__alloc_array(count, sizeof *sizes);
    plim__infer reading = plim__gradient_reading(d);
    plim_status status = sizes ? plim__split_read(&reading, &axis, sizes)
                               : plim__graph_fail(d->graph, PLIM_NO_MEMORY, "out of memory while building gradients");
    for (size_t i = 0; status == PLIM_OK && i < count; i++) {
        pieces[i] = plim__gradient_of_output(d, i);
        plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
        shape.dims[axis] = sizes[i];
        if (pieces[i] < 0)
            pieces[i] = plim__gradient_expand(
                d, plim__gradient_scalar(d, plim__gradient_dtype(d, plim__gradient_input(d, 0)), 0), &shape);
    }
    if (status == PLIM_OK) {
        int32_t node = plim__gradient_begin(d, "", "Concat", pieces, count, 1);
        plim_graph_set_int(d->graph, node, "axis", axis);
        status = plim__gradient_set(d, 0, plim__gradient_end(d, node));
    }
    plim__free(pieces);
    plim__free(sizes);
    return status;
}

/* Views of the gradient. */
plim_status plim__gradient_concat(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0);
    plim__shape shape = plim__gradient_shape(d, dy);
    int axis = 0;
    plim__axis_normalize(plim__node_int(plim__gradient_self(d), "axis", 1), shape.rank, &axis);
    int64_t start[PLIM_MAX_RANK] = {0}, end[PLIM_MAX_RANK];
    memcpy(end, shape.dims, sizeof end);
    for (size_t i = 0; i < plim__gradient_self(d)->inputs.count; i++) {
        end[axis] = start[axis] + plim__gradient_shape(d, plim__gradient_input(d, i)).dims[axis];
        if (plim__gradient_wanted(d, i)) PLIM_TRY(plim__gradient_set(d, i, plim__gradient_cut(d, dy, start, end)));
        start[axis] = end[axis];
    }
    return PLIM_OK;
}

plim_status plim__gradient_expanded(plim__gradient *d) {
    return plim__gradient_set(
        d, 0, plim__gradient_unbroadcast(d, plim__gradient_of_output(d, 0), plim__gradient_input(d, 0)));
}

/* (r0·d0, r1·d1, ...) seen as (r0, d0, r1, d1, ...) and summed over the repetitions, an axis at a time. */
plim_status plim__gradient_tile(plim__gradient *d) {
    int64_t repeats[PLIM_MAX_RANK];
    plim__infer reading = plim__gradient_reading(d);
    PLIM_TRY(plim__tile_read(&reading, repeats));
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    plim_value gradient = plim__gradient_of_output(d, 0);
    for (int i = 0; i < shape.rank; i++) {
        if (repeats[i] == 1) continue;
        plim__shape now = plim__gradient_shape(d, gradient);
        plim__shape parts = {.rank = 4,
                             .dims = {plim__shape_product(&now, 0, i), repeats[i], shape.dims[i],
                                      plim__shape_product(&now, i + 1, now.rank)}};
        gradient = plim__gradient_sum(d, plim__gradient_reshape(d, gradient, &parts),
                                      (bool[]){false, true, false, false}, false);
        now.dims[i] = shape.dims[i];
        gradient = plim__gradient_reshape(d, gradient, &now);
    }
    return plim__gradient_set(d, 0, gradient);
}

/* Constant padding is cut off again; where padding was negative, nothing came from there. */
static plim_value unpad(plim__gradient *d, const plim__pad *pad, const plim__shape *shape) {
    plim_value dy = plim__gradient_of_output(d, 0);
    int64_t start[PLIM_MAX_RANK], end[PLIM_MAX_RANK], from[PLIM_MAX_RANK], step[PLIM_MAX_RANK];
    bool cropped = false;
    plim__shape padded = plim__gradient_shape(d, dy);
    for (int i = 0; i < shape->rank; i++) {
        start[i] = pad->before[i] > 0 ? pad->before[i] : 0;
        end[i] = padded.dims[i] - (pad->after[i] > 0 ? pad->after[i] : 0);
        from[i] = pad->before[i] < 0 ? -pad->before[i] : 0;
        step[i] = 1;
        cropped |= pad->before[i] < 0 || pad->after[i] < 0;
    }
    plim_value inner = plim__gradient_cut(d, dy, start, end);
    return cropped && inner >= 0 ? plim__gradient_embed(d, inner, shape, from, step) : inner;
}

/* What was there before the padding, from the middle of each axis. */
plim_status plim__gradient_center_crop_pad(plim__gradient *d) {
    plim__shape in = plim__gradient_shape(d, plim__gradient_input(d, 0)),
                out = plim__gradient_shape(d, plim__gradient_output(d, 0));
    plim__pad pad = {.mode = PLIM__PAD_CONSTANT};
    for (int i = 0; i < in.rank; i++) { /* one more is cut or added at the end when the difference is odd */
        int64_t more = out.dims[i] - in.dims[i];
        pad.before[i] = more / 2;
        pad.after[i] = more - more / 2;
    }
    return plim__gradient_set(d, 0, unpad(d, &pad, &in));
}

/* A fill value that is computed gets what the padding has. */
static plim_status pad_value(plim__gradient *d, plim_value inner) {
    plim_value value = plim__gradient_input(d, 2), all = plim__gradient_of_output(d, 0);
    plim__shape own = plim__gradient_shape(d, value);
    bool axes[PLIM_MAX_RANK];
    for (int i = 0; i < PLIM_MAX_RANK; i++) axes[i] = true;
    plim_value rest = plim__gradient_two(d, "Sub", plim__gradient_sum(d, all, axes, false),
                                         plim__gradient_sum(d, inner, axes, false));
    return plim__gradient_set(d, 2, plim__gradient_reshape(d, rest, &own));
}

plim_status plim__gradient_pad(plim__gradient *d) {
    plim__pad pad;
    plim__infer reading = plim__gradient_reading(d);
    PLIM_TRY(plim__pad_read(&reading, &pad));
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    if (pad.mode == PLIM__PAD_CONSTANT) {
        plim_value inner = unpad(d, &pad, &shape);
        if (plim__gradient_wanted(d, 2)) PLIM_TRY(pad_value(d, inner));
        return plim__gradient_set(d, 0, inner);
    }
    /* the other modes are tables of source indices, one an axis: their gradient adds along each table */
    int32_t node =
        plim__gradient_begin(d, PLIM__DOMAIN, "PadGrad", (plim_value[]){plim__gradient_of_output(d, 0)}, 1, 1);
    plim_graph_set_ints(d->graph, node, "shape", shape.dims, (size_t)shape.rank);
    plim_graph_set_ints(d->graph, node, "before", pad.before, (size_t)shape.rank);
    plim_graph_set_int(d->graph, node, "mode", pad.mode);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

/* The gradient node gets the whole geometry as attributes, so that it keeps no input alive. */
plim_status plim__gradient_resize(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0);
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    plim__resize resize;
    plim__infer reading = plim__gradient_reading(d);
    PLIM_TRY(plim__resize_read(&reading, &resize));
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "ResizeGrad", &dy, 1, 1);
    float scales[PLIM_MAX_RANK], starts[PLIM_MAX_RANK], ends[PLIM_MAX_RANK];
    for (int i = 0; i < shape.rank; i++) {
        scales[i] = (float)resize.scale[i];
        starts[i] = (float)resize.roi_start[i];
        ends[i] = (float)resize.roi_end[i];
    }
    size_t rank = (size_t)shape.rank;
    plim_graph_set_ints(d->graph, node, "shape", shape.dims, rank);
    plim_graph_set_floats(d->graph, node, "scale", scales, rank);
    plim_graph_set_floats(d->graph, node, "roi_start", starts, rank);
    plim_graph_set_floats(d->graph, node, "roi_end", ends, rank);
    plim_graph_set_ints(
        d->graph, node, "how",
        (int64_t[]){resize.mode, resize.coordinates, resize.rounding, resize.antialias, resize.exclude_outside}, 5);
    plim_graph_set_float(d->graph, node, "cubic_a", resize.cubic_a);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

/* --- rearrangements ------------------------------------------------------------------------------------------- */

/* Blocks of b×b pixels and channels exchanged: dy seen as six axes, permuted, seen as x. */
static plim_status blocks(plim__gradient *d, const plim__shape *parts, const int *order) {
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    plim_value gradient = plim__gradient_reshape(d, plim__gradient_of_output(d, 0), parts);
    return plim__gradient_set(d, 0, plim__gradient_reshape(d, plim__gradient_transpose(d, gradient, order), &shape));
}

plim_status plim__gradient_depth_to_space(plim__gradient *d) {
    plim__shape x = plim__gradient_shape(d, plim__gradient_input(d, 0));
    int64_t b = plim__node_int(plim__gradient_self(d), "blocksize", 1), c = x.dims[1] / (b * b);
    bool columns = strcmp(plim__node_string(plim__gradient_self(d), "mode", "DCR"), "CRD") == 0;
    /* y is (N, C, H, b, W, b); x is (N, b, b, C, H, W), or (N, C, b, b, H, W) */
    plim__shape parts = {.rank = 6, .dims = {x.dims[0], c, x.dims[2], b, x.dims[3], b}};
    static const int dcr[] = {0, 3, 5, 1, 2, 4}, crd[] = {0, 1, 3, 5, 2, 4};
    return blocks(d, &parts, columns ? crd : dcr);
}

plim_status plim__gradient_space_to_depth(plim__gradient *d) {
    plim__shape x = plim__gradient_shape(d, plim__gradient_input(d, 0));
    int64_t b = plim__node_int(plim__gradient_self(d), "blocksize", 1);
    /* y is (N, b, b, C, H/b, W/b); x is (N, C, H/b, b, W/b, b) */
    plim__shape parts = {.rank = 6, .dims = {x.dims[0], b, b, x.dims[1], x.dims[2] / b, x.dims[3] / b}};
    static const int order[] = {0, 3, 4, 1, 5, 2};
    return blocks(d, &parts, order);
}

/* Operators that are their own gradient: Trilu keeps the same half, ReverseSequence turns around again. */
plim_status plim__gradient_again(plim__gradient *d) {
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_input(d, 1)};
    int32_t node = plim__gradient_begin(d, "", plim__gradient_self(d)->op_name, inputs, inputs[1] >= 0 ? 2 : 1, 1);
    plim__gradient_copy_attributes(d, node);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}
