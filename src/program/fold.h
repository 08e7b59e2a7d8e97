/* Evaluating one node whose inputs are constants, with the same kernels that run everything else. */
#ifndef PLIM_PROGRAM_FOLD_H
#define PLIM_PROGRAM_FOLD_H

#include "graph/graph.h"

/* A plim__fold: the node's outputs become constants, unless they are large (`context` is NULL). */
plim_status plim__kernel_fold(plim_graph *g, int32_t node, void *context, plim_error *error);

#endif
