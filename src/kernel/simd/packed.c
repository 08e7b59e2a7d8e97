/* Codes to numbers. */
#include "kernel/simd/packed.h"

static void nibbles(int64_t bytes, const uint8_t *restrict codes, const float levels[restrict 16], float scale,
                    float *restrict to) {
    float scaled[16];
    for (int i = 0; i < 16; i++) scaled[i] = levels[i] * scale;
#pragma omp simd
    for (int64_t i = 0; i < bytes; i++) {
        to[2 * i] = scaled[codes[i] >> 4];
        to[2 * i + 1] = scaled[codes[i] & 15];
    }
}

static void bytes(int64_t n, const int8_t *restrict codes, float scale, float *restrict to) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) to[i] = (float)codes[i] * scale;
}

const plim__simd_packed PLIM__ISA(plim__unpacks) = {.nibbles = nibbles, .bytes = bytes};
