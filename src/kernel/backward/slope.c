/* Lowering of the backward of pointwise functions: one fused loop over the gradient and what was saved. */
#include "kernel/simd/slope.h"
#include "kernel/elementwise.h"
#include "kernel/lowers.h"

plim_status plim__lower_slope(plim__lower *l) {
    plim__function function = plim__function_of(plim__lower_node(l));
    float context[2];
    plim__function_attributes(function, plim__lower_node(l), &context[0], &context[1]);
    bool real = plim__lower_input_dtype(l, 0) == PLIM_F32;
    plim__pointwise_node what = {.body = real ? plim__slopes()->one[function] : NULL,
                                 .inputs = 2,
                                 .axis = PLIM__NUMPY_AXIS,
                                 .keeps_zero = true,
                                 .context = context,
                                 .context_bytes = sizeof context};
    return plim__lower_pointwise(l, &what);
}

static plim_status lower_slope2(plim__lower *l, plim__slope2 function) {
    bool real = plim__lower_input_dtype(l, 0) == PLIM_F32;
    plim__pointwise_node what = {
        .body = real ? plim__slopes()->two[function] : NULL, .inputs = 3, .axis = PLIM__NUMPY_AXIS, .keeps_zero = true};
    return plim__lower_pointwise(l, &what);
}

/* plim__lower_slope2_PowBase, ... */
#define SLOPE2(name, expression)                                                                                       \
    plim_status plim__lower_slope2_##name(plim__lower *l) { return lower_slope2(l, PLIM__SLOPE2_##name); }
#include "ops/slope2.def"
#undef SLOPE2
