/* Lowering of the backward of pointwise functions: one fused loop over the gradient and what was saved. */
#include "kernel/simd/slope.h"
#include "kernel/elementwise.h"
#include "kernel/lowers.h"

/* The forward operators' attributes, and what they are when absent. */
static const struct {
    const char *a, *b;
    float a_missing, b_missing;
} attributes[PLIM__SLOPE_COUNT] = {
    [PLIM__SLOPE_HardSigmoid] = {"alpha", "beta", 0.2f, 0.5f},
    [PLIM__SLOPE_LeakyRelu] = {"alpha", NULL, 0.01f, 0},
    [PLIM__SLOPE_Elu] = {"alpha", NULL, 1, 0},
    [PLIM__SLOPE_Selu] = {"alpha", "gamma", 1.67326319217681884765625f, 1.05070102214813232421875f},
    [PLIM__SLOPE_Celu] = {"alpha", NULL, 1, 0},
    [PLIM__SLOPE_Swish] = {"alpha", NULL, 1, 0},
    [PLIM__SLOPE_ThresholdedRelu] = {"alpha", NULL, 1, 0},
    [PLIM__SLOPE_Shrink] = {"lambd", NULL, 0.5f, 0},
    [PLIM__SLOPE_Clip] = {"min", "max", -3.402823466e+38f, 3.402823466e+38f},
};

static plim_status lower_slope(plim__lower *l, plim__slope function) {
    const plim__node *node = plim__lower_node(l);
    float context[2] = {0};
    if (attributes[function].a)
        context[0] = plim__node_float(node, attributes[function].a, attributes[function].a_missing);
    if (attributes[function].b)
        context[1] = plim__node_float(node, attributes[function].b, attributes[function].b_missing);
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

/* plim__lower_slope_Abs, ... */
#define SLOPE(name, saved, expression)                                                                                 \
    plim_status plim__lower_slope_##name(plim__lower *l);                                                              \
    plim_status plim__lower_slope_##name(plim__lower *l) { return lower_slope(l, PLIM__SLOPE_##name); }
#include "ops/slope.def"
#undef SLOPE
#define SLOPE2(name, expression)                                                                                       \
    plim_status plim__lower_slope2_##name(plim__lower *l);                                                             \
    plim_status plim__lower_slope2_##name(plim__lower *l) { return lower_slope2(l, PLIM__SLOPE2_##name); }
#include "ops/slope2.def"
#undef SLOPE2
