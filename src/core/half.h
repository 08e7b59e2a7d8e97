/* 16-bit floats to and from float32, rounding to nearest even. */
#ifndef PLIM_CORE_HALF_H
#define PLIM_CORE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float plim__bits_to_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t plim__float_to_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float plim__bfloat_to_float(uint16_t half) { return plim__bits_to_float((uint32_t)half << 16); }

static inline uint16_t plim__float_to_bfloat(float value) {
    uint32_t bits = plim__float_to_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40); /* keep NaN a NaN */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float plim__half_to_float(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff;
    if (exponent == 31) return plim__bits_to_float(sign | 0x7f800000u | mantissa << 13);
    if (exponent == 0) { /* zero or subnormal: mantissa * 2^-24 is exact in float32 */
        float magnitude = (float)mantissa * 0x1p-24f;
        return plim__bits_to_float(sign | plim__float_to_bits(magnitude));
    }
    return plim__bits_to_float(sign | (exponent + 112) << 23 | mantissa << 13);
}

static inline uint16_t plim__float_to_half(float value) {
    uint32_t bits = plim__float_to_bits(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00);
    if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00); /* rounds to 65520 or more: infinity */
    if (magnitude < 0x38800000u) {                                  /* subnormal: let float32 addition round */
        float shifted = plim__bits_to_float(magnitude) + 0.5f;
        return (uint16_t)(sign | (plim__float_to_bits(shifted) - 0x3f000000u));
    }
    magnitude += 0xfff + (magnitude >> 13 & 1);
    return (uint16_t)(sign | (magnitude - 0x38000000u) >> 13);
}

#endif
