/* Weights on their way into a file: what they are is known ahead, their data comes one by one when its turn is, from
 * wherever it lives. No format holds more than one of them in addition to the owner. */
#ifndef PLIM_FORMAT_WEIGHTS_H
#define PLIM_FORMAT_WEIGHTS_H

#include "graph/graph.h"

typedef struct plim__weight {
    const char *name;
    plim_dtype dtype;
    plim__shape shape; /* concrete */
} plim__weight;

typedef struct plim__weights {
    const plim__weight *items;
    size_t count;
    void *context; /* for the two below */
    /* Where the data lies in memory, row-major and packed; NULL when it does not lie there like this. May be NULL. */
    const void *(*view)(void *context, size_t index);
    /* Writes the data row-major and packed to `dense`. */
    plim_status (*read)(void *context, size_t index, void *dense, plim_error *error);
} plim__weights;

/* Packed bytes of one; the status tells what is wrong with its shape. */
plim_status plim__weight_bytes(const plim__weight *weight, size_t *bytes, plim_error *error);
/* Bytes of the largest one that is not in memory as it is: what `scratch` below needs. */
plim_status plim__weights_scratch(const plim__weights *weights, size_t *bytes, plim_error *error);
/* The data, in place or through `scratch`. */
plim_status plim__weights_data(const plim__weights *weights, size_t index, void *scratch, const void **data,
                               plim_error *error);

#define PLIM__NO_WEIGHT SIZE_MAX

/* For each value of the graph the index of the weight of its name, PLIM__NO_WEIGHT for the rest (plim__free it). A
 * weight that is no initializer of the graph, comes twice or has another dtype or shape is PLIM_INVALID. */
plim_status plim__weights_match(const plim_graph *g, const plim__weights *weights, size_t **indices, plim_error *error);

/* The parameters that nodes of a graph use, in the graph's order; data from `changed` where it has them (it may be
 * NULL), from the graph for the rest. Both must outlive it. */
typedef struct plim__graph_weights {
    plim__weights weights;
    const plim_graph *g;
    const plim__weights *changed;
    plim__weight *items;
    plim_value *values; /* of each item */
    size_t *indices;    /* plim__weights_match; NULL without changed */
} plim__graph_weights;

plim_status plim__graph_weights_make(plim__graph_weights *made, const plim_graph *g, const plim__weights *changed,
                                     plim_error *error);
void plim__graph_weights_free(plim__graph_weights *made);

#endif
