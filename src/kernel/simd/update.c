/* Loops of parameter updates: one pass over the gradient, the parameter and its states. */
#include "kernel/simd/update.h"

#include <float.h>
#include <math.h>

/* A loop whose body changes x (and m, v where it has them), given g. The gradient is NaN where it was NaN: clipping
 * does not hide it. */
#define RULE(name, ...)                                                                                                \
    static void name(const plim__update_numbers *numbers, int64_t n, float *restrict weights,                          \
                     const float *restrict gradients, float *restrict first, float *restrict second) {                 \
        const plim__update_numbers u = *numbers;                                                                       \
        (void)first, (void)second;                                                                                     \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                                          \
            float x = weights[i], g = gradients[i] * u.scale;                                                          \
            g = g > u.clip ? u.clip : g;                                                                               \
            g = g < -u.clip ? -u.clip : g;                                                                             \
            g = g + u.decay * x;                                                                                       \
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
};
