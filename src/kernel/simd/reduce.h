/* Accumulating loops of reductions, and softmax rows, on float32, by instruction set. */
#ifndef PLIM_KERNEL_SIMD_REDUCE_H
#define PLIM_KERNEL_SIMD_REDUCE_H

#include <stdint.h>

#include "kernel/simd/simd.h"

/* What is accumulated. Sums are kept in double, so that long ones stay exact. */
typedef enum plim__fold_kind {
    PLIM__FOLD_SUM,
    PLIM__FOLD_SUM_ABS,
    PLIM__FOLD_SUM_SQUARE,
    PLIM__FOLD_SUM_EXP, /* of x - shift */
    PLIM__FOLD_PROD,
    PLIM__FOLD_MAX, /* NaN wins */
    PLIM__FOLD_MIN,
    PLIM__FOLD_COUNT
} plim__fold_kind;

/* Accumulators are 8 bytes each: double for real types, int64 or uint64 for whole ones. */
typedef struct plim__fold_loops {
    /* n elements, `step` bytes apart, into one accumulator */
    void (*row[PLIM__FOLD_COUNT])(void *accumulator, const double *shift, const char *in, int64_t n, int64_t step);
    /* n elements into n accumulators */
    void (*column[PLIM__FOLD_COUNT])(void *accumulators, const double *shifts, const char *in, int64_t n, int64_t step);
} plim__fold_loops;

typedef struct plim__simd_reduce {
    plim__fold_loops f32;
    /* y = softmax or log-softmax of n neighbours; y may be x */
    void (*softmax)(float *y, const float *x, int64_t n);
    void (*log_softmax)(float *y, const float *x, int64_t n);
    /* The same of many columns at once; `sums` and `peaks` have room for a float of each. */
    void (*softmax_columns)(float *y, const float *x, plim__columns columns, float *peaks, float *sums, int log_form);
} plim__simd_reduce;

PLIM__SIMD_TABLE(plim__simd_reduce, plim__simd_reduce_table)

#endif
