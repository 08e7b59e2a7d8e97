/* What is one kernel in PyTorch and TensorFlow and what exporters spell out of it: for predictions of those programs. Not in the
 * list of passes, which join more: a model that spells GELU or attention out itself runs, and keeps, every part of it. */
#ifndef PLIM_GRAPH_PASSES_KERNELS_H
#define PLIM_GRAPH_PASSES_KERNELS_H

#include "graph/graph.h"

/* The passes that these take the place of, for plim__passes_run. */
#define PLIM__KERNEL_PASSES "fuse-gelu,fuse-rms-norm,fuse-attention"

/* SiLU, GELU and scaled_dot_product_attention in the forms in which PyTorch's exporters write them. */
plim_status plim__kernels_join(plim_graph *g, plim_error *error);

/* The parts, each in its file. */
plim_status plim__join_swish(plim_graph *g, bool *changed, plim_error *error);
plim_status plim__join_gelu(plim_graph *g, bool *changed, plim_error *error);
plim_status plim__join_attention(plim_graph *g, bool *changed, plim_error *error);

#endif
