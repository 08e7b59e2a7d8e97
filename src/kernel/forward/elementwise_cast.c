/* Casts between all numeric types.
 *
 * Float to whole saturates and NaN gives 0 (C and ONNX leave both undefined); whole to whole wraps, as in NumPy;
 * anything but zero is true. */
#include <float.h>
#include <math.h>

#include "core/half.h"
#include "kernel/forward/elementwise_cast.h"
#include "kernel/lowers.h"

/* float64 to float32 so that rounding again to 16 bits rounds once in all: odd when inexact. */
static inline float narrow(double x) {
    float rounded = (float)x;
    if ((double)rounded == x || x != x) return rounded;
    uint32_t bits = plim__float_to_bits(rounded);
    if (fabs((double)rounded) > fabs(x)) bits--;
    return plim__bits_to_float(bits | 1);
}

#define SATURATE(T, x, low, high) ((x) != (x) ? (T)0 : (x) <= (low) ? (T)(low) : (x) >= (high) ? (T)(high) : (T)(x))
/* The limits of 64 bits are not floats: the float above them is compared with instead. */
static inline int64_t saturate_i64(double x) {
    return x != x ? 0 : x <= -0x1p63 ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : (int64_t)x;
}
static inline uint64_t saturate_u64(double x) { return x != x || x <= 0 ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x; }
static inline int8_t saturate_i8(double x) { return SATURATE(int8_t, x, INT8_MIN, INT8_MAX); }
static inline int16_t saturate_i16(double x) { return SATURATE(int16_t, x, INT16_MIN, INT16_MAX); }
static inline int32_t saturate_i32(double x) { return SATURATE(int32_t, x, INT32_MIN, INT32_MAX); }
static inline uint8_t saturate_u8(double x) { return SATURATE(uint8_t, x, 0, UINT8_MAX); }
static inline uint16_t saturate_u16(double x) { return SATURATE(uint16_t, x, 0, UINT16_MAX); }
static inline uint32_t saturate_u32(double x) { return SATURATE(uint32_t, x, 0, UINT32_MAX); }

#define FROM_F32(x)  (x)
#define FROM_F64(x)  (x)
#define FROM_F16(x)  plim__half_to_float(x)
#define FROM_BF16(x) plim__bfloat_to_float(x)

/* Conversions that are hot (anything to float32, float32 to 16 bits) get a straight loop as well. */
#define CAST_LOOP(label, FROM, TO, value, straight)                                                                    \
    static void label(const void *context, int64_t n, char *const *at, const int64_t *steps) {                         \
        int64_t o = steps[0] / (int64_t)sizeof(TO), s = steps[1] / (int64_t)sizeof(FROM);                              \
        TO *out = (TO *)(void *)at[0];                                                                                 \
        const FROM *in = (const FROM *)(const void *)at[1];                                                            \
        (void)context;                                                                                                 \
        if (straight && o == 1 && s == 1)                                                                              \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                FROM x = in[i];                                                                                        \
                out[i] = value;                                                                                        \
            }                                                                                                          \
        else                                                                                                           \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                FROM x = in[i * s];                                                                                    \
                out[i * o] = value;                                                                                    \
            }                                                                                                          \
    }
#define LOOP(label, FROM, TO, value) CAST_LOOP(label, FROM, TO, value, false)
#define HOT(label, FROM, TO, value)  CAST_LOOP(label, FROM, TO, value, true)

/* From one real type to every type; V(x) is x as float or double. */
#define FROM_REAL(from, T, V, HALF)                                                                                    \
    HOT(from##_F32, T, float, (float)V(x))                                                                             \
    LOOP(from##_F64, T, double, (double)V(x))                                                                          \
    HALF(from##_F16, T, uint16_t, plim__float_to_half(narrow((double)V(x))))                                           \
    HALF(from##_BF16, T, uint16_t, plim__float_to_bfloat(narrow((double)V(x))))                                        \
    LOOP(from##_I8, T, int8_t, saturate_i8((double)V(x)))                                                              \
    LOOP(from##_I16, T, int16_t, saturate_i16((double)V(x)))                                                           \
    LOOP(from##_I32, T, int32_t, saturate_i32((double)V(x)))                                                           \
    LOOP(from##_I64, T, int64_t, saturate_i64((double)V(x)))                                                           \
    LOOP(from##_U8, T, uint8_t, saturate_u8((double)V(x)))                                                             \
    LOOP(from##_U16, T, uint16_t, saturate_u16((double)V(x)))                                                          \
    LOOP(from##_U32, T, uint32_t, saturate_u32((double)V(x)))                                                          \
    LOOP(from##_U64, T, uint64_t, saturate_u64((double)V(x)))                                                          \
    LOOP(from##_BOOL, T, uint8_t, V(x) != 0)
FROM_REAL(F32, float, FROM_F32, HOT)
FROM_REAL(F64, double, FROM_F64, LOOP)
FROM_REAL(F16, uint16_t, FROM_F16, LOOP)
FROM_REAL(BF16, uint16_t, FROM_BF16, LOOP)

#define FROM_WHOLE(from, T)                                                                                            \
    HOT(from##_F32, T, float, (float)x)                                                                                \
    LOOP(from##_F64, T, double, (double)x)                                                                             \
    LOOP(from##_F16, T, uint16_t, plim__float_to_half((float)x))                                                       \
    LOOP(from##_BF16, T, uint16_t, plim__float_to_bfloat((float)x))                                                    \
    LOOP(from##_I8, T, int8_t, (int8_t)x)                                                                              \
    LOOP(from##_I16, T, int16_t, (int16_t)x)                                                                           \
    LOOP(from##_I32, T, int32_t, (int32_t)x)                                                                           \
    LOOP(from##_I64, T, int64_t, (int64_t)x)                                                                           \
    LOOP(from##_U8, T, uint8_t, (uint8_t)x)                                                                            \
    LOOP(from##_U16, T, uint16_t, (uint16_t)x)                                                                         \
    LOOP(from##_U32, T, uint32_t, (uint32_t)x)                                                                         \
    LOOP(from##_U64, T, uint64_t, (uint64_t)x)                                                                         \
    LOOP(from##_BOOL, T, uint8_t, x != 0)
FROM_WHOLE(I8, int8_t)
FROM_WHOLE(I16, int16_t)
FROM_WHOLE(I32, int32_t)
FROM_WHOLE(I64, int64_t)
FROM_WHOLE(U8, uint8_t)
FROM_WHOLE(U16, uint16_t)
FROM_WHOLE(U32, uint32_t)
FROM_WHOLE(U64, uint64_t)

#define ROW(from)                                                                                                      \
    {                                                                                                                  \
        [PLIM_F32] = from##_F32, [PLIM_F64] = from##_F64, [PLIM_F16] = from##_F16, [PLIM_BF16] = from##_BF16,          \
        [PLIM_I8] = from##_I8, [PLIM_I16] = from##_I16, [PLIM_I32] = from##_I32, [PLIM_I64] = from##_I64,              \
        [PLIM_U8] = from##_U8, [PLIM_U16] = from##_U16, [PLIM_U32] = from##_U32, [PLIM_U64] = from##_U64,              \
        [PLIM_BOOL] = from##_BOOL                                                                                      \
    }
static const plim__loop_body casts[PLIM_DTYPE_COUNT][PLIM_DTYPE_COUNT] = {
    [PLIM_F32] = ROW(F32), [PLIM_F64] = ROW(F64), [PLIM_F16] = ROW(F16), [PLIM_BF16] = ROW(BF16), [PLIM_I8] = ROW(I8),
    [PLIM_I16] = ROW(I16), [PLIM_I32] = ROW(I32), [PLIM_I64] = ROW(I64), [PLIM_U8] = ROW(U8),     [PLIM_U16] = ROW(U16),
    [PLIM_U32] = ROW(U32), [PLIM_U64] = ROW(U64), [PLIM_BOOL] = ROW(U8),
};

plim__loop_body plim__cast_body(plim_dtype from, plim_dtype to) { return casts[from][to]; }

void plim__cast_scalar(double value, plim_dtype to, void *out) {
    char *at[2] = {out, (char *)&value};
    casts[PLIM_F64][to](NULL, 1, at, (int64_t[]){0, 0});
}

plim_status plim__lower_cast(plim__lower *l) {
    plim_dtype from = plim__lower_input_dtype(l, 0), to = plim__lower_output_dtype(l, 0);
    if (from == to) {
        plim__layout same = *plim__lower_peek(l, 0);
        return plim__lower_view(l, 0, &same, 0);
    }
    plim__pointwise_node what = {.body = casts[from][to], .inputs = 1, .axis = PLIM__NUMPY_AXIS};
    return plim__lower_pointwise(l, &what);
}
