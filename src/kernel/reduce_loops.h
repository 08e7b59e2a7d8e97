/* The accumulating loops of reductions for one element type, made by macros; included by src/kernel/simd/reduce.c
 * for float32 and by src/kernel/forward/reduce_loops.c for all others. */
#ifndef PLIM_KERNEL_REDUCE_LOOPS_H
#define PLIM_KERNEL_REDUCE_LOOPS_H

#define PLIM__PRAGMA(text) _Pragma(#text)

/* A(ccumulator type), T: element in memory, V(t): its value as A. */
#define PLIM__FOLD_ROW(label, T, A, V, operation, mapped)                                                              \
    static void label(void *accumulator, const double *shift, const char *in, int64_t n, int64_t step) {               \
        A acc = *(A *)accumulator;                                                                                     \
        const T *data = (const T *)(const void *)in;                                                                   \
        int64_t s = step / (int64_t)sizeof(T);                                                                         \
        (void)shift;                                                                                                   \
        if (s == 1) {                                                                                                  \
            PLIM__PRAGMA(omp simd reduction(operation : acc)) for (int64_t i = 0; i < n; i++) {                        \
                A x = V(data[i]);                                                                                      \
                acc = acc operation(mapped);                                                                           \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                A x = V(data[i * s]);                                                                                  \
                acc = acc operation(mapped);                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        *(A *)accumulator = acc;                                                                                       \
    }

#define PLIM__FOLD_COLUMN(label, T, A, V, combined)                                                                    \
    static void label(void *accumulators, const double *shifts, const char *in, int64_t n, int64_t step) {             \
        A *accs = accumulators;                                                                                        \
        const T *data = (const T *)(const void *)in;                                                                   \
        int64_t s = step / (int64_t)sizeof(T);                                                                         \
        (void)shifts;                                                                                                  \
        if (s == 1) {                                                                                                  \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                                      \
                A x = V(data[i]), acc = accs[i];                                                                       \
                accs[i] = combined;                                                                                    \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                A x = V(data[i * s]), acc = accs[i];                                                                   \
                accs[i] = combined;                                                                                    \
            }                                                                                                          \
        }                                                                                                              \
    }

/* Extremes: NaN, once met, stays. Lanes compare without it; whether there was one is counted apart. */
#define PLIM__FOLD_EXTREME(label, T, A, V, operation, compare)                                                           \
    static void label(void *accumulator, const double *shift, const char *in, int64_t n, int64_t step) {                 \
        A acc = *(A *)accumulator, unordered = 0;                                                                        \
        const T *data = (const T *)(const void *)in;                                                                     \
        int64_t s = step / (int64_t)sizeof(T);                                                                           \
        (void)shift;                                                                                                     \
        if (acc != acc) return;                                                                                          \
        if (s == 1) {                                                                                                    \
            PLIM__PRAGMA(omp simd reduction(operation : acc) reduction(+ : unordered)) for (int64_t i = 0; i < n; i++) { \
                A x = V(data[i]);                                                                                        \
                acc = x compare acc ? x : acc;                                                                           \
                unordered += x != x ? 1 : 0;                                                                             \
            }                                                                                                            \
        } else {                                                                                                         \
            for (int64_t i = 0; i < n; i++) {                                                                            \
                A x = V(data[i * s]);                                                                                    \
                acc = x compare acc ? x : acc;                                                                           \
                unordered += x != x ? 1 : 0;                                                                             \
            }                                                                                                            \
        }                                                                                                                \
        *(A *)accumulator = unordered > 0 ? PLIM__FOLD_NAN(A) : acc;                                                     \
    }
#define PLIM__FOLD_NAN(A) ((A)__builtin_nan(""))

/* All loops of a type but SUM_EXP. */
#define PLIM__FOLD_LOOPS(type, T, A, V)                                                                                \
    PLIM__FOLD_ROW(type##_row_sum, T, A, V, +, x)                                                                      \
    PLIM__FOLD_ROW(type##_row_sum_abs, T, A, V, +, (x < 0 ? 0 - x : x))                                                \
    PLIM__FOLD_ROW(type##_row_sum_square, T, A, V, +, x *x)                                                            \
    PLIM__FOLD_ROW(type##_row_prod, T, A, V, *, x)                                                                     \
    PLIM__FOLD_COLUMN(type##_column_sum, T, A, V, acc + x)                                                             \
    PLIM__FOLD_COLUMN(type##_column_sum_abs, T, A, V, acc + (x < 0 ? 0 - x : x))                                       \
    PLIM__FOLD_COLUMN(type##_column_sum_square, T, A, V, acc + x * x)                                                  \
    PLIM__FOLD_COLUMN(type##_column_prod, T, A, V, acc *x)                                                             \
    PLIM__FOLD_COLUMN(type##_column_max, T, A, V, (x > acc || x != x ? x : acc))                                       \
    PLIM__FOLD_COLUMN(type##_column_min, T, A, V, (x < acc || x != x ? x : acc))

#define PLIM__FOLD_REAL_LOOPS(type, T, V, exponential)                                                                 \
    PLIM__FOLD_LOOPS(type, T, double, V)                                                                               \
    PLIM__FOLD_EXTREME(type##_row_max, T, double, V, max, >)                                                           \
    PLIM__FOLD_EXTREME(type##_row_min, T, double, V, min, <)                                                           \
    PLIM__FOLD_ROW(type##_row_sum_exp, T, double, V, +, exponential(x - *shift))                                       \
    PLIM__FOLD_COLUMN(type##_column_sum_exp, T, double, V, acc + exponential(x - shifts[i]))

#define PLIM__FOLD_ENTRIES(type)                                                                                       \
    [PLIM__FOLD_SUM] = type##_sum, [PLIM__FOLD_SUM_ABS] = type##_sum_abs, [PLIM__FOLD_SUM_SQUARE] = type##_sum_square, \
    [PLIM__FOLD_PROD] = type##_prod, [PLIM__FOLD_MAX] = type##_max, [PLIM__FOLD_MIN] = type##_min
#define PLIM__FOLD_TABLE(type)                                                                                         \
    {                                                                                                                  \
        .row = {PLIM__FOLD_ENTRIES(type##_row)}, .column = { PLIM__FOLD_ENTRIES(type##_column) }                       \
    }
#define PLIM__FOLD_REAL_TABLE(type)                                                                                    \
    {                                                                                                                  \
        .row = {PLIM__FOLD_ENTRIES(type##_row), [PLIM__FOLD_SUM_EXP] = type##_row_sum_exp}, .column = {                \
            PLIM__FOLD_ENTRIES(type##_column),                                                                         \
            [PLIM__FOLD_SUM_EXP] = type##_column_sum_exp                                                               \
        }                                                                                                              \
    }

#endif
