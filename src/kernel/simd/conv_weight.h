/* The inner loop of weight gradients of convolutions that read few channels, on float32, by instruction set.
 *
 * A weight is a tap: it sees the padded image x shifted by its offset. Its gradient for 16 output channels at once is
 *
 *     sums[tap][c] = Σ dy[row][column][c] · x[offset[tap] + row · down + column · along]
 *
 * where the 16 channels of a pixel of dy are two runs of 8. One more entry after the taps sums dy itself (the bias). */
#ifndef PLIM_KERNEL_SIMD_CONV_WEIGHT_H
#define PLIM_KERNEL_SIMD_CONV_WEIGHT_H

#include <stdint.h>

#include "kernel/simd/simd.h"

#define PLIM__TAP_CHANNELS 16

typedef struct plim__conv_taps {
    int64_t rows, columns; /* of dy */
    int64_t pixel;         /* floats from a pixel of dy to the next */
    int64_t down, along;   /* floats of x from one row of dy to the next, and from one column to the next */
    int64_t count;
    const int64_t *offset; /* of each tap */
} plim__conv_taps;

typedef struct plim__simd_conv_weight {
    /* `second`: floats from the first 8 channels of a pixel of dy to the other 8. */
    void (*sums)(const plim__conv_taps *t, const float *dy, int64_t second, const float *x, float *sums);
} plim__simd_conv_weight;

PLIM__SIMD_TABLE(plim__simd_conv_weight, plim__simd_conv_weight_table)

#endif
