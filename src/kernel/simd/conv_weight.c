/* Weight gradients of convolutions that read few channels. */
#include "kernel/simd/conv_weight.h"

#include <string.h>

#define HALF (PLIM__TAP_CHANNELS / 2)
#define MOST 5 /* taps at a time: two sums each, so that they and what they are made of stay in 16 registers */

typedef float lanes __attribute__((vector_size(HALF * 4)));
typedef float loose_lanes __attribute__((vector_size(HALF * 4), aligned(4), may_alias)); /* anywhere in memory */

static inline lanes load(const float *from) { return *(const loose_lanes *)from; }
static inline void store(float *to, lanes v) { *(loose_lanes *)to = v; }

struct row {
    const float *dy;
    int64_t second; /* floats from the first channels of a pixel of dy to the others */
    const float *x; /* what a tap without offset sees of the image */
};

/* One row of dy for n taps; n is a constant wherever this is called. */
static inline __attribute__((always_inline)) void row_of_taps(const plim__conv_taps *t, struct row row,
                                                              const int64_t *offset, float *sums, int n) {
    lanes low[MOST], high[MOST];
    const float *from[MOST];
#pragma GCC unroll 5
    for (int k = 0; k < n; k++) {
        low[k] = load(sums + k * PLIM__TAP_CHANNELS);
        high[k] = load(sums + k * PLIM__TAP_CHANNELS + HALF);
        from[k] = row.x + offset[k];
    }
    for (int64_t i = 0; i < t->columns; i++) {
        lanes a = load(row.dy + i * t->pixel), b = load(row.dy + i * t->pixel + row.second);
#pragma GCC unroll 5
        for (int k = 0; k < n; k++) {
            float seen = from[k][i * t->along];
            low[k] += a * seen;
            high[k] += b * seen;
        }
    }
#pragma GCC unroll 5
    for (int k = 0; k < n; k++) {
        store(sums + k * PLIM__TAP_CHANNELS, low[k]);
        store(sums + k * PLIM__TAP_CHANNELS + HALF, high[k]);
    }
}

static void row_alone(const plim__conv_taps *t, struct row row, float *sums) {
    lanes low = load(sums), high = load(sums + HALF);
    for (int64_t i = 0; i < t->columns; i++) {
        low += load(row.dy + i * t->pixel);
        high += load(row.dy + i * t->pixel + row.second);
    }
    store(sums, low);
    store(sums + HALF, high);
}

static void sums(const plim__conv_taps *t, const float *dy, int64_t second, const float *x, float *sums) {
    memset(sums, 0, (size_t)(t->count + 1) * PLIM__TAP_CHANNELS * sizeof *sums);
    for (int64_t r = 0; r < t->rows; r++) {
        struct row row = {dy + r * t->columns * t->pixel, second, x + r * t->down};
        for (int64_t k = 0; k < t->count; k += MOST) {
            const int64_t *offset = t->offset + k;
            float *to = sums + k * PLIM__TAP_CHANNELS;
            switch (t->count - k) {
            case 1: row_of_taps(t, row, offset, to, 1); break;
            case 2: row_of_taps(t, row, offset, to, 2); break;
            case 3: row_of_taps(t, row, offset, to, 3); break;
            case 4: row_of_taps(t, row, offset, to, 4); break;
            default: row_of_taps(t, row, offset, to, MOST); break;
            }
        }
        row_alone(t, row, sums + t->count * PLIM__TAP_CHANNELS);
    }
}

const plim__simd_conv_weight PLIM__ISA(plim__simd_conv_weight_table) = {.sums = sums};
