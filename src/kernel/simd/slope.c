/* Loops of the backward of pointwise functions. */
#include "kernel/simd/slope.h"

#include "kernel/simd/functions.h"

/* d/dx 0.5 x (1 + tanh(u)), u = c (x + k x^3). */
static inline float gelu_tanh_slope(float x) {
    const float c = 0.79788456080286536f, k = 0.044715f;
    float s = 1 / (1 + plim__simd_exp(-2 * c * (x + k * x * x * x))); /* (1 + tanh) / 2 */
    return s + 2 * c * x * (s * (1 - s)) * (1 + 3 * k * x * x);
}

/* tanh(softplus(x)) = n / (n + 2), n = e^x (e^x + 2); beyond 20 the slope is 1. */
static inline float mish_slope(float x) {
    float e = plim__simd_exp(x < 20 ? x : 20), n = e * (e + 2), t = n / (n + 2);
    return t + x * (1 - t * t) * (e / (1 + e));
}

static inline float swish_slope(float x, float a) {
    float s = 1 / (1 + plim__simd_exp(-a * x));
    return s + a * x * s * (1 - s);
}

#define INPUT  x
#define OUTPUT y
#define SLOPE(name, saved, expression)                                                                                 \
    static void one_##name(const void *context, int64_t n, char *const *at, const int64_t *steps) {                    \
        float a = ((const float *)context)[0], b = ((const float *)context)[1];                                        \
        float *out = (float *)(void *)at[0];                                                                           \
        const float *from = (const float *)(const void *)at[1], *kept = (const float *)(const void *)at[2];            \
        int64_t o = steps[0] / 4, s = steps[1] / 4, k = steps[2] / 4;                                                  \
        (void)a, (void)b;                                                                                              \
        if (o == 1 && s == 1 && k == 1) {                                                                              \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                                      \
                float g = from[i], saved = kept[i];                                                                    \
                out[i] = (expression);                                                                                 \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                float g = from[i * s], saved = kept[i * k];                                                            \
                out[i * o] = (expression);                                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
#include "ops/activation.def"

#define BITS(name, saved, condition, expression)                                                                       \
    static void pack_##name(const float *context, int64_t n, const float *restrict from, uint32_t *restrict bits) {    \
        float a = context[0], b = context[1];                                                                          \
        (void)a, (void)b;                                                                                              \
        for (int64_t w = 0; w * 32 < n; w++) {                                                                         \
            uint32_t word = 0, most = n - w * 32 < 32 ? (uint32_t)(n - w * 32) : 32;                                   \
            const float *at = from + w * 32;                                                                           \
            _Pragma("omp simd reduction(| : word)") for (uint32_t k = 0; k < most; k++) {                              \
                float saved = at[k];                                                                                   \
                word |= (uint32_t)(condition) << k;                                                                    \
            }                                                                                                          \
            bits[w] = word;                                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    static void unpack_##name(const float *context, int64_t n, const uint32_t *bits, const float *dy, float *dx) {     \
        float a = context[0], b = context[1];                                                                          \
        (void)a, (void)b;                                                                                              \
        for (int64_t w = 0; w * 32 < n; w++) {                                                                         \
            uint32_t word = bits[w], most = n - w * 32 < 32 ? (uint32_t)(n - w * 32) : 32;                             \
            const float *from = dy + w * 32;                                                                           \
            float *to = dx + w * 32;                                                                                   \
            _Pragma("omp simd") for (uint32_t k = 0; k < most; k++) {                                                  \
                float g = from[k];                                                                                     \
                uint32_t bit = word >> k & 1;                                                                          \
                to[k] = (expression);                                                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }
#include "ops/activation.def"

#define SLOPE2(name, expression)                                                                                       \
    static void two_##name(const void *context, int64_t n, char *const *at, const int64_t *steps) {                    \
        float *out = (float *)(void *)at[0];                                                                           \
        const float *from = (const float *)(const void *)at[1], *left = (const float *)(const void *)at[2],            \
                    *right = (const float *)(const void *)at[3];                                                       \
        int64_t o = steps[0] / 4, s = steps[1] / 4, l = steps[2] / 4, r = steps[3] / 4;                                \
        (void)context;                                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            float g = from[i * s], x = left[i * l], y = right[i * r];                                                  \
            (void)y;                                                                                                   \
            out[i * o] = (expression);                                                                                 \
        }                                                                                                              \
    }
#include "ops/slope2.def"
#undef SLOPE2

const plim__simd_slope PLIM__ISA(plim__slopes) = {
#define SLOPE(name, saved, expression) .one[PLIM__FUNCTION_##name] = one_##name,
#include "ops/activation.def"
#define BITS(name, saved, condition, expression)                                                                       \
    .pack[PLIM__FUNCTION_##name] = pack_##name, .unpack[PLIM__FUNCTION_##name] = unpack_##name,
#include "ops/activation.def"
#define SLOPE2(name, expression) .two[PLIM__SLOPE2_##name] = two_##name,
#include "ops/slope2.def"
#undef SLOPE2
};
