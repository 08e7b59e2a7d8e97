/* Adapters as nodes of a model: adding them, finding them, taking them out again. */
#ifndef PLIM_GRAPH_LORA_H
#define PLIM_GRAPH_LORA_H

#include "graph/graph.h"

#define PLIM__NOTE_LORA "plimsoll.lora" /* "r=8 alpha=16 dropout=0" */

typedef struct plim__lora_numbers {
    int64_t rank;
    double alpha, dropout;
} plim__lora_numbers;

/* A layer that has a weight matrix of its own. */
typedef struct plim__lora_layer {
    int32_t node;      /* the product */
    plim_value weight; /* (out, in), or (in, out) unless `rows` */
    bool rows;
    int64_t in, out;
    char name[256]; /* of the weight, without ".weight" */
} plim__lora_layer;

/* The layer of a node, whose weight may be a parameter or a constant; false for nodes that are none. */
bool plim__layer_find(const plim_graph *g, int32_t node, plim__lora_layer *layer);
/* The same, of parameters alone. */
bool plim__lora_find(const plim_graph *g, int32_t node, plim__lora_layer *layer);
/* Adds A, drawn by seed, and B, zeros, to a layer; nothing else changes. */
plim_status plim__lora_attach(plim_graph *g, const plim__lora_layer *layer, const plim__lora_numbers *numbers,
                              uint64_t seed, plim_error *error);
/* All other parameters are frozen, and the model says what it has. */
plim_status plim__lora_finish(plim_graph *g, const plim__lora_numbers *numbers, plim_error *error);
/* What the model says; false: it has no adapters. */
bool plim__lora_read(const plim_graph *g, plim__lora_numbers *numbers);
/* The two matrices of a layer; PLIM_NO_VALUE where it has none. */
void plim__lora_matrices(const plim_graph *g, const plim__lora_layer *layer, plim_value *a, plim_value *b);
/* Takes the adapter of a layer out: the product makes what both made. */
void plim__lora_detach(plim_graph *g, const plim__lora_layer *layer);

#endif
