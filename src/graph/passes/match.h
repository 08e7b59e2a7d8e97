/* Recognising patterns: small questions that the fusing passes ask. */
#ifndef PLIM_GRAPH_PASSES_MATCH_H
#define PLIM_GRAPH_PASSES_MATCH_H

#include "graph/graph.h"

/* Whether a live node is this operator of ONNX's own domain. */
bool plim__match_op(const plim__node *node, const char *name);
/* The live node of this operator that makes the value; NULL when another one does, or none. */
plim__node *plim__match_producer(const plim_graph *g, plim_value value, const char *name);
/* The only user of the value if it is this operator; NULL otherwise. */
plim__node *plim__match_user(const plim_graph *g, plim_value value, const char *name);
/* Loads a tensor that a pattern has to read. A failure sticks to the graph and ends the pass: memory that is
 * short must not change silently what gets fused. */
bool plim__match_load(const plim_graph *g, plim__tensor *tensor);
/* The value is a constant (or a parameter that is not trained) with one element; *number is it. */
bool plim__match_scalar(const plim_graph *g, plim_value value, double *number);
/* A two-input node one of whose inputs is a scalar near `number` (any scalar when it is NaN): the other
 * input goes to *other, the scalar to *found (may be NULL). The scalar must be the second input for Sub, Div, Pow. */
bool plim__match_with_scalar(const plim_graph *g, const plim__node *node, double number, plim_value *other,
                             double *found);
/* The input of a two-input node that is not `one`; PLIM_NO_VALUE when neither is. */
plim_value plim__match_other(const plim__node *node, plim_value one);
/* The value behind nodes that hand their input through as it is: casts to the same type, moves to the same shape. */
plim_value plim__match_through(const plim_graph *g, plim_value value);
bool plim__match_near(double a, double b); /* within 1e-3 relative: constants in files are rounded */

/* ReduceMean over axes k to rank - 1, which stay; *axis is k. */
bool plim__match_mean(const plim_graph *g, const plim__node *node, int *axis);

/* A new node with one output of the given value's type; the caller then replaces that value. Returns the
 * node's index, -1 after a failure (g->failure tells). */
typedef struct plim__made {
    const char *domain, *op;
    int version;
} plim__made;
int32_t plim__match_build(plim_graph *g, plim__made made, const char *name, const plim_value *inputs, size_t count,
                          plim_value like);
/* Makes the new node's output take the place of `old`; what nothing uses any more dies. */
plim_status plim__match_replace(plim_graph *g, plim_value old, int32_t node);
/* Attributes of a convolution: kernel, strides, dilations, pads, groups. */
plim_status plim__match_copy_window(plim_graph *g, int32_t from, int32_t to);

/* Sets the entries of values that are running statistics of a norm; the others stay as they are. */
void plim__match_statistics(const plim_graph *g, bool *statistics);

#endif
