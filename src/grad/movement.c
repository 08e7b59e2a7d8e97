/* Gradients of operators that move data: the same movement, backwards. */
#include <string.h>

#include "grad/gradient.h"
#include "ops/movement.h"

/* Reshape, Flatten, Squeeze, Unsqueeze. */
plim_status plim__gradient_reshaped(plim__gradient *d);
plim_status plim__gradient_reshaped(plim__gradient *d) {
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    return plim__gradient_set(d, 0, plim__gradient_reshape(d, plim__gradient_of_output(d, 0), &shape));
}

plim_status plim__gradient_transposed(plim__gradient *d);
plim_status plim__gradient_transposed(plim__gradient *d) {
    int order[PLIM_MAX_RANK], inverse[PLIM_MAX_RANK] = {0};
    plim__infer reading = plim__gradient_reading(d);
    PLIM_TRY(plim__transpose_read(&reading, order));
    for (int i = 0; i < plim__gradient_shape(d, plim__gradient_input(d, 0)).rank; i++) inverse[order[i]] = i;
    return plim__gradient_set(d, 0, plim__gradient_transpose(d, plim__gradient_of_output(d, 0), inverse));
}

/* dy where it came from, zeros elsewhere. */
static plim_value embed(plim__gradient *d, plim_value dy, const plim__shape *shape, const int64_t *start,
                        const int64_t *step) {
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "SliceGrad", &dy, 1, 1);
    plim_graph_set_ints(d->graph, node, "shape", shape->dims, (size_t)shape->rank);
    plim_graph_set_ints(d->graph, node, "start", start, (size_t)shape->rank);
    plim_graph_set_ints(d->graph, node, "step", step, (size_t)shape->rank);
    return plim__gradient_end(d, node);
}

plim_status plim__gradient_slice(plim__gradient *d);
plim_status plim__gradient_slice(plim__gradient *d) {
    plim__slice slice;
    plim__infer reading = plim__gradient_reading(d);
    PLIM_TRY(plim__slice_read(&reading, &slice));
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    return plim__gradient_set(d, 0, embed(d, plim__gradient_of_output(d, 0), &shape, slice.start, slice.step));
}

/* A slice with steps of 1. */
static plim_value cut(plim__gradient *d, plim_value x, const int64_t *start, const int64_t *end) {
    size_t rank = (size_t)plim__gradient_shape(d, x).rank;
    if (rank == 0) return x;
    plim_value inputs[] = {x, plim__gradient_ints(d, start, rank), plim__gradient_ints(d, end, rank)};
    return plim__gradient_node(d, "", "Slice", inputs, 3);
}

/* The pieces' gradients side by side again. */
plim_status plim__gradient_split(plim__gradient *d);
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
plim_status plim__gradient_concat(plim__gradient *d);
plim_status plim__gradient_concat(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0);
    plim__shape shape = plim__gradient_shape(d, dy);
    int axis = 0;
    plim__axis_normalize(plim__node_int(plim__gradient_self(d), "axis", 1), shape.rank, &axis);
    int64_t start[PLIM_MAX_RANK] = {0}, end[PLIM_MAX_RANK];
    memcpy(end, shape.dims, sizeof end);
    for (size_t i = 0; i < plim__gradient_self(d)->inputs.count; i++) {
        end[axis] = start[axis] + plim__gradient_shape(d, plim__gradient_input(d, i)).dims[axis];
        if (plim__gradient_wanted(d, i)) PLIM_TRY(plim__gradient_set(d, i, cut(d, dy, start, end)));
        start[axis] = end[axis];
    }
    return PLIM_OK;
}

plim_status plim__gradient_expanded(plim__gradient *d);
plim_status plim__gradient_expanded(plim__gradient *d) {
    return plim__gradient_set(
        d, 0, plim__gradient_unbroadcast(d, plim__gradient_of_output(d, 0), plim__gradient_input(d, 0)));
}

/* (r0·d0, r1·d1, ...) seen as (r0, d0, r1, d1, ...) and summed over the repetitions, an axis at a time. */
plim_status plim__gradient_tile(plim__gradient *d);
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
    plim_value inner = cut(d, dy, start, end);
    return cropped && inner >= 0 ? embed(d, inner, shape, from, step) : inner;
}

plim_status plim__gradient_pad(plim__gradient *d);
plim_status plim__gradient_pad(plim__gradient *d) {
    plim__pad pad;
    plim__infer reading = plim__gradient_reading(d);
    PLIM_TRY(plim__pad_read(&reading, &pad));
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    if (pad.mode == PLIM__PAD_CONSTANT) return plim__gradient_set(d, 0, unpad(d, &pad, &shape));
    /* the other modes are tables of source indices, one an axis: their gradient adds along each table */
    int32_t node =
        plim__gradient_begin(d, PLIM__DOMAIN, "PadGrad", (plim_value[]){plim__gradient_of_output(d, 0)}, 1, 1);
    plim_graph_set_ints(d->graph, node, "shape", shape.dims, (size_t)shape.rank);
    plim_graph_set_ints(d->graph, node, "before", pad.before, (size_t)shape.rank);
    plim_graph_set_int(d->graph, node, "mode", pad.mode);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

/* The gradient node gets the whole geometry as attributes, so that it keeps no input alive. */
plim_status plim__gradient_resize(plim__gradient *d);
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

plim_status plim__gradient_depth_to_space(plim__gradient *d);
plim_status plim__gradient_depth_to_space(plim__gradient *d) {
    plim__shape x = plim__gradient_shape(d, plim__gradient_input(d, 0));
    int64_t b = plim__node_int(plim__gradient_self(d), "blocksize", 1), c = x.dims[1] / (b * b);
    bool columns = strcmp(plim__node_string(plim__gradient_self(d), "mode", "DCR"), "CRD") == 0;
    /* y is (N, C, H, b, W, b); x is (N, b, b, C, H, W), or (N, C, b, b, H, W) */
    plim__shape parts = {.rank = 6, .dims = {x.dims[0], c, x.dims[2], b, x.dims[3], b}};
    static const int dcr[] = {0, 3, 5, 1, 2, 4}, crd[] = {0, 1, 3, 5, 2, 4};
    return blocks(d, &parts, columns ? crd : dcr);
}

plim_status plim__gradient_space_to_depth(plim__gradient *d);
plim_status plim__gradient_space_to_depth(plim__gradient *d) {
    plim__shape x = plim__gradient_shape(d, plim__gradient_input(d, 0));
    int64_t b = plim__node_int(plim__gradient_self(d), "blocksize", 1);
    /* y is (N, b, b, C, H/b, W/b); x is (N, C, H/b, b, W/b, b) */
    plim__shape parts = {.rank = 6, .dims = {x.dims[0], b, b, x.dims[1], x.dims[2] / b, x.dims[3] / b}};
    static const int order[] = {0, 3, 4, 1, 5, 2};
    return blocks(d, &parts, order);
}

/* Operators that are their own gradient: Trilu keeps the same half, ReverseSequence turns around again. */
plim_status plim__gradient_again(plim__gradient *d);
plim_status plim__gradient_again(plim__gradient *d) {
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_input(d, 1)};
    int32_t node = plim__gradient_begin(d, "", plim__gradient_self(d)->op_name, inputs, inputs[1] >= 0 ? 2 : 1, 1);
    plim__gradient_copy_attributes(d, node);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

/* --- einsum --------------------------------------------------------------------------------------------------- */

static char letter(int label) { return (char)(label < 26 ? 'a' + label : 'A' + label - 26); }

/* The gradient of operand i is the product of dy and the other operands, summed to i's labels; labels that appear in i
 * alone are repeated. */
static plim_status einsum_operand(plim__gradient *d, const plim__einsum *e, int i) {
    char text[PLIM__EINSUM_INPUTS * (PLIM_MAX_RANK + 1) + 2 * PLIM_MAX_RANK + 8], *at = text;
    bool known[PLIM__EINSUM_LABELS] = {false}, seen[PLIM__EINSUM_LABELS] = {false};
    plim_value inputs[PLIM__EINSUM_INPUTS] = {plim__gradient_of_output(d, 0)};
    size_t count = 1;
    for (int k = 0; k < e->out_rank; k++) *at++ = letter(e->out_labels[k]), known[e->out_labels[k]] = true;
    for (int j = 0; j < e->inputs; j++) {
        if (j == i) continue;
        *at++ = ',';
        inputs[count++] = plim__gradient_input(d, (size_t)j);
        for (int k = 0; k < e->rank[j]; k++) *at++ = letter(e->labels[j][k]), known[e->labels[j][k]] = true;
    }
    *at++ = '-';
    *at++ = '>';
    plim__shape own = plim__gradient_shape(d, plim__gradient_input(d, (size_t)i)), with_ones = own;
    for (int k = 0; k < e->rank[i]; k++) {
        int label = e->labels[i][k];
        if (seen[label]) return plim__gradient_unsupported(d, "with a label twice in one operand ");
        seen[label] = true;
        if (own.dims[k] != e->size[label]) return plim__gradient_unsupported(d, "with broadcasting ");
        if (known[label])
            *at++ = letter(label);
        else
            with_ones.dims[k] = 1;
    }
    *at = 0;
    int32_t node = plim__gradient_begin(d, "", "Einsum", inputs, count, 1);
    plim_graph_set_string(d->graph, node, "equation", text);
    plim_value gradient = plim__gradient_reshape(d, plim__gradient_end(d, node), &with_ones);
    return plim__gradient_set(d, (size_t)i, plim__gradient_expand(d, gradient, &own));
}

plim_status plim__gradient_einsum(plim__gradient *d);
plim_status plim__gradient_einsum(plim__gradient *d) {
    plim__einsum e;
    plim__infer reading = plim__gradient_reading(d);
    PLIM_TRY(plim__einsum_read(&reading, &e));
    for (int label = 52; label < PLIM__EINSUM_LABELS; label++)
        if (e.size[label] >= 0) return plim__gradient_unsupported(d, "with so many labels ");
    for (int i = 0; i < e.inputs; i++)
        if (plim__gradient_wanted(d, (size_t)i)) PLIM_TRY(einsum_operand(d, &e, i));
    return PLIM_OK;
}
