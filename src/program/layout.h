/* How values lie in memory: by strides, or in an arrangement that only a device can read. */
#ifndef PLIM_PROGRAM_LAYOUT_H
#define PLIM_PROGRAM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/shape.h"

/* A device's own description of an arrangement (oneDNN's memory descriptor); only the device reads it. */
#define PLIM__NATIVE_BYTES 704
typedef struct plim__native {
    _Alignas(8) unsigned char bytes[PLIM__NATIVE_BYTES];
} plim__native;

typedef struct plim__layout {
    plim_dtype dtype;
    plim__shape shape;
    bool blocked;                      /* only `device` can tell where elements are, from `native` */
    int64_t strides[PLIM_MAX_RANK];    /* in elements, when not blocked; 0 for broadcast axes of a view */
    const struct plim__device *device; /* when blocked */
    plim__native native;               /* when blocked */
} plim__layout;

/* A layout of a value, and with which axes it was read. Weights may be blocked as if their plain memory had other axes
 * (groups, exchanged channels); `seen` describes that plain memory then. */
typedef struct plim__arrangement {
    plim__layout layout;
    bool turned;
    plim__native seen; /* when turned; the layout is blocked then */
} plim__arrangement;

plim__layout plim__layout_dense(plim_dtype dtype, const plim__shape *shape);
bool plim__layout_is_dense(const plim__layout *layout);
bool plim__layout_equal(const plim__layout *a, const plim__layout *b);
/* The same memory with another shape, when strides allow it; false when a copy is needed. */
bool plim__layout_reshape(const plim__layout *from, const plim__shape *shape, plim__layout *to);
/* Bytes from the first to the last element. */
size_t plim__layout_bytes(const plim__layout *layout);
/* Not blocked, no holes, every element once: dense up to the order of its axes. */
bool plim__layout_is_packed(const plim__layout *layout);

#endif
