/* Recurrent networks: what the lowering decides and the run follows.
 *
 * One direction after the other. X·Wᵀ of many time steps is one large product; the steps then follow one another in
 * one parallel region. Each thread owns some hidden units, with all their gates: its part of R stays in its cache, and
 * one barrier a step is enough (two for a GRU that resets before the product).
 *
 *   scratch:  gates (chunk, B, G H)  |  h (2, B, H)  |  c (B, H)  |  reset (B, H)  |  bias (G + 1, H)  |  rows (chunk, B, I)
 *
 * chunk is some of the T steps. reset is r ⊙ h of a GRU, or h·Rhᵀ + Rbh where it resets after the product; bias is
 * Wb + Rb, its last row what such a GRU adds from Wb alone. rows are X's where they do not lie one after the other. */
#ifndef PLIM_KERNEL_FORWARD_RECURRENT_H
#define PLIM_KERNEL_FORWARD_RECURRENT_H

#include "kernel/simd/recurrent.h"
#include "program/lower.h"
#include "program/program.h"

typedef enum plim__cell { PLIM__CELL_RNN, PLIM__CELL_GRU, PLIM__CELL_LSTM } plim__cell;

/* In operands: X, W, R packed, bias, lengths, h0, c0, peepholes. Out operands: Y, Y_h, Y_c. */
typedef struct plim__recurrent {
    plim__cell cell;
    int gates, directions, threads;
    bool reverse[2];
    bool batch_first, reset_after, input_forget;
    bool standard;                        /* sigmoid and tanh, no clip, no peepholes: the loops made for that */
    plim__cell_function functions[2][3];  /* f, g, h of each direction */
    int64_t steps, batch, inputs, hidden; /* T, B, I, H */
    int64_t padded;                       /* H in whole blocks, as R is packed */
    int64_t x_step, x_sample, x_input;    /* strides of X */
    int64_t chunk;                        /* time steps at once */
    size_t h, c, reset, bias, rows;       /* where parts of the scratch begin, in floats */
} plim__recurrent;

/* One direction of one run. */
typedef struct plim__recurrent_pass {
    const plim__recurrent *s;
    const plim__simd_recurrent *loops;
    int direction;
    const float *x, *packed, *peepholes; /* peepholes may be NULL */
    const int32_t *lengths;              /* may be NULL */
    float *y;                            /* may be NULL */
    float *gates, *h[2], *c, *reset, *rows;
    const float *bias;
} plim__recurrent_pass;

/* Attributes, sizes and activations of a node whose inputs from `first` on are X, W and R. */
plim_status plim__recurrent_read(plim__lower *l, plim__cell cell, size_t first, plim__recurrent *s);
/* Hidden units [from, to) of time step t, whose gates hold X·Wᵀ: h[turn] → h[!turn] and Y. All threads call it. */
void plim__recurrent_step(const plim__recurrent_pass *pass, int64_t t, float *gates, int turn, int64_t from,
                          int64_t to);
plim_status plim__run_recurrent(const plim__call *call);

#endif
