/* A trace tells what was recorded, costs next to nothing to record, and survives a crash. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/file.h"
#include "format/trace.h"
#include "report/summary.h"

#include "plim_test.h"

static char path[] = "/tmp/plimsoll-trace-XXXXXX";

static int make_path(void **state) {
    (void)state;
    int fd = mkstemp(path);
    if (fd >= 0) close(fd);
    return fd < 0;
}

static int remove_path(void **state) {
    (void)state;
    return unlink(path);
}

static const plim__timeline_buffer weight = {.name = "conv1.weight",
                                             .layer = "conv1",
                                             .operation = "Conv",
                                             .dims = (const int64_t[]){64, 3, 7, 7},
                                             .rank = 4,
                                             .dtype = PLIM_F32,
                                             .kind = PLIM__KIND_WEIGHT,
                                             .phase = PLIM__PHASE_LOAD,
                                             .bytes = 37632,
                                             .offset = 0};
static const plim__timeline_buffer output = {.name = "conv1.out",
                                             .layer = "conv1",
                                             .operation = "Conv",
                                             .dims = (const int64_t[]){16, 64},
                                             .rank = 2,
                                             .dtype = PLIM_BF16,
                                             .kind = PLIM__KIND_ACTIVATION,
                                             .phase = PLIM__PHASE_FORWARD,
                                             .bytes = 2048,
                                             .offset = 40960};

/* Two steps; the second holds the output twice. */
static void record(const char *where) {
    plim__trace *trace;
    uint32_t w, o, conv, resident;
    plim_error error;
    assert_int_equal(plim__trace_open(where, PLIM__SOURCE_RUN, &trace, &error), PLIM_OK);
    assert_int_equal(plim__trace_set_title(trace, "model.onnx", &error), PLIM_OK);
    assert_int_equal(plim__trace_set_budget(trace, 1 << 20, &error), PLIM_OK);
    assert_int_equal(plim__trace_add_fact(trace, "batch", "16", &error), PLIM_OK);
    assert_int_equal(
        plim__trace_add_frontier(
            trace, &(plim__timeline_point){1 << 20, 1000000, 0.5, "keep everything", "--budget 1MiB", true}, &error),
        PLIM_OK);
    assert_int_equal(plim__trace_add_comparison(trace, "arena", 43008, 43008, &error), PLIM_OK);
    assert_int_equal(plim__trace_define_buffer(trace, &weight, &w, &error), PLIM_OK);
    assert_int_equal(plim__trace_define_buffer(trace, &output, &o, &error), PLIM_OK);
    assert_int_equal(plim__trace_define_operator(trace, "conv1", &conv, &error), PLIM_OK);
    assert_int_equal(plim__trace_define_series(trace, "resident", &resident, &error), PLIM_OK);
    plim__trace_born(trace, w);
    plim__trace_step(trace, 7);
    plim__trace_phase(trace, PLIM__PHASE_FORWARD);
    plim__trace_operator(trace, conv);
    plim__trace_born(trace, o);
    plim__trace_sample(trace, resident, 123456);
    plim__trace_died(trace, o);
    plim__trace_step(trace, 8);
    plim__trace_born(trace, o);
    plim__trace_born_at(trace, o, 81920, 4096);
    plim__trace_died(trace, o); /* the younger one */
    plim__trace_refused(trace, 99);
    assert_int_equal(plim__trace_close(trace, &error), PLIM_OK);
}

static void what_was_recorded_is_read_back(void **state) {
    (void)state;
    plim__timeline timeline;
    plim_error error;
    record(path);
    plim__timeline_init(&timeline, PLIM__SOURCE_PLAN);
    assert_int_equal(plim__trace_read(path, &timeline, &error), PLIM_OK);
    assert_int_equal(timeline.source, PLIM__SOURCE_RUN);
    assert_int_equal(timeline.cut, 0);
    assert_int_equal(timeline.budget, 1 << 20);
    assert_string_equal(plim__timeline_get(&timeline, timeline.title), "model.onnx");
    assert_int_equal(timeline.tensors.count, 2);
    assert_string_equal(plim__timeline_get(&timeline, timeline.tensors.items[0].shape), "64x3x7x7");
    assert_string_equal(plim__timeline_get(&timeline, timeline.tensors.items[1].operation), "Conv");
    assert_int_equal(timeline.tensors.items[1].dtype, PLIM_BF16);
    assert_int_equal(timeline.tensors.items[1].phase, PLIM__PHASE_FORWARD);
    assert_int_equal(timeline.lives.count, 4);
    assert_int_equal(timeline.lives.items[0].died, PLIM__NEVER);
    assert_int_equal(timeline.lives.items[1].born, 1);
    assert_int_equal(timeline.lives.items[1].died, 2);
    assert_int_equal(timeline.lives.items[2].died, PLIM__NEVER);
    assert_int_equal(timeline.lives.items[3].offset, 81920);
    assert_int_equal(timeline.lives.items[3].died, 5);
    assert_int_equal(timeline.ticks, 7);
    assert_int_equal(timeline.seconds.count, 7);
    assert_int_equal(timeline.series.items[0].samples.items[0].bytes, 123456);
    assert_int_equal(timeline.frontier.items[0].peak, 1000000);
    assert_true(timeline.frontier.items[0].chosen);
    assert_int_equal(timeline.comparisons.items[0].measured, 43008);
    const plim__timeline_mark *step = plim__timeline_mark_at(&timeline, PLIM__MARK_STEP, 4);
    assert_int_equal(step->value, 8);
    plim__summary summary;
    assert_int_equal(plim__summary_make(&timeline, &summary, &error), PLIM_OK);
    assert_int_equal(summary.peak, 37632 + 2048 + 4096);
    assert_int_equal(summary.peak_tick, 4);
    assert_int_equal(summary.held_at_end, 37632 + 2048);
    assert_int_equal(summary.events, 6);
    plim__summary_free(&summary);
    plim__timeline_free(&timeline);
}

enum { LONG = 40, EACH = 25 };

/* Many steps alike; the output of step 6 stays until step 21, as a cache does. */
static void record_long(void) {
    plim__trace *trace;
    uint32_t w, o, cache, conv, resident, loss;
    assert_int_equal(plim__trace_open(path, PLIM__SOURCE_RUN, &trace, NULL), PLIM_OK);
    assert_int_equal(plim__trace_define_buffer(trace, &weight, &w, NULL), PLIM_OK);
    assert_int_equal(plim__trace_define_buffer(trace, &output, &o, NULL), PLIM_OK);
    assert_int_equal(plim__trace_define_buffer(trace, &output, &cache, NULL), PLIM_OK);
    assert_int_equal(plim__trace_define_operator(trace, "conv1", &conv, NULL), PLIM_OK);
    assert_int_equal(plim__trace_define_series(trace, "resident", &resident, NULL), PLIM_OK);
    assert_int_equal(plim__trace_define_numbers(trace, "loss", &loss, NULL), PLIM_OK);
    plim__trace_settle(trace);
    plim__trace_born(trace, w);
    for (uint32_t step = 1; step <= LONG; step++) {
        plim__trace_step(trace, step);
        for (int i = 0; i < EACH; i++) {
            plim__trace_operator(trace, conv);
            plim__trace_born(trace, o);
            if (step == 6 && i == 3) plim__trace_born(trace, cache);
            if (step == 21 && i == 3) plim__trace_died(trace, cache);
            plim__trace_died(trace, o);
        }
        plim__trace_sample(trace, resident, step == 17 ? 900000 : 800000);
        plim__trace_sample_number(trace, loss, 1.0 / step);
    }
    assert_int_equal(plim__trace_add_fact(trace, "batch", "16", NULL), PLIM_OK); /* a name after all were dropped */
    assert_int_equal(plim__trace_close(trace, NULL), PLIM_OK);
}

static size_t steps_in(const plim__timeline *timeline) {
    size_t count = 0;
    for (size_t i = 0; i < timeline->marks.count; i++) count += timeline->marks.items[i].type == PLIM__MARK_STEP;
    return count;
}

/* Steps may go, but nothing that is held longer, no peak and no highest sample. */
static void check_thinned(size_t bytes, size_t least, size_t most) {
    plim__timeline timeline;
    plim__summary summary;
    uint64_t every;
    plim_error error;
    plim__timeline_init(&timeline, PLIM__SOURCE_RUN);
    assert_int_equal(plim__trace_read_within(path, bytes, &timeline, &every, &error), PLIM_OK);
    size_t steps = steps_in(&timeline), cached = 0;
    assert_in_range(steps, least, most);
    assert_int_equal(steps, (LONG + every - 1) / every);
    assert_int_equal(timeline.lives.count, 1 + steps * EACH + 1);
    for (size_t i = 0; i < timeline.lives.count; i++) {
        const plim__timeline_life *life = &timeline.lives.items[i];
        if (life->tensor == 2) cached++;
        if (life->tensor == 2 && every == 1) assert_int_equal(life->died - life->born, 2 * 15 * EACH + 1);
        if (life->tensor == 2) assert_true(life->died != PLIM__NEVER);
    }
    assert_int_equal(cached, 1);
    assert_int_equal(plim__summary_make(&timeline, &summary, &error), PLIM_OK);
    bool beside = false; /* a step is there that had the cache beside its output */
    for (uint64_t step = 1; step <= LONG; step += every) beside |= step >= 6 && step <= 21;
    assert_int_equal(summary.peak, 37632 + (beside ? 2 * 2048 : 2048));
    assert_int_equal(summary.held_at_end, 37632);
    assert_int_equal(timeline.facts.count, every > 1 ? 2 : 1);
    uint64_t highest = 0;
    const plim__timeline_series *series = timeline.series.items;
    for (size_t i = 0; i < series[0].samples.count; i++)
        if (series[0].samples.items[i].bytes > highest) highest = series[0].samples.items[i].bytes;
    assert_int_equal(highest, 900000);
    double last;
    memcpy(&last, &series[1].samples.items[series[1].samples.count - 1].bytes, sizeof last);
    assert_true(last == 1.0 / LONG);
    plim__summary_free(&summary);
    plim__timeline_free(&timeline);
}

static void a_record_that_is_too_large_shows_some_of_its_steps(void **state) {
    (void)state;
    record_long();
    check_thinned(SIZE_MAX, LONG, LONG);
    check_thinned(1 << 20, LONG, LONG);
    check_thinned(40000, 4, LONG / 2);
    check_thinned(12000, 2, LONG / 4);
    check_thinned(0, 1, 1);
}

static void recording_allocates_nothing(void **state) {
    (void)state;
    plim__trace *trace;
    plim_error error;
    uint32_t o;
    assert_int_equal(plim__trace_open(path, PLIM__SOURCE_RUN, &trace, &error), PLIM_OK);
    assert_int_equal(plim__trace_define_buffer(trace, &output, &o, &error), PLIM_OK);
    size_t before = plim__alloc_count();
    double start = plim__clock_seconds();
    for (uint32_t i = 0; i < 200000; i++) {
        if (i % 1000 == 0) plim__trace_step(trace, i / 1000);
        plim__trace_born(trace, o);
        plim__trace_died(trace, o);
    }
    double each = (plim__clock_seconds() - start) / 400000;
    assert_int_equal(plim__alloc_count(), before);
    assert_int_equal(plim__trace_close(trace, &error), PLIM_OK);
    print_message("%.0f ns an event\n", each * 1e9);
}

static plim_status read_bytes(const char *data, size_t size, plim__timeline *timeline, plim_error *error) {
    assert_int_equal(plim__file_write(path, data, size, error), PLIM_OK);
    plim__timeline_init(timeline, PLIM__SOURCE_RUN);
    return plim__trace_read(path, timeline, error);
}

static void a_trace_cut_anywhere_shows_everything_before_the_cut(void **state) {
    (void)state;
    char *whole;
    size_t size, lives = 0;
    plim_error error;
    record(path);
    assert_int_equal(plim__file_read(path, 1 << 20, &whole, &size, &error), PLIM_OK);
    for (size_t cut = 24; cut < size; cut++) {
        plim__timeline timeline;
        assert_int_equal(read_bytes(whole, cut, &timeline, &error), PLIM_OK);
        assert_int_not_equal(timeline.cut, 0);
        assert_true(timeline.lives.count >= lives);
        lives = timeline.lives.count;
        plim__timeline_free(&timeline);
    }
    assert_int_equal(lives, 4);
    plim__free(whole);
}

static void zeros_after_a_power_cut_are_a_cut(void **state) {
    (void)state;
    char *whole;
    size_t size;
    plim_error error;
    plim__timeline timeline;
    record(path);
    assert_int_equal(plim__file_read(path, 1 << 20, &whole, &size, &error), PLIM_OK);
    memset(whole + size - 40, 0, 40);
    assert_int_equal(read_bytes(whole, size, &timeline, &error), PLIM_OK);
    assert_int_not_equal(timeline.cut, 0);
    assert_int_equal(timeline.lives.count, 4);
    plim__timeline_free(&timeline);
    plim__free(whole);
}

static void damage_is_refused_or_read_but_never_obeyed(void **state) {
    (void)state;
    char *whole;
    size_t size;
    plim_error error;
    record(path);
    assert_int_equal(plim__file_read(path, 1 << 20, &whole, &size, &error), PLIM_OK);
    size_t refused = 0;
    for (size_t at = 0; at < size; at++) {
        char kept = whole[at];
        for (int flip = 0; flip < 2; flip++) {
            plim__timeline timeline;
            plim__summary summary;
            whole[at] = (char)(flip ? kept ^ 0x5A : 0xFF);
            plim_status status = read_bytes(whole, size, &timeline, &error);
            if (status == PLIM_OK) status = plim__summary_make(&timeline, &summary, &error);
            if (status == PLIM_OK)
                plim__summary_free(&summary);
            else
                refused += error.message[0] != 0;
            plim__timeline_free(&timeline);
        }
        whole[at] = kept;
    }
    assert_true(refused > 0);
    plim__free(whole);
}

static void failed_allocations_are_reported(void **state) {
    (void)state;
    plim_error error;
    record(path);
    bool done = false;
    for (size_t n = 1; !done; n++) {
        plim__timeline timeline;
        plim__summary summary;
        plim__timeline_init(&timeline, PLIM__SOURCE_RUN);
        plim__alloc_fail_at(n);
        plim_status status = plim__trace_read(path, &timeline, &error);
        if (status == PLIM_OK) status = plim__summary_make(&timeline, &summary, &error);
        plim__alloc_fail_at(0);
        done = status == PLIM_OK;
        if (done)
            plim__summary_free(&summary);
        else
            assert_int_equal(status, PLIM_NO_MEMORY);
        plim__timeline_free(&timeline);
        assert_true(n < 1000);
    }
}

static void what_cannot_be_written_is_said(void **state) {
    (void)state;
    plim__trace *trace;
    plim_error error;
    uint32_t o;
    assert_int_equal(plim__trace_open("/nonexistent/x.trace", PLIM__SOURCE_RUN, &trace, &error), PLIM_NOT_FOUND);
    assert_non_null(strstr(error.message, "/nonexistent/x.trace"));
    assert_null(trace);
    if (access("/dev/full", W_OK) != 0) skip();
    assert_int_equal(plim__trace_open("/dev/full", PLIM__SOURCE_RUN, &trace, &error), PLIM_OK);
    assert_int_equal(plim__trace_define_buffer(trace, &output, &o, &error), PLIM_OK);
    for (int i = 0; i < 100; i++) plim__trace_born(trace, o);
    assert_int_equal(plim__trace_close(trace, &error), PLIM_NO_SPACE);
    assert_non_null(strstr(error.message, "/dev/full"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_recorded_is_read_back),
        cmocka_unit_test(a_record_that_is_too_large_shows_some_of_its_steps),
        cmocka_unit_test(recording_allocates_nothing),
        cmocka_unit_test(a_trace_cut_anywhere_shows_everything_before_the_cut),
        cmocka_unit_test(zeros_after_a_power_cut_are_a_cut),
        cmocka_unit_test(damage_is_refused_or_read_but_never_obeyed),
        cmocka_unit_test(failed_allocations_are_reported),
        cmocka_unit_test(what_cannot_be_written_is_said),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
