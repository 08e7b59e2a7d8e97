/* The hash of a stream: the same however it is cut, another one for any changed bit, and it tells lists apart. */
#include "core/hash.h"
#include "plim_test.h"

static uint64_t hash_of(const unsigned char *data, size_t size, size_t part) {
    plim__hash hash = PLIM_HASH_START;
    for (size_t at = 0; at < size; at += part) plim__hash_add(&hash, data + at, size - at < part ? size - at : part);
    return plim__hash_value(&hash);
}

static void cutting_the_stream_changes_nothing(void **state) {
    (void)state;
    unsigned char data[257];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 7);
    for (size_t size = 0; size <= sizeof data; size++)
        for (size_t part = 1; part < 70; part++)
            assert_int_equal(hash_of(data, size, part), hash_of(data, size, sizeof data));
}

static void every_bit_and_the_length_count(void **state) {
    (void)state;
    unsigned char data[100] = {0};
    uint64_t before = hash_of(data, sizeof data, 100);
    for (size_t bit = 0; bit < 8 * sizeof data; bit++) {
        data[bit / 8] = (unsigned char)(1u << bit % 8);
        assert_int_not_equal(hash_of(data, sizeof data, 100), before);
        data[bit / 8] = 0;
    }
    for (size_t size = 0; size < sizeof data; size++) assert_int_not_equal(hash_of(data, size, 100), before);
}

static void texts_keep_their_borders(void **state) {
    (void)state;
    plim__hash a = PLIM_HASH_START, b = PLIM_HASH_START;
    plim__hash_add_text(&a, "ab");
    plim__hash_add_text(&a, "c");
    plim__hash_add_text(&b, "a");
    plim__hash_add_text(&b, "bc");
    assert_int_not_equal(plim__hash_value(&a), plim__hash_value(&b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cutting_the_stream_changes_nothing),
        cmocka_unit_test(every_bit_and_the_length_count),
        cmocka_unit_test(texts_keep_their_borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
