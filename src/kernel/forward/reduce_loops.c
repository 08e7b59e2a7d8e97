/* The accumulating loops of reductions for every type but float32. Whole numbers wrap: they are accumulated in
 * unsigned arithmetic of the accumulator's width. */
#include "kernel/reduce_loops.h"

#include <math.h>

#include "core/half.h"
#include "kernel/forward/reduce.h"

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* loops that call a function do not vectorise; fine */
#endif

#define DOUBLE(x) ((double)(x))
#define HALF(x)   ((double)plim__half_to_float(x))
#define BFLOAT(x) ((double)plim__bfloat_to_float(x))
PLIM__FOLD_REAL_LOOPS(f64, double, DOUBLE, exp)
PLIM__FOLD_REAL_LOOPS(f16, uint16_t, HALF, exp)
PLIM__FOLD_REAL_LOOPS(bf16, uint16_t, BFLOAT, exp)

#define SIGNED(x)   ((int64_t)(x))
#define UNSIGNED(x) ((uint64_t)(x))

/* Sums and products in uint64 are right for both; absolute values and extremes know the sign. */
#define WHOLE_LOOPS(type, T, A, V)                                                                                     \
    PLIM__FOLD_ROW(type##_row_sum, T, uint64_t, UNSIGNED, +, x)                                                        \
    PLIM__FOLD_ROW(type##_row_sum_abs, T, uint64_t, UNSIGNED, +, ((A)x < 0 ? 0 - x : x))                               \
    PLIM__FOLD_ROW(type##_row_sum_square, T, uint64_t, UNSIGNED, +, x *x)                                              \
    PLIM__FOLD_ROW(type##_row_prod, T, uint64_t, UNSIGNED, *, x)                                                       \
    PLIM__FOLD_ROW_EXTREME(type##_row_max, T, A, V, >)                                                                 \
    PLIM__FOLD_ROW_EXTREME(type##_row_min, T, A, V, <)                                                                 \
    PLIM__FOLD_COLUMN(type##_column_sum, T, uint64_t, UNSIGNED, acc + x)                                               \
    PLIM__FOLD_COLUMN(type##_column_sum_abs, T, uint64_t, UNSIGNED, acc + ((A)x < 0 ? 0 - x : x))                      \
    PLIM__FOLD_COLUMN(type##_column_sum_square, T, uint64_t, UNSIGNED, acc + x * x)                                    \
    PLIM__FOLD_COLUMN(type##_column_prod, T, uint64_t, UNSIGNED, acc *x)                                               \
    PLIM__FOLD_COLUMN(type##_column_max, T, A, V, (x > acc ? x : acc))                                                 \
    PLIM__FOLD_COLUMN(type##_column_min, T, A, V, (x < acc ? x : acc))
#define PLIM__FOLD_ROW_EXTREME(label, T, A, V, compare)                                                                \
    static void label(void *accumulator, const double *shift, const char *in, int64_t n, int64_t step) {               \
        A acc = *(A *)accumulator;                                                                                     \
        (void)shift;                                                                                                   \
        for (int64_t i = 0; i < n; i++, in += step) {                                                                  \
            A x = V(*(const T *)(const void *)in);                                                                     \
            acc = x compare acc ? x : acc;                                                                             \
        }                                                                                                              \
        *(A *)accumulator = acc;                                                                                       \
    }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits" /* x < 0 of unsigned types */
WHOLE_LOOPS(i8, int8_t, int64_t, SIGNED)
WHOLE_LOOPS(i16, int16_t, int64_t, SIGNED)
WHOLE_LOOPS(i32, int32_t, int64_t, SIGNED)
WHOLE_LOOPS(i64, int64_t, int64_t, SIGNED)
WHOLE_LOOPS(u8, uint8_t, uint64_t, UNSIGNED)
WHOLE_LOOPS(u16, uint16_t, uint64_t, UNSIGNED)
WHOLE_LOOPS(u32, uint32_t, uint64_t, UNSIGNED)
WHOLE_LOOPS(u64, uint64_t, uint64_t, UNSIGNED)
#pragma GCC diagnostic pop

static const plim__fold_loops loops[PLIM_DTYPE_COUNT] = {
    [PLIM_F64] = PLIM__FOLD_REAL_TABLE(f64),   [PLIM_F16] = PLIM__FOLD_REAL_TABLE(f16),
    [PLIM_BF16] = PLIM__FOLD_REAL_TABLE(bf16), [PLIM_I8] = PLIM__FOLD_TABLE(i8),
    [PLIM_I16] = PLIM__FOLD_TABLE(i16),        [PLIM_I32] = PLIM__FOLD_TABLE(i32),
    [PLIM_I64] = PLIM__FOLD_TABLE(i64),        [PLIM_U8] = PLIM__FOLD_TABLE(u8),
    [PLIM_U16] = PLIM__FOLD_TABLE(u16),        [PLIM_U32] = PLIM__FOLD_TABLE(u32),
    [PLIM_U64] = PLIM__FOLD_TABLE(u64),        [PLIM_BOOL] = PLIM__FOLD_TABLE(u8),
};

const plim__fold_loops *plim__fold_loops_of(plim_dtype dtype) {
    if (dtype == PLIM_F32) return &plim__simd_reduce_table()->f32;
    return loops[dtype].row[PLIM__FOLD_SUM] ? &loops[dtype] : NULL;
}
