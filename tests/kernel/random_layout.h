/* Random numbers, shapes and strided layouts for kernel tests: the same ones at every run. */
#ifndef PLIM_TESTS_RANDOM_LAYOUT_H
#define PLIM_TESTS_RANDOM_LAYOUT_H

#include "kernel/loops.h"

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static inline uint32_t random_bits(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32);
}

static inline int64_t random_below(int64_t n) { return (int64_t)(random_bits() % (uint64_t)n); }
static inline float random_real(void) { return (float)random_below(20001) / 2000.0f - 5.0f; }

static inline plim__shape random_shape(int most_rank, int64_t most_dim) {
    plim__shape shape = {.rank = (int)random_below(most_rank + 1)};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = random_below(4) == 0 ? 1 : 1 + random_below(most_dim);
    return shape;
}

/* Axes in random order, sometimes with holes; *elements is the room it needs. */
static inline plim__layout random_layout(plim_dtype dtype, const plim__shape *shape, int64_t *elements) {
    plim__layout layout = plim__layout_dense(dtype, shape);
    int order[PLIM_MAX_RANK];
    for (int i = 0; i < shape->rank; i++) order[i] = i;
    for (int i = shape->rank - 1; i > 0; i--) {
        int j = (int)random_below(i + 1), swap = order[i];
        order[i] = order[j], order[j] = swap;
    }
    int64_t stride = 1 + random_below(2);
    for (int i = 0; i < shape->rank; i++) {
        layout.strides[order[i]] = stride;
        stride *= shape->dims[order[i]] + (random_below(3) == 0);
    }
    *elements = stride + 1;
    return layout;
}

/* Where element number `index`, in row-major order of `shape`, is in a layout that broadcasts to it. */
static inline int64_t place_of(const plim__layout *layout, const plim__shape *shape, int64_t index) {
    int64_t at = 0;
    for (int i = shape->rank - 1; i >= 0; i--) {
        int64_t coordinate = index % shape->dims[i];
        int own = i - (shape->rank - layout->shape.rank);
        index /= shape->dims[i];
        if (own >= 0 && layout->shape.dims[own] != 1) at += coordinate * layout->strides[own];
    }
    return at;
}

#endif
