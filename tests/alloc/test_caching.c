/* PyTorch's caching allocator: sizes, pools, splitting, streams, limits; facts of its documentation and source. */
#include <string.h>

#include "pool.h"

static void sizes_are_rounded_and_segments_have_the_documented_sizes(void **state) {
    (void)state;
    const struct {
        uint64_t asked, allocated, reserved;
    } cases[] = {
        {1, 512, 2 * MIB},
        {513, 1024, 2 * MIB},
        {MIB, MIB, 2 * MIB},
        {MIB + 1, MIB + 512, 20 * MIB},
        {9 * MIB, 9 * MIB, 20 * MIB},
        {10 * MIB, 10 * MIB, 10 * MIB},
        {10 * MIB + 1, 12 * MIB, 12 * MIB}, /* the rest of the segment is no more than 1 MiB ... */
        {33 * MIB, 34 * MIB, 34 * MIB},     /* ... so it is not split off */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plim_pool *pool = make("pytorch", 0);
        assert_true(take(pool, cases[i].asked));
        /* 10 MiB + 1 opens 12 MiB: the rest is just under 2 MiB and is split off */
        uint64_t rest = cases[i].reserved - (cases[i].asked + 511) / 512 * 512;
        uint64_t expected =
            cases[i].asked > MIB && rest > MIB ? (cases[i].asked + 511) / 512 * 512 : cases[i].allocated;
        assert_int_equal(stats_of(pool).allocated, expected);
        assert_int_equal(stats_of(pool).reserved, cases[i].reserved);
        plim_pool_free(pool);
    }
}

static void best_fit_takes_the_lowest_address_of_the_smallest_block(void **state) {
    (void)state;
    plim_pool *pool = make("pytorch", 0);
    uint64_t a = take(pool, 4096), gap = take(pool, 512), b = take(pool, 2048), gap2 = take(pool, 512);
    uint64_t c = take(pool, 2048), end = take(pool, 512);
    give(pool, a);
    give(pool, b);
    give(pool, c);
    assert_int_equal(take(pool, 1500), b); /* b and c fit equally well, b lies lower */
    assert_int_equal(take(pool, 2000), c);
    assert_int_equal(take(pool, 2000), a);
    assert_true(gap && gap2 && end);
    plim_pool_free(pool);
}

static void freed_neighbours_become_one_block(void **state) {
    (void)state;
    plim_pool *pool = make("pytorch", 0);
    uint64_t a = take(pool, 512), b = take(pool, 512), c = take(pool, 512), last = take(pool, 512);
    give(pool, a);
    give(pool, c);
    give(pool, b);
    assert_int_equal(take(pool, 1536), a);
    assert_true(last);
    plim_pool_free(pool);
}

static void streams_share_no_blocks(void **state) {
    (void)state;
    plim_pool *pool = make("pytorch", 0);
    uint64_t a = take(pool, 4 * MIB), other = 0;
    give(pool, a);
    plim_pool_request request = {.bytes = 4 * MIB, .stream = 7};
    assert_int_equal(plim_pool_alloc(pool, &request, &other, NULL), PLIM_OK);
    assert_int_not_equal(other, a);
    assert_int_equal(stats_of(pool).reserved, 40 * MIB);
    plim_pool_free(pool);
}

static void a_block_that_another_stream_uses_waits_for_it(void **state) {
    (void)state;
    plim_pool *pool = make("pytorch", 0);
    uint64_t a = take(pool, 15 * MIB);
    assert_int_equal(plim_pool_use(pool, a, 3, NULL), PLIM_OK);
    give(pool, a);
    assert_int_equal(stats_of(pool).pending, 16 * MIB);
    uint64_t b = take(pool, 15 * MIB);
    assert_int_not_equal(a, b);
    assert_int_equal(plim_pool_synchronize(pool, NULL), PLIM_OK);
    assert_int_equal(take(pool, 15 * MIB), a);
    plim_pool_free(pool);
}

static void at_the_limit_cached_segments_go_back_and_the_request_is_tried_again(void **state) {
    (void)state;
    plim_pool *pool = make("pytorch", 64 * MIB);
    uint64_t a = take(pool, 30 * MIB), b = take(pool, 30 * MIB);
    assert_int_equal(take(pool, 10 * MIB), 0);
    give(pool, a);
    give(pool, b);
    assert_true(take(pool, 50 * MIB));
    assert_int_equal(stats_of(pool).retries, 2); /* the refused request tried too */
    assert_int_equal(stats_of(pool).failures, 1);
    assert_int_equal(stats_of(pool).reserved, 50 * MIB);
    plim_pool_free(pool);
}

static void a_segment_with_one_small_block_cannot_go_back(void **state) {
    (void)state;
    plim_pool *pool = make("pytorch", 64 * MIB);
    uint64_t a = take(pool, 40 * MIB);
    give(pool, a);
    uint64_t b = take(pool, 2 * MIB); /* out of the 40 MiB */
    assert_int_equal(b, a);
    assert_int_equal(take(pool, 50 * MIB), 0);
    assert_int_equal(stats_of(pool).stuck, 38 * MIB);
    plim_pool_free(pool);
}

static void blocks_above_max_split_size_are_not_split(void **state) {
    (void)state;
    plim_pool *pool = make("pytorch:max_split_size_mb:100", 0);
    uint64_t a = take(pool, 200 * MIB);
    give(pool, a);
    assert_int_not_equal(take(pool, 50 * MIB), a);  /* a small request must not cut it */
    assert_int_not_equal(take(pool, 120 * MIB), a); /* 80 MiB would be lost: more than 20 */
    assert_int_equal(take(pool, 190 * MIB), a);
    plim_pool_free(pool);
}

static void oversized_blocks_go_before_everything_does(void **state) {
    (void)state;
    plim_pool *pool = make("pytorch:max_split_size_mb:100", 400 * MIB);
    uint64_t a = take(pool, 300 * MIB), b = take(pool, 20 * MIB);
    give(pool, a);
    give(pool, b);
    assert_true(take(pool, 250 * MIB)); /* 300 MiB would waste too much */
    assert_int_equal(stats_of(pool).retries, 0);
    assert_int_equal(stats_of(pool).reserved, 270 * MIB); /* b's segment is still cached */
    plim_pool_free(pool);
}

static void garbage_is_collected_above_the_threshold(void **state) {
    (void)state;
    plim_pool *pool = make("pytorch:garbage_collection_threshold:0.5,per_process_memory_fraction:1.0", 200 * MIB);
    uint64_t a = take(pool, 60 * MIB), b = take(pool, 60 * MIB);
    give(pool, a);
    give(pool, b);
    assert_true(take(pool, 70 * MIB)); /* 120 of 200 are above the half: the old ones go */
    assert_in_range(stats_of(pool).reserved, 70 * MIB, 130 * MIB);
    assert_int_equal(stats_of(pool).retries, 0);
    plim_pool_free(pool);
}

static void sizes_are_rounded_to_divisions_of_powers_of_two(void **state) {
    (void)state;
    plim_pool *pool = make("pytorch:roundup_power2_divisions:4", 0);
    take(pool, 1200); /* PyTorch's own example: not above 512 x 4, so in whole 512 */
    assert_int_equal(stats_of(pool).allocated, 1536);
    take(pool, 5 * 1024 * 1024); /* between 4 and 8 MiB in steps of 1 MiB */
    assert_int_equal(stats_of(pool).allocated, 1536 + 5 * MIB);
    take(pool, 5 * 1024 * 1024 + 1);
    assert_int_equal(stats_of(pool).allocated, 1536 + 11 * MIB);
    plim_pool_free(pool);
}

static void expandable_segments_are_reserved_in_whole_pages(void **state) {
    (void)state;
    plim_pool *pool = make("pytorch:expandable_segments:True", 400 * MIB);
    uint64_t a = take(pool, 30 * MIB);
    assert_int_equal(stats_of(pool).reserved, 40 * MIB);
    uint64_t b = take(pool, 15 * MIB);
    assert_int_equal(b, a + 30 * MIB); /* the range grew by what was missing */
    assert_int_equal(stats_of(pool).reserved, 60 * MIB);
    take(pool, 100);
    assert_int_equal(stats_of(pool).reserved, 62 * MIB);
    give(pool, a);
    give(pool, b);
    assert_int_equal(take(pool, 350 * MIB), a); /* 30 + 15 MiB that were there, and the rest */
    assert_int_equal(stats_of(pool).reserved, 362 * MIB);
    plim_pool_free(pool);
}

static void free_pages_inside_an_expandable_range_go_back(void **state) {
    (void)state;
    plim_pool *pool = make("pytorch:expandable_segments:True", 400 * MIB);
    uint64_t a = take(pool, 200 * MIB), b = take(pool, 20 * MIB);
    give(pool, a);
    assert_int_equal(plim_pool_empty(pool, NULL), PLIM_OK);
    assert_true(plim_pool_is_valid(pool));
    assert_int_equal(stats_of(pool).reserved, 20 * MIB);
    assert_int_equal(take(pool, 60 * MIB), a);
    assert_true(b);
    plim_pool_free(pool);
}

static void a_refusal_names_shape_dtype_device_and_allocator(void **state) {
    (void)state;
    plim_pool *pool = make("pytorch", 10 * MIB);
    int64_t dims[] = {64, 256, 56, 56};
    plim_pool_request request = {.bytes = 64 * 256 * 56 * 56 * 4,
                                 .name = "layer1",
                                 .dims = dims,
                                 .rank = 4,
                                 .dtype = PLIM_F32,
                                 .device = "cuda:0"};
    uint64_t address;
    plim_error error;
    assert_int_equal(plim_pool_alloc(pool, &request, &address, &error), PLIM_NO_MEMORY);
    const char *parts[] = {"layer1", "[64, 256, 56, 56]",           "float32",
                           "cuda:0", "PyTorch's caching allocator", "10.0 MiB"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) assert_non_null(strstr(error.message, parts[i]));
    plim_pool_free(pool);
}

static void real_memory_can_be_written_and_is_never_handed_out_twice(void **state) {
    (void)state;
    const char *texts[] = {"pytorch", "pytorch:expandable_segments:True", "tensorflow", "onnxruntime",
                           "cudamallocasync"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        plim_pool_options options = {.capacity = 256 * MIB, .real = true};
        plim_pool *pool = NULL;
        assert_int_equal(plim_pool_parse(texts[t], &options, NULL), PLIM_OK);
        assert_int_equal(plim_pool_create(&options, &pool, NULL), PLIM_OK);
        uint64_t held[40] = {0}, sizes[40] = {0}, seed = 1;
        for (int i = 0; i < 2000; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            int k = (int)(seed >> 33) % 40;
            for (uint64_t b = 0; held[k] && b < sizes[k]; b += 997)
                assert_int_equal(((unsigned char *)(uintptr_t)held[k])[b], (unsigned char)(k + 1));
            if (held[k]) give(pool, held[k]);
            sizes[k] = 1 + (seed >> 40) % (1u << (seed >> 36) % 22);
            held[k] = take(pool, sizes[k]);
            assert_true(held[k]);
            assert_int_equal(held[k] % 256, 0);
            memset((void *)(uintptr_t)held[k], k + 1, sizes[k]);
        }
        plim_pool_free(pool);
    }
}

static void wrong_settings_are_named(void **state) {
    (void)state;
    const char *texts[] = {"jemalloc",
                           "pytorch:max_split_size_mb:x",
                           "pytorch:max_split_size_mb:0",
                           "pytorch:max_split_size_mb:19", /* from here on as PyTorch 2.13 refuses them */
                           "pytorch:max_non_split_rounding_mb:19",
                           "pytorch:large_segment_size_mb:10",
                           "pytorch:garbage_collection_threshold:1.0",
                           "pytorch:garbage_collection_threshold:2",
                           "pytorch:no_such:1",
                           "pytorch:backend:jemalloc",
                           "tensorflow:backend:native",
                           "tensorflow:pinned_use_cuda_host_register:True",
                           "pytorch:backend:cudaMallocAsync,no_such:1",
                           "tensorflow:limit:many",
                           "pytorch:roundup_power2_divisions:3",
                           "pytorch:roundup_power2_divisions:[256:1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        plim_pool_options options = {0};
        plim_error error = {0};
        assert_int_equal(plim_pool_parse(texts[i], &options, &error), PLIM_INVALID);
        assert_true(strlen(error.message) > 10);
    }
    plim_pool_options options = {0};
    assert_int_equal(plim_pool_parse("pytorch:max_split_size_mb:20", &options, NULL), PLIM_OK);
    assert_int_equal(plim_pool_parse("pytorch:large_segment_size_mb:11,max_split_size_mb:19", &options, NULL), PLIM_OK);
    options = (plim_pool_options){0};
    assert_int_equal(plim_pool_parse("pytorch:roundup_power2_divisions:[256:1,512:2,>:4]", &options, NULL), PLIM_OK);
    assert_int_equal(options.roundup_power2_divisions[0], 1);
    assert_int_equal(options.roundup_power2_divisions[8], 1);
    assert_int_equal(options.roundup_power2_divisions[9], 2);
    assert_int_equal(options.roundup_power2_divisions[15], 4);
}

/* As people write it, and with what PyTorch takes in the same variable though it is not about the device. */
static void one_allocator_has_one_meaning_in_every_spelling(void **state) {
    (void)state;
    const char *const texts[] = {
        "cudamallocasync",
        "cudaMallocAsync",
        "cuda-malloc-async",
        "cuda_malloc_async",
        "pytorch:backend:cudaMallocAsync",
        "pytorch:backend:cudaMallocAsync,max_split_size_mb:64,pinned_use_background_threads:True"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        plim_pool_options options = {0};
        assert_int_equal(plim_pool_parse(texts[i], &options, NULL), PLIM_OK);
        assert_int_equal(options.kind, PLIM_POOL_CUDA_ASYNC);
        assert_int_equal(options.max_split_size, 0);
    }
    plim_pool_options options = {0};
    assert_int_equal(
        plim_pool_parse("PyTorch:backend:native,release_lock_on_cudamalloc:True,max_split_size_mb:64", &options, NULL),
        PLIM_OK);
    assert_int_equal(options.kind, PLIM_POOL_PYTORCH);
    assert_int_equal(options.max_split_size, 64 * MIB);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_rounded_and_segments_have_the_documented_sizes),
        cmocka_unit_test(best_fit_takes_the_lowest_address_of_the_smallest_block),
        cmocka_unit_test(freed_neighbours_become_one_block),
        cmocka_unit_test(streams_share_no_blocks),
        cmocka_unit_test(a_block_that_another_stream_uses_waits_for_it),
        cmocka_unit_test(at_the_limit_cached_segments_go_back_and_the_request_is_tried_again),
        cmocka_unit_test(a_segment_with_one_small_block_cannot_go_back),
        cmocka_unit_test(blocks_above_max_split_size_are_not_split),
        cmocka_unit_test(oversized_blocks_go_before_everything_does),
        cmocka_unit_test(garbage_is_collected_above_the_threshold),
        cmocka_unit_test(sizes_are_rounded_to_divisions_of_powers_of_two),
        cmocka_unit_test(expandable_segments_are_reserved_in_whole_pages),
        cmocka_unit_test(free_pages_inside_an_expandable_range_go_back),
        cmocka_unit_test(a_refusal_names_shape_dtype_device_and_allocator),
        cmocka_unit_test(real_memory_can_be_written_and_is_never_handed_out_twice),
        cmocka_unit_test(wrong_settings_are_named),
        cmocka_unit_test(one_allocator_has_one_meaning_in_every_spelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
