/* Moving elements: from any strides to any strides, and through tables of indices. Elements are 1, 2, 4, 8
 * or 16 bytes; what they mean does not matter. All work is split over `threads` when there is enough of it. */
#ifndef PLIM_KERNEL_COPY_H
#define PLIM_KERNEL_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than a tensor's rank, so that an axis can be seen as two (tiles, space to depth). */
#define PLIM__COPY_MAX_RANK 16

/* Strides of destination and source are in elements; those of the source may be 0 (broadcast) or negative (reversed). */
typedef struct plim__strided {
    int rank; /* 0: one element */
    const int64_t *dims, *to, *from;
    size_t element_size;
} plim__strided;

/* dst[Σ i·to] = src[Σ i·from] for every i in dims. They do not overlap. */
void plim__copy_strided(void *dst, const void *src, const plim__strided *how, int threads);

/* One axis of plim__copy_mapped: output index i takes source index map[i]; -1 takes the fill value. */
typedef struct plim__map_axis {
    int64_t size;       /* of the output */
    int64_t stride;     /* of the source, in elements */
    const int64_t *map; /* `size` entries */
} plim__map_axis;

typedef struct plim__lookup {
    int rank;
    const plim__map_axis *axes;
    const void *fill; /* one element */
    size_t element_size;
} plim__lookup;

/* dst (dense, row-major) = src looked up through a table for each axis: padding, nearest resizing, crops. */
void plim__copy_mapped(void *dst, const void *src, const plim__lookup *how, int threads);

/* Writes the element at `value` `count` times. */
void plim__fill(void *dst, const void *value, int64_t count, size_t element_size, int threads);

/* Row-major strides without holes. */
void plim__dense_strides(const int64_t *dims, int rank, int64_t *strides);

/* Threads worth waking for this many elements. */
static inline int plim__copy_threads(int64_t elements, int threads) {
    return elements < 32768 || threads < 1 ? 1 : threads;
}

#endif
