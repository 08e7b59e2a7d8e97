/* Losses on float32. */
#include "kernel/simd/loss.h"

#include "kernel/simd/math.h"

#define CHUNK 2048 /* scores that stay in the first cache between looking for their peak and their exponentials */

/* --- rows ----------------------------------------------------------------------------------------------------- */

static float peak_of(const float *x, int64_t n) {
    float peak = -INFINITY;
#pragma omp simd reduction(max : peak)
    for (int64_t i = 0; i < n; i++) peak = x[i] > peak ? x[i] : peak;
    return peak;
}

static float sum_of(const float *x, int64_t n, float peak) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += plim__simd_exp(x[i] - peak);
    return sum;
}

/* Memory is read once: when a chunk raises the peak, the sum so far shrinks accordingly. */
static double normalizer(const float *x, int64_t n, float *peak) {
    float most = -INFINITY;
    double sum = 0;
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t count = n - at < CHUNK ? n - at : CHUNK;
        float here = peak_of(x + at, count);
        if (here > most) {
            if (at > 0) sum *= (double)plim__simd_exp(most - here);
            most = here;
        }
        /* infinities must not meet: -infinity everywhere sums to 0 */
        sum += (double)sum_of(x + at, count, most == -INFINITY ? 0 : most);
    }
    *peak = most == -INFINITY ? 0 : most;
    return sum;
}

static double dot(const float *x, const float *w, int64_t n) {
    double sum = 0;
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t end = n - at < CHUNK ? n : at + CHUNK;
        float part = 0;
        if (w) {
#pragma omp simd reduction(+ : part)
            for (int64_t i = at; i < end; i++) part += w[i] * x[i];
        } else {
#pragma omp simd reduction(+ : part)
            for (int64_t i = at; i < end; i++) part += x[i];
        }
        sum += (double)part;
    }
    return sum;
}

static bool holds(const float *x, int64_t n, float value) {
    int found = 0;
#pragma omp simd reduction(| : found)
    for (int64_t i = 0; i < n; i++) found |= x[i] == value;
    return found != 0;
}

static void add(float *to, const float *x, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) to[i] += x[i];
}

static void slope(float *dx, const float *x, const float *w, int64_t n, plim__loss_slope of) {
    float peak = of.peak, factor = of.factor, base = of.base;
    if (w) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) dx[i] = factor * plim__simd_exp(x[i] - peak) - base * w[i];
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) dx[i] = factor * plim__simd_exp(x[i] - peak) - base;
    }
}

/* --- columns -------------------------------------------------------------------------------------------------- */

static void normalizers(const float *x, plim__columns columns, float *peaks, float *sums, int32_t *best) {
    int64_t n = columns.n, step = columns.step, width = columns.width;
    for (int64_t j = 0; j < width; j++) peaks[j] = -INFINITY, sums[j] = 0, best[j] = 0;
    for (int64_t c = 0; c < n; c++) {
        const float *row = x + c * step;
#pragma omp simd
        for (int64_t j = 0; j < width; j++) {
            bool more = row[j] > peaks[j];
            peaks[j] = more ? row[j] : peaks[j];
            best[j] = more ? (int32_t)c : best[j];
        }
    }
#pragma omp simd
    for (int64_t j = 0; j < width; j++) peaks[j] = peaks[j] == -INFINITY ? 0 : peaks[j];
    for (int64_t c = 0; c < n; c++) {
        const float *row = x + c * step;
#pragma omp simd
        for (int64_t j = 0; j < width; j++) sums[j] += plim__simd_exp(row[j] - peaks[j]);
    }
}

static void dots(const float *x, const float *w, plim__columns columns, float *sums) {
    int64_t n = columns.n, step = columns.step, width = columns.width;
    for (int64_t j = 0; j < width; j++) sums[j] = 0;
    for (int64_t c = 0; c < n; c++) {
        const float *row = x + c * step;
        float weight = w ? w[c] : 1;
#pragma omp simd
        for (int64_t j = 0; j < width; j++) sums[j] += weight * row[j];
    }
}

static void slopes(float *dx, const float *x, const float *w, plim__columns columns, plim__loss_slopes of) {
    const float *peaks = of.peaks, *factors = of.factors, *bases = of.bases;
    int64_t n = columns.n, step = columns.step, width = columns.width;
    for (int64_t c = 0; c < n; c++) {
        const float *row = x + c * step;
        float *out = dx + c * step, weight = w ? w[c] : 1;
#pragma omp simd
        for (int64_t j = 0; j < width; j++) {
            float d = factors[j] * plim__simd_exp(row[j] - peaks[j]) - bases[j] * weight;
            out[j] = factors[j] == 0 ? 0 : d;
        }
    }
}

/* --- single elements ------------------------------------------------------------------------------------------ */

static inline float bce(float x, float t, float delta) {
    (void)delta;
    return (x > 0 ? x : 0) - x * t + plim__simd_log1p(plim__simd_exp(-fabsf(x)));
}
static inline float bce_slope(float x, float t, float delta) {
    (void)delta;
    return 1.0f / (1.0f + plim__simd_exp(-x)) - t;
}
static inline float mse(float x, float t, float delta) {
    (void)delta;
    return (x - t) * (x - t);
}
static inline float mse_slope(float x, float t, float delta) {
    (void)delta;
    return 2 * (x - t);
}
static inline float l1(float x, float t, float delta) {
    (void)delta;
    return fabsf(x - t);
}
static inline float l1_slope(float x, float t, float delta) {
    (void)delta;
    float d = x - t;
    return d > 0 ? 1 : d < 0 ? -1 : d; /* 0 and NaN stay what they are */
}
static inline float huber(float x, float t, float delta) {
    float d = fabsf(x - t), far = delta * (d - 0.5f * delta);
    return d > delta ? far : 0.5f * d * d;
}
static inline float huber_slope(float x, float t, float delta) {
    float d = x - t;
    return d > delta ? delta : d < -delta ? -delta : d;
}

#define ELEMENT(name)                                                                                                  \
    static double name##_sum(const float *x, const float *t, int64_t n, float delta) {                                 \
        float sum = 0;                                                                                                 \
        _Pragma("omp simd reduction(+ : sum)") for (int64_t i = 0; i < n; i++) sum += name(x[i], t[i], delta);         \
        return (double)sum;                                                                                            \
    }                                                                                                                  \
    static void name##_slopes(float *dx, const float *x, const float *t, int64_t n, float delta, float share) {        \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) dx[i] = share * name##_slope(x[i], t[i], delta);           \
    }
ELEMENT(bce)
ELEMENT(mse)
ELEMENT(l1)
ELEMENT(huber)

const plim__simd_loss PLIM__ISA(plim__simd_loss_table) = {
    .normalizer = normalizer,
    .dot = dot,
    .holds = holds,
    .add = add,
    .slope = slope,
    .normalizers = normalizers,
    .dots = dots,
    .slopes = slopes,
    .element_sum = {bce_sum, mse_sum, l1_sum, huber_sum},
    .element_slope = {bce_slopes, mse_slopes, l1_slopes, huber_slopes},
};
