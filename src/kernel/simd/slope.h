/* Loops of the backward of pointwise functions, on float32, by instruction set. */
#ifndef PLIM_KERNEL_SIMD_SLOPE_H
#define PLIM_KERNEL_SIMD_SLOPE_H

#include "kernel/loops.h"
#include "kernel/simd/simd.h"
#include "ops/activation.h"

typedef enum plim__slope2 {
#define SLOPE2(name, expression) PLIM__SLOPE2_##name,
#include "ops/slope2.def"
#undef SLOPE2
    PLIM__SLOPE2_COUNT
} plim__slope2;

typedef struct plim__simd_slope {
    plim__loop_body one[PLIM__FUNCTION_COUNT]; /* dx, dy, saved; context: float[2], a and b; NULL: has no slope */
    /* 32 bits a word, of n elements of what is saved; and dx from dy and them, which may be the same memory. NULL: a bit
     * is not enough. context as above. */
    void (*pack[PLIM__FUNCTION_COUNT])(const float *context, int64_t n, const float *saved, uint32_t *bits);
    void (*unpack[PLIM__FUNCTION_COUNT])(const float *context, int64_t n, const uint32_t *bits, const float *dy,
                                         float *dx);
    plim__loop_body two[PLIM__SLOPE2_COUNT]; /* dx, dy, x, y */
} plim__simd_slope;

PLIM__SIMD_TABLE(plim__simd_slope, plim__slopes)

#endif
