/* The inner loops of losses on float32, by instruction set.
 *
 * Scores of one position lie side by side (rows), or a step apart with neighbouring positions side by side (columns).
 * `w` holds a weight for each class; NULL stands for ones. */
#ifndef PLIM_KERNEL_SIMD_LOSS_H
#define PLIM_KERNEL_SIMD_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/simd/simd.h"

/* Losses of single elements: of a score x and a target t. */
typedef enum plim__element_loss {
    PLIM__ELEMENT_BCE,   /* max(x, 0) - x t + log(1 + e^-|x|)     sigmoid(x) - t */
    PLIM__ELEMENT_MSE,   /* d², d = x - t                         2 d */
    PLIM__ELEMENT_L1,    /* |d|                                   sign d */
    PLIM__ELEMENT_HUBER, /* d² / 2, delta (|d| - delta / 2) from delta on    d held inside ±delta */
    PLIM__ELEMENT_COUNT
} plim__element_loss;

/* factor e^(x - peak) - base w; of several positions: an element for each. */
typedef struct plim__loss_slope {
    float peak, factor, base;
} plim__loss_slope;
typedef struct plim__loss_slopes {
    const float *peaks, *factors, *bases;
} plim__loss_slopes;

typedef struct plim__simd_loss {
    /* The largest of n scores, and the sum of e^(x - peak). */
    double (*normalizer)(const float *x, int64_t n, float *peak);
    /* Σ w x */
    double (*dot)(const float *x, const float *w, int64_t n);
    bool (*holds)(const float *x, int64_t n, float value);
    void (*add)(float *to, const float *x, int64_t n);
    /* dx may be x */
    void (*slope)(float *dx, const float *x, const float *w, int64_t n, plim__loss_slope slope);

    /* The same for many positions at once; best is the first class that has the peak. */
    void (*normalizers)(const float *x, plim__columns columns, float *peaks, float *sums, int32_t *best);
    void (*dots)(const float *x, const float *w, plim__columns columns, float *dots);
    /* A factor of 0 makes a column of zeros, whatever the scores are. */
    void (*slopes)(float *dx, const float *x, const float *w, plim__columns columns, plim__loss_slopes slopes);

    /* The sum over n elements; dx = share · slope, where dx may be x. */
    double (*element_sum[PLIM__ELEMENT_COUNT])(const float *x, const float *t, int64_t n, float delta);
    void (*element_slope[PLIM__ELEMENT_COUNT])(float *dx, const float *x, const float *t, int64_t n, float delta,
                                               float share);
} plim__simd_loss;

PLIM__SIMD_TABLE(plim__simd_loss, plim__simd_loss_table)

#endif
