/* The inner loops of max pools on float32 images whose channels lie in blocks of 8 or 16, by instruction set.
 *
 * A plane is one block of channels of one sample, (H, W, block). Where each maximum was is an index into its window,
 * ky · KW + kx, one byte an element. */
#ifndef PLIM_KERNEL_SIMD_POOL_H
#define PLIM_KERNEL_SIMD_POOL_H

#include <stdint.h>

#include "kernel/simd/simd.h"

typedef struct plim__pool_plane {
    int64_t in[2], out[2], kernel[2], stride[2], dilation[2], before[2];
} plim__pool_plane;

typedef struct plim__simd_pool {
    /* By block size: [0] for 8, [1] for 16. */
    void (*max[2])(const plim__pool_plane *p, const float *x, float *y, uint8_t *places);
    void (*max_backward[2])(const plim__pool_plane *p, const float *dy, const uint8_t *places, float *dx);
} plim__simd_pool;

PLIM__SIMD_TABLE(plim__simd_pool, plim__simd_pool_table)

#endif
