/* What TensorFlow's graph mode does otherwise than PyTorch's eager mode, on the same tape: a weight is updated as soon as its
 * gradient is whole, which is gone then; what an update can compute before the gradient exists is computed when the step
 * begins; operators write over what has no reader left, forward and backward. */
#ifndef PLIM_FIT_GRAPH_MODE_H
#define PLIM_FIT_GRAPH_MODE_H

#include "fit/autograd.h"
#include "fit/autograd_rows.h"

/* NULL: as PyTorch's. */
const plim__torch_row *plim__graph_mode_row(const char *name);
/* Whether weights are updated within the backward pass: not while gradients are summed over micro-batches. */
bool plim__graph_mode_updates(const plim__autograd *a);
/* The step begins: what the updates compute from weights and state alone. */
void plim__graph_mode_begin(plim__autograd *a);
/* One more part of a weight's gradient is there; with the last one the weight is updated. */
void plim__graph_mode_deliver(plim__autograd *a, plim_value weight);
/* The input that a node's output is written over; PLIM_NO_VALUE: none. */
plim_value plim__graph_mode_overwrites(const plim__autograd *a, const plim__node *node, const plim__torch_row *row);
/* Temporaries of a gradient that Keras spells out, as many as its input is large: made, and gone after it. */
size_t plim__graph_mode_temporaries(const plim__node *node);

#endif
