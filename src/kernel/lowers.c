/* From rows to lower functions: parallel to plim__ops, the same list makes both. */
#include "kernel/lowers.h"

static plim_status (*const lowers[])(plim__lower *) = {
#define OP(domain, name, since, until, min_in, max_in, min_out, max_out, infer, gradient, saved, cost, lower, batch,   \
           flags)                                                                                                      \
    plim__lower_##lower,
#include "ops/ops.def"
#undef OP
};

plim_status plim__lower_by_row(plim__lower *l) { return lowers[plim__lower_node(l)->op - plim__ops](l); }
