/* The processor's lower functions, plim__lower_<name>: one for each that a row of src/ops names. */
#ifndef PLIM_KERNEL_LOWERS_H
#define PLIM_KERNEL_LOWERS_H

#include "ops/op.h"
#include "program/lower.h"

#define OP(domain, name, since, until, min_in, max_in, min_out, max_out, infer, gradient, saved, cost, lower, batch,   \
           flags)                                                                                                      \
    plim_status plim__lower_##lower(plim__lower *l);
#include "ops/ops.def"
#undef OP

typedef plim_status plim__lower_function(plim__lower *l);

/* That of the node's operator, by its row. */
plim__lower_function *plim__lower_of(const plim__node *node);
/* Lowers the node with it. */
plim_status plim__lower_by_row(plim__lower *l);

#endif
