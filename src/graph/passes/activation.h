/* Activations that a convolution or matrix product can apply before it writes. */
#ifndef PLIM_GRAPH_PASSES_ACTIVATION_H
#define PLIM_GRAPH_PASSES_ACTIVATION_H

#include "graph/passes/match.h"

typedef struct plim__activation {
    const char *name; /* FUSED of src/ops/activation.def */
    float alpha, beta;
    plim_value output; /* of the last node of the pattern */
} plim__activation;

/* The activation that is the only user of `value`; false when there is none. */
bool plim__activation_of(const plim_graph *g, plim_value value, plim__activation *activation);
void plim__activation_set(plim_graph *g, int32_t node, const plim__activation *activation);

#endif
