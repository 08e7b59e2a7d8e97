/* Operators that are views of their input where strides allow it: nothing moves, the output is
 * another layout of the same bytes. Otherwise one strided copy. */
#include <string.h>

#include "kernel/copies.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"
#include "ops/movement.h"

/* --- Reshape, Flatten, Squeeze, Unsqueeze --------------------------------------------------------------------- */

/* A blocked arrangement that happens to be row-major: blocks of one axis behind which every axis has one
 * element, as global pooling leaves them. */
static bool blocked_is_plain(const plim__layout *x) {
    const dnnl_memory_desc_t *md = plim__md(x);
    if (!x->blocked || md->format_kind != dnnl_blocked || md->ndims != x->shape.rank || md->offset0 != 0) return false;
    const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    if (b->inner_nblks != 1) return false;
    int axis = (int)b->inner_idxs[0];
    int64_t step = 1;
    for (int i = md->ndims - 1; i >= 0; i--) {
        if (md->padded_dims[i] != md->dims[i] || (i > axis && md->dims[i] != 1)) return false;
        int64_t expected = i == axis ? step * b->inner_blks[0] : step,
                count = i == axis ? md->dims[i] / b->inner_blks[0] : md->dims[i];
        if (i <= axis && count != 1 && b->strides[i] != expected) return false;
        step *= md->dims[i];
    }
    return true;
}

static plim_status reshape_by_copy(plim__lower *l, const plim__layout *x) {
    plim__copies *copies;
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__copies_create(l, x->dtype, 1, &copies));
    plim__piece *p = &copies->pieces[0];
    p->rank = x->shape.rank;
    memcpy(p->dims, x->shape.dims, sizeof x->shape.dims);
    memcpy(p->from, x->strides, sizeof x->strides);
    plim__dense_strides(p->dims, p->rank, p->to);
    return plim__copies_emit(l, "Reshape", copies);
}

plim_status plim__lower_reshape(plim__lower *l) {
    const plim__shape *shape = plim__lower_output_shape(l, 0);
    plim__layout x, y;
    if (plim__shape_equal(shape, plim__lower_input_shape(l, 0))) return plim__lower_forward(l);
    if (blocked_is_plain(plim__lower_peek(l, 0))) {
        y = plim__layout_dense(plim__lower_output_dtype(l, 0), shape);
        return plim__lower_view(l, 0, &y, 0);
    }
    PLIM_TRY(plim__lower_input(l, 0, PLIM__STRIDED, &x));
    return plim__layout_reshape(&x, shape, &y) ? plim__lower_view(l, 0, &y, 0) : reshape_by_copy(l, &x);
}

/* --- Transpose, Expand ----------------------------------------------------------------------------------------------
 */

plim_status plim__lower_transpose(plim__lower *l) {
    plim__infer reading = plim__lower_reading(l);
    plim__layout x, y;
    int order[PLIM_MAX_RANK];
    PLIM_TRY(plim__transpose_read(&reading, order));
    bool moved = false;
    for (int i = 0; i < plim__lower_input_shape(l, 0)->rank; i++) moved |= order[i] != i;
    if (!moved) return plim__lower_forward(l);
    PLIM_TRY(plim__lower_input(l, 0, PLIM__STRIDED, &x));
    y = x;
    y.shape = *plim__lower_output_shape(l, 0);
    for (int i = 0; i < y.shape.rank; i++) y.strides[i] = x.strides[order[i]];
    if (plim_dtype_bits(x.dtype) % 8 != 0 && !plim__layout_is_dense(&y))
        return plim__lower_unsupported(l, "with 4-bit elements");
    return plim__lower_view(l, 0, &y, 0);
}

plim_status plim__lower_expand(plim__lower *l) {
    plim__layout x, y;
    if (plim__shape_equal(plim__lower_input_shape(l, 0), plim__lower_output_shape(l, 0))) return plim__lower_forward(l);
    PLIM_TRY(plim__lower_input(l, 0, PLIM__STRIDED, &x));
    y = (plim__layout){.dtype = x.dtype, .shape = *plim__lower_output_shape(l, 0)};
    for (int i = y.shape.rank - 1, j = x.shape.rank - 1; i >= 0; i--, j--)
        y.strides[i] = j >= 0 && x.shape.dims[j] == y.shape.dims[i] ? x.strides[j] : 0;
    if (plim_dtype_bits(x.dtype) % 8 != 0 && !plim__layout_is_dense(&y))
        return plim__lower_unsupported(l, "with 4-bit elements");
    return plim__lower_view(l, 0, &y, 0);
}

/* --- Slice, Split ----------------------------------------------------------------------------------------------------
 */

/* Backwards: a view cannot have negative strides. */
static plim_status slice_by_copy(plim__lower *l, const plim__layout *x, const plim__slice *slice) {
    plim__copies *copies;
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__copies_create(l, x->dtype, 1, &copies));
    plim__piece *p = &copies->pieces[0];
    p->rank = x->shape.rank;
    for (int i = 0; i < p->rank; i++) {
        p->dims[i] = slice->size[i];
        p->from[i] = x->strides[i] * slice->step[i];
        p->from_offset += x->strides[i] * slice->start[i];
    }
    plim__dense_strides(p->dims, p->rank, p->to);
    return plim__copies_emit(l, "Slice", copies);
}

plim_status plim__lower_slice(plim__lower *l) {
    plim__infer reading = plim__lower_reading(l);
    plim__slice slice;
    plim__layout x, y;
    size_t element_size;
    PLIM_TRY(plim__slice_read(&reading, &slice));
    PLIM_TRY(plim__lower_element_size(l, plim__lower_input_dtype(l, 0), &element_size));
    bool whole = plim__shape_equal(plim__lower_input_shape(l, 0), plim__lower_output_shape(l, 0));
    for (int i = 0; i < plim__lower_input_shape(l, 0)->rank; i++) whole &= slice.step[i] > 0;
    if (whole) return plim__lower_forward(l);
    PLIM_TRY(plim__lower_input(l, 0, PLIM__STRIDED, &x));
    y = x;
    int64_t offset = 0;
    for (int i = 0; i < x.shape.rank; i++) {
        if (slice.step[i] < 0) return slice_by_copy(l, &x, &slice);
        y.shape.dims[i] = slice.size[i];
        y.strides[i] = x.strides[i] * slice.step[i];
        offset += x.strides[i] * slice.start[i];
    }
    if (plim__shape_elements(&y.shape) == 0) offset = 0;
    return plim__lower_view(l, 0, &y, offset * (int64_t)element_size);
}

static plim_status split_views(plim__lower *l, int axis, const int64_t *sizes) {
    plim__layout x, y;
    size_t element_size;
    PLIM_TRY(plim__lower_element_size(l, plim__lower_input_dtype(l, 0), &element_size));
    PLIM_TRY(plim__lower_input(l, 0, PLIM__STRIDED, &x));
    y = x;
    int64_t begin = 0;
    for (size_t i = 0; i < plim__lower_node(l)->outputs.count; i++) {
        y.shape.dims[axis] = sizes[i];
        int64_t offset = plim__shape_elements(&y.shape) == 0 ? 0 : begin * x.strides[axis];
        PLIM_TRY(plim__lower_view_output(l, i, 0, &y, offset * (int64_t)element_size));
        begin += sizes[i];
    }
    return PLIM_OK;
}

plim_status plim__lower_split(plim__lower *l) {
    plim__infer reading = plim__lower_reading(l);
    int64_t *sizes;
    int axis;
    PLIM_TRY(plim__lower_state(l, plim__lower_node(l)->outputs.count * sizeof *sizes, &sizes));
    plim_status status = plim__split_read(&reading, &axis, sizes);
    if (status == PLIM_OK) status = split_views(l, axis, sizes);
    plim__free(sizes);
    return status;
}
