/* Pointwise functions give the numbers that mathematics, NumPy and ONNX say, on every type and instruction set. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "kernel/elementwise.h"
#include "kernel/forward/elementwise_cast.h"
#include "plim_test.h"

static bool close_to(double got, double expected) {
    if (isnan(expected)) return isnan(got);
    if (isinf(expected) || got == expected) return got == expected;
    return fabs(got - expected) <= 4e-6 * fabs(expected) + 3e-7;
}

/* float32 in one instruction set against float64 from the C library. */
static void check_unary(const plim__simd_pointwise *table, int function) {
    static const float special[] = {NAN,    INFINITY, -INFINITY, 0.0f,    -0.0f, 1e-30f, -1e-30f, 1e-6f,
                                    -1e-6f, 0.5f,     1.5f,      2.5f,    -0.5f, -2.5f,  1.0001f, 0.9999f,
                                    88.0f,  -87.0f,   100.0f,    -100.0f, 3.0f,  -3.0f,  1e-40f};
    enum { COUNT = 1037 };
    float x[COUNT], y[COUNT];
    double wide[COUNT], expected[COUNT];
    plim__unary_context context = {.a = 0.75, .b = 0.5};
    for (int i = 0; i < COUNT; i++) {
        x[i] = i < (int)(sizeof special / sizeof *special) ? special[i] : (float)(i - 500) / 53.0f;
        wide[i] = (double)x[i];
    }
    table->unary[function](&context, COUNT, (char *[]){(char *)y, (char *)x}, (int64_t[]){4, 4});
    plim__unary_body((plim__function)function, PLIM_F64)(&context, COUNT, (char *[]){(char *)expected, (char *)wide},
                                                         (int64_t[]){8, 8});
    for (int i = 0; i < COUNT; i++) {
        double right = fabs(expected[i]) > 3.4028235e38 ? copysign(INFINITY, expected[i]) : expected[i];
        if (!close_to((double)y[i], right))
            fail_msg("%s(%g) is %g, expected %g", plim__functions[function].name, (double)x[i], (double)y[i], right);
    }
}

static void unary_functions_agree_with_double_precision_on_every_instruction_set(void **state) {
    (void)state;
    for (int f = 0; f < PLIM__FUNCTION_COUNT; f++) {
        if (!plim__pointwise()->unary[f]) continue;
        check_unary(&plim__pointwise_baseline, f);
#if defined(__x86_64__)
        if (plim__isa_best() >= PLIM__ISA_AVX2) check_unary(&plim__pointwise_avx2, f);
        if (plim__isa_best() >= PLIM__ISA_AVX512) check_unary(&plim__pointwise_avx512, f);
#endif
    }
}

static void functions_marked_as_keeping_zero_do(void **state) {
    (void)state;
    plim__unary_context context = {.a = 0.75, .b = 0.5};
    for (int f = 0; f < PLIM__FUNCTION_COUNT; f++) {
        float x = 0, y = 1;
        if (!plim__pointwise()->unary[f]) continue;
        plim__pointwise()->unary[f](&context, 1, (char *[]){(char *)&y, (char *)&x}, (int64_t[]){4, 4});
        if (plim__functions[f].keeps_zero != (y == 0)) fail_msg("%s(0) is %g", plim__functions[f].name, (double)y);
    }
}

#define APPLY(function, dtype, type, left, right)                                                                      \
    __extension__({                                                                                                    \
        type l_ = (type)(left), r_ = (type)(right), y_;                                                                \
        plim__binary_body(PLIM__BINARY_##function, PLIM_##dtype)(                                                      \
            NULL, 1, (char *[]){(char *)&y_, (char *)&l_, (char *)&r_}, (int64_t[]){sizeof y_, sizeof l_, sizeof r_}); \
        y_;                                                                                                            \
    })

static void whole_numbers_divide_towards_zero_and_never_trap(void **state) {
    (void)state;
    assert_int_equal(APPLY(Div, I32, int32_t, -7, 2), -3);
    assert_int_equal(APPLY(Div, I64, int64_t, 7, 0), 0);
    assert_true(APPLY(Div, I64, int64_t, INT64_MIN, -1) == INT64_MIN);
    assert_int_equal(APPLY(Div, I8, int8_t, -128, -1), -128);
    assert_int_equal(APPLY(Div, U8, uint8_t, 200, 7), 28);
    assert_int_equal(APPLY(Mod, U32, uint32_t, 7, 0), 0);
    assert_int_equal(APPLY(Add, I32, int32_t, INT32_MAX, 1), INT32_MIN);
    assert_true(APPLY(Mul, U64, uint64_t, UINT64_MAX, 3) == UINT64_MAX - 2);
}

static void the_modulus_has_the_sign_of_the_divisor_and_fmod_that_of_the_dividend(void **state) {
    (void)state;
    assert_int_equal(APPLY(Mod, I32, int32_t, -7, 3), 2);
    assert_int_equal(APPLY(Mod, I32, int32_t, 7, -3), -2);
    assert_int_equal(APPLY(Fmod, I32, int32_t, -7, 3), -1);
    assert_true(APPLY(Mod, F32, float, -7.5, 2) == 0.5f);
    assert_true(APPLY(Fmod, F32, float, -7.5, 2) == -1.5f);
    assert_true(APPLY(Mod, F64, double, 7.5, -2) == -0.5);
}

static void extremes_pass_nan_on(void **state) {
    (void)state;
    assert_true(isnan(APPLY(Max, F32, float, NAN, 1)));
    assert_true(isnan(APPLY(Max, F32, float, 1, NAN)));
    assert_true(isnan(APPLY(Min, F64, double, NAN, 1)));
    assert_true(isnan(APPLY(Min, F64, double, 1, NAN)));
    assert_true(APPLY(Max, F32, float, -INFINITY, 1) == 1);
}

static void shifts_past_the_width_give_zero(void **state) {
    (void)state;
    assert_int_equal(APPLY(ShiftLeft, U8, uint8_t, 3, 7), 128);
    assert_int_equal(APPLY(ShiftLeft, U8, uint8_t, 3, 8), 0);
    assert_true(APPLY(ShiftRight, U64, uint64_t, UINT64_MAX, 63) == 1);
    assert_true(APPLY(ShiftRight, U64, uint64_t, UINT64_MAX, 64) == 0);
}

#define CAST(from, from_type, value, to, to_type)                                                                      \
    __extension__({                                                                                                    \
        from_type x_ = (from_type)(value);                                                                             \
        to_type y_;                                                                                                    \
        plim__cast_body(PLIM_##from, PLIM_##to)(NULL, 1, (char *[]){(char *)&y_, (char *)&x_},                         \
                                                (int64_t[]){sizeof y_, sizeof x_});                                    \
        y_;                                                                                                            \
    })

static void casts_saturate_round_and_wrap(void **state) {
    (void)state;
    assert_int_equal(CAST(F32, float, 1e10, I32, int32_t), INT32_MAX);
    assert_int_equal(CAST(F32, float, -1e10, I8, int8_t), -128);
    assert_int_equal(CAST(F32, float, -2.9, I32, int32_t), -2);
    assert_int_equal(CAST(F32, float, NAN, I64, int64_t), 0);
    assert_true(CAST(F64, double, 1e30, U64, uint64_t) == UINT64_MAX);
    assert_true(CAST(F64, double, -1e30, I64, int64_t) == INT64_MIN);
    assert_int_equal(CAST(I32, int32_t, 300, U8, uint8_t), 44);
    assert_int_equal(CAST(F32, float, 0.1, BOOL, uint8_t), 1);
    assert_int_equal(CAST(F32, float, NAN, BOOL, uint8_t), 1);
    assert_int_equal(CAST(BOOL, uint8_t, 1, F16, uint16_t), 0x3c00);
    /* 1 + 2^-11 is halfway between two halves; a hair above must round up although float32 cannot see the hair */
    assert_int_equal(CAST(F64, double, 1 + 0x1p-11, F16, uint16_t), 0x3c00);
    assert_int_equal(CAST(F64, double, 1 + 0x1p-11 + 0x1p-40, F16, uint16_t), 0x3c01);
    assert_int_equal(CAST(F64, double, 1e300, BF16, uint16_t), 0x7f80);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_functions_agree_with_double_precision_on_every_instruction_set),
        cmocka_unit_test(functions_marked_as_keeping_zero_do),
        cmocka_unit_test(whole_numbers_divide_towards_zero_and_never_trap),
        cmocka_unit_test(the_modulus_has_the_sign_of_the_divisor_and_fmod_that_of_the_dividend),
        cmocka_unit_test(extremes_pass_nan_on),
        cmocka_unit_test(shifts_past_the_width_give_zero),
        cmocka_unit_test(casts_saturate_round_and_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
