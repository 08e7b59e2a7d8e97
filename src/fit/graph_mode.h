/* A training step of TensorFlow's graph mode with Keras' losses and optimizers, for the executor: forward, gradients and updates
 * are one graph, so that a weight is updated when its gradient is there, between the gradients of the layers before it; what an
 * update can compute before the gradient exists is computed when the step begins; operators write over what has no reader left. */
#ifndef PLIM_FIT_GRAPH_MODE_H
#define PLIM_FIT_GRAPH_MODE_H

#include "fit/autograd.h"
#include "fit/autograd_rows.h"
#include "fit/executor.h"

enum { PLIM__GRAPH_SAVED = 4 };

typedef struct plim__graph_step {
    plim__autograd *a;
    plim__executor x;
    uint32_t *value, *gradient;           /* of each value: the operation that makes it */
    uint32_t *half;                       /* of each value: it in 16 bits */
    uint32_t *ready;                      /* of each weight: what its update computed when the step began */
    int32_t *left;                        /* of each weight: parts of its gradient that are not there yet */
    uint32_t (*saved)[PLIM__GRAPH_SAVED]; /* of each node: what its gradient reads beside inputs and outputs */
    PLIM_VEC(uint32_t) loops;             /* what steps of loops save, in order */
    uint32_t after;                       /* what operations that are repeated wait for */
    bool last;                            /* weights are updated in this pass */
    uint8_t phase;
} plim__graph_step;

/* NULL: as PyTorch's. */
const plim__torch_row *plim__graph_mode_row(const char *name);
/* What is told apart in graph mode; OTHER where nothing is. */
plim__torch_kind plim__graph_mode_kind(const plim__node *node);
/* One pass over a batch that is fed already. Blocks that end at `cuts` are computed again for their gradients. `last`: the weights
 * are updated with what all passes summed. */
void plim__graph_mode_pass(plim__autograd *a, const uint32_t *cuts, size_t cut_count, bool last);

/* --- between its files ---------------------------------------------------------------------------------------- */

/* A new operation of the graph that reads up to three tensors; `bytes` 0: nothing is kept. One that writes over an input. */
uint32_t plim__graph_new(plim__graph_step *s, const char *what, uint64_t bytes, uint32_t r0, uint32_t r1, uint32_t r2);
uint32_t plim__graph_over(plim__graph_step *s, const char *what, uint64_t bytes, uint32_t r0, uint32_t r1, uint32_t r2);
/* Input i as the kernel reads it; 0 for a weight that is read where it lies. */
uint32_t plim__graph_input(plim__graph_step *s, const plim__node *node, size_t i);
void plim__graph_gradients(plim__graph_step *s, size_t n);
void plim__graph_loop(plim__graph_step *s, size_t n);
void plim__graph_loop_gradients(plim__graph_step *s, size_t n);
/* One more part of a value's gradient; with the last one a weight is updated. */
void plim__graph_deliver(plim__graph_step *s, plim_value value, uint32_t part);
bool plim__graph_is_loop(const plim__node *node);

#endif
