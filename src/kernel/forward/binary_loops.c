/* Loops over functions of two numbers, for every type but float32 (src/kernel/simd has those). */
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "kernel/elementwise.h"

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* loops that call a function do not vectorise; fine */
#endif

/* Straight rows get a loop that vectorises. */
#define LOOP(label, T, C, OUT, load, store, expression)                                                                \
    static void label(const void *context, int64_t n, char *const *at, const int64_t *steps) {                         \
        int64_t o = steps[0] / (int64_t)sizeof(OUT), l = steps[1] / (int64_t)sizeof(T),                                \
                r = steps[2] / (int64_t)sizeof(T);                                                                     \
        OUT *out = (OUT *)(void *)at[0];                                                                               \
        const T *left = (const T *)(const void *)at[1], *right = (const T *)(const void *)at[2];                       \
        (void)context;                                                                                                 \
        if (o == 1 && l == 1 && r == 1) {                                                                              \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                                      \
                C x = load(left[i]), y = load(right[i]);                                                               \
                out[i] = (OUT)store(expression);                                                                       \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                C x = load(left[i * l]), y = load(right[i * r]);                                                       \
                out[i * o] = (OUT)store(expression);                                                                   \
            }                                                                                                          \
        }                                                                                                              \
    }

static inline float modulo_float(float x, float y) {
    float rest = fmodf(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static inline double modulo_double(double x, double y) {
    double rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/* Whole-number division that is defined everywhere: by 0 it gives 0, and the one overflow wraps. */
static inline int64_t divide_signed(int64_t x, int64_t y) {
    if (y == 0) return 0;
    return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}
static inline int64_t remainder_signed(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }
static inline int64_t modulo_signed(int64_t x, int64_t y) {
    int64_t rest = remainder_signed(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
static inline uint64_t divide_unsigned(uint64_t x, uint64_t y) { return y ? x / y : 0; }
static inline uint64_t remainder_unsigned(uint64_t x, uint64_t y) { return y ? x % y : 0; }

#define COMPARE(name, expression)
#define BITS(name, expression)

#define F(function)  function##f
#define MODULO(x, y) modulo_float(x, y)
#define BINARY(name, real, whole)                                                                                      \
    LOOP(name##_F16, uint16_t, float, uint16_t, plim__half_to_float, plim__float_to_half, real)                        \
    LOOP(name##_BF16, uint16_t, float, uint16_t, plim__bfloat_to_float, plim__float_to_bfloat, real)
#include "kernel/binary.def"
#undef BINARY
#undef F
#undef MODULO

#define F(function)               function
#define MODULO(x, y)              modulo_double(x, y)
#define BINARY(name, real, whole) LOOP(name##_F64, double, double, double, PLIM__AS_IS, PLIM__AS_IS, real)
#include "kernel/binary.def"
#undef BINARY
#undef F
#undef MODULO

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits" /* x < 0 of unsigned types */
#define WHOLE_LOOP(name, dtype, whole)                                                                                 \
    LOOP(name##_##dtype, T_##dtype, T_##dtype, T_##dtype, PLIM__AS_IS, PLIM__AS_IS, whole)

#define DIVIDE(x, y)          divide_signed(x, y)
#define MODULO_WHOLE(x, y)    modulo_signed(x, y)
#define REMAINDER_WHOLE(x, y) remainder_signed(x, y)
#define W                     uint32_t
typedef int8_t T_I8;
typedef int16_t T_I16;
typedef int32_t T_I32;
#define BINARY(name, real, whole) WHOLE_LOOP(name, I8, whole) WHOLE_LOOP(name, I16, whole) WHOLE_LOOP(name, I32, whole)
#include "kernel/binary.def"
#undef BINARY
#undef W
#define W uint64_t
typedef int64_t T_I64;
#define BINARY(name, real, whole) WHOLE_LOOP(name, I64, whole)
#include "kernel/binary.def"
#undef BINARY
#undef W
#undef DIVIDE
#undef MODULO_WHOLE
#undef REMAINDER_WHOLE

#define DIVIDE(x, y)          divide_unsigned(x, y)
#define MODULO_WHOLE(x, y)    remainder_unsigned(x, y)
#define REMAINDER_WHOLE(x, y) remainder_unsigned(x, y)
#define W                     uint64_t
typedef uint8_t T_U8;
typedef uint16_t T_U16;
typedef uint32_t T_U32;
typedef uint64_t T_U64;
#define BINARY(name, real, whole)                                                                                      \
    WHOLE_LOOP(name, U8, whole) WHOLE_LOOP(name, U16, whole) WHOLE_LOOP(name, U32, whole) WHOLE_LOOP(name, U64, whole)
#include "kernel/binary.def"
#undef BINARY
#undef W
#pragma GCC diagnostic pop
#undef COMPARE
#undef BITS

/* Comparisons and bits. */
#define BINARY(name, real, whole)
#define COMPARE_WHOLE(name, dtype, T, expression)                                                                      \
    LOOP(name##_##dtype, T, T, uint8_t, PLIM__AS_IS, PLIM__AS_IS, expression)
#define COMPARE(name, expression)                                                                                      \
    LOOP(name##_F16, uint16_t, float, uint8_t, plim__half_to_float, PLIM__AS_IS, expression)                           \
    LOOP(name##_BF16, uint16_t, float, uint8_t, plim__bfloat_to_float, PLIM__AS_IS, expression)                        \
    LOOP(name##_F64, double, double, uint8_t, PLIM__AS_IS, PLIM__AS_IS, expression)                                    \
    COMPARE_WHOLE(name, I8, int8_t, expression)                                                                        \
    COMPARE_WHOLE(name, I16, int16_t, expression)                                                                      \
    COMPARE_WHOLE(name, I32, int32_t, expression)                                                                      \
    COMPARE_WHOLE(name, I64, int64_t, expression)                                                                      \
    COMPARE_WHOLE(name, U8, uint8_t, expression)                                                                       \
    COMPARE_WHOLE(name, U16, uint16_t, expression)                                                                     \
    COMPARE_WHOLE(name, U32, uint32_t, expression)                                                                     \
    COMPARE_WHOLE(name, U64, uint64_t, expression)
#define BITS_LOOP(name, bits, expression)                                                                              \
    LOOP(name##_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, PLIM__AS_IS, PLIM__AS_IS, expression)
#define BITS_OF_T (8 * sizeof *out)
#define BITS(name, expression)                                                                                         \
    BITS_LOOP(name, 8, expression)                                                                                     \
    BITS_LOOP(name, 16, expression) BITS_LOOP(name, 32, expression) BITS_LOOP(name, 64, expression)
#include "kernel/binary.def"
#undef BINARY
#undef COMPARE
#undef BITS

/* --- the table ------------------------------------------------------------------------------------------------ */

#define EVERY(name)                                                                                                    \
    [PLIM_F16] = name##_F16, [PLIM_BF16] = name##_BF16, [PLIM_F64] = name##_F64, [PLIM_I8] = name##_I8,                \
    [PLIM_I16] = name##_I16, [PLIM_I32] = name##_I32, [PLIM_I64] = name##_I64, [PLIM_U8] = name##_U8,                  \
    [PLIM_U16] = name##_U16, [PLIM_U32] = name##_U32, [PLIM_U64] = name##_U64

static const plim__loop_body bodies[PLIM__BINARY_COUNT][PLIM_DTYPE_COUNT] = {
#define BINARY(name, real, whole) [PLIM__BINARY_##name] = {EVERY(name)},
#define COMPARE(name, expression) [PLIM__BINARY_##name] = {EVERY(name), [PLIM_BOOL] = name##_U8},
#define BITS(name, expression)                                                                                         \
    [PLIM__BINARY_##name] = {[PLIM_BOOL] = name##_8, [PLIM_I8] = name##_8,   [PLIM_U8] = name##_8,                     \
                             [PLIM_I16] = name##_16, [PLIM_U16] = name##_16, [PLIM_I32] = name##_32,                   \
                             [PLIM_U32] = name##_32, [PLIM_I64] = name##_64, [PLIM_U64] = name##_64},
#include "kernel/binary.def"
};

plim__loop_body plim__binary_body(plim__binary function, plim_dtype dtype) {
    plim__loop_body body = dtype == PLIM_F32 ? plim__pointwise()->binary[function] : NULL;
    return body ? body : bodies[function][dtype];
}
