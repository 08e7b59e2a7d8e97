/* Rows of root mean square norm on float32, by instruction set. */
#ifndef PLIM_KERNEL_SIMD_RMS_NORM_H
#define PLIM_KERNEL_SIMD_RMS_NORM_H

#include "kernel/simd/simd.h"

typedef struct plim__simd_rms_norm {
    /* y = x · r · scale, r = 1 / sqrt(mean(x²) + epsilon); y may be x */
    void (*forward)(float *y, const float *x, const float *scale, int64_t n, float epsilon);
    /* dx = r · (dy · scale - x · r² · mean(dy · scale · x)); dscale += dy · x · r; dx may be dy */
    void (*backward)(float *dx, float *dscale, const float *const in[3], int64_t n, float epsilon); /* dy, x, scale */
} plim__simd_rms_norm;

PLIM__SIMD_TABLE(plim__simd_rms_norm, plim__simd_rms_norm_table)

#endif
