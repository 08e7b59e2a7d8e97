/* Loops of parameter updates, on float32, by instruction set. */
#ifndef PLIM_KERNEL_SIMD_UPDATE_H
#define PLIM_KERNEL_SIMD_UPDATE_H

#include <stdint.h>

#include "kernel/simd/simd.h"

typedef enum plim__update_rule {
    PLIM__RULE_SGD,
    PLIM__RULE_MOMENTUM,
    PLIM__RULE_NESTEROV,
    PLIM__RULE_ADAM,
    PLIM__RULE_RMSPROP,
    PLIM__RULE_RMSPROP_MOMENTUM,
    PLIM__RULE_ADAGRAD,
    PLIM__RULE_LION,
    PLIM__RULE_COUNT
} plim__update_rule;

/* What is the same for all elements of an update; src/ops/update.h has the formulas. */
typedef struct plim__update_numbers {
    float scale, clip;        /* of the gradient; clip is infinite for none */
    float decay;              /* g += decay x */
    float keep;               /* x *= keep */
    float rate;               /* x -= rate ... */
    float keep_m, gain_m;     /* m = keep_m m + gain_m g */
    float keep_v, gain_v;     /* v = keep_v v + gain_v g² */
    float mix_m, mix_g;       /* lion: the sign of mix_m m + mix_g g; nesterov: mix_m m + g */
    float correct_v, epsilon; /* divide by correct_v sqrt v + epsilon */
} plim__update_numbers;

/* Weights x, gradients g and states m, v (NULL where the rule has none) of n elements. */
typedef void (*plim__update_loop)(const plim__update_numbers *numbers, int64_t n, float *x, const float *g, float *m,
                                  float *v);

typedef struct plim__simd_update {
    plim__update_loop rule[PLIM__RULE_COUNT];
    void (*add)(int64_t n, float *sum, const float *x); /* sum += x */
    double (*squares)(int64_t n, const float *x);       /* the sum of x² */
    /* Adafactor. The gradient is read with scale and clip of `numbers`. */
    double (*row_squares)(const plim__update_numbers *numbers, int64_t n, const float *g);
    void (*column_squares)(const plim__update_numbers *numbers, int64_t n, const float *g,
                           double *sums); /* sums += g² */
    /* d = g / sqrt(max(factor v, the square of float's epsilon)) of n elements, d may be g; returns the sum of d². */
    double (*direct)(const plim__update_numbers *numbers, int64_t n, float *d, const float *g, const float *v,
                     float factor);
    void (*blend_squares)(const plim__update_numbers *numbers, int64_t n, float *v, const float *g, float weight);
    void (*step)(int64_t n, float *x, const float *d, float keep, float rate); /* x = keep x - rate d */
} plim__simd_update;

PLIM__SIMD_TABLE(plim__simd_update, plim__updates)

#endif
