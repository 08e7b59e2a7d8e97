/* The gradient function of each row of the operator table. */
#include "grad/gradient.h"

#define plim__gradient_none NULL

/* Parallel to plim__ops: the same list makes both. */
static const plim__gradient_function functions[] = {
#define OP(domain, name, since, until, min_in, max_in, min_out, max_out, infer, gradient, saved, cost, lower, batch,   \
           flags)                                                                                                      \
    plim__gradient_##gradient,
#include "ops/ops.def"
#undef OP
};

plim__gradient_function plim__gradient_of_op(const plim__op *op) { return functions[op - plim__ops]; }
