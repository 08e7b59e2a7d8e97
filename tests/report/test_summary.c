/* The numbers: peak, holders, leaks, fragmentation; and the text that shows them. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "report/report.h"

#include "plim_test.h"

typedef struct fixture {
    plim__timeline timeline;
    plim__summary summary;
    plim_error error;
} fixture;

/* A buffer, where it is and when. */
struct life {
    const char *name;
    plim__memory_kind kind;
    uint64_t bytes, offset;
    uint32_t born, died;
};

static void add(fixture *f, struct life life) {
    plim__timeline_buffer buffer = {.name = life.name,
                                    .kind = life.kind,
                                    .bytes = life.bytes,
                                    .offset = life.offset,
                                    .born = life.born,
                                    .died = life.died};
    assert_int_equal(plim__timeline_add(&f->timeline, &buffer, &f->error), PLIM_OK);
}

static void summarize(fixture *f) {
    assert_int_equal(plim__timeline_finish(&f->timeline, &f->error), PLIM_OK);
    assert_int_equal(plim__summary_make(&f->timeline, &f->summary, &f->error), PLIM_OK);
}

static int set_up(void **state) {
    fixture *f = plim__alloc_zero(1, sizeof *f);
    *state = f;
    return f == NULL;
}

static int tear_down(void **state) {
    fixture *f = *state;
    plim__summary_free(&f->summary);
    plim__timeline_free(&f->timeline);
    plim__free(f);
    return 0;
}

static void the_peak_is_the_highest_sum_to_the_byte(void **state) {
    fixture *f = *state;
    add(f, (struct life){"weight", PLIM__KIND_WEIGHT, 1001, 0, 0, PLIM__NEVER});
    add(f, (struct life){"early", PLIM__KIND_ACTIVATION, 500, 1024, 0, 2});
    add(f, (struct life){"late", PLIM__KIND_ACTIVATION, 600, 1024, 2, 4}); /* born where early dies: never together */
    add(f, (struct life){"small", PLIM__KIND_WORKSPACE, 7, 2048, 3, 4});
    summarize(f);
    assert_int_equal(f->summary.peak, 1001 + 600 + 7);
    assert_int_equal(f->summary.peak_tick, 3);
    assert_int_equal(f->summary.kinds[PLIM__KIND_ACTIVATION], 600);
    assert_int_equal(f->summary.extent, 2055);
    assert_int_equal(f->summary.holders.live, 3);
    assert_int_equal(f->timeline.lives.items[f->summary.holders.items[0].life].bytes, 1001);
    assert_int_equal(f->timeline.lives.items[f->summary.holders.items[2].life].bytes, 7);
    assert_int_equal(f->summary.loop.steps, 0);
}

static void lives_that_make_no_sense_are_refused(void **state) {
    fixture *f = *state;
    add(f, (struct life){"backwards", PLIM__KIND_OTHER, 1, 0, 5, 5});
    assert_int_equal(plim__timeline_finish(&f->timeline, &f->error), PLIM_CORRUPT);
    assert_non_null(strstr(f->error.message, "backwards"));
}

static void a_plan_overflowing_63_bits_is_refused(void **state) {
    fixture *f = *state;
    add(f, (struct life){"a", PLIM__KIND_OTHER, INT64_MAX, PLIM__NO_OFFSET, 0, 1});
    add(f, (struct life){"b", PLIM__KIND_OTHER, 1, PLIM__NO_OFFSET, 0, 1});
    assert_int_equal(plim__timeline_finish(&f->timeline, &f->error), PLIM_OK);
    assert_int_equal(plim__summary_make(&f->timeline, &f->summary, &f->error), PLIM_OVERFLOW);
}

enum { STEPS = 12, TICKS = 10 };

/* Steps of ten ticks with an activation each; what else happens is the test's. */
static void add_steps(fixture *f) {
    add(f, (struct life){"weight", PLIM__KIND_WEIGHT, 100000, 0, 0, PLIM__NEVER});
    for (uint32_t s = 0; s < STEPS; s++) {
        assert_int_equal(plim__timeline_add_mark(&f->timeline, PLIM__MARK_STEP, s * TICKS, s + 1, NULL, &f->error),
                         PLIM_OK);
        add(f, (struct life){"activation", PLIM__KIND_ACTIVATION, 50000, 100000, s * TICKS + 1, s * TICKS + 8});
    }
    f->timeline.ticks = STEPS * TICKS;
}

static void a_healthy_loop_is_not_accused(void **state) {
    fixture *f = *state;
    add_steps(f);
    /* kept over the end of its step, and replaced in the next: not growing */
    for (uint32_t s = 0; s < STEPS; s++)
        add(f, (struct life){"loss", PLIM__KIND_OTHER, 64, 200000, s * TICKS + 5,
                             s + 1 < STEPS ? (s + 1) * TICKS + 4 : PLIM__NEVER});
    /* a cache that fills in the first steps and stays */
    for (uint32_t s = 0; s < 4; s++)
        add(f, (struct life){"cache", PLIM__KIND_OTHER, 4096, 300000 + s * 4096, s * TICKS + 2, PLIM__NEVER});
    summarize(f);
    assert_int_equal(f->summary.loop.steps, STEPS);
    assert_int_equal(f->summary.loop.leaks.count, 0);
    assert_false(f->summary.loop.fragmenting);
    assert_int_equal(f->summary.loop.runs_out, 0);
}

static void a_leak_is_named_with_its_rate_and_its_end(void **state) {
    fixture *f = *state;
    add_steps(f);
    for (uint32_t s = 0; s < STEPS; s++)
        add(f, (struct life){"history", PLIM__KIND_OTHER, 1000, 400000 + s * 1024, s * TICKS + 6, PLIM__NEVER});
    f->timeline.budget = 200000;
    summarize(f);
    const plim__loop_figures *loop = &f->summary.loop;
    assert_int_equal(loop->leaks.count, 1);
    const plim__leak *leak = &loop->leaks.items[0];
    assert_string_equal(
        plim__timeline_get(&f->timeline, f->timeline.tensors.items[f->timeline.lives.items[leak->example].tensor].name),
        "history");
    assert_int_equal((int)leak->bytes_per_step, 1000);
    assert_int_equal(leak->count, STEPS);
    /* the last step peaks at 162,000 of 200,000: 38 more steps */
    assert_int_equal(loop->live, 162000);
    assert_int_equal(loop->runs_out, 12 + 38);
}

static void a_slow_leak_is_found(void **state) {
    fixture *f = *state;
    add_steps(f);
    for (uint32_t s = 0; s < STEPS; s += 3)
        add(f, (struct life){"history", PLIM__KIND_OTHER, 1000, 400000 + s * 1024, s * TICKS + 6, PLIM__NEVER});
    summarize(f);
    assert_int_equal(f->summary.loop.leaks.count, 1);
}

static void a_fragmenting_loop_is_named_as_such(void **state) {
    fixture *f = *state;
    add_steps(f);
    /* the same bytes each step, but every time at a higher address */
    for (uint32_t s = 0; s < STEPS; s++)
        add(f, (struct life){"long", PLIM__KIND_ACTIVATION, 20000, 150000 + s * 24000, s * TICKS + 3, s * TICKS + 7});
    summarize(f);
    assert_true(f->summary.loop.fragmenting);
    assert_int_equal(f->summary.loop.leaks.count, 0);
    assert_int_equal((int)f->summary.loop.footprint_per_step, 24000);
    assert_int_equal(f->summary.loop.footprint, 150000 + 11 * 24000 + 20000);
}

static void a_growing_model_is_not_called_fragmenting(void **state) {
    fixture *f = *state;
    add_steps(f);
    for (uint32_t s = 0; s < STEPS; s++)
        add(f, (struct life){"longer", PLIM__KIND_ACTIVATION, 20000 + s * 24000, 150000, s * TICKS + 3, s * TICKS + 7});
    summarize(f);
    assert_false(f->summary.loop.fragmenting);
}

static size_t widest_line(const char *text) {
    size_t widest = 0, now = 0;
    for (; *text; text++) {
        now = *text == '\n' ? 0 : now + (((unsigned char)*text & 0xC0) != 0x80);
        if (now > widest) widest = now;
    }
    return widest;
}

static void text_of(fixture *f, int width, bool colour, bool unicode, plim__str *out) {
    plim__text_options options = {.width = width, .colour = colour, .unicode = unicode};
    plim__str_clear(out);
    plim__report_text(&f->timeline, &f->summary, &options, out);
    assert_false(out->failed);
}

static void the_chart_fits_the_width_and_has_colour_only_when_asked(void **state) {
    fixture *f = *state;
    add_steps(f);
    for (uint32_t i = 0; i < 20; i++)
        add(f, (struct life){"t", PLIM__KIND_GRADIENT, 1000 + i, PLIM__NO_OFFSET, 0, PLIM__NEVER});
    f->timeline.budget = 200000;
    summarize(f);
    plim__str out = {0};
    for (int width = 30; width <= 200; width += 17) {
        text_of(f, width, false, true, &out);
        assert_true(widest_line(out.data) <= (size_t)width);
        assert_null(strchr(out.data, '\033'));
        assert_non_null(strstr(out.data, "█"));
        assert_non_null(strstr(out.data, "budget"));
    }
    text_of(f, 80, false, false, &out);
    for (const char *c = out.data; *c; c++) assert_true((unsigned char)*c < 128);
    text_of(f, 80, true, true, &out);
    assert_non_null(strchr(out.data, '\033'));
    plim__str_free(&out);
}

static void names_cannot_command_the_terminal(void **state) {
    fixture *f = *state;
    add(f, (struct life){"\033[2Jred\nline\xC2\x9B"
                         "31m",
                         PLIM__KIND_GRADIENT, 1000, 0, 0, PLIM__NEVER});
    summarize(f);
    plim__str out = {0};
    text_of(f, 100, false, true, &out);
    assert_non_null(strstr(out.data, "?[2Jred?line?31m"));
    assert_null(strchr(out.data, '\033'));
    plim__str_free(&out);
}

static void the_text_lists_the_ten_largest_holders(void **state) {
    fixture *f = *state;
    for (uint32_t i = 0; i < 14; i++) {
        char name[16];
        snprintf(name, sizeof name, "tensor%02u.", i);
        add(f, (struct life){name, PLIM__KIND_GRADIENT, 1000 + i, PLIM__NO_OFFSET, 0, PLIM__NEVER});
    }
    summarize(f);
    plim__str out = {0};
    text_of(f, 100, false, true, &out);
    assert_non_null(strstr(out.data, "tensor04."));
    assert_non_null(strstr(out.data, "tensor13."));
    assert_null(strstr(out.data, "tensor03."));
    assert_non_null(strstr(out.data, "4 smaller"));
    plim__str_free(&out);
}

static void nothing_recorded_is_said_plainly(void **state) {
    fixture *f = *state;
    summarize(f);
    plim__str out = {0};
    text_of(f, 80, false, true, &out);
    assert_non_null(strstr(out.data, "no buffer was recorded"));
    plim__str_free(&out);
    json_t *json = plim__report_json(&f->timeline, &f->summary);
    assert_non_null(json);
    assert_int_equal(json_integer_value(json_object_get(json, "events")), 0);
    json_decref(json);
}

static void failed_allocations_are_reported(void **state) {
    fixture *f = *state;
    add_steps(f);
    assert_int_equal(plim__timeline_finish(&f->timeline, &f->error), PLIM_OK);
    bool done = false;
    for (size_t n = 1; !done; n++) {
        plim__alloc_fail_at(n);
        plim_status status = plim__summary_make(&f->timeline, &f->summary, &f->error);
        plim__alloc_fail_at(0);
        done = status == PLIM_OK;
        if (!done) assert_int_equal(status, PLIM_NO_MEMORY);
        assert_true(n < 100);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_peak_is_the_highest_sum_to_the_byte),
        TEST(lives_that_make_no_sense_are_refused),
        TEST(a_plan_overflowing_63_bits_is_refused),
        TEST(a_healthy_loop_is_not_accused),
        TEST(a_leak_is_named_with_its_rate_and_its_end),
        TEST(a_slow_leak_is_found),
        TEST(a_fragmenting_loop_is_named_as_such),
        TEST(a_growing_model_is_not_called_fragmenting),
        TEST(the_chart_fits_the_width_and_has_colour_only_when_asked),
        TEST(names_cannot_command_the_terminal),
        TEST(the_text_lists_the_ten_largest_holders),
        TEST(nothing_recorded_is_said_plainly),
        TEST(failed_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
