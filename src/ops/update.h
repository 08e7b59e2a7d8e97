/* Updates of parameters, as nodes: what the numbers in them are called, and how they are read.
 *
 *   x weight   g gradient   u = {r, t}: learning rate after the schedule, number of the update from 1
 *   all:      r = r · rate_factor, where that is not 0
 *             g = clip(g · scale, ±clip_value); 0 means no clip
 *             g = g + weight_decay x                  or, where `decoupled` is 1,  x = x (1 - r weight_decay)
 *   Sgd:      m = momentum m + (t > 1 ? 1 - dampening : 1) g
 *             x = x - r m                             nesterov: x - r (g + momentum m); without momentum: x - r g
 *   Adam:     m = beta1 m + (1 - beta1) g             v = beta2 v + (1 - beta2) g²
 *             x = x - r / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + epsilon)
 *   Rmsprop:  v = alpha v + (1 - alpha) g²            m = momentum m + g / (sqrt v + epsilon)
 *             x = x - r m                             without momentum there is no m: x - r g / (sqrt v + epsilon)
 *   Adagrad:  v = v + g²                              x = x - r / (1 + (t - 1) rate_decay) g / (sqrt v + epsilon)
 *   Lion:     x = x - r sign(beta1 m + (1 - beta1) g) m = beta2 m + (1 - beta2) g
 *
 *   Adafactor, with w = t^beta2 and e = 2^-23, over the last two axes of g (n elements):
 *             row = row + w (mean over columns of g² - row)       column = column + w (mean over rows of g² - column)
 *             d = g / sqrt(max(row column / max(mean of row, e), e²))
 *             x = x (1 - r weight_decay) - min(r, 1 / sqrt t) max(epsilon, |x| / sqrt n) d / max(1, |d| / (sqrt n threshold))
 *             where g has fewer axes, v = v + w (g² - v) stands for the fraction
 *
 *   Sgd8, Adam8, Rmsprop8, Lion8 have their states in 8 bits: each is an index into 256 numbers from -1 to 1 (m) or from 0
 *   to 1 (v), with one scale, the largest magnitude, for 256 neighbours in row-major order; every update goes from there
 *   through float32 and back. An m that is followed by its scales, then v and its scales.
 *
 * States follow in the order m, v. A node has a state exactly when the rule above has it, so Sgd and Rmsprop without
 * momentum need less memory. Everything is PyTorch's definition, and PyTorch's order of rounding where that is free. */
#ifndef PLIM_OPS_UPDATE_H
#define PLIM_OPS_UPDATE_H

#include "ops/op.h"

/* Inputs of an update. */
enum { PLIM__UPDATE_RATE, PLIM__UPDATE_SCALE, PLIM__UPDATE_PARAMETER, PLIM__UPDATE_GRADIENT, PLIM__UPDATE_STATES };

/* State in 8 bits: elements that share a scale, and the least of a parameter for which it is done. */
enum { PLIM__STATE8_BLOCK = 256, PLIM__STATE8_LEAST = 4096 };
static inline int64_t plim__state8_blocks(int64_t elements) {
    return (elements + PLIM__STATE8_BLOCK - 1) / PLIM__STATE8_BLOCK;
}

/* Numbers of a node in double precision: 1 - beta2 has few digits left in single precision. */
void plim__update_set(plim_graph *g, int32_t node, const char *name, double value);
double plim__update_get(const plim__node *node, const char *name); /* 0 when absent */
double plim__update_factor(const plim__node *node);                /* of the learning rate */

/* Shape of Adafactor's state 0 (row) or 1 (column) for a gradient; of its only one for vectors and numbers. */
plim__shape plim__adafactor_state(const plim__shape *gradient, int state);

#endif
