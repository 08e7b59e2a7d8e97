/* Makes a graph again what the module was that an exporter wrote it from, as far as the exporter's metadata tells: which
 * values are parameters, merged ones apart, removed biases and folded batch norms back in place. What is restored and
 * what is lost becomes remarks of the graph. */
#ifndef PLIM_GRAPH_EXPORT_RESTORE_H
#define PLIM_GRAPH_EXPORT_RESTORE_H

#include "graph/graph.h"
#include "graph/passes/export/provenance.h"

/* Before nodes are sorted or dropped: `provenance` names them by index. Without a word about parameters in it, roles are
 * found by use. */
plim_status plim__export_restore(plim_graph *g, const plim__provenance *provenance, plim_error *error);

/* What the numbers of a tensor are: a mask, sines and cosines of the same angles in each row, or a weight's. */
plim_status plim__tensor_find_role(const plim__tensor *tensor, plim__role *role, plim_error *error);

/* Convolutions read no bias where the file computes one of zeros. */
plim_status plim__export_drop_zero_biases(plim_graph *g, plim_error *error);
/* The role of every float initializer of a file that does not say which ones are parameters, by how it is used. */
plim_status plim__graph_find_roles(plim_graph *g, plim_error *error);
/* For files that say nothing, once roles are found by use: what names and producer show is lost. */
plim_status plim__export_note_unsaid(plim_graph *g, plim_error *error);

/* The same for Keras, with its recurrent layers' bias made one again. */
plim_status plim__export_restore_keras(plim_graph *g, plim_error *error);

/* --- between the files of this folder ----------------------------------------------------------------------------- */

/* What each line of the signature has become. */
typedef enum plim__fate {
    PLIM__FATE_UNUSED, /* no node reads it */
    PLIM__FATE_FOUND,  /* is in the file, or again in the graph */
    PLIM__FATE_LOST,   /* was used, and is not there */
    PLIM__FATE_SAID,   /* lost, and a note of its own says so */
} plim__fate;

typedef struct plim__restoring {
    plim_graph *g;
    const plim__provenance *provenance;
    plim__signature signature;
    plim__fate *fates; /* of each line */
    plim__map folded;  /* name of a value → index in provenance->values */
    bool *named;       /* of each line: a node reads it whose call names it */
    size_t split, biases, views, padded, stopped;
    plim_error *error;
} plim__restoring;

/* Index in the signature; -1 for none. */
int64_t plim__restoring_target(const plim__restoring *r, const char *name);
int64_t plim__restoring_placeholder(const plim__restoring *r, const char *name);
/* A new parameter with this name; takes the tensor. */
plim_value plim__restoring_add(plim__restoring *r, int64_t listed, plim__role role, plim__tensor *tensor);

/* Sets *found, a value that the node's call names or PLIM_NO_VALUE, to PLIM_NO_VALUE where its shape is another one than what
 * takes its place must have, and says so: calls may lie. */
plim_status plim__restoring_check(plim__restoring *r, int32_t node, plim_value *found, const plim__shape *shape);

/* Output channels of a convolution or a Gemm with a weight of known shape; -1 for anything else. */
int64_t plim__layer_channels(const plim_graph *g, const plim__node *node);

/* What a layer reads as its weight; PLIM_NO_VALUE for any other node. */
plim_value plim__layer_weight(const plim__node *node);

/* Inputs that are not what the node's call names: merged, transposed and reshaped parameters, removed biases. */
plim_status plim__restore_parameters(plim__restoring *r);
/* Weights of recurrent layers, which the exporter joined. */
plim_status plim__restore_recurrent(plim__restoring *r);
/* Rows of embeddings that PyTorch does not train. */
plim_status plim__restore_embeddings(plim__restoring *r);
/* Where the module stops its gradient, and buffers that it moves while it trains. */
plim_status plim__restore_gradients(plim__restoring *r);
/* Batch norms that were folded into the layer before them. */
plim_status plim__restore_norms(plim__restoring *r);

#endif
