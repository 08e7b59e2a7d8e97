/* Operators that are spelled out as others while types are inferred: nothing of them is left to run, and what they become
 * is fused, differentiated and planned like any other nodes.
 *
 *     plim__expand e = plim__expand_begin(ctx);
 *     plim_value h = plim__expand_one(&e, "Relu", x);
 *     return plim__expand_end(&e, (plim_value[]){h}, 1);
 *
 * After a failure builders give PLIM_NO_VALUE, the graph remembers what went wrong, and plim__expand_end reports it. The
 * inference context's node pointer is invalid once a builder was called: read attributes before. */
#ifndef PLIM_OPS_EXPAND_H
#define PLIM_OPS_EXPAND_H

#include "ops/op.h"

#define PLIM__EXPAND_OPSET 18 /* of the nodes that are made */
/* A graph that has more nodes is not expanded further: files are small, what they ask for may not be. */
#define PLIM__EXPAND_MOST ((size_t)1 << 14)

typedef struct plim__expand {
    plim__infer *ctx;
    plim_graph *g;
    int32_t node; /* that is expanded */
} plim__expand;

plim__expand plim__expand_begin(plim__infer *ctx);
/* A node of ONNX's own domain; set attributes with plim_graph_set_*. -1 after a failure. */
int32_t plim__expand_node(plim__expand *e, const char *op, const plim_value *inputs, size_t count, size_t outputs);
plim_value plim__expand_value(plim__expand *e, const char *op, const plim_value *inputs, size_t count);
plim_value plim__expand_one(plim__expand *e, const char *op, plim_value x);
plim_value plim__expand_two(plim__expand *e, const char *op, plim_value a, plim_value b);
/* Output i of a made node. */
static inline plim_value plim__expand_out(const plim__expand *e, int32_t node, size_t i) {
    return node < 0 ? PLIM_NO_VALUE : e->g->nodes.items[node].outputs.items[i];
}

plim_value plim__expand_ints(plim__expand *e, const int64_t *values, size_t count); /* one axis */
plim_value plim__expand_number(plim__expand *e, plim_dtype dtype, double value);    /* no axes */
plim_value plim__expand_reshape(plim__expand *e, plim_value x, const int64_t *dims, size_t rank);
plim_value plim__expand_transpose(plim__expand *e, plim_value x, const int64_t *order, size_t rank);
plim_value plim__expand_cast(plim__expand *e, plim_value x, plim_dtype dtype);
plim_value plim__expand_concat(plim__expand *e, const plim_value *parts, size_t count, int64_t axis);
/* Elements from start to end of one axis. */
plim_value plim__expand_slice(plim__expand *e, plim_value x, int64_t axis, int64_t start, int64_t end);
/* x cut along an axis into parts of these sizes: a node with an output for each. */
int32_t plim__expand_split(plim__expand *e, plim_value x, int64_t axis, const int64_t *sizes, size_t count);

/* These values are the outputs of the node, which is no more. */
plim_status plim__expand_end(plim__expand *e, const plim_value *outputs, size_t count);

/* --- sequences: lists of values that never exist at run time ------------------------------------------------------ */

/* The node SequenceConstruct whose inputs are the elements of a value; NULL when the value is no sequence. */
const plim__node *plim__sequence_of(const plim_graph *g, plim_value value);

#endif
