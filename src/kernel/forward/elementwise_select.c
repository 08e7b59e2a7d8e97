/* Choosing and asking: Where, Clip, IsNaN, IsInf, Not, BitwiseNot, Identity. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/half.h"
#include "kernel/elementwise.h"
#include "kernel/forward/elementwise_cast.h"
#include "kernel/lowers.h"

plim_status plim__lower_identity(plim__lower *l) {
    plim__layout same = *plim__lower_peek(l, 0);
    return plim__lower_view(l, 0, &same, 0);
}

/* --- where: only the size of elements counts ------------------------------------------------------------------ */

#define WHERE(bits)                                                                                                    \
    static void where_##bits(const void *context, int64_t n, char *const *at, const int64_t *steps) {                  \
        char *out = at[0], *condition = at[1], *yes = at[2], *no = at[3];                                              \
        (void)context;                                                                                                 \
        for (int64_t i = 0; i < n; i++, out += steps[0], condition += steps[1], yes += steps[2], no += steps[3])       \
            *(uint##bits##_t *)(void *)out =                                                                           \
                *condition ? *(const uint##bits##_t *)(const void *)yes : *(const uint##bits##_t *)(const void *)no;   \
    }
WHERE(8)
WHERE(16)
WHERE(64)

plim_status plim__lower_where(plim__lower *l) {
    int bits = plim_dtype_bits(plim__lower_output_dtype(l, 0));
    plim__loop_body body = bits == 8    ? where_8
                           : bits == 16 ? where_16
                           : bits == 32 ? plim__pointwise()->where
                           : bits == 64 ? where_64
                                        : NULL;
    if (!body) return plim__lower_unsupported_type(l, 1);
    plim__pointwise_node what = {.body = body, .inputs = 3, .axis = PLIM__NUMPY_AXIS};
    return plim__lower_pointwise(l, &what);
}

/* --- clip: bounds are attributes or scalar inputs; min(max(x, lowest), highest), NaN stays -------------------- */

typedef struct clip_bounds {
    _Alignas(8) unsigned char lowest[8], highest[8]; /* in the element type */
} clip_bounds;

typedef struct clip_state {
    plim__loop loop;
    plim__loop_body body;
    size_t bytes; /* of one element */
    clip_bounds bounds;
} clip_state;

#define CLIP(dtype, T, C, load, store)                                                                                 \
    static void clip_##dtype(const void *context, int64_t n, char *const *at, const int64_t *steps) {                  \
        T bounds[2];                                                                                                   \
        memcpy(&bounds[0], ((const clip_bounds *)context)->lowest, sizeof(T));                                         \
        memcpy(&bounds[1], ((const clip_bounds *)context)->highest, sizeof(T));                                        \
        C lowest = load(bounds[0]), highest = load(bounds[1]);                                                         \
        char *out = at[0], *in = at[1];                                                                                \
        for (int64_t i = 0; i < n; i++, out += steps[0], in += steps[1]) {                                             \
            C x = load(*(const T *)(const void *)in);                                                                  \
            x = x < lowest ? lowest : x;                                                                               \
            *(T *)(void *)out = store(x > highest ? highest : x);                                                      \
        }                                                                                                              \
    }
#define CLIP_WHOLE(dtype, T, W) CLIP(dtype, T, T, PLIM__AS_IS, PLIM__AS_IS)
PLIM__HALVES(CLIP)
CLIP(F64, double, double, PLIM__AS_IS, PLIM__AS_IS)
PLIM__WHOLES(CLIP_WHOLE)

static void clip_F32(const void *context, int64_t n, char *const *at, const int64_t *steps) {
    float bounds[2];
    memcpy(&bounds[0], ((const clip_bounds *)context)->lowest, sizeof *bounds);
    memcpy(&bounds[1], ((const clip_bounds *)context)->highest, sizeof *bounds);
    plim__pointwise()->clip(bounds, n, at, steps);
}

static const plim__loop_body clips[PLIM_DTYPE_COUNT] = {
    [PLIM_F32] = clip_F32, [PLIM_F64] = clip_F64, [PLIM_F16] = clip_F16, [PLIM_BF16] = clip_BF16,
    [PLIM_I8] = clip_I8,   [PLIM_I16] = clip_I16, [PLIM_I32] = clip_I32, [PLIM_I64] = clip_I64,
    [PLIM_U8] = clip_U8,   [PLIM_U16] = clip_U16, [PLIM_U32] = clip_U32, [PLIM_U64] = clip_U64,
};

static plim_status run_clip(const plim__call *call) {
    const clip_state *state = call->state;
    clip_bounds bounds = state->bounds;
    if (call->in[1]) memcpy(bounds.lowest, call->in[1], state->bytes);
    if (call->in[2]) memcpy(bounds.highest, call->in[2], state->bytes);
    plim__loop_run(&state->loop, (char *[]){call->out[0], call->in[0]}, state->body, &bounds);
    return PLIM_OK;
}

/* The number that a bound is known to be, from the attribute or a constant input; `missing` when it is absent. */
static bool bound(plim__lower *l, size_t input, const char *attribute, double missing, double *value) {
    *value = (double)plim__node_float(plim__lower_node(l), attribute, (float)missing);
    if (plim__node_attribute(plim__lower_node(l), attribute)) return true;
    *value = missing;
    if (!plim__lower_has_input(l, input)) return true;
    plim__tensor *tensor = plim__lower_constant(l, input);
    if (tensor) *value = plim__tensor_at(tensor, 0);
    return tensor != NULL;
}

plim_status plim__lower_clip(plim__lower *l) {
    plim_dtype dtype = plim__lower_input_dtype(l, 0);
    if (!clips[dtype]) return plim__lower_unsupported_type(l, 0);
    double lowest, highest;
    bool lowest_known = bound(l, 1, "min", (double)-INFINITY, &lowest);
    bool highest_known = bound(l, 2, "max", (double)INFINITY, &highest);
    bool keeps_zero = lowest_known && highest_known && lowest <= 0 && highest >= 0;
    clip_state *state = plim__alloc(sizeof *state);
    if (!state) return plim__lower_fail(l, PLIM_NO_MEMORY, "no memory for its loop");
    *state = (clip_state){.body = clips[dtype], .bytes = (size_t)plim_dtype_bits(dtype) / 8};
    plim__cast_scalar(lowest, dtype, state->bounds.lowest);
    plim__cast_scalar(highest, dtype, state->bounds.highest);
    plim__pointwise_node what = {.inputs = 1, .axis = PLIM__NUMPY_AXIS, .keeps_zero = keeps_zero};
    plim_status status = plim__lower_pointwise_loop(l, &what, &state->loop);
    for (size_t i = 1; i < 3 && status == PLIM_OK; i++) status = plim__lower_input(l, i, PLIM__STRIDED, NULL);
    if (status == PLIM_OK) return plim__lower_emit(l, plim__lower_node(l)->op->name, run_clip, state, plim__free);
    plim__free(state);
    return status;
}

/* --- questions ------------------------------------------------------------------------------------------------ */

#define QUESTION(label, T, load, expression)                                                                           \
    static void label(const void *context, int64_t n, char *const *at, const int64_t *steps) {                         \
        char *out = at[0], *in = at[1];                                                                                \
        const bool *detect = context; /* -infinity, +infinity */                                                       \
        (void)detect;                                                                                                  \
        for (int64_t i = 0; i < n; i++, out += steps[0], in += steps[1]) {                                             \
            double x = (double)load(*(const T *)(const void *)in);                                                     \
            *(uint8_t *)out = expression;                                                                              \
        }                                                                                                              \
    }
#define QUESTIONS(label, expression)                                                                                   \
    QUESTION(label##_F32, float, PLIM__AS_IS, expression)                                                              \
    QUESTION(label##_F64, double, PLIM__AS_IS, expression)                                                             \
    QUESTION(label##_F16, uint16_t, plim__half_to_float, expression)                                                   \
    QUESTION(label##_BF16, uint16_t, plim__bfloat_to_float, expression)                                                \
    static const plim__loop_body label##_bodies[PLIM_DTYPE_COUNT] = {                                                  \
        [PLIM_F32] = label##_F32, [PLIM_F64] = label##_F64, [PLIM_F16] = label##_F16, [PLIM_BF16] = label##_BF16};
QUESTIONS(is_nan, x != x)
QUESTIONS(is_inf, (detect[0] && x < -DBL_MAX) || (detect[1] && x > DBL_MAX))

plim_status plim__lower_is_nan(plim__lower *l) {
    plim__pointwise_node what = {
        .body = is_nan_bodies[plim__lower_input_dtype(l, 0)], .inputs = 1, .axis = PLIM__NUMPY_AXIS};
    return plim__lower_pointwise(l, &what);
}

plim_status plim__lower_is_inf(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    bool detect[2] = {plim__node_int(node, "detect_negative", 1) != 0, plim__node_int(node, "detect_positive", 1) != 0};
    plim__pointwise_node what = {.body = is_inf_bodies[plim__lower_input_dtype(l, 0)],
                                 .inputs = 1,
                                 .axis = PLIM__NUMPY_AXIS,
                                 .context = detect,
                                 .context_bytes = sizeof detect};
    return plim__lower_pointwise(l, &what);
}

/* --- not ------------------------------------------------------------------------------------------------------ */

#define NOT(label, T, expression)                                                                                      \
    static void label(const void *context, int64_t n, char *const *at, const int64_t *steps) {                         \
        char *out = at[0], *in = at[1];                                                                                \
        (void)context;                                                                                                 \
        for (int64_t i = 0; i < n; i++, out += steps[0], in += steps[1]) {                                             \
            T x = *(const T *)(const void *)in;                                                                        \
            *(T *)(void *)out = (T)(expression);                                                                       \
        }                                                                                                              \
    }
NOT(not_bool, uint8_t, !x)
NOT(not_8, uint8_t, ~x)
NOT(not_16, uint16_t, ~x)
NOT(not_32, uint32_t, ~x)
NOT(not_64, uint64_t, ~x)

plim_status plim__lower_not(plim__lower *l) {
    static const plim__loop_body bodies[PLIM_DTYPE_COUNT] = {
        [PLIM_BOOL] = not_bool, [PLIM_I8] = not_8,   [PLIM_U8] = not_8,   [PLIM_I16] = not_16, [PLIM_U16] = not_16,
        [PLIM_I32] = not_32,    [PLIM_U32] = not_32, [PLIM_I64] = not_64, [PLIM_U64] = not_64,
    };
    plim__pointwise_node what = {.body = bodies[plim__lower_input_dtype(l, 0)], .inputs = 1, .axis = PLIM__NUMPY_AXIS};
    return plim__lower_pointwise(l, &what);
}
