/* Shapes. */
#include "graph/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"

plim__shape plim__shape_of(int rank, const int64_t *dims) {
    plim__shape shape = {.rank = rank};
    for (int i = 0; i < rank && i < PLIM_MAX_RANK; i++) shape.dims[i] = dims[i];
    return shape;
}

bool plim__shape_equal(const plim__shape *a, const plim__shape *b) {
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

bool plim__shape_is_concrete(const plim__shape *shape) {
    if (shape->rank < 0) return false;
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0) return false;
    return true;
}

/* The product of all sizes but the zeros, or -1: strides and steps along an axis are at most this, in empty tensors too. */
static int64_t reach_of(const plim__shape *shape, bool *empty) {
    *empty = false;
    if (!plim__shape_is_concrete(shape)) return -1;
    int64_t product = 1;
    bool overflow = false;
    for (int i = 0; i < shape->rank; i++) {
        *empty |= shape->dims[i] == 0;
        overflow |= __builtin_mul_overflow(product, shape->dims[i] ? shape->dims[i] : 1, &product);
    }
    return overflow ? -1 : product;
}

int64_t plim__shape_elements(const plim__shape *shape) {
    bool empty;
    int64_t reach = reach_of(shape, &empty);
    return reach < 0 ? -1 : empty ? 0 : reach;
}

int64_t plim__shape_product(const plim__shape *shape, int from, int to) {
    int64_t product = 1;
    for (int i = from; i < to; i++) product *= shape->dims[i];
    return product;
}

plim_status plim__shape_bytes(const plim__shape *shape, plim_dtype dtype, size_t *bytes, plim_error *error) {
    bool empty;
    int64_t reach = reach_of(shape, &empty);
    char text[PLIM_SHAPE_TEXT];
    if (plim_dtype_bits(dtype) == 0)
        return plim__fail(error, PLIM_UNSUPPORTED, "element type %s has no fixed size", plim_dtype_name(dtype));
    if (reach < 0 || !plim_dtype_bytes(dtype, reach, bytes) || *bytes > (size_t)INT64_MAX)
        return plim__fail(error, PLIM_OVERFLOW, "%s%s is more bytes than fit in 63 bits", plim_dtype_name(dtype),
                          plim__shape_text(shape, NULL, text));
    if (empty) *bytes = 0;
    return PLIM_OK;
}

bool plim__shape_broadcast(const plim__shape *a, const plim__shape *b, plim__shape *result) {
    plim__shape out = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 1; i <= out.rank; i++) {
        int64_t x = i <= a->rank ? a->dims[a->rank - i] : 1, y = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (x != y && x != 1 && y != 1) return false;
        out.dims[out.rank - i] = x == 1 ? y : x;
    }
    *result = out;
    return true;
}

bool plim__axis_normalize(int64_t axis, int rank, int *normal) {
    if (axis < -rank || axis >= rank) return false;
    *normal = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

const char *plim__shape_text(const plim__shape *shape, const plim_graph *graph, char text[PLIM_SHAPE_TEXT]) {
    if (shape->rank < 0) return memcpy(text, "[?]", sizeof "[?]");
    size_t used = 0;
    text[used++] = '[';
    for (int i = 0; i < shape->rank; i++) {
        const char *symbol = shape->dims[i] < 0 && graph ? plim_graph_symbol_name(graph, shape->dims[i]) : NULL;
        int wrote = symbol
                        ? snprintf(text + used, PLIM_SHAPE_TEXT - used - 2, "%s%.20s", i ? "," : "", symbol)
                        : snprintf(text + used, PLIM_SHAPE_TEXT - used - 2, "%s%" PRId64, i ? "," : "", shape->dims[i]);
        used += (size_t)(wrote > 0 ? wrote : 0);
        if (used > PLIM_SHAPE_TEXT - 24) break;
    }
    text[used++] = ']';
    text[used] = 0;
    return text;
}
