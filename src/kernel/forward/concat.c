/* Concat: every input is copied to its place in the output. Whatever arrangement the inputs share is kept, so
 * that a network of blocked convolutions stays blocked from end to end:
 *
 *   blocked       [N, C/16, H, W, 16] is copied as the five axes that it is in memory
 *   permuted      channels last, for example: the output gets the same order of axes
 *   anything else becomes row-major */
#include <string.h>

#include "kernel/copies.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"
#include "ops/movement.h"

/* --- blocked -------------------------------------------------------------------------------------------------- */

static bool blocked_md(const plim__shape *shape, dnnl_data_type_t type, int64_t block, dnnl_memory_desc_t *md) {
    static const dnnl_format_tag_t tags[2][3] = {{dnnl_aBc16b, dnnl_aBcd16b, dnnl_aBcde16b},
                                                 {dnnl_aBc8b, dnnl_aBcd8b, dnnl_aBcde8b}};
    dnnl_dims_t dims = {0};
    if (shape->rank < 3 || shape->rank > 5) return false;
    memcpy(dims, shape->dims, (size_t)shape->rank * sizeof *dims);
    return dnnl_memory_desc_init_by_tag(md, shape->rank, dims, type, tags[block == 8][shape->rank - 3]) == dnnl_success;
}

/* The block of channels (axis 1) in an arrangement [N, C/b, ..., b]; 0 for any other. */
static int64_t channel_block(const plim__layout *x) {
    if (!x->blocked || plim__md(x)->ndims != x->shape.rank) return 0;
    dnnl_memory_desc_t md;
    for (int64_t block = 16; block >= 8; block /= 2)
        if (blocked_md(&x->shape, plim__md(x)->data_type, block, &md) && dnnl_memory_desc_equal(&md, plim__md(x)))
            return block;
    return 0;
}

/* The block that all inputs can have, when at least one has it already; 0 for none. */
static int64_t common_block(plim__lower *l, int axis, dnnl_data_type_t *type) {
    int64_t block = 0;
    size_t count = plim__lower_node(l)->inputs.count;
    for (size_t k = 0; k < count && !block; k++) {
        block = channel_block(plim__lower_peek(l, k));
        *type = plim__md(plim__lower_peek(l, k))->data_type;
    }
    for (size_t k = 0; k < count && block; k++)
        if (axis == 1 && plim__lower_input_shape(l, k)->dims[1] % block != 0) block = 0;
    return block;
}

/* Axes as they lie in memory: channels divided, and the block as one more axis. */
static void physical_dims(const plim__shape *shape, int64_t block, int64_t *dims) {
    for (int i = 0; i < shape->rank; i++) dims[i] = shape->dims[i];
    dims[1] = (dims[1] + block - 1) / block;
    dims[shape->rank] = block;
}

static plim_status concat_blocked(plim__lower *l, int axis, int64_t block, dnnl_data_type_t type) {
    const plim__shape *out = plim__lower_output_shape(l, 0);
    size_t count = plim__lower_node(l)->inputs.count;
    dnnl_memory_desc_t md;
    int64_t out_dims[PLIM__COPY_MAX_RANK], strides[PLIM__COPY_MAX_RANK], begin = 0;
    plim__copies *copies;
    for (size_t k = 0; k < count; k++) {
        if (!blocked_md(plim__lower_input_shape(l, k), type, block, &md))
            return plim__lower_fail(l, PLIM_INTERNAL, "no blocked layout");
        PLIM_TRY(plim__lower_input_md(l, k, &md));
    }
    if (!blocked_md(out, type, block, &md)) return plim__lower_fail(l, PLIM_INTERNAL, "no blocked layout");
    PLIM_TRY(plim__lower_output_md(l, 0, &md));
    PLIM_TRY(plim__copies_create(l, plim__lower_output_dtype(l, 0), count, &copies));
    physical_dims(out, block, out_dims);
    plim__dense_strides(out_dims, out->rank + 1, strides);
    for (size_t k = 0; k < count; k++) {
        plim__piece *p = &copies->pieces[k];
        p->in = (int)k;
        p->rank = out->rank + 1;
        physical_dims(plim__lower_input_shape(l, k), block, p->dims);
        plim__dense_strides(p->dims, p->rank, p->from);
        memcpy(p->to, strides, sizeof strides);
        p->to_offset = begin * strides[axis];
        begin += p->dims[axis];
    }
    return plim__copies_emit(l, "Concat", copies);
}

/* --- plain -----------------------------------------------------------------------------------------------------------
 */

/* Axes from the slowest to the fastest. */
static void axis_order(const plim__layout *x, int order[PLIM_MAX_RANK]) {
    for (int i = 0; i < x->shape.rank; i++) {
        int j = i;
        for (; j > 0 && x->strides[order[j - 1]] < x->strides[i]; j--) order[j] = order[j - 1];
        order[j] = i;
    }
}

static void strides_in_order(const plim__shape *shape, const int *order, int64_t *strides) {
    int64_t step = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        strides[order[i]] = step;
        step *= shape->dims[order[i]];
    }
}

/* True when every input is dense in the order of the first, which is not the usual one. */
static bool common_order(plim__lower *l, int order[PLIM_MAX_RANK]) {
    const plim__layout *first = plim__lower_peek(l, 0);
    if (first->blocked || plim__layout_is_dense(first)) return false;
    axis_order(first, order);
    for (size_t k = 0; k < plim__lower_node(l)->inputs.count; k++) {
        plim__layout expected = *plim__lower_peek(l, k);
        if (expected.blocked) return false;
        strides_in_order(&expected.shape, order, expected.strides);
        if (!plim__layout_equal(&expected, plim__lower_peek(l, k))) return false;
    }
    return true;
}

static plim_status concat_plain(plim__lower *l, int axis) {
    size_t count = plim__lower_node(l)->inputs.count;
    plim__layout y = plim__layout_dense(plim__lower_output_dtype(l, 0), plim__lower_output_shape(l, 0)), x;
    int order[PLIM_MAX_RANK];
    if (common_order(l, order)) strides_in_order(&y.shape, order, y.strides);
    plim__copies *copies;
    PLIM_TRY(plim__copies_create(l, y.dtype, count, &copies));
    int64_t begin = 0;
    plim_status status = PLIM_OK;
    for (size_t k = 0; status == PLIM_OK && k < count; k++) {
        plim__piece *p = &copies->pieces[k];
        status = plim__lower_input(l, k, PLIM__STRIDED, &x);
        p->in = (int)k;
        p->rank = x.shape.rank;
        memcpy(p->dims, x.shape.dims, sizeof x.shape.dims);
        memcpy(p->from, x.strides, sizeof x.strides);
        memcpy(p->to, y.strides, sizeof y.strides);
        p->to_offset = begin * y.strides[axis];
        begin += x.shape.dims[axis];
    }
    if (status == PLIM_OK) status = plim__lower_output(l, 0, &y);
    if (status == PLIM_OK) return plim__copies_emit(l, "Concat", copies);
    plim__free(copies);
    return status;
}

plim_status plim__lower_concat(plim__lower *l) {
    plim__infer reading = plim__lower_reading(l);
    int axis;
    dnnl_data_type_t type = dnnl_f32;
    PLIM_TRY(plim__axis_read(&reading, "axis", 1, plim__lower_output_shape(l, 0)->rank, &axis));
    int64_t block = common_block(l, axis, &type);
    return block ? concat_blocked(l, axis, block, type) : concat_plain(l, axis);
}
