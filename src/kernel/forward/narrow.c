/* Narrow numbers, one at a time. An 8-bit float is sign, exponent, mantissa; the four kinds differ in how many
 * bits each has, in the bias, and in which codes are not finite:
 *
 *     e4m3fn    bias 7   no infinity, NaN is s.1111.111
 *     e4m3fnuz  bias 8   no infinity, no -0, NaN is 1.0000.000
 *     e5m2      bias 15  infinity and NaN as IEEE has them
 *     e5m2fnuz  bias 16  no infinity, no -0, NaN is 1.00000.00 */
#include <math.h>

#include "core/scalar.h"
#include "kernel/forward/quantize.h"

typedef struct small_float {
    int mantissa, bias;
    bool unsigned_zero, infinity;
    double largest;
} small_float;

static const small_float *small_float_of(plim_dtype dtype) {
    static const small_float e4m3fn = {3, 7, false, false, 448}, e4m3fnuz = {3, 8, true, false, 240};
    static const small_float e5m2 = {2, 15, false, true, 57344}, e5m2fnuz = {2, 16, true, false, 57344};
    switch (dtype) {
    case PLIM_F8E4M3FN: return &e4m3fn;
    case PLIM_F8E4M3FNUZ: return &e4m3fnuz;
    case PLIM_F8E5M2: return &e5m2;
    case PLIM_F8E5M2FNUZ: return &e5m2fnuz;
    default: return NULL;
    }
}

static double read_small(const small_float *f, uint8_t code) {
    int exponent = (code & 0x7f) >> f->mantissa, fraction = code & ((1 << f->mantissa) - 1), top = 0x7f >> f->mantissa;
    if (f->unsigned_zero && code == 0x80) return (double)NAN;
    if (!f->unsigned_zero && !f->infinity && (code & 0x7f) == 0x7f) return (double)NAN;
    double value;
    if (f->infinity && exponent == top)
        value = fraction ? (double)NAN : HUGE_VAL;
    else if (exponent == 0)
        value = ldexp(fraction, 1 - f->bias - f->mantissa);
    else
        value = ldexp((1 << f->mantissa) + fraction, exponent - f->bias - f->mantissa);
    return code & 0x80 ? -value : value;
}

static uint8_t not_a_number(const small_float *f) { return f->unsigned_zero ? 0x80 : 0x7f; }

static uint8_t write_small(const small_float *f, double value, bool saturate) {
    if (isnan(value)) return not_a_number(f);
    uint8_t sign = signbit(value) ? 0x80 : 0;
    double magnitude = fabs(value);
    if (magnitude == 0) return f->unsigned_zero ? 0 : sign;
    int exponent;
    frexp(magnitude, &exponent); /* magnitude = x · 2^exponent, x in [0.5, 1) */
    int least = 1 - f->bias, power = exponent - 1 < least ? least : exponent - 1;
    double step = ldexp(1, power - f->mantissa), rounded = nearbyint(magnitude / step) * step;
    if (rounded > f->largest || isinf(magnitude)) {
        if (saturate)
            rounded = f->largest;
        else
            return f->infinity ? (uint8_t)(sign | 0x7c) : not_a_number(f) | (f->unsigned_zero ? 0 : sign);
    }
    if (rounded == 0) return f->unsigned_zero ? 0 : sign;
    frexp(rounded, &exponent);
    power = exponent - 1 < least ? least : exponent - 1;
    int code = (int)ldexp(rounded, f->mantissa - power); /* with the hidden bit when normal */
    int field = code >= 1 << f->mantissa ? power + f->bias : 0;
    return (uint8_t)(sign | field << f->mantissa | (code & ((1 << f->mantissa) - 1)));
}

bool plim__narrow_known(plim_dtype dtype) {
    switch (dtype) {
    case PLIM_I8:
    case PLIM_U8:
    case PLIM_I16:
    case PLIM_U16:
    case PLIM_I32:
    case PLIM_I4:
    case PLIM_U4: return true;
    default: return small_float_of(dtype) != NULL;
    }
}

double plim__narrow_get(plim_dtype dtype, const void *data, int64_t i) {
    const small_float *f = small_float_of(dtype);
    if (f) return read_small(f, ((const uint8_t *)data)[i]);
    if (dtype != PLIM_I4 && dtype != PLIM_U4) return plim__scalar_get(dtype, data, i);
    int nibble = ((const uint8_t *)data)[i / 2] >> (i % 2 ? 4 : 0) & 15; /* the first of two is in the low bits */
    return dtype == PLIM_I4 && nibble > 7 ? nibble - 16 : nibble;
}

void plim__narrow_set(plim_dtype dtype, void *data, int64_t i, double value, bool saturate) {
    const small_float *f = small_float_of(dtype);
    if (f) {
        ((uint8_t *)data)[i] = write_small(f, value, saturate);
    } else if (dtype == PLIM_I4 || dtype == PLIM_U4) {
        int64_t whole = dtype == PLIM_I4 ? plim__scalar_whole(nearbyint(value), -8, 7)
                                         : plim__scalar_whole(nearbyint(value), 0, 15);
        uint8_t *byte = (uint8_t *)data + i / 2;
        *byte =
            (uint8_t)(i % 2 ? (*byte & 0x0f) | (whole & 15) << 4 : whole & 15); /* the low one clears its neighbour */
    } else {
        plim__scalar_set(dtype, data, i, nearbyint(value));
    }
}

void plim__requantize(plim_dtype dtype, void *data, int64_t i, int32_t acc, float factor, int32_t zero) {
    double value = nearbyint((double)((float)acc * factor)) + zero;
    plim__scalar_set(dtype, data, i, value);
}
