/* What is said of models that are not in float32. */
#ifndef PLIM_GRAPH_PASSES_WIDEN_H
#define PLIM_GRAPH_PASSES_WIDEN_H

#include "graph/graph.h"

/* A remark when training computes in another type than the file. */
plim_status plim__graph_remark_types(plim_graph *g);

#endif
