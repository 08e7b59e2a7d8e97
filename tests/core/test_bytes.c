/* Byte counts mean what they say. */
#include "plimsoll/plimsoll.h"

#include "plim_test.h"

static uint64_t parsed(const char *text) {
    uint64_t bytes = 0;
    plim_error error;
    assert_int_equal(plim_bytes_parse(text, &bytes, &error), PLIM_OK);
    return bytes;
}

static void units_of_1000_and_1024_differ(void **state) {
    (void)state;
    assert_int_equal(parsed("12GB"), 12000000000u);
    assert_int_equal(parsed("12GiB"), 12884901888u);
    assert_int_equal(parsed("1.5 KiB"), 1536);
    assert_int_equal(parsed("64k"), 65536);
    assert_int_equal(parsed("18446744073709551615"), UINT64_MAX);
}

static void nonsense_sizes_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"", "-1", "x", "12 parsecs", "nan", "inf", "1e30GiB", "MiB"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t bytes;
        plim_error error;
        assert_int_not_equal(plim_bytes_parse(bad[i], &bytes, &error), PLIM_OK);
        assert_true(error.message[0] != 0);
    }
}

static void sizes_print_for_people(void **state) {
    (void)state;
    char text[PLIM_BYTES_TEXT];
    assert_string_equal(plim_bytes_format(233967616, text), "223.1 MiB");
    assert_string_equal(plim_bytes_format(1023, text), "1023 B");
    assert_string_equal(plim_bytes_format(1048575, text), "1.0 MiB");
    assert_string_equal(plim_bytes_group(233967616, text), "233,967,616");
    assert_string_equal(plim_bytes_group(0, text), "0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_of_1000_and_1024_differ),
        cmocka_unit_test(nonsense_sizes_are_refused),
        cmocka_unit_test(sizes_print_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
