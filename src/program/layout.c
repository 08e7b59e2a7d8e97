/* How values lie in memory. */
#include <string.h>

#include "program/lower.h"

plim__layout plim__layout_dense(plim_dtype dtype, const plim__shape *shape) {
    plim__layout layout = {.dtype = dtype, .shape = *shape};
    int64_t stride = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        layout.strides[i] = stride;
        stride *= shape->dims[i];
    }
    return layout;
}

bool plim__layout_is_dense(const plim__layout *layout) {
    if (layout->blocked) return false;
    int64_t stride = 1;
    bool empty = false;
    for (int i = 0; i < layout->shape.rank; i++) empty |= layout->shape.dims[i] == 0;
    if (empty) return true;
    for (int i = layout->shape.rank - 1; i >= 0; i--) {
        if (layout->shape.dims[i] != 1 && layout->strides[i] != stride) return false;
        stride *= layout->shape.dims[i];
    }
    return true;
}

bool plim__layout_equal(const plim__layout *a, const plim__layout *b) {
    if (a->dtype != b->dtype || a->blocked != b->blocked || !plim__shape_equal(&a->shape, &b->shape)) return false;
    if (a->blocked) return dnnl_memory_desc_equal(&a->md, &b->md);
    for (int i = 0; i < a->shape.rank; i++)
        if (a->shape.dims[i] != 1 && a->strides[i] != b->strides[i]) return false;
    return true;
}

/* Walks both shapes from the right, matching groups of axes with equal products. Inside a group the old
 * axes must be one contiguous run, which the new axes then divide. */
bool plim__layout_reshape(const plim__layout *from, const plim__shape *shape, plim__layout *to) {
    if (from->blocked) return false;
    if (plim__layout_is_dense(from)) {
        *to = plim__layout_dense(from->dtype, shape);
        return true;
    }
    plim__layout result = {.dtype = from->dtype, .shape = *shape};
    int i = from->shape.rank - 1, j = shape->rank - 1;
    while (i >= 0 || j >= 0) {
        if (i >= 0 && from->shape.dims[i] == 1) {
            i--;
            continue;
        }
        if (j >= 0 && shape->dims[j] == 1) {
            result.strides[j--] = 1;
            continue;
        }
        if (i < 0 || j < 0) return false;
        int64_t old_size = from->shape.dims[i], new_size = shape->dims[j], stride = from->strides[i];
        int new_last = j;
        while (old_size != new_size) {
            if (old_size < new_size) {
                if (--i < 0) return false;
                if (from->shape.dims[i] != 1 && from->strides[i] != stride * old_size)
                    return false; /* a hole inside the run */
                old_size *= from->shape.dims[i];
            } else {
                if (--j < 0) return false;
                new_size *= shape->dims[j];
            }
        }
        int64_t step = stride;
        for (int k = new_last; k >= j; k--) {
            result.strides[k] = step;
            step *= shape->dims[k];
        }
        i--;
        j--;
    }
    *to = result;
    return true;
}

size_t plim__layout_bytes(const plim__layout *layout) {
    if (layout->blocked) return dnnl_memory_desc_get_size(&layout->md);
    size_t bytes = 0;
    int64_t last = 1;
    for (int i = 0; i < layout->shape.rank; i++) {
        if (layout->shape.dims[i] == 0) return 0;
        last += (layout->shape.dims[i] - 1) * layout->strides[i];
    }
    return plim_dtype_bytes(layout->dtype, last, &bytes) ? bytes : 0;
}

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
        *md = layout->md;
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

plim__layout plim__layout_from_md(const dnnl_memory_desc_t *md, plim_dtype dtype, const plim__shape *shape) {
    plim__layout layout = {.dtype = dtype, .shape = *shape, .blocked = true, .md = *md};
    bool plain = md->format_kind == dnnl_blocked && md->format_desc.blocking.inner_nblks == 0 &&
                 md->ndims == shape->rank && md->offset0 == 0;
    for (int i = 0; plain && i < md->ndims; i++) plain = md->padded_dims[i] == md->dims[i];
    if (plain) {
        layout.blocked = false;
        for (int i = 0; i < md->ndims; i++) layout.strides[i] = md->format_desc.blocking.strides[i];
        memset(&layout.md, 0, sizeof layout.md);
    }
    return layout;
}
