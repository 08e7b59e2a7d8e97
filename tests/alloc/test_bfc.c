/* Best fit with coalescing: what TensorFlow's own allocator test and onnxruntime's documentation state. */
#include "pool.h"

static void four_bytes_take_256(void **state) {
    (void)state;
    plim_pool *pool = make("tensorflow", 1024 * MIB);
    assert_true(take(pool, 4));
    assert_int_equal(stats_of(pool).allocated, 256);
    plim_pool_free(pool);
}

static void a_limit_of_one_mebibyte_cannot_serve_four(void **state) {
    (void)state;
    plim_pool *pool = make("tensorflow:limit:1MiB", 0);
    assert_int_equal(take(pool, 4 * MIB), 0);
    assert_true(take(pool, MIB / 2));
    plim_pool_free(pool);
}

/* The sizes and the outcome of TensorFlow's test: freed in turn they merge, so that the next one starts at the front. */
static void freed_blocks_merge_back_to_the_first_address(void **state) {
    (void)state;
    plim_pool *pool = make("tensorflow:allow_growth:False", 1024 * MIB);
    uint64_t sizes[] = {4096, 8 * MIB, 16 * KIB, 40 * MIB}, held[4], sum = 0;
    for (int i = 0; i < 4; i++) {
        held[i] = take(pool, sizes[i]);
        sum += sizes[i];
    }
    for (int i = 0; i < 4; i++) give(pool, held[i]);
    assert_int_equal(take(pool, 100 * MIB), held[0]);
    assert_int_equal(stats_of(pool).allocated_peak, 100 * MIB);
    assert_int_equal(stats_of(pool).reserved, 1024 * MIB);
    assert_true(sum < 100 * MIB);
    plim_pool_free(pool);
}

static void regions_double(void **state) {
    (void)state;
    plim_pool *pool = make("tensorflow", 1024 * MIB);
    take(pool, MIB);
    assert_int_equal(stats_of(pool).reserved, 2 * MIB);
    take(pool, 3 * MIB); /* the next region has 4 MiB */
    assert_int_equal(stats_of(pool).reserved, 6 * MIB);
    take(pool, 30 * MIB); /* 8 is not enough: doubled to 32 */
    assert_int_equal(stats_of(pool).reserved, 38 * MIB);
    take(pool, 30 * MIB); /* after a raise it stays */
    assert_int_equal(stats_of(pool).reserved, 70 * MIB);
    plim_pool_free(pool);
}

static void a_chunk_is_split_at_twice_the_request_or_above_128_mebibytes(void **state) {
    (void)state;
    plim_pool *pool = make("tensorflow:allow_growth:False", 1000 * MIB);
    take(pool, 600 * MIB); /* 400 MiB would be wasted */
    assert_int_equal(stats_of(pool).allocated, 600 * MIB);
    plim_pool_free(pool);
    pool = make("tensorflow:allow_growth:False", 100 * MIB);
    take(pool, 60 * MIB); /* less than twice, less than 128 MiB over: the whole chunk */
    assert_int_equal(stats_of(pool).allocated, 100 * MIB);
    plim_pool_free(pool);
}

static void free_regions_are_returned_before_a_failure(void **state) {
    (void)state;
    const char *texts[] = {"tensorflow", "tensorflow:garbage_collection:False"};
    for (int off = 0; off < 2; off++) {
        plim_pool *pool = make(texts[off], 100 * MIB);
        uint64_t a = take(pool, 30 * MIB), b = take(pool, 30 * MIB);
        give(pool, a);
        give(pool, b);
        assert_int_equal(take(pool, 90 * MIB) != 0, !off);
        plim_pool_free(pool);
    }
}

static void onnxruntime_starts_with_one_mebibyte_and_stops_growing_at_a_gibibyte(void **state) {
    (void)state;
    plim_pool *pool = make("onnxruntime", 0);
    take(pool, 1000);
    assert_int_equal(stats_of(pool).reserved, MIB);
    take(pool, 1500 * KIB); /* doubled to 2 MiB after the first region */
    assert_int_equal(stats_of(pool).reserved, 3 * MIB);
    take(pool, 1024 * MIB);
    assert_int_equal(stats_of(pool).reserved, 1027 * MIB);
    take(pool, 1024 * MIB);
    take(pool, 1024 * MIB);
    assert_int_equal(stats_of(pool).reserved, 3075 * MIB);
    plim_pool_free(pool);
}

static void onnxruntime_can_take_exactly_what_is_asked_for(void **state) {
    (void)state;
    plim_pool *pool = make("onnxruntime:same_as_requested:1", 0);
    uint64_t a = take(pool, 1000), b = take(pool, 5 * MIB);
    assert_int_equal(stats_of(pool).reserved, 1024 + 5 * MIB);
    give(pool, a);
    give(pool, b);
    assert_int_equal(plim_pool_empty(pool, NULL), PLIM_OK);
    assert_int_equal(stats_of(pool).reserved, 0);
    plim_pool_free(pool);
}

static void onnxruntime_keeps_its_first_region(void **state) {
    (void)state;
    plim_pool *pool = make("onnxruntime", 0);
    uint64_t a = take(pool, 1000), b = take(pool, 5 * MIB);
    give(pool, a);
    give(pool, b);
    assert_int_equal(plim_pool_empty(pool, NULL), PLIM_OK);
    assert_int_equal(stats_of(pool).reserved, MIB);
    plim_pool_free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_bytes_take_256),
        cmocka_unit_test(a_limit_of_one_mebibyte_cannot_serve_four),
        cmocka_unit_test(freed_blocks_merge_back_to_the_first_address),
        cmocka_unit_test(regions_double),
        cmocka_unit_test(a_chunk_is_split_at_twice_the_request_or_above_128_mebibytes),
        cmocka_unit_test(free_regions_are_returned_before_a_failure),
        cmocka_unit_test(onnxruntime_starts_with_one_mebibyte_and_stops_growing_at_a_gibibyte),
        cmocka_unit_test(onnxruntime_can_take_exactly_what_is_asked_for),
        cmocka_unit_test(onnxruntime_keeps_its_first_region),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
