/* The inner loops of recurrent networks on float32, by instruction set.
 *
 * R, the recurrent weights of one direction, is packed in blocks of `width` hidden units, so that the product walks
 * it from front to back, all gates of a unit together:
 *
 *     R (G, U, K)  →  [U / width][K][G][width]        units padded with zeros */
#ifndef PLIM_KERNEL_SIMD_RECURRENT_H
#define PLIM_KERNEL_SIMD_RECURRENT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/simd/simd.h"
#include "ops/activation.h"

/* An activation whose input is held inside ±clip first. */
typedef struct plim__cell_function {
    plim__function kind;
    float alpha, beta, clip; /* clip is infinite where there is none */
} plim__cell_function;

/* Where a gate goes. */
typedef struct plim__cell_target {
    float *y;         /* (rows, units) */
    int64_t row_step; /* in elements */
    bool add;         /* to what is there */
} plim__cell_target;

/* to[g].y(row, u) (+)= sum_k x(row, k) R(first_gate + g, u, k) + bias(g, u), for units [from, to) of each gate; from is
 * a multiple of width. */
typedef struct plim__cell_product {
    int64_t rows, depth;
    const float *x; /* (rows, depth) */
    int64_t x_step; /* from row to row */
    const float *packed;
    int all_gates, first_gate, gates; /* of R; those of this product */
    const float *bias;                /* (gates, depth) */
    plim__cell_target to[4];
} plim__cell_product;

typedef struct plim__lstm_gates {
    float *i, *o, *f, *g;
} plim__lstm_gates;

/* Of one sample at one step; gates as they were activated, in, and their gradients, out. */
typedef struct plim__lstm_grad {
    float *i, *o, *f, *g;
    const float *c, *last, *dy; /* the cell after the step, and before it */
    float *dh, *dc;             /* dh becomes 0, dc that of the cell before the step */
} plim__lstm_grad;

typedef struct plim__simd_recurrent {
    int width;
    void (*product)(const plim__cell_product *p, int64_t from, int64_t to);
    /* x = f(x) of n neighbours */
    void (*activate)(const plim__cell_function *f, float *x, int64_t n);
    /* The standard LSTM: sigmoid, tanh, tanh. c may be last; with `keep` the gates become activated. */
    void (*lstm)(int64_t n, plim__lstm_gates gates, const float *last, float *c, float *h, bool keep);
    /* The standard GRU after its reset: y = (1 - z) tanh(a) + z h, where z is not activated yet; with `keep` z and a become
     * activated. */
    void (*gru)(int64_t n, float *z, float *a, const float *h, float *y, bool keep);
    /* Backward of the standard LSTM. */
    void (*lstm_grad)(int64_t n, const plim__lstm_grad *row);
    /* Backward of the standard GRU's last line: z and g become their gradients, dh what h' passes on directly. */
    void (*gru_blend_grad)(int64_t n, float *z, float *g, const float *before, const float *dy, float *dh);
    /* Backward of r ⊙ factor, whose gradient is d: r becomes its gradient, d ⊙ r is stored in passed or added to it. */
    void (*gru_reset_grad)(int64_t n, float *r, const float *d, const float *factor, float *passed, bool add);
    /* y += x */
    void (*add)(int64_t n, const float *x, float *y);
    /* sums[u] += sum over rows of x(row, u) */
    void (*sum_rows)(const float *x, int64_t rows, int64_t step, int64_t n, double *sums);
} plim__simd_recurrent;

PLIM__SIMD_TABLE(plim__simd_recurrent, plim__simd_recurrent_table)

#endif
