/* Matrices in few bits (graph/packed.h) back to float32, by instruction set. */
#ifndef PLIM_KERNEL_SIMD_PACKED_H
#define PLIM_KERNEL_SIMD_PACKED_H

#include "kernel/simd/simd.h"

typedef struct plim__simd_packed {
    /* Two elements of each byte: levels[upper half] · scale, levels[lower half] · scale. */
    void (*nibbles)(int64_t bytes, const uint8_t *codes, const float levels[16], float scale, float *to);
    void (*bytes)(int64_t n, const int8_t *codes, float scale, float *to);
} plim__simd_packed;

PLIM__SIMD_TABLE(plim__simd_packed, plim__unpacks)

#endif
