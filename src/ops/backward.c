/* Shapes of backward operators. What cannot be read off the inputs, the gradient functions say in attributes. */
#include "ops/op.h"

/* Output 0 has the shape of attribute "shape" and the type of input 0. */
plim_status plim__infer_shaped(plim__infer *ctx);
plim_status plim__infer_shaped(plim__infer *ctx) {
    size_t rank;
    const int64_t *dims = plim__node_ints(ctx->node, "shape", &rank);
    if ((!dims && rank) || rank > PLIM_MAX_RANK) return plim__infer_fail(ctx, PLIM_CORRUPT, "the attribute 'shape' is missing");
    plim__shape shape = plim__shape_of((int)rank, dims);
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}
