/* Layouts by strides; what is blocked is the device's. */
#include "program/layout.h"

#include "program/device.h"

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
    if (a->blocked) return a->device == b->device && a->device->layout_equal(a, b);
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
    if (layout->blocked) return layout->device->layout_bytes(layout);
    size_t bytes = 0;
    int64_t last = 1;
    for (int i = 0; i < layout->shape.rank; i++) {
        if (layout->shape.dims[i] == 0) return 0;
        last += (layout->shape.dims[i] - 1) * layout->strides[i];
    }
    return plim_dtype_bytes(layout->dtype, last, &bytes) ? bytes : 0;
}

bool plim__layout_is_packed(const plim__layout *layout) {
    if (layout->blocked) return false;
    int64_t dims[PLIM_MAX_RANK], strides[PLIM_MAX_RANK], expected = 1;
    int rank = 0;
    for (int i = 0; i < layout->shape.rank; i++) {
        if (layout->shape.dims[i] == 0) return plim__layout_is_dense(layout);
        if (layout->shape.dims[i] == 1) continue;
        int j = rank++;
        for (; j > 0 && strides[j - 1] > layout->strides[i]; j--) {
            dims[j] = dims[j - 1];
            strides[j] = strides[j - 1];
        }
        dims[j] = layout->shape.dims[i];
        strides[j] = layout->strides[i];
    }
    for (int i = 0; i < rank; i++) {
        if (strides[i] != expected) return false;
        expected *= dims[i];
    }
    return true;
}
