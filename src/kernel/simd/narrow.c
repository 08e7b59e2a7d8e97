/* Float32 to 16 bits and back. Written without branches, so that the loops become vectors. */
#include "kernel/simd/narrow.h"

#include "core/half.h"

static inline uint32_t select(uint32_t mask, uint32_t yes, uint32_t no) { return (yes & mask) | (no & ~mask); }
static inline uint32_t mask_of(int condition) { return (uint32_t)-condition; }

static void to_bfloat(int64_t n, const float *restrict from, uint16_t *restrict to) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = plim__float_to_bits(from[i]);
        uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1), nan = mask_of((bits & 0x7fffffffu) > 0x7f800000u);
        to[i] = (uint16_t)(select(nan, bits | 0x400000u, rounded) >> 16);
    }
}

static void from_bfloat(int64_t n, const uint16_t *restrict from, float *restrict to) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) to[i] = plim__bits_to_float((uint32_t)from[i] << 16);
}

/* As plim__float_to_half: large ones, small ones, which a float32 addition rounds, and the usual ones. */
static void to_half(int64_t n, const float *restrict from, uint16_t *restrict to) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = plim__float_to_bits(from[i]), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffffu;
        uint32_t usual = (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000u) >> 13;
        uint32_t small = plim__float_to_bits(plim__bits_to_float(magnitude) + 0.5f) - 0x3f000000u;
        uint32_t half = select(mask_of(magnitude < 0x38800000u), small, usual);
        half = select(mask_of(magnitude >= 0x477ff000u), 0x7c00, half);
        half = select(mask_of(magnitude > 0x7f800000u), 0x7e00, half);
        to[i] = (uint16_t)(sign | half);
    }
}

/* Of the subnormal ones the mantissa times 2^-24 is exact in float32. */
static void from_half(int64_t n, const uint16_t *restrict from, float *restrict to) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        uint32_t half = from[i], sign = (half & 0x8000) << 16, exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff;
        uint32_t usual = (exponent + 112) << 23 | mantissa << 13;
        uint32_t small = plim__float_to_bits((float)(int32_t)mantissa * 0x1p-24f);
        uint32_t bits = select(mask_of(exponent == 0), small, usual);
        bits = select(mask_of(exponent == 31), 0x7f800000u | mantissa << 13, bits);
        to[i] = plim__bits_to_float(sign | bits);
    }
}

const plim__simd_narrow PLIM__ISA(plim__narrows) = {
    .to_bfloat = to_bfloat, .to_half = to_half, .from_bfloat = from_bfloat, .from_half = from_half};
