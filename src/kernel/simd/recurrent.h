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
    const float *x; /* (rows, depth), dense */
    const float *packed;
    int all_gates, first_gate, gates; /* of R; those of this product */
    const float *bias;                /* (gates, depth) */
    plim__cell_target to[4];
} plim__cell_product;

typedef struct plim__lstm_gates {
    const float *i, *o, *f, *g;
} plim__lstm_gates;

typedef struct plim__simd_recurrent {
    int width;
    void (*product)(const plim__cell_product *p, int64_t from, int64_t to);
    /* x = f(x) of n neighbours */
    void (*activate)(const plim__cell_function *f, float *x, int64_t n);
    /* The standard LSTM: sigmoid, tanh, tanh. c and h are read and written. */
    void (*lstm)(int64_t n, plim__lstm_gates gates, float *c, float *h);
    /* The standard GRU after its reset: y = (1 - z) tanh(a) + z h, where z is not activated yet */
    void (*gru)(int64_t n, const float *z, const float *a, const float *h, float *y);
} plim__simd_recurrent;

PLIM__SIMD_TABLE(plim__simd_recurrent, plim__simd_recurrent_table)

#endif
