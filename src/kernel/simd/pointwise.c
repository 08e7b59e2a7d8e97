/* Pointwise loops on float32. Rows that lie straight in memory, with or without a broadcast input, have loops of
 * their own, which the compiler vectorises. */
#include "kernel/simd/pointwise.h"

#include <string.h>

#include "kernel/simd/functions.h"

#define UNARY_LOOP(name, expression)                                                                                   \
    static void unary_##name(const void *context, int64_t n, char *const *at, const int64_t *steps) {                  \
        float a = (float)((const plim__unary_context *)context)->a,                                                    \
              b = (float)((const plim__unary_context *)context)->b;                                                    \
        float *out = (float *)(void *)at[0];                                                                           \
        const float *in = (const float *)(const void *)at[1];                                                          \
        int64_t out_step = steps[0] / 4, in_step = steps[1] / 4;                                                       \
        (void)a, (void)b;                                                                                              \
        if (out_step == 1 && in_step == 1) {                                                                           \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                                      \
                float x = in[i];                                                                                       \
                out[i] = expression;                                                                                   \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                float x = in[i * in_step];                                                                             \
                out[i * out_step] = expression;                                                                        \
            }                                                                                                          \
        }                                                                                                              \
    }
#define FUNCTION(name, zero, where, formula) where(name, formula)
#define ALONE(name, formula)                 UNARY_LOOP(name, formula)
#define CELL(name, formula)                  UNARY_LOOP(name, formula)
#define CELL_ONLY(name, formula)
#define ELSEWHERE(name, formula)
#include "ops/activation.def"
#undef ALONE
#undef CELL

#define MODULO(x, y) modulo(x, y)
static inline float modulo(float x, float y) {
    float rest = fmodf(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

#define BINARY_LOOP(name, type, expression)                                                                            \
    static void binary_##name(const void *context, int64_t n, char *const *at, const int64_t *steps) {                 \
        type *out = (type *)(void *)at[0];                                                                             \
        const float *left = (const float *)(const void *)at[1], *right = (const float *)(const void *)at[2];           \
        int64_t o = steps[0] / (int64_t)sizeof *out, l = steps[1] / 4, r = steps[2] / 4;                               \
        (void)context;                                                                                                 \
        if (o == 1 && l == 1 && r == 1) {                                                                              \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                                      \
                float x = left[i], y = right[i];                                                                       \
                out[i] = (type)(expression);                                                                           \
            }                                                                                                          \
        } else if (o == 1 && l == 1 && r == 0) {                                                                       \
            float y = *right;                                                                                          \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                                      \
                float x = left[i];                                                                                     \
                out[i] = (type)(expression);                                                                           \
            }                                                                                                          \
        } else if (o == 1 && l == 0 && r == 1) {                                                                       \
            float x = *left;                                                                                           \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                                      \
                float y = right[i];                                                                                    \
                out[i] = (type)(expression);                                                                           \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                float x = left[i * l], y = right[i * r];                                                               \
                out[i * o] = (type)(expression);                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }
#define BINARY(name, real, whole) BINARY_LOOP(name, float, real)
#define COMPARE(name, expression) BINARY_LOOP(name, uint8_t, expression)
#define BITS(name, expression)
#include "kernel/binary.def"
#undef BINARY
#undef COMPARE
#undef BITS

static void clip(const void *context, int64_t n, char *const *at, const int64_t *steps) {
    float lowest = ((const float *)context)[0], highest = ((const float *)context)[1];
    float *out = (float *)(void *)at[0];
    const float *in = (const float *)(const void *)at[1];
    int64_t o = steps[0] / 4, s = steps[1] / 4;
    if (o == 1 && s == 1) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            float x = in[i] < lowest ? lowest : in[i];
            out[i] = x > highest ? highest : x;
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        float x = in[i * s] < lowest ? lowest : in[i * s];
        out[i * o] = x > highest ? highest : x;
    }
}

static void where(const void *context, int64_t n, char *const *at, const int64_t *steps) {
    float *out = (float *)(void *)at[0];
    const uint8_t *condition = (const uint8_t *)at[1];
    const float *yes = (const float *)(const void *)at[2], *no = (const float *)(const void *)at[3];
    int64_t o = steps[0] / 4, c = steps[1], y = steps[2] / 4, z = steps[3] / 4;
    (void)context;
    if (o == 1 && c == 1 && y == 1 && z == 1) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) out[i] = condition[i] ? yes[i] : no[i];
    } else if (o == 1 && c == 1 && y == 1 && z == 0) {
        float other = *no;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) out[i] = condition[i] ? yes[i] : other;
    } else {
        for (int64_t i = 0; i < n; i++) out[i * o] = condition[i * c] ? yes[i * y] : no[i * z];
    }
}

static void scale(const void *context, int64_t n, char *const *at, const int64_t *steps) {
    float factor = *(const float *)context;
    char *const operands[3] = {at[0], at[1], (char *)&factor};
    binary_Mul(NULL, n, operands, (int64_t[]){steps[0], steps[1], 0});
}

const plim__simd_pointwise PLIM__ISA(plim__pointwise) = {
#define FUNCTION(name, zero, where, formula) where(name, formula)
#define ALONE(name, formula)                 .unary[PLIM__FUNCTION_##name] = unary_##name,
#define CELL(name, formula)                  .unary[PLIM__FUNCTION_##name] = unary_##name,
#include "ops/activation.def"
#define BINARY(name, real, whole) .binary[PLIM__BINARY_##name] = binary_##name,
#define COMPARE(name, expression) .binary[PLIM__BINARY_##name] = binary_##name,
#define BITS(name, expression)
#include "kernel/binary.def"
    .clip = clip,
    .where = where,
    .scale = scale,
};
