/* Root mean square norm of one row. */
#include "kernel/simd/rms_norm.h"

#include <math.h>

static float inverse(const float *x, int64_t n, float epsilon) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return 1 / sqrtf(sum / (float)n + epsilon);
}

static void forward(float *y, const float *x, const float *scale, int64_t n, float epsilon) {
    float r = inverse(x, n, epsilon);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) y[i] = x[i] * r * scale[i];
}

static void backward(float *dx, float *dscale, const float *const in[3], int64_t n, float epsilon) {
    const float *dy = in[0], *x = in[1], *scale = in[2];
    float r = inverse(x, n, epsilon), along = 0;
#pragma omp simd reduction(+ : along)
    for (int64_t i = 0; i < n; i++) along += dy[i] * scale[i] * x[i];
    float pull = along * r * r / (float)n;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        float d = dy[i];
        dscale[i] += d * x[i] * r;
        dx[i] = r * (d * scale[i] - x[i] * pull);
    }
}

const plim__simd_rms_norm PLIM__ISA(plim__simd_rms_norm_table) = {.forward = forward, .backward = backward};
