/* Numbers of long lists have the characters that printf gives them. */
#include "core/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plim_test.h"

static uint64_t state = 88172645463325252u;

static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void compare(double value) {
    char made[PLIM__NUMBER_TEXT], right[PLIM__NUMBER_TEXT];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(right, sizeof right, "%.*g", digits, value);
        assert_int_equal(plim__number_general(value, digits, made), strlen(right));
        assert_string_equal(made, right);
    }
    for (int places = 0; places <= 9; places++) {
        snprintf(right, sizeof right, "%.*f", places, value);
        assert_int_equal(plim__number_fixed(value, places, made), strlen(right));
        assert_string_equal(made, right);
    }
}

static void compare_around(double value) {
    compare(value);
    compare(-value);
    compare(nextafter(value, 0));
    compare(nextafter(value, INFINITY));
}

static void middles_powers_and_the_odd_ones_are_rounded_as_printf_does(void **unused) {
    (void)unused;
    static const double odd[] = {0,
                                 -0.0,
                                 NAN,
                                 INFINITY,
                                 5e-324,
                                 2.2250738585072014e-308,
                                 1.7976931348623157e308,
                                 1e9 - 1,
                                 1e15,
                                 0.1,
                                 0.3,
                                 0.125,
                                 999999.5,
                                 9.9999999995,
                                 0.99995,
                                 99.95,
                                 99.949,
                                 1e-4,
                                 9.9999999949e-5,
                                 1e-5,
                                 123456,
                                 1e5,
                                 1e6,
                                 0.5,
                                 1.5,
                                 2.5,
                                 2147483648.0};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) compare_around(odd[i]);
    for (int power = -25; power <= 25; power++) {
        compare_around(pow(10, power));
        compare_around(9.5 * pow(10, power));
        compare_around(ldexp(1, power));
        for (int k = 1; k < 40; k++) compare_around((k + 0.5) * pow(10, power));
    }
}

static void random_doubles_and_floats_are_those_of_printf(void **unused) {
    (void)unused;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next();
        float narrow;
        double wide, share = (double)(next() >> 11) * 0x1p-53;
        uint32_t few = (uint32_t)(bits >> 32);
        memcpy(&wide, &bits, sizeof wide);
        memcpy(&narrow, &few, sizeof narrow);
        compare(wide);
        compare((double)narrow);
        compare(share);                /* a probability */
        compare(100 * share);          /* as a percentage */
        compare((double)(float)share); /* few binary digits: exact middles occur */
        compare(share * pow(10, i % 30 - 15));
        compare((double)(next() % 20000) / 2000); /* middles that are not exact in binary */
    }
}

static void whole_numbers_are_those_of_printf(void **unused) {
    (void)unused;
    static const int64_t odd[] = {0, 1, -1, 9, 10, -10, 99, 100, INT64_MAX, INT64_MIN};
    char made[PLIM__NUMBER_TEXT], right[PLIM__NUMBER_TEXT];
    for (int i = 0; i < 1010; i++) {
        int64_t value = i < 10 ? odd[i] : (int64_t)(next() >> (i % 64)) * (i % 2 ? -1 : 1);
        snprintf(right, sizeof right, "%lld", (long long)value);
        assert_int_equal(plim__number_whole(value, made), strlen(right));
        assert_string_equal(made, right);
    }
}

static void names_are_cut_where_there_is_no_room(void **unused) {
    (void)unused;
    for (size_t size = 0; size < 12; size++) {
        char made[12], right[12];
        memset(made, '#', sizeof made);
        memset(right, '#', sizeof right);
        snprintf(right, size, "%s%lld", "row ", 1234LL);
        plim__number_name("row ", 1234, made, size);
        assert_memory_equal(made, right, sizeof made);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(middles_powers_and_the_odd_ones_are_rounded_as_printf_does),
        cmocka_unit_test(random_doubles_and_floats_are_those_of_printf),
        cmocka_unit_test(whole_numbers_are_those_of_printf),
        cmocka_unit_test(names_are_cut_where_there_is_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
