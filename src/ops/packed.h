/* What the attributes of a PackedMatMul say of its matrix. */
#ifndef PLIM_OPS_PACKED_H
#define PLIM_OPS_PACKED_H

#include "graph/graph.h"
#include "graph/packed.h"

plim__packed plim__packed_of(const plim__node *node);

#endif
