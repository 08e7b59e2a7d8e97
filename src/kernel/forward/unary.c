/* Functions of one number on every type but float32, and the lowering of all of them.
 *
 * Float32 runs in the vectorised loops of src/kernel/simd. Blocked float32 goes to oneDNN where its function is
 * right and quick; it is not for these: relu, clip and exp lose NaN, log is wrong by a percent near 1, softplus
 * far below 0, tanh and gelu_tanh are seven times slower than ours. */
#include <math.h>

#include "core/half.h"
#include "kernel/elementwise.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"

/* --- loops ---------------------------------------------------------------------------------------------------- */

#define LOOP(label, T, REAL_TYPE, load, store, expression)                                                             \
    static void label(const void *context, int64_t n, char *const *at, const int64_t *steps) {                         \
        REAL_TYPE a = (REAL_TYPE)((const plim__unary_context *)context)->a;                                            \
        REAL_TYPE b = (REAL_TYPE)((const plim__unary_context *)context)->b;                                            \
        char *out = at[0], *in = at[1];                                                                                \
        (void)a, (void)b;                                                                                              \
        for (int64_t i = 0; i < n; i++, out += steps[0], in += steps[1]) {                                             \
            REAL_TYPE x = load(*(const T *)(const void *)in);                                                          \
            *(T *)(void *)out = (T)store(expression);                                                                  \
        }                                                                                                              \
    }

#define erf_aboutf                           erff /* only float32 gains from a rougher one */
#define erf_about                            erf
#define REAL                                 float
#define F(function)                          function##f
#define FUNCTION(name, zero, where, formula) where(name, formula)
#define CELL_ONLY(name, formula)
#define ELSEWHERE(name, formula)
#define ALONE(name, formula)                                                                                           \
    LOOP(name##_F16, uint16_t, float, plim__half_to_float, plim__float_to_half, formula)                               \
    LOOP(name##_BF16, uint16_t, float, plim__bfloat_to_float, plim__float_to_bfloat, formula)
#define CELL(name, formula) ALONE(name, formula)
#include "ops/activation.def"
#undef ALONE
#undef REAL
#undef F

#define REAL                                 double
#define F(function)                          function
#define FUNCTION(name, zero, where, formula) where(name, formula)
#define ALONE(name, formula)                 LOOP(name##_F64, double, double, PLIM__AS_IS, PLIM__AS_IS, formula)
#include "ops/activation.def"
#undef ALONE
#undef REAL
#undef F

/* What a double is as a whole number, the nearest where there is none. */
static inline int64_t whole(double x) {
    return x != x ? 0 : x <= -0x1p63 ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : (int64_t)x;
}

/* Whole numbers: the few functions that ONNX defines on them. Unsigned arithmetic wraps. */
#define WHOLE_LOOPS(dtype, T, W)                                                                                       \
    LOOP(Abs_##dtype, T, T, PLIM__AS_IS, (T), (x < 0 ? (W)0 - (W)x : (W)x))                                            \
    LOOP(Neg_##dtype, T, T, PLIM__AS_IS, (T), (W)0 - (W)x)                                                             \
    LOOP(Sign_##dtype, T, T, PLIM__AS_IS, (T), (x > 0) - (x < 0))                                                      \
    LOOP(Relu_##dtype, T, T, PLIM__AS_IS, (T), (x < 0 ? 0 : x))                                                        \
    LOOP(Square_##dtype, T, T, PLIM__AS_IS, (T), (W)x *(W)x)                                                           \
    LOOP(Shrink_##dtype, T, double, (double), (T)whole, (x < -a ? x + b : x > a ? x - b : 0))
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits" /* x < 0 of unsigned types */
PLIM__WHOLES(WHOLE_LOOPS)
#pragma GCC diagnostic pop

static const plim__loop_body real_bodies[PLIM__FUNCTION_COUNT][PLIM_DTYPE_COUNT] = {
#define FUNCTION(name, zero, where, formula) where(name, formula)
#define ALONE(name, formula)                                                                                           \
    [PLIM__FUNCTION_##name] = {[PLIM_F16] = name##_F16, [PLIM_BF16] = name##_BF16, [PLIM_F64] = name##_F64},
#include "ops/activation.def"
#undef ALONE
};

#define WHOLE_ROW(dtype, T, W)                                                                                         \
    [PLIM_##dtype] = {[PLIM__FUNCTION_Abs] = Abs_##dtype,       [PLIM__FUNCTION_Neg] = Neg_##dtype,                    \
                      [PLIM__FUNCTION_Sign] = Sign_##dtype,     [PLIM__FUNCTION_Relu] = Relu_##dtype,                  \
                      [PLIM__FUNCTION_Square] = Square_##dtype, [PLIM__FUNCTION_Shrink] = Shrink_##dtype},
static const plim__loop_body whole_bodies[PLIM_DTYPE_COUNT][PLIM__FUNCTION_COUNT] = {PLIM__WHOLES(WHOLE_ROW)};

plim__loop_body plim__unary_body(plim__function function, plim_dtype dtype) {
    if (dtype == PLIM_F32) return plim__pointwise()->unary[function];
    return real_bodies[function][dtype] ? real_bodies[function][dtype] : whole_bodies[dtype][function];
}

/* --- lowering ------------------------------------------------------------------------------------------------- */

/* oneDNN's, for blocked layouts; undef for ours. */
static const dnnl_alg_kind_t algorithms[PLIM__FUNCTION_COUNT] = {
#define ELTWISE(name, kind) [PLIM__FUNCTION_##name] = dnnl_eltwise_##kind,
#include "ops/activation.def"
};

/* Blocked float32 through oneDNN, which keeps the padding zero. */
static plim_status lower_eltwise(plim__lower *l, dnnl_alg_kind_t algorithm, float alpha, float beta) {
    plim__layout x;
    dnnl_eltwise_desc_t description;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_attr_t attr;
    PLIM_TRY(plim__lower_input(l, 0, PLIM__ANY, &x));
    PLIM_TRY(plim__lower_output_md(l, 0, plim__md(&x)));
    plim__lower_inplace(l, 0, 0);
    PLIM_TRY(plim__lower_dnnl(
        l, dnnl_eltwise_forward_desc_init(&description, dnnl_forward_inference, algorithm, plim__md(&x), alpha, beta),
        "eltwise"));
    PLIM_TRY(plim__lower_attr(l, &attr));
    dnnl_status_t status = dnnl_primitive_desc_create(&pd, &description, attr, plim__lower_dnnl_engine(l), NULL);
    dnnl_primitive_attr_destroy(attr);
    PLIM_TRY(plim__lower_dnnl(l, status, "eltwise"));
    plim__argument arguments[] = {{DNNL_ARG_SRC, *plim__md(&x), 0}, {DNNL_ARG_DST, *plim__md(&x), PLIM__OUT(0)}};
    return plim__lower_primitive(l, plim__lower_node(l)->op->name, pd, arguments, 2);
}

plim_status plim__lower_unary(plim__lower *l) {
    plim__function function = plim__function_of(plim__lower_node(l));
    float a, b;
    plim__function_attributes(function, plim__lower_node(l), &a, &b);
    plim__unary_context context = {(double)a, (double)b};
    bool blocked = plim__lower_peek(l, 0)->blocked && plim__lower_input_dtype(l, 0) == PLIM_F32;
    if (blocked && algorithms[function] != dnnl_alg_kind_undef) return lower_eltwise(l, algorithms[function], a, b);
    plim__pointwise_node what = {.body = plim__unary_body(function, plim__lower_input_dtype(l, 0)),
                                 .inputs = 1,
                                 .axis = PLIM__NUMPY_AXIS,
                                 .keeps_zero = plim__functions[function].keeps_zero,
                                 .context = &context,
                                 .context_bytes = sizeof context};
    return plim__lower_pointwise(l, &what);
}
