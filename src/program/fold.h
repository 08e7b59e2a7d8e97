/* Evaluating one node whose inputs are constants, with the same kernels that run everything else. */
#ifndef PLIM_PROGRAM_FOLD_H
#define PLIM_PROGRAM_FOLD_H

#include "graph/graph.h"
#include "program/device.h"

/* The node's outputs become constants, unless they are large. The device's memory must be the host's. */
plim_status plim__program_fold(plim_graph *g, int32_t node, const plim__device *device, plim_error *error);

#endif
