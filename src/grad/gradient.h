/* Gradients: how an operator's backward pass is built, as nodes of the same graph.
 *
 * A gradient function (plim__gradient_<name>, named in the operator's row) gets a node and the gradients of
 * its outputs, and adds nodes that compute the gradients of its inputs:
 *
 *     y = exp(x)      dx = dy · y
 *     plim_status plim__gradient_exp(plim__gradient *d) {
 *         plim_value y = plim__gradient_output(d, 0), dy = plim__gradient_of_output(d, 0);
 *         return plim__gradient_set(d, 0, plim__gradient_node(d, "", "Mul", (plim_value[]){dy, y}, 2));
 *     }
 *
 * What a gradient node reads (a saved input, a saved output, or neither) decides which activations live on
 * into the backward pass: prefer outputs that are saved anyway, and masks over values. All types are concrete:
 * new nodes are inferred as they are made. After a failure every builder gives PLIM_NO_VALUE and the graph
 * remembers what went wrong, so a function may build everything and end in plim__gradient_set. */
#ifndef PLIM_GRAD_GRADIENT_H
#define PLIM_GRAD_GRADIENT_H

#include "ops/op.h"

typedef struct plim__gradient {
    plim_graph *graph;
    int32_t node; /* index, since nodes move while new ones are added; -1: what is built is no node's gradient */
    plim_error *error;
    PLIM_VEC(plim_value) of; /* gradient of each value so far, PLIM_NO_VALUE for none */
    const bool *needed;      /* by value of the forward pass: whether anybody wants its gradient */
    size_t needed_count;
} plim__gradient;

/* Nodes of ONNX operators that gradients add are of this opset. */
#define PLIM__GRADIENT_OPSET 18

/* --- what is there -------------------------------------------------------------------------------------------- */

static inline const plim__node *plim__gradient_self(const plim__gradient *d) { return &d->graph->nodes.items[d->node]; }
static inline plim_value plim__gradient_input(const plim__gradient *d, size_t i) {
    return plim__node_in(plim__gradient_self(d), i);
}
static inline plim_value plim__gradient_output(const plim__gradient *d, size_t i) {
    return plim__node_out(plim__gradient_self(d), i);
}
/* Whether the gradient of input i is wanted (it is there, a float, and leads to a target). */
bool plim__gradient_wanted(const plim__gradient *d, size_t i);
/* The gradient of output i; PLIM_NO_VALUE when nothing flows back through it. */
plim_value plim__gradient_of_output(const plim__gradient *d, size_t i);
/* A copy, since values move while new ones are added. An unknown shape for PLIM_NO_VALUE. */
plim__shape plim__gradient_shape(const plim__gradient *d, plim_value v);
plim_dtype plim__gradient_dtype(const plim__gradient *d, plim_value v);
/* For the readers of src/ops (axes, slices, pads) on the node itself. */
plim__infer plim__gradient_reading(const plim__gradient *d);
/* "unsupported: the gradient of operator X <why> in node 'name'". */
plim_status plim__gradient_unsupported(plim__gradient *d, const char *why);

/* --- building ------------------------------------------------------------------------------------------------- */

/* A node with one output, its type inferred at once. domain "" or PLIM__DOMAIN. */
plim_value plim__gradient_node(plim__gradient *d, const char *domain, const char *op, const plim_value *inputs,
                               size_t count);
/* The same for an operator of ONNX with one or two inputs. */
plim_value plim__gradient_one(plim__gradient *d, const char *op, plim_value x);
plim_value plim__gradient_two(plim__gradient *d, const char *op, plim_value a, plim_value b);
/* The same with attributes: returns the node (set attributes with plim_graph_set_*, then call
 * plim__gradient_end), -1 after a failure. */
int32_t plim__gradient_begin(plim__gradient *d, const char *domain, const char *op, const plim_value *inputs,
                             size_t count, size_t outputs);
/* Infers the node's types; its first output. */
plim_value plim__gradient_end(plim__gradient *d, int32_t node);
/* Copies every attribute of the node that is differentiated. */
void plim__gradient_copy_attributes(plim__gradient *d, int32_t to);
/* The node itself becomes an operator of ours with the same inputs and attributes, and `outputs` outputs (those it
 * lacks are added): how a forward operator comes to keep what its gradient needs. */
plim_status plim__gradient_become(plim__gradient *d, const char *op, size_t outputs);

/* Output i of the node itself, which is added where the node does not give it out yet. */
plim_value plim__gradient_need_output(plim__gradient *d, size_t i, plim_dtype dtype, const plim__shape *shape);

plim_value plim__gradient_scalar(plim__gradient *d, plim_dtype dtype, double value);
plim_value plim__gradient_ints(plim__gradient *d, const int64_t *values, size_t count);
/* All zeros, of the type of `like`. */
plim_value plim__gradient_zeros(plim__gradient *d, plim_value like);
plim_value plim__gradient_reshape(plim__gradient *d, plim_value x, const plim__shape *shape);
plim_value plim__gradient_expand(plim__gradient *d, plim_value x, const plim__shape *shape);
/* Zeros of this shape with x where start and step say, one each an axis: the opposite of a slice. */
plim_value plim__gradient_embed(plim__gradient *d, plim_value x, const plim__shape *shape, const int64_t *start,
                                const int64_t *step);
/* From start to end, steps of 1. */
plim_value plim__gradient_cut(plim__gradient *d, plim_value x, const int64_t *start, const int64_t *end);
plim_value plim__gradient_cast_to(plim__gradient *d, plim_value x, plim_dtype dtype);
/* a where the condition holds, b elsewhere. */
plim_value plim__gradient_choose(plim__gradient *d, plim_value condition, plim_value a, plim_value b);
plim_value plim__gradient_transpose(plim__gradient *d, plim_value x, const int *order);
/* Sum over the marked axes. */
plim_value plim__gradient_sum(plim__gradient *d, plim_value x, const bool *axes, bool keep);
plim_value plim__gradient_scale(plim__gradient *d, plim_value x, double factor);
/* Sums a gradient over the axes along which `like` was broadcast, and gives it like's shape. */
plim_value plim__gradient_unbroadcast(plim__gradient *d, plim_value gradient, plim_value like);

/* The gradient of input i is this value (added to what other users of the input contribute). Does nothing when it is
 * not wanted; reports what went wrong before when it is PLIM_NO_VALUE. */
plim_status plim__gradient_set(plim__gradient *d, size_t i, plim_value gradient);

/* What others have contributed to the gradient of input i so far, PLIM_NO_VALUE for nothing: the next
 * plim__gradient_set replaces it. For operators that add to a gradient where it is. */
plim_value plim__gradient_take(plim__gradient *d, size_t i);

/* The gradient functions that rows name, and the one of a row; NULL where it has none. */
#define OP(domain, name, since, until, min_in, max_in, min_out, max_out, infer, gradient, saved, cost, lower, batch,   \
           flags)                                                                                                      \
    plim_status plim__gradient_##gradient(plim__gradient *d);
#include "ops/ops.def"
#undef OP
typedef plim_status (*plim__gradient_function)(plim__gradient *d);
plim__gradient_function plim__gradient_of_op(const plim__op *op);

/* --- the whole graph ------------------------------------------------------------------------------------------ */

/* Adds the backward pass of scalar `loss` to a graph with concrete shapes (after plim__infer_graph). gradients[k] is
 * the gradient of targets[k], PLIM_NO_VALUE when the loss does not depend on it. An operator on the path without a
 * gradient is PLIM_UNSUPPORTED and named. Nodes are in topological order afterwards. */
plim_status plim__gradients_build(plim_graph *g, plim_value loss, const plim_value *targets, size_t count,
                                  plim_value *gradients, plim_error *error);

/* For graphs with a backward pass: where it reads a tensor for one bit of each number, and nothing else in it reads that
 * tensor, the bits are saved instead; with `always`, also beside a tensor that is read: its bits are then read more quickly.
 * The same gradients. *saved_bytes: how much less is saved. */
plim_status plim__gradients_encode(plim_graph *g, bool always, size_t *saved_bytes, plim_error *error);

/* For graphs with a backward pass, after plim__gradients_encode: what it reads of the forward pass waits in 16 bits of type `to`
 * (PLIM_BF16 or PLIM_F16), where rows allow it. With `factors`, products multiply numbers of that type: what they read waits as
 * they read it. Other gradients. *saved_bytes: how much less waits. */
plim_status plim__gradients_narrow(plim_graph *g, plim_dtype to, bool factors, size_t *saved_bytes, plim_error *error);

/* Models may ask for gradients themselves, with ONNX's operator Gradient: it becomes the nodes that compute them. To be
 * called after plim__infer_graph and before nodes without users are pruned; *expanded (may be NULL) says whether there
 * were any, and types must be inferred again. */
plim_status plim__gradient_operators_expand(plim_graph *g, bool *expanded, plim_error *error);

/* The tensor that a running statistic began as: through copies, and batch norms that moved it before. */
plim_value plim__running_root(const plim_graph *g, plim_value v);

/* For models exported in evaluation mode: every BatchNormalization gets training_mode = 1, and its running statistics
 * come out as values named "<input>.next" (make them outputs, or write them to the state, to keep them). */
plim_status plim__batch_norms_to_training_mode(plim_graph *g, plim_error *error);
/* Every Dropout, also of a model exported in evaluation mode, becomes the operator that drops elements by counters. For
 * graphs after inference (the ratio must be known), before the passes (which remove what drops nothing). Other random
 * operators get the seed. */
plim_status plim__dropouts_to_training_mode(plim_graph *g, uint64_t seed, plim_error *error);
/* Batch norms in training mode become the operator that normalises by the batch and gives its statistics out; running
 * statistics that were outputs are computed from them by nodes of their own. plim__gradients_build does it first. */
plim_status plim__batch_norms_train(plim_graph *g, plim_error *error);

#endif
