/* Replay: the same requests through another allocator, on another card. The traces are written here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/trace.h"
#include "plim_test.h"
#include "plimsoll/predict.h"

#define MIB ((uint64_t)1 << 20)

typedef struct record {
    char path[64];
    plim__trace *trace;
    uint32_t count;
} record;

static record begin(void) {
    record r = {.path = "/tmp/plimsoll-replay-XXXXXX"};
    int fd = mkstemp(r.path);
    assert_true(fd >= 0);
    close(fd);
    unlink(r.path);
    assert_int_equal(plim__trace_open(r.path, PLIM__SOURCE_RUN, &r.trace, NULL), PLIM_OK);
    return r;
}

static uint32_t take(record *r, const char *name, uint64_t bytes) {
    uint32_t id;
    plim__timeline_buffer buffer = {.name = name, .bytes = bytes, .offset = PLIM__NO_OFFSET};
    assert_int_equal(plim__trace_define_buffer(r->trace, &buffer, &id, NULL), PLIM_OK);
    plim__trace_born(r->trace, id);
    return id;
}

static plim_replay *end(record *r) {
    plim_replay *replay = NULL;
    plim_error error;
    assert_int_equal(plim__trace_close(r->trace, NULL), PLIM_OK);
    assert_int_equal(plim_replay_load(r->path, -1, &replay, &error), PLIM_OK);
    unlink(r->path);
    return replay;
}

static plim_replay_result run(plim_replay *replay, const char *allocator, uint64_t capacity) {
    plim_pool_options options = {.capacity = capacity};
    plim_replay_result result;
    assert_int_equal(plim_pool_parse(allocator, &options, NULL), PLIM_OK);
    assert_int_equal(plim_replay_run(replay, &options, &result, NULL), PLIM_OK);
    return result;
}

/* Four blocks of 50 MiB, each cut by one of 30: 80 MiB are free and none of it serves 60. */
static plim_replay *fragmented(void) {
    record r = begin();
    uint32_t large[4], cut[4];
    for (int i = 0; i < 4; i++) large[i] = take(&r, "large", 50 * MIB);
    for (int i = 0; i < 4; i++) {
        plim__trace_died(r.trace, large[i]);
        cut[i] = take(&r, "cut", 30 * MIB);
    }
    take(&r, "wanted", 60 * MIB);
    assert_true(cut[0] != cut[3]);
    return end(&r);
}

static void peaks_are_what_the_allocator_rounds_them_to(void **state) {
    (void)state;
    record r = begin();
    take(&r, "a", 100);
    uint32_t b = take(&r, "b", 3 * MIB);
    plim__trace_died(r.trace, b);
    take(&r, "c", 5 * MIB);
    plim_replay *replay = end(&r);
    plim_replay_result torch = run(replay, "pytorch", 0), tensorflow = run(replay, "tensorflow", 0);
    assert_int_equal(torch.stats.requested_peak, 100 + 5 * MIB);
    assert_int_equal(torch.stats.allocated_peak, 512 + 5 * MIB);
    assert_int_equal(torch.stats.reserved_peak, 22 * MIB);      /* 2 for the small pool, 20 for the large one */
    assert_int_equal(tensorflow.stats.reserved_peak, 14 * MIB); /* regions of 2, 4 and 8 */
    plim_replay_free(replay);
}

static void a_card_that_is_too_small_is_told_with_the_request(void **state) {
    (void)state;
    plim_replay *replay = fragmented();
    plim_replay_result result = run(replay, "pytorch", 225 * MIB);
    assert_true(result.failed);
    assert_int_equal(result.failed_bytes, 60 * MIB);
    assert_string_equal(result.failed_name, "wanted");
    assert_true(result.stats.unused > 60 * MIB); /* enough is free, in pieces */
    plim_replay_free(replay);
}

static void settings_can_save_a_run(void **state) {
    (void)state;
    plim_replay *replay = fragmented();
    assert_true(run(replay, "pytorch", 225 * MIB).failed);
    assert_false(run(replay, "pytorch:expandable_segments:True", 225 * MIB).failed);
    plim_replay_free(replay);
}

static void the_least_capacity_is_enough_and_one_less_is_not(void **state) {
    (void)state;
    plim_replay *replay = fragmented();
    const plim_replay_setting *setting;
    for (size_t i = 0; (setting = plim_replay_setting_at(i)); i++) {
        plim_pool_options options = {0};
        uint64_t least = 0;
        assert_int_equal(plim_pool_parse(setting->text, &options, NULL), PLIM_OK);
        assert_int_equal(plim_replay_least_capacity(replay, &options, &least, NULL), PLIM_OK);
        assert_false(run(replay, setting->text, least).failed);
        assert_true(run(replay, setting->text, least - MIB).failed);
    }
    plim_replay_free(replay);
}

static void a_replay_can_be_repeated_and_gives_the_same(void **state) {
    (void)state;
    plim_replay *replay = fragmented();
    plim_replay_result first = run(replay, "pytorch", 0);
    (void)run(replay, "onnxruntime", 100 * MIB);
    plim_replay_result again = run(replay, "pytorch", 0);
    assert_memory_equal(&first, &again, sizeof first);
    plim_replay_free(replay);
}

static void the_run_over_time_ends_with_its_figures(void **state) {
    (void)state;
    record r = begin();
    uint32_t large = 0;
    for (int i = 0; i < 3000; i++) { /* more requests than moments */
        if (large) plim__trace_died(r.trace, large);
        large = take(&r, "some", (uint64_t)(1 + i % 40) * MIB);
    }
    plim_replay *replay = end(&r);
    assert_null(plim_replay_point_at(replay, 0)); /* nothing was run yet */
    plim_replay_result result = run(replay, "pytorch", 0);
    const plim_replay_point *point, *last = NULL;
    size_t count = 0;
    for (; (point = plim_replay_point_at(replay, count)); count++) {
        assert_true(!last || point->event > last->event);
        assert_true(point->requested <= point->allocated && point->allocated + point->unused == point->reserved);
        assert_true(point->largest_free <= point->unused && point->fragmentation >= 0 && point->fragmentation < 1);
        last = point;
    }
    assert_true(count > 256 && count <= 512);
    assert_int_equal(last->event, result.events);
    assert_int_equal(last->reserved, result.stats.reserved);
    assert_int_equal(last->largest_free, result.stats.largest_free);
    result = run(replay, "pytorch", 39 * MIB); /* refused on its way: the moments end there */
    assert_true(result.failed);
    for (count = 0; (point = plim_replay_point_at(replay, count)); count++) last = point;
    assert_int_equal(last->event, result.events);
    assert_null(plim_replay_point_at(NULL, 0));
    plim_replay_free(replay);
}

static void a_file_without_allocations_is_refused(void **state) {
    (void)state;
    record r = begin();
    assert_int_equal(plim__trace_close(r.trace, NULL), PLIM_OK);
    plim_replay *replay = NULL;
    plim_error error;
    assert_int_equal(plim_replay_load(r.path, -1, &replay, &error), PLIM_UNSUPPORTED);
    assert_null(replay);
    assert_int_equal(plim_replay_load("/nonexistent", -1, &replay, &error), PLIM_NOT_FOUND);
    unlink(r.path);
}

/* One region that is there from the start: what its end leaves over decides which chunks are split, so that more memory can fail
 * where less did. Sixty random records; some of them do that. */
static void the_least_memory_does_and_a_little_more_does_too(void **state) {
    (void)state;
    unsigned seed = 1, odd = 0;
    for (int round = 0; round < 60; round++) {
        record r = begin();
        uint32_t live[8] = {0};
        for (int i = 0; i < 60; i++) {
            seed = seed * 1103515245u + 12345u;
            size_t slot = seed >> 16 & 7;
            if (live[slot]) plim__trace_died(r.trace, live[slot] - 1);
            live[slot] = take(&r, "some", (1 + (seed >> 20 & 31)) * MIB) + 1;
        }
        plim_replay *replay = end(&r);
        plim_pool_options options = {.kind = PLIM_POOL_TENSORFLOW, .whole = true};
        uint64_t least = 0;
        assert_int_equal(plim_replay_least_capacity(replay, &options, &least, NULL), PLIM_OK);
        for (uint64_t more = 0; more <= least / 20; more += MIB)
            assert_false(run(replay, "tensorflow:allow_growth:False", least + more).failed);
        assert_true(run(replay, "tensorflow:allow_growth:False", least - MIB).failed);
        for (uint64_t less = 2; less < 16; less++)
            odd += !run(replay, "tensorflow:allow_growth:False", least - less * MIB).failed;
        plim_replay_free(replay);
    }
    assert_true(odd > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_are_what_the_allocator_rounds_them_to),
        cmocka_unit_test(a_card_that_is_too_small_is_told_with_the_request),
        cmocka_unit_test(settings_can_save_a_run),
        cmocka_unit_test(the_least_capacity_is_enough_and_one_less_is_not),
        cmocka_unit_test(a_replay_can_be_repeated_and_gives_the_same),
        cmocka_unit_test(the_run_over_time_ends_with_its_figures),
        cmocka_unit_test(a_file_without_allocations_is_refused),
        cmocka_unit_test(the_least_memory_does_and_a_little_more_does_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
