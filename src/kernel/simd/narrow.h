/* Float32 to 16 bits and back, by instruction set: rounded to the nearest, and of two that are as near to the even one. */
#ifndef PLIM_KERNEL_SIMD_NARROW_H
#define PLIM_KERNEL_SIMD_NARROW_H

#include "kernel/simd/simd.h"

typedef struct plim__simd_narrow {
    void (*to_bfloat)(int64_t n, const float *from, uint16_t *to);
    void (*to_half)(int64_t n, const float *from, uint16_t *to);
    void (*from_bfloat)(int64_t n, const uint16_t *from, float *to);
    void (*from_half)(int64_t n, const uint16_t *from, float *to);
} plim__simd_narrow;

PLIM__SIMD_TABLE(plim__simd_narrow, plim__narrows)

#endif
