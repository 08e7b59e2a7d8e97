/* Exponential and friends for float, without branches or calls, so that loops over them vectorise. Errors are a
 * few units in the last place; NaN stays NaN and infinities give the limits. */
#ifndef PLIM_KERNEL_SIMD_MATH_H
#define PLIM_KERNEL_SIMD_MATH_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "core/half.h"

#define PLIM__LN2_HIGH 0.693145751953125f /* few bits: n * LN2_HIGH is exact */
#define PLIM__LN2_LOW  1.42860682030941723212e-6f

/* e^x = 2^n * e^r with n whole and |r| <= ln 2 / 2; e^r is its Taylor polynomial of degree 7. */
static inline float plim__simd_exp(float x) {
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number, which lands in the low bits */
    x = x > 89.0f ? 89.0f : x;
    x = x < -104.0f ? -104.0f : x;
    float shifted = x * 1.44269504088896341f + magic;
    float n = shifted - magic;
    float r = x - n * PLIM__LN2_HIGH - n * PLIM__LN2_LOW;
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    /* 2^n in two factors: n may be 128, or so small that the result is subnormal. */
    int32_t whole = (int32_t)(plim__float_to_bits(shifted) - 0x4b400000u), half = whole >> 1;
    return p * plim__bits_to_float((uint32_t)(half + 127) << 23) *
           plim__bits_to_float((uint32_t)(whole - half + 127) << 23);
}

/* log x = e ln 2 + log m, m in [sqrt 1/2, sqrt 2); log m = 2 atanh s, s = (m - 1) / (m + 1). */
static inline float plim__simd_log(float x) {
    float normal = x < FLT_MIN ? x * 0x1p23f : x;
    uint32_t bits = plim__float_to_bits(normal), shifted = bits - 0x3f3504f3u;
    float e = (float)((int32_t)shifted >> 23) - (x < FLT_MIN ? 23.0f : 0.0f);
    float f = plim__bits_to_float((shifted & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float s = f / (2.0f + f), s2 = s * s;
    float p = 1.0f / 11;
    p = p * s2 + 1.0f / 9;
    p = p * s2 + 1.0f / 7;
    p = p * s2 + 1.0f / 5;
    p = p * s2 + 1.0f / 3;
    float result = 2.0f * s + (2.0f * s * s2 * p + e * PLIM__LN2_LOW) + e * PLIM__LN2_HIGH;
    result = x > FLT_MAX ? x : result;
    result = x == 0.0f ? -INFINITY : result;
    return x >= 0.0f ? result : NAN;
}

/* e^x - 1: Taylor around 0 keeps small values exact. */
static inline float plim__simd_expm1(float x) {
    float p = 1.0f / 362880;
    p = p * x + 1.0f / 40320;
    p = p * x + 1.0f / 5040;
    p = p * x + 1.0f / 720;
    p = p * x + 1.0f / 120;
    p = p * x + 1.0f / 24;
    p = p * x + 1.0f / 6;
    p = p * x + 0.5f;
    float near = x + x * x * p;
    return fabsf(x) < 0.5f ? near : plim__simd_exp(x) - 1.0f;
}

/* Taylor around 0 keeps small values exact; elsewhere 1 - 2 / (e^2x + 1). */
static inline float plim__simd_tanh(float x) {
    float a = fabsf(x), x2 = x * x;
    float p = 21844.0f / 6081075;
    p = p * x2 - 1382.0f / 155925;
    p = p * x2 + 62.0f / 2835;
    p = p * x2 - 17.0f / 315;
    p = p * x2 + 2.0f / 15;
    p = p * x2 - 1.0f / 3;
    float near = x + x * x2 * p, far = copysignf(1.0f - 2.0f / (plim__simd_exp(2.0f * a) + 1.0f), x);
    return a < 0.55f ? near : far;
}

/* Off by 1.5e-7 at most, which is enough where 1 is added: 1 - t P(t) e^(-x^2), t = 1 / (1 + 0.3275911 x)
 * (Abramowitz and Stegun 7.1.26). */
static inline float plim__simd_erf_about(float x) {
    float t = 1.0f / (1.0f + 0.3275911f * fabsf(x));
    float p = 1.061405429f;
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    return copysignf(1.0f - p * t * plim__simd_exp(-x * x), x);
}

/* Taylor up to 1 keeps small values exact. */
static inline float plim__simd_erf(float x) {
    float x2 = x * x;
    float p = 1.0f / (3628800.0f * 21);
    p = p * x2 - 1.0f / (362880.0f * 19);
    p = p * x2 + 1.0f / (40320.0f * 17);
    p = p * x2 - 1.0f / (5040.0f * 15);
    p = p * x2 + 1.0f / (720.0f * 13);
    p = p * x2 - 1.0f / (120.0f * 11);
    p = p * x2 + 1.0f / (24.0f * 9);
    p = p * x2 - 1.0f / (6.0f * 7);
    p = p * x2 + 1.0f / (2.0f * 5);
    p = p * x2 - 1.0f / 3;
    float near = 1.12837916709551257f * (x + x * x2 * p);
    return fabsf(x) < 1.0f ? near : plim__simd_erf_about(x);
}

/* log(1 + e) for 0 <= e <= 1: the rounding of 1 + e is put right again. */
static inline float plim__simd_log1p(float e) {
    float u = 1.0f + e;
    return plim__simd_log(u) + (e - (u - 1.0f)) / u;
}

#endif
