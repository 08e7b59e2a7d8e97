/* Gradients: how an operator's backward pass is built, as nodes of the same graph.
 *
 * A gradient function (plim__gradient_<name>, named in the operator's row) gets a node and the gradients of
 * its outputs, and adds nodes that compute the gradients of its inputs:
 *
 *     y = sigmoid(x)      dx = dy · y · (1 - y)
 *     plim_status plim__gradient_sigmoid(plim__gradient *d) {
 *         plim_value y = plim__gradient_output(d, 0), dy = plim__gradient_of_output(d, 0);
 *         return plim__gradient_set(d, 0, plim__gradient_node(d, "plimsoll", "SigmoidGrad", 1, (plim_value[]){dy, y}, 2));
 *     }
 *
 * What a gradient node reads (a saved input, a saved output, or neither) decides which activations live on
 * into the backward pass: prefer outputs that are kept anyway, and masks over values. All types are concrete:
 * new nodes are inferred as they are made. */
#ifndef PLIM_GRAD_GRADIENT_H
#define PLIM_GRAD_GRADIENT_H

#include "ops/op.h"

struct plim__gradient {
    plim_graph *graph;
    int32_t node; /* index, since nodes move while new ones are added */
    plim_error *error;
    plim_value *of;   /* gradient of each value so far, PLIM_NO_VALUE for none; grows with the graph */
    size_t of_count;
    const bool *needed; /* by value: whether anybody wants its gradient */
};

/* --- what is there --------------------------------------------------------------------------------------- */

static inline const plim__node *plim__gradient_self(const plim__gradient *d) { return &d->graph->nodes.items[d->node]; }
static inline plim_value plim__gradient_input(const plim__gradient *d, size_t i) { return plim__node_in(plim__gradient_self(d), i); }
static inline plim_value plim__gradient_output(const plim__gradient *d, size_t i) { return plim__node_out(plim__gradient_self(d), i); }
/* Whether the gradient of input i is wanted (it is there, a float, and leads to a parameter). */
bool plim__gradient_wanted(const plim__gradient *d, size_t i);
/* The gradient of output i; PLIM_NO_VALUE when nothing flows back through it. */
plim_value plim__gradient_of_output(const plim__gradient *d, size_t i);
const plim__shape *plim__gradient_shape(const plim__gradient *d, plim_value v);

/* --- building ----------------------------------------------------------------------------------------------- */

/* A node with one output, its type inferred at once. PLIM_NO_VALUE after a failure (d->graph->failure tells). */
plim_value plim__gradient_node(plim__gradient *d, const char *domain, const char *op, int version, const plim_value *inputs, size_t count);
/* The same with attributes: returns the node index (set attributes with plim_graph_set_*, then call
 * plim__gradient_infer), -1 after a failure. */
int32_t plim__gradient_begin(plim__gradient *d, const char *domain, const char *op, int version, const plim_value *inputs, size_t count, size_t outputs);
plim_status plim__gradient_infer(plim__gradient *d, int32_t node);
plim_value plim__gradient_scalar(plim__gradient *d, plim_dtype dtype, double value);
plim_value plim__gradient_ints(plim__gradient *d, const int64_t *values, int64_t count);
/* Sums a gradient over the axes along which `like` was broadcast, and gives it like's shape. */
plim_value plim__gradient_unbroadcast(plim__gradient *d, plim_value gradient, plim_value like);

/* The gradient of input i is this value (added to what other users of the input contribute). */
plim_status plim__gradient_set(plim__gradient *d, size_t i, plim_value gradient);

/* --- the whole graph ------------------------------------------------------------------------------------------ */

/* Adds the backward pass of scalar `loss` to a graph with concrete shapes. gradients[k] is the gradient of
 * targets[k], PLIM_NO_VALUE when the loss does not depend on it. An operator on the way without a gradient is
 * PLIM_UNSUPPORTED and named. */
plim_status plim__gradients_build(plim_graph *g, plim_value loss, const plim_value *targets, size_t count, plim_value *gradients, plim_error *error);

#endif
