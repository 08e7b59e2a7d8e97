/* Combining elements of every numeric type. */
#include "kernel/forward/combine.h"

#include <string.h>

#include "core/scalar.h"

/* Signed sums wrap around as they do everywhere else in tensors: they are done on the unsigned type. */
#define LOOPS(name, type, wide)                                                                                        \
    static void combine_##name(plim__combination how, type *to, const type *from, int64_t count) {                     \
        for (int64_t i = 0; i < count; i++) switch (how) {                                                             \
            case PLIM__COMBINE_ADD: to[i] = (type)((wide)to[i] + (wide)from[i]); break;                                \
            case PLIM__COMBINE_MUL: to[i] = (type)((wide)to[i] * (wide)from[i]); break;                                \
            case PLIM__COMBINE_MAX: to[i] = from[i] > to[i] ? from[i] : to[i]; break;                                  \
            case PLIM__COMBINE_MIN: to[i] = from[i] < to[i] ? from[i] : to[i]; break;                                  \
            default: to[i] = from[i];                                                                                  \
            }                                                                                                          \
    }
LOOPS(f32, float, float)
LOOPS(f64, double, double)
LOOPS(i64, int64_t, uint64_t)
LOOPS(u64, uint64_t, uint64_t)
LOOPS(i32, int32_t, uint32_t)
LOOPS(u32, uint32_t, uint32_t)
LOOPS(i16, int16_t, uint32_t)
LOOPS(u16, uint16_t, uint32_t)
LOOPS(i8, int8_t, uint32_t)
LOOPS(u8, uint8_t, uint32_t)

static void combine_small(plim_dtype dtype, plim__combination how, void *to, const void *from, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        double a = plim__scalar_get(dtype, to, i), b = plim__scalar_get(dtype, from, i), result = b;
        if (how == PLIM__COMBINE_ADD)
            result = a + b;
        else if (how == PLIM__COMBINE_MUL)
            result = a * b;
        else if (how == PLIM__COMBINE_MAX)
            result = b > a ? b : a;
        else if (how == PLIM__COMBINE_MIN)
            result = b < a ? b : a;
        plim__scalar_set(dtype, to, i, result);
    }
}

void plim__combine(plim_dtype dtype, plim__combination how, void *to, const void *from, int64_t count) {
    if (how == PLIM__COMBINE_NONE) {
        memcpy(to, from, (size_t)count * (size_t)plim_dtype_bits(dtype) / 8);
        return;
    }
    switch (dtype) {
    case PLIM_F32: combine_f32(how, to, from, count); break;
    case PLIM_F64: combine_f64(how, to, from, count); break;
    case PLIM_I64: combine_i64(how, to, from, count); break;
    case PLIM_U64: combine_u64(how, to, from, count); break;
    case PLIM_I32: combine_i32(how, to, from, count); break;
    case PLIM_U32: combine_u32(how, to, from, count); break;
    case PLIM_I16: combine_i16(how, to, from, count); break;
    case PLIM_U16: combine_u16(how, to, from, count); break;
    case PLIM_I8: combine_i8(how, to, from, count); break;
    case PLIM_U8: combine_u8(how, to, from, count); break;
    default: combine_small(dtype, how, to, from, count);
    }
}
