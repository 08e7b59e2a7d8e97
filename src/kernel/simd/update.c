/* Loops of parameter updates: one pass over the gradient, the parameter and its states. */
#include "kernel/simd/update.h"

#include <float.h>
#include <math.h>

/* NaN stays NaN: clipping does not hide it. */
static inline float clipped(float g, float scale, float clip) {
    g = g * scale;
    g = g > clip ? clip : g;
    return g < -clip ? -clip : g;
}

/* A loop whose body changes x (and m, v where it has them), given g. */
#define RULE(name, ...)                                                                                                \
    static void name(const plim__update_numbers *numbers, int64_t n, float *restrict weights,                          \
                     const float *restrict gradients, float *restrict first, float *restrict second) {                 \
        const plim__update_numbers u = *numbers;                                                                       \
        (void)first, (void)second;                                                                                     \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                                          \
            float x = weights[i], g = clipped(gradients[i], u.scale, u.clip) + u.decay * x;                            \
            x = x * u.keep;                                                                                            \
            __VA_ARGS__                                                                                                \
            weights[i] = x;                                                                                            \
        }                                                                                                              \
    }

/* Padding has zeros everywhere, and must keep them when epsilon is 0 too. */
static inline float divisor(float v, float correct, float epsilon) {
    float d = sqrtf(v) * correct + epsilon;
    return d < FLT_MIN ? FLT_MIN : d;
}

#define M first[i]
#define V second[i]

RULE(sgd, x = x - u.rate * g;)
RULE(momentum, {
    float m = u.keep_m * M + u.gain_m * g;
    M = m;
    x = x - u.rate * m;
})
RULE(nesterov, {
    float m = u.keep_m * M + u.gain_m * g;
    M = m;
    x = x - u.rate * (g + u.mix_m * m);
})
RULE(adam, {
    float m = M;
    m = m + u.gain_m * (g - m);
    float v = u.keep_v * V + u.gain_v * g * g;
    M = m;
    V = v;
    x = x - u.rate * m / divisor(v, u.correct_v, u.epsilon);
})
RULE(rmsprop, {
    float v = u.keep_v * V + u.gain_v * g * g;
    V = v;
    x = x - u.rate * g / divisor(v, 1, u.epsilon);
})
RULE(rmsprop_momentum, {
    float v = u.keep_v * V + u.gain_v * g * g;
    float m = u.keep_m * M + g / divisor(v, 1, u.epsilon);
    V = v;
    M = m;
    x = x - u.rate * m;
})
RULE(adagrad, {
    float v = V + g * g;
    V = v;
    x = x - u.rate * g / divisor(v, 1, u.epsilon);
})
RULE(lion, {
    float m = M, mixed = u.mix_m * m + u.mix_g * g;
    float sign = mixed > 0 ? 1.0f : mixed < 0 ? -1.0f : mixed; /* NaN stays NaN */
    M = u.keep_m * m + u.gain_m * g;
    x = x - u.rate * sign;
})

static void add(int64_t n, float *restrict sum, const float *restrict x) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) sum[i] += x[i];
}

static double squares(int64_t n, const float *x) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

/* --- Adafactor ------------------------------------------------------------------------------------------------- */

static double row_squares(const plim__update_numbers *numbers, int64_t n, const float *g) {
    float scale = numbers->scale, clip = numbers->clip;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        double x = (double)clipped(g[i], scale, clip);
        sum += x * x;
    }
    return sum;
}

static void column_squares(const plim__update_numbers *numbers, int64_t n, const float *restrict g,
                           double *restrict sums) {
    float scale = numbers->scale, clip = numbers->clip;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        double x = (double)clipped(g[i], scale, clip);
        sums[i] += x * x;
    }
}

static double direct(const plim__update_numbers *numbers, int64_t n, float *d, const float *g, const float *v,
                     float factor) {
    const float least = FLT_EPSILON * FLT_EPSILON;
    float scale = numbers->scale, clip = numbers->clip;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        float square = factor * v[i];
        square = square < least ? least : square;
        float y = clipped(g[i], scale, clip) / sqrtf(square);
        d[i] = y;
        sum += (double)y * (double)y;
    }
    return sum;
}

/* v = v + weight (g² - v), exactly g² where the weight is 1. */
static void blend_squares(const plim__update_numbers *numbers, int64_t n, float *restrict v, const float *restrict g,
                          float weight) {
    float scale = numbers->scale, clip = numbers->clip, rest = 1 - weight;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        float x = clipped(g[i], scale, clip);
        v[i] = weight * (x * x) + rest * v[i];
    }
}

static void step(int64_t n, float *restrict x, const float *restrict d, float keep, float rate) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) x[i] = keep * x[i] - rate * d[i];
}

const plim__simd_update PLIM__ISA(plim__updates) = {
    .rule = {[PLIM__RULE_SGD] = sgd,
             [PLIM__RULE_MOMENTUM] = momentum,
             [PLIM__RULE_NESTEROV] = nesterov,
             [PLIM__RULE_ADAM] = adam,
             [PLIM__RULE_RMSPROP] = rmsprop,
             [PLIM__RULE_RMSPROP_MOMENTUM] = rmsprop_momentum,
             [PLIM__RULE_ADAGRAD] = adagrad,
             [PLIM__RULE_LION] = lion},
    .add = add,
    .squares = squares,
    .row_squares = row_squares,
    .column_squares = column_squares,
    .direct = direct,
    .blend_squares = blend_squares,
    .step = step,
};
