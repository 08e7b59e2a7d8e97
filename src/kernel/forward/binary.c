/* Lowering of functions of two numbers, powers, and sums, means and extremes of any number of tensors. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "kernel/elementwise.h"
#include "kernel/forward/elementwise_cast.h"
#include "kernel/lowers.h"

/* Before opset 7 the second input was aligned at `axis` of the first. */
static int legacy_axis(const plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    int axis;
    if (node->version >= 7 || !plim__node_int(node, "broadcast", 0) || !plim__node_attribute(node, "axis"))
        return PLIM__NUMPY_AXIS;
    return plim__axis_normalize(plim__node_int(node, "axis", 0), plim__lower_output_shape(l, 0)->rank, &axis)
               ? axis
               : PLIM__NUMPY_AXIS;
}

static plim_status lower_body(plim__lower *l, plim__loop_body body, bool keeps_zero, int axis) {
    plim__pointwise_node what = {.body = body, .inputs = 2, .axis = axis, .keeps_zero = keeps_zero};
    return plim__lower_pointwise(l, &what);
}

/* Zero of two zeros; Div and Mod give NaN there. */
static bool keeps_zero(plim__binary function) {
    return function != PLIM__BINARY_Div && function != PLIM__BINARY_Mod && function != PLIM__BINARY_Fmod;
}

static plim_status lower_binary(plim__lower *l, plim__binary function) {
    return lower_body(l, plim__binary_body(function, plim__lower_input_dtype(l, 0)), keeps_zero(function),
                      legacy_axis(l));
}

#define LOWER(name)                                                                                                    \
    plim_status plim__lower_binary_##name(plim__lower *l) { return lower_binary(l, PLIM__BINARY_##name); }
LOWER(Add)
LOWER(Sub)
LOWER(Mul)
LOWER(Div)
LOWER(Equal)
LOWER(Greater)
LOWER(Less)
LOWER(GreaterOrEqual)
LOWER(LessOrEqual)
LOWER(And)
LOWER(Or)
LOWER(Xor)

plim_status plim__lower_mod(plim__lower *l) {
    return lower_binary(l, plim__node_int(plim__lower_node(l), "fmod", 0) ? PLIM__BINARY_Fmod : PLIM__BINARY_Mod);
}

plim_status plim__lower_bit_shift(plim__lower *l) {
    bool left = strcmp(plim__node_string(plim__lower_node(l), "direction", ""), "LEFT") == 0;
    return lower_binary(l, left ? PLIM__BINARY_ShiftLeft : PLIM__BINARY_ShiftRight);
}

/* A slope for each channel was a plain vector before opset 7. */
plim_status plim__lower_prelu(plim__lower *l) {
    const plim__shape *slope = plim__lower_input_shape(l, 1);
    bool by_channel = plim__lower_node(l)->version < 7 && slope->rank == 1 && plim__lower_input_shape(l, 0)->rank > 1;
    return lower_body(l, plim__binary_body(PLIM__BINARY_PRelu, plim__lower_input_dtype(l, 0)), true,
                      by_channel ? 1 : PLIM__NUMPY_AXIS);
}

/* --- powers --------------------------------------------------------------------------------------------------- */

#define CHUNK 256

struct pow_types {
    plim__loop_body base, exponent, result; /* to and from double or int64 */
};

static void pow_f32(const void *context, int64_t n, char *const *at, const int64_t *steps) {
    char *out = at[0], *base = at[1], *exponent = at[2];
    (void)context;
    for (int64_t i = 0; i < n; i++, out += steps[0], base += steps[1], exponent += steps[2])
        *(float *)(void *)out = powf(*(const float *)(const void *)base, *(const float *)(const void *)exponent);
}

static int64_t whole_power(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    uint64_t result = 1, factor = (uint64_t)base;
    for (; exponent; exponent >>= 1, factor *= factor)
        if (exponent & 1) result *= factor;
    return (int64_t)result;
}

/* Any two types, a chunk at a time through the widest type. */
#define POW_MIXED(label, C, power)                                                                                     \
    static void label(const void *context, int64_t n, char *const *at, const int64_t *steps) {                         \
        const struct pow_types *types = context;                                                                       \
        C base[CHUNK], exponent[CHUNK];                                                                                \
        for (int64_t from = 0; from < n; from += CHUNK) {                                                              \
            int64_t count = n - from < CHUNK ? n - from : CHUNK, wide = (int64_t)sizeof(C);                            \
            types->base(NULL, count, (char *[]){(char *)base, at[1] + from * steps[1]}, (int64_t[]){wide, steps[1]});  \
            types->exponent(NULL, count, (char *[]){(char *)exponent, at[2] + from * steps[2]},                        \
                            (int64_t[]){wide, steps[2]});                                                              \
            for (int64_t i = 0; i < count; i++) base[i] = power(base[i], exponent[i]);                                 \
            types->result(NULL, count, (char *[]){at[0] + from * steps[0], (char *)base},                              \
                          (int64_t[]){steps[0], wide});                                                                \
        }                                                                                                              \
    }
POW_MIXED(pow_reals, double, pow)
POW_MIXED(pow_wholes, int64_t, whole_power)

static bool is_real(plim_dtype dtype) {
    return dtype == PLIM_F32 || dtype == PLIM_F64 || dtype == PLIM_F16 || dtype == PLIM_BF16;
}

/* x^2 and x^3 with a constant exponent are what exporters write for squares. */
static plim__loop_body constant_power(plim__lower *l) {
    plim__tensor *tensor = plim__lower_constant(l, 1);
    if (!tensor || plim__shape_elements(&tensor->shape) != 1 || !is_real(plim__lower_input_dtype(l, 0))) return NULL;
    if (!plim__shape_equal(plim__lower_input_shape(l, 0), plim__lower_output_shape(l, 0))) return NULL;
    double exponent = plim__tensor_at(tensor, 0);
    if (exponent == 2) return plim__unary_body(PLIM__FUNCTION_Square, plim__lower_input_dtype(l, 0));
    return exponent == 3 ? plim__unary_body(PLIM__FUNCTION_Cube, plim__lower_input_dtype(l, 0)) : NULL;
}

plim_status plim__lower_pow(plim__lower *l) {
    plim_dtype base = plim__lower_input_dtype(l, 0), exponent = plim__lower_input_dtype(l, 1);
    plim__unary_context unused = {0};
    plim__loop_body body = constant_power(l);
    if (body) {
        plim__pointwise_node what = {.body = body,
                                     .inputs = 1,
                                     .axis = PLIM__NUMPY_AXIS,
                                     .keeps_zero = true,
                                     .context = &unused,
                                     .context_bytes = sizeof unused};
        return plim__lower_pointwise(l, &what);
    }
    if (base == PLIM_F32 && exponent == PLIM_F32) return lower_body(l, pow_f32, false, legacy_axis(l));
    bool real = is_real(base) || is_real(exponent);
    plim_dtype wide = real ? PLIM_F64 : PLIM_I64;
    struct pow_types types = {plim__cast_body(base, wide), plim__cast_body(exponent, wide),
                              plim__cast_body(wide, base)};
    bool known = types.base && types.exponent;
    plim__pointwise_node what = {.body = !known ? NULL
                                         : real ? pow_reals
                                                : pow_wholes,
                                 .inputs = 2,
                                 .axis = legacy_axis(l),
                                 .context = &types,
                                 .context_bytes = sizeof types};
    return plim__lower_pointwise(l, &what);
}

/* --- any number of inputs ------------------------------------------------------------------------------------- */

typedef struct variadic {
    int inputs;
    plim__loop_body body, divide; /* divide: by the number of inputs, for means */
    double count;                 /* in the element type */
    plim__loop over;              /* y = y / count */
    plim__loop loops[];           /* y = x0 . x1, then y = y . xk */
} variadic;

static plim_status run_variadic(const plim__call *call) {
    const variadic *state = call->state;
    char *out = call->out[0];
    for (int k = 1; k < state->inputs; k++)
        plim__loop_run(&state->loops[k - 1], (char *[]){out, k == 1 ? call->in[0] : out, call->in[k]}, state->body,
                       NULL);
    double count = state->count;
    if (state->divide) plim__loop_run(&state->over, (char *[]){out, out, (char *)&count}, state->divide, NULL);
    return PLIM_OK;
}

static plim_status lower_many(plim__lower *l, plim__binary function, bool mean) {
    int inputs = (int)plim__lower_node(l)->inputs.count;
    plim_dtype dtype = plim__lower_output_dtype(l, 0);
    const plim__shape *shape = plim__lower_output_shape(l, 0);
    variadic *state = plim__alloc_zero(1, sizeof *state + (size_t)inputs * sizeof *state->loops);
    if (!state) return plim__lower_fail(l, PLIM_NO_MEMORY, "no memory for its loops");
    *state = (variadic){.inputs = inputs,
                        .body = plim__binary_body(function, dtype),
                        .divide = mean ? plim__binary_body(PLIM__BINARY_Div, dtype) : NULL};
    plim__cast_scalar(inputs, dtype, &state->count);
    plim__layout out = plim__layout_dense(dtype, shape), one = plim__layout_dense(dtype, &(plim__shape){0}), layouts[2];
    plim_status status = plim__lower_output(l, 0, NULL);
    for (int k = 0; k < inputs && status == PLIM_OK; k++) {
        status = plim__lower_input(l, (size_t)k, PLIM__STRIDED, &layouts[k > 0]);
        if (k == 0) continue;
        plim__loop *loop = &state->loops[k - 1];
        plim__loop_start(loop, shape);
        plim__loop_add(loop, &out);
        plim__loop_add(loop, k == 1 ? &layouts[0] : &out);
        plim__loop_add(loop, &layouts[1]);
        plim__loop_finish(loop);
    }
    plim__loop_start(&state->over, shape);
    plim__loop_add(&state->over, &out);
    plim__loop_add(&state->over, &out);
    plim__loop_add(&state->over, &one);
    plim__loop_finish(&state->over);
    if (status == PLIM_OK) return plim__lower_emit(l, plim__lower_node(l)->op->name, run_variadic, state, plim__free);
    plim__free(state);
    return status;
}

static plim_status lower_variadic(plim__lower *l, plim__binary function, bool mean) {
    size_t inputs = plim__lower_node(l)->inputs.count;
    if (!plim__binary_body(function, plim__lower_input_dtype(l, 0))) return plim__lower_unsupported_type(l, 0);
    if (inputs == 1) {
        plim__layout same = *plim__lower_peek(l, 0);
        return plim__lower_view(l, 0, &same, 0);
    }
    return inputs == 2 && !mean ? lower_binary(l, function) : lower_many(l, function, mean);
}

plim_status plim__lower_variadic_max(plim__lower *l) { return lower_variadic(l, PLIM__BINARY_Max, false); }
plim_status plim__lower_variadic_min(plim__lower *l) { return lower_variadic(l, PLIM__BINARY_Min, false); }
plim_status plim__lower_variadic_sum(plim__lower *l) { return lower_variadic(l, PLIM__BINARY_Add, false); }
plim_status plim__lower_variadic_mean(plim__lower *l) { return lower_variadic(l, PLIM__BINARY_Add, true); }
