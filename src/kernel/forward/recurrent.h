/* Recurrent networks: what the lowering decides and the run follows.
 *
 * One direction after the other. X·Wᵀ of many time steps is one large product; the steps then follow one another in
 * one parallel region. Each thread owns some samples and walks through time alone, so that none waits for another whose
 * processor is busy. Where samples are few it owns hidden units instead, with all their gates, and meets the others once a
 * step (twice for a GRU that resets before the product).
 *
 *   scratch:  gates (chunk, B, G H)  |  h (2, B, H)  |  c (B, H)  |  reset (B, H)  |  bias (G + 1, H)  |  rows (chunk, B, I)
 *
 * Of a table (ops/recurrent.c) the products are there already, and gates begin as copies of its rows.
 *
 * chunk is some of the T steps. For training the gates of all steps come out as they were activated, (D, T, B, (G + 1) H):
 * the last H of a row are c of an LSTM, or reset of a GRU. Scratch has no gates then. reset is r ⊙ h of a GRU, or h·Rhᵀ + Rbh where it resets after the product; bias is
 * Wb + Rb, its last row what such a GRU adds from Wb alone. rows are X's where they do not lie one after the other. */
#ifndef PLIM_KERNEL_FORWARD_RECURRENT_H
#define PLIM_KERNEL_FORWARD_RECURRENT_H

#include "kernel/simd/recurrent.h"
#include "program/lower.h"
#include "program/program.h"

typedef enum plim__cell { PLIM__CELL_RNN, PLIM__CELL_GRU, PLIM__CELL_LSTM } plim__cell;

/* In operands: X and W, or a table's products and which row is taken; R packed, bias, lengths, h0, c0, peepholes. Out operands: Y, Y_h, Y_c, gates. */
typedef struct plim__recurrent {
    plim__cell cell;
    int gates, directions, threads;
    bool by_samples; /* what a thread owns */
    bool reverse[2];
    bool batch_first, reset_after, input_forget;
    int64_t table;                        /* rows of the table; 0: there is none */
    plim_dtype taken;                     /* the type of what says which row is taken */
    bool standard;                        /* sigmoid and tanh, no clip, no peepholes: the loops made for that */
    plim__cell_function functions[2][3];  /* f, g, h of each direction */
    int64_t steps, batch, inputs, hidden; /* T, B, I, H */
    int64_t padded;                       /* H in whole blocks, as R is packed */
    bool saves;                           /* the gates come out */
    bool through_y;                       /* Y of a step is h of the next one */
    int64_t row;                          /* of gates, from sample to sample */
    int64_t x_step, x_sample, x_input;    /* strides of X */
    int64_t chunk;                        /* time steps at once */
    size_t h, c, reset, bias, rows;       /* where parts of the scratch begin, in floats */
} plim__recurrent;

/* One direction of one run. */
typedef struct plim__recurrent_pass {
    const plim__recurrent *s;
    const plim__simd_recurrent *loops;
    int direction;
    int64_t first;                       /* time step of the first gates */
    const float *x, *packed, *peepholes; /* peepholes may be NULL */
    const int32_t *lengths;              /* may be NULL */
    float *y;                            /* may be NULL */
    float *gates, *h[2], *c, *reset, *rows;
    const float *bias;
} plim__recurrent_pass;

/* Attributes, sizes and activations of a node whose inputs from `first` on are X, W and R. */
plim_status plim__recurrent_read(plim__lower *l, plim__cell cell, size_t first, plim__recurrent *s);
/* Time step t, whose gates hold X·Wᵀ. h and c before it, and after it; the latter may be where the former are, as may h in
 * Y. c has c_step floats from sample to sample. */
typedef struct plim__recurrent_moment {
    int64_t t;
    float *gates;
    const float *h, *c;
    float *next_h, *next_c;
    int64_t c_step, next_c_step;
} plim__recurrent_moment;
/* What a thread owns: hidden units [from, to) of samples [first, last). */
typedef struct plim__recurrent_share {
    int64_t from, to, first, last;
} plim__recurrent_share;
/* All threads call it. */
void plim__recurrent_step(const plim__recurrent_pass *pass, const plim__recurrent_moment *m,
                          plim__recurrent_share share);
/* Where threads wait for each other's units. */
static inline void plim__recurrent_meet(const plim__recurrent *s) {
    if (s->by_samples) return;
#pragma omp barrier
}
plim_status plim__run_recurrent(const plim__call *call);

#endif
