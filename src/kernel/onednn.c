/* oneDNN's layouts: descriptors from ours and back, inputs and outputs that are asked for by descriptor. */
#include "kernel/onednn.h"

#include <string.h>

#include "kernel/copy.h"
#include "kernel/narrow.h"
#include "kernel/processor.h"
#include "kernel/unblock.h"

static dnnl_data_type_t dnnl_type(plim_dtype dtype) {
    switch (dtype) {
    case PLIM_F32: return dnnl_f32;
    case PLIM_BF16: return dnnl_bf16;
    case PLIM_F16: return dnnl_f16;
    case PLIM_I32: return dnnl_s32;
    case PLIM_I8: return dnnl_s8;
    case PLIM_U8: return dnnl_u8;
    default: return dnnl_data_type_undef;
    }
}

bool plim__layout_md(const plim__layout *layout, dnnl_memory_desc_t *md) {
    if (layout->blocked) {
        *md = *plim__md(layout);
        return true;
    }
    dnnl_data_type_t type = dnnl_type(layout->dtype);
    if (type == dnnl_data_type_undef) return false;
    if (layout->shape.rank == 0)
        return dnnl_memory_desc_init_by_strides(md, 1, (dnnl_dims_t){1}, type, (dnnl_dims_t){1}) == dnnl_success;
    dnnl_dims_t dims, strides;
    for (int i = 0; i < layout->shape.rank; i++) {
        dims[i] = layout->shape.dims[i];
        strides[i] = layout->strides[i];
    }
    return dnnl_memory_desc_init_by_strides(md, layout->shape.rank, dims, type, strides) == dnnl_success;
}

/* The descriptor of a dense value seen with the dims of another one: grouped convolution weights gain an axis. */
static bool dense_like(const dnnl_memory_desc_t *like, dnnl_memory_desc_t *md) {
    dnnl_dims_t strides;
    int64_t stride = 1;
    for (int i = like->ndims - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= like->dims[i];
    }
    return dnnl_memory_desc_init_by_strides(md, like->ndims, like->dims, like->data_type, strides) == dnnl_success;
}

static plim__layout blocked(const dnnl_memory_desc_t *md, plim_dtype dtype, const plim__shape *shape) {
    plim__layout layout = {.dtype = dtype, .shape = *shape, .blocked = true, .device = &plim__processor};
    memcpy(layout.native.bytes, md, sizeof *md);
    return layout;
}

plim__layout plim__layout_from_md(const dnnl_memory_desc_t *md, plim_dtype dtype, const plim__shape *shape) {
    bool plain = md->format_kind == dnnl_blocked && md->format_desc.blocking.inner_nblks == 0 &&
                 md->ndims == shape->rank && md->offset0 == 0;
    for (int i = 0; plain && i < md->ndims; i++) plain = md->padded_dims[i] == md->dims[i];
    if (!plain) return blocked(md, dtype, shape);
    plim__layout layout = {.dtype = dtype, .shape = *shape};
    for (int i = 0; i < md->ndims; i++) layout.strides[i] = md->format_desc.blocking.strides[i];
    return layout;
}

bool plim__layout_is_exact(const plim__layout *layout) {
    size_t bytes;
    return layout->blocked && plim__md(layout)->format_kind == dnnl_blocked && plim__md(layout)->offset0 == 0 &&
           plim__shape_bytes(&layout->shape, layout->dtype, &bytes, NULL) == PLIM_OK &&
           dnnl_memory_desc_get_size(plim__md(layout)) == bytes;
}

bool plim__layout_is_whole(const plim__layout *layout) {
    return layout->blocked ? plim__md(layout)->offset0 == 0 : plim__layout_is_packed(layout);
}

plim__layout plim__lower_saved_layout(const plim__lower *l, size_t i) {
    const plim__layout *seen = plim__lower_peek(l, i);
    return plim__layout_is_whole(seen)
               ? *seen
               : plim__layout_dense(plim__lower_input_dtype(l, i), plim__lower_input_shape(l, i));
}

/* --- inputs and outputs by descriptor -------------------------------------------------------------------------- */

/* Float32 values are read in 16 bits where a primitive asks for that. */
static plim_dtype type_of(const dnnl_memory_desc_t *md, plim_dtype own) {
    return own == PLIM_F32 && md->data_type == dnnl_bf16 ? PLIM_BF16 : own;
}

/* The layout of a value that oneDNN describes by md, which may be only another view of plain memory. */
static plim__layout layout_of(const plim__lower *l, plim_value v, const dnnl_memory_desc_t *md) {
    const plim__value *value = &plim__lower_graph(l)->values.items[v];
    plim_dtype dtype = type_of(md, value->dtype);
    plim__layout layout = plim__layout_from_md(md, dtype, &value->shape);
    dnnl_memory_desc_t plain;
    if (layout.blocked && md->ndims != value->shape.rank && dense_like(md, &plain) &&
        dnnl_memory_desc_equal(&plain, md))
        layout = plim__layout_dense(dtype, &value->shape);
    return layout;
}

plim_status plim__lower_input_md(plim__lower *l, size_t i, const dnnl_memory_desc_t *md) {
    plim_value v = plim__node_in(plim__lower_node(l), i);
    plim__arrangement want = {0};
    if (v >= 0) want.layout = layout_of(l, v, md);
    return plim__lower_input_as(l, i, &want);
}

plim_status plim__lower_output_md(plim__lower *l, size_t i, const dnnl_memory_desc_t *md) {
    plim_value v = plim__node_out(plim__lower_node(l), i);
    if (v < 0) return plim__lower_output(l, i, NULL);
    plim__layout layout = layout_of(l, v, md);
    return plim__lower_output(l, i, &layout);
}

plim_status plim__lower_input_seen(plim__lower *l, size_t i, const dnnl_memory_desc_t *seen,
                                   const dnnl_memory_desc_t *md) {
    dnnl_memory_desc_t plain = *seen;
    plain.data_type = md->data_type;
    if (dnnl_memory_desc_equal(&plain, md)) {
        plim__arrangement dense = {
            .layout = plim__layout_dense(type_of(md, plim__lower_input_dtype(l, i)), plim__lower_input_shape(l, i))};
        return md->data_type == seen->data_type ? plim__lower_input(l, i, PLIM__DENSE, NULL)
                                                : plim__lower_input_as(l, i, &dense);
    }
    plim__arrangement want = {
        .layout = blocked(md, type_of(md, plim__lower_input_dtype(l, i)), plim__lower_input_shape(l, i)),
        .turned = true};
    memcpy(want.seen.bytes, seen, sizeof *seen);
    return plim__lower_input_as(l, i, &want);
}

/* --- from one arrangement to another --------------------------------------------------------------------------- */

/* Whether `seen` (may be NULL) sees plain memory with axes exchanged. Such a layout may have the very descriptor of one
 * without, where the two axes are of one size, and still mean something else. */
static bool exchanges_axes(const dnnl_memory_desc_t *seen) {
    dnnl_memory_desc_t plain;
    return seen && !(dense_like(seen, &plain) && dnnl_memory_desc_equal(&plain, seen));
}

static const dnnl_memory_desc_t *seen_by(const plim__arrangement *a) {
    return a->turned ? plim__native_md(&a->seen) : NULL;
}

bool plim__reorder_same_axes(const plim__arrangement *a, const plim__arrangement *b) {
    const dnnl_memory_desc_t *x = seen_by(a), *y = seen_by(b);
    if (!exchanges_axes(x) && !exchanges_axes(y)) return true;
    return x && y && dnnl_memory_desc_equal(x, y);
}

/* A weight of one channel may be seen with its axes exchanged though its descriptor is the plain one. */
static bool same_dims(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b) {
    return a->ndims == b->ndims && memcmp(a->dims, b->dims, (size_t)a->ndims * sizeof *a->dims) == 0;
}

bool plim__reorder_is_direct(const plim__arrangement *from, const plim__arrangement *to) {
    const plim__layout *a = &from->layout, *b = &to->layout;
    if (a->blocked && b->blocked) return same_dims(plim__md(a), plim__md(b)) && plim__reorder_same_axes(from, to);
    if (a->blocked) return plim__layout_is_dense(b) || !exchanges_axes(seen_by(from));
    if (b->blocked) return plim__layout_is_dense(a) || (!to->turned && a->shape.rank == plim__md(b)->ndims);
    return true;
}

struct copy_state {
    plim__layout from, to;
    int threads;
};

static plim_status run_copy(const plim__call *call) {
    const struct copy_state *s = call->state;
    plim__strided how = {s->to.shape.rank, s->to.shape.dims, s->to.strides, s->from.strides,
                         (size_t)plim_dtype_bits(s->to.dtype) / 8};
    plim__copy_strided(call->out[0], call->in[0], &how, s->threads);
    return PLIM_OK;
}

static plim_status create_copy(plim__lower *l, const plim__layout *from, const plim__layout *to,
                               plim__rearrangement *made) {
    struct copy_state *state = plim__alloc(sizeof *state);
    if (!state) return plim__lower_fail(l, PLIM_NO_MEMORY, "out of memory while planning");
    *state = (struct copy_state){*from, *to, plim__lower_threads(l)};
    *made = (plim__rearrangement){.run = run_copy, .state = state, .release = plim__free};
    return PLIM_OK;
}

static plim_status create_reorder(plim__lower *l, const dnnl_memory_desc_t *source, const dnnl_memory_desc_t *target,
                                  plim__rearrangement *made) {
    if (plim__unblock_applies(source, target)) return plim__unblock_create(l, source, target, made);
    dnnl_primitive_desc_t pd;
    dnnl_primitive_attr_t attr;
    dnnl_engine_t engine = plim__lower_dnnl_engine(l);
    PLIM_TRY(plim__lower_attr(l, &attr));
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(&pd, source, engine, target, engine, attr);
    dnnl_primitive_attr_destroy(attr);
    PLIM_TRY(plim__lower_dnnl(l, status, "reorder"));
    plim__argument arguments[] = {{DNNL_ARG_FROM, *source, 0}, {DNNL_ARG_TO, *target, PLIM__OUT(0)}};
    return plim__primitive_create(l, pd, arguments, 2, made);
}

/* `seen` describes plain memory of float32 numbers; the numbers may be of another type. Strided copies are ours, what is blocked is oneDNN's but for images of which it would write too much code. */
plim_status plim__reorder_create(plim__lower *l, const plim__arrangement *from, const plim__arrangement *to,
                                 plim__rearrangement *made) {
    const plim__layout *a = &from->layout, *b = &to->layout;
    *made = (plim__rearrangement){0};
    if (a->dtype != b->dtype && plim__layout_is_dense(a) && plim__layout_is_dense(b))
        return plim__narrow_create(l, b->dtype, plim__shape_elements(&a->shape), made);
    if (!a->blocked && !b->blocked && a->dtype == b->dtype) return create_copy(l, a, b, made);
    dnnl_memory_desc_t source, target;
    if (from->turned && plim__layout_is_dense(b)) {
        target = *seen_by(from);
        target.data_type = dnnl_type(b->dtype);
        return create_reorder(l, plim__md(a), &target, made);
    }
    if (to->turned && !a->blocked) {
        source = *seen_by(to);
        source.data_type = dnnl_type(a->dtype);
        return create_reorder(l, &source, plim__md(b), made);
    }
    bool known = plim__layout_md(a, &source) && plim__layout_md(b, &target);
    if (known && source.ndims != target.ndims)
        known = plim__layout_is_dense(a) ? dense_like(&target, &source)
                                         : plim__layout_is_dense(b) && dense_like(&source, &target);
    if (!known) return plim__lower_fail(l, PLIM_INTERNAL, "no conversion from one layout to the other");
    return create_reorder(l, &source, &target, made);
}
