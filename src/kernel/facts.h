/* What lowering has to know of a whole graph, looked up once. */
#ifndef PLIM_KERNEL_FACTS_H
#define PLIM_KERNEL_FACTS_H

#include "program/lower.h"

typedef struct plim__facts {
    bool known;
    bool channels_last;   /* convolutions that the backward pass reads have their channels last */
    double largest_bytes; /* tensors of the operator of the forward pass that reads and writes the most */
    int32_t
        trained_from; /* node of the forward pass from which on the backward pass reads activations for its products */
} plim__facts;

const plim__facts *plim__lower_facts(const plim__lower *l);

#endif
