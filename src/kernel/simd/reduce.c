/* Reductions and softmax on float32. */
#include "kernel/simd/reduce.h"

#include "kernel/reduce_loops.h"
#include "kernel/simd/math.h"

#define VALUE(x)       ((double)(x))
#define EXPONENTIAL(x) ((double)plim__simd_exp((float)(x)))
PLIM__FOLD_REAL_LOOPS(f32, float, VALUE, EXPONENTIAL)

#define REST 16 /* elements of the longest vector: those that fill none are computed as one, not one by one */

static inline float highest(const float *x, int64_t n) {
    float peak = -INFINITY;
#pragma omp simd reduction(max : peak)
    for (int64_t i = 0; i < n; i++) peak = x[i] > peak ? x[i] : peak;
    return peak;
}

/* -infinity everywhere: 0 / 0, not -infinity - -infinity */
static inline float real_peak(float peak) { return peak == -INFINITY ? 0 : peak; }

static float peak_of(const float *x, int64_t n) { return real_peak(highest(x, n)); }

/* y = exp(x - peak); y may be x */
static inline float exponentials(float *y, const float *x, int64_t n, float peak) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        float e = plim__simd_exp(x[i] - peak);
        y[i] = e;
        sum += e;
    }
    return sum;
}

static void softmax(float *y, const float *x, int64_t n) {
    int64_t more = n % REST, full = n - more;
    float rest[REST], peak = highest(x, full), sum = 0;
    if (more > 0) {
        for (int64_t i = 0; i < REST; i++) rest[i] = i < more ? x[full + i] : -INFINITY;
        float other = highest(rest, REST);
        peak = real_peak(other > peak ? other : peak);
        sum = exponentials(rest, rest, REST, peak);
    }
    sum += exponentials(y, x, full, real_peak(peak));
    float scale = 1.0f / sum;
#pragma omp simd
    for (int64_t i = 0; i < full; i++) y[i] *= scale;
    for (int64_t i = 0; i < more; i++) y[full + i] = rest[i] * scale;
}

static void log_softmax(float *y, const float *x, int64_t n) {
    float peak = peak_of(x, n), sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += plim__simd_exp(x[i] - peak);
    float shift = logf(sum);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) y[i] = x[i] - peak - shift;
}

static void softmax_columns(float *y, const float *x, plim__columns columns, float *peaks, float *sums, int log_form) {
    int64_t n = columns.n, step = columns.step, width = columns.width;
    for (int64_t j = 0; j < width; j++) peaks[j] = -INFINITY, sums[j] = 0;
    for (int64_t i = 0; i < n; i++) {
        const float *row = x + i * step;
#pragma omp simd
        for (int64_t j = 0; j < width; j++) peaks[j] = row[j] > peaks[j] ? row[j] : peaks[j];
    }
#pragma omp simd
    for (int64_t j = 0; j < width; j++) peaks[j] = peaks[j] == -INFINITY ? 0 : peaks[j];
    for (int64_t i = 0; i < n; i++) {
        const float *row = x + i * step;
        float *out = y + i * step;
#pragma omp simd
        for (int64_t j = 0; j < width; j++) {
            float shifted = row[j] - peaks[j], e = plim__simd_exp(shifted);
            out[j] = log_form ? shifted : e;
            sums[j] += e;
        }
    }
#pragma omp simd
    for (int64_t j = 0; j < width; j++) sums[j] = log_form ? plim__simd_log(sums[j]) : 1.0f / sums[j];
    for (int64_t i = 0; i < n; i++) {
        float *out = y + i * step;
#pragma omp simd
        for (int64_t j = 0; j < width; j++) out[j] = log_form ? out[j] - sums[j] : out[j] * sums[j];
    }
}

const plim__simd_reduce PLIM__ISA(plim__simd_reduce_table) = {
    .f32 = PLIM__FOLD_REAL_TABLE(f32),
    .softmax = softmax,
    .log_softmax = log_softmax,
    .softmax_columns = softmax_columns,
};
