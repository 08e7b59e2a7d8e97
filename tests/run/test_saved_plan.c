/* A saved plan is made again to the byte, and only for what it was made for. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "budget/report.h"
#include "budget/saved_plan.h"
#include "format/trace_script.h"
#include "plimsoll/plimsoll.h"
#include "report/report.h"
#include "run/trainer.h"

#include "plim_test.h"

typedef struct saved {
    plim_graph *model;
    plim_trainer_options options;
    plim_plan *plan;
    char path[64];
    plim_error error;
} saved;

static void make_plan(saved *s) {
    *s = (saved){.path = "/tmp/plimsoll-plan-XXXXXX"};
    close(mkstemp(s->path));
    s->options = (plim_trainer_options){.loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                        .optimizer = plim_optimizer_default(PLIM_ADAMW),
                                        .batch = 64,
                                        .threads = 1,
                                        .budget = (uint64_t)1 << 32};
    assert_int_equal(plim_zoo_create("lenet", NULL, &s->model, &s->error), PLIM_OK);
    assert_int_equal(plim_plan_create(s->model, &s->options, &s->plan, &s->error), PLIM_OK);
    assert_true(plim_plan_get_report(s->plan)->fits);
    assert_int_equal(plim_plan_save(s->plan, "lenet", NULL, s->path, &s->error), PLIM_OK);
    s->options.plan = s->path;
}

static void free_plan(saved *s) {
    unlink(s->path);
    plim_plan_free(s->plan);
    plim_graph_free(s->model);
}

static void the_same_plan_is_made_again(void **state) {
    (void)state;
    saved s;
    plim_trainer *trainer;
    make_plan(&s);
    assert_int_equal(plim_trainer_create(s.model, &s.options, &trainer, &s.error), PLIM_OK);
    const plim__variant *then = s.plan->training->main, *now = trainer->plan->main;
    assert_int_equal(now->plan->arena_bytes, then->plan->arena_bytes);
    assert_int_equal(now->repeated, then->repeated);
    assert_int_equal(now->schedule.count, then->schedule.count);
    assert_memory_equal(now->schedule.steps, then->schedule.steps, then->schedule.count * sizeof(int32_t));
    for (size_t b = 0; b < then->plan->buffer_count; b++)
        assert_int_equal(now->plan->offsets[b], then->plan->offsets[b]);
    plim_trainer_free(trainer);
    free_plan(&s);
}

static void a_report_opens_a_saved_plan(void **state) {
    (void)state;
    saved s;
    plim__timeline timeline;
    plim__summary summary;
    make_plan(&s);
    plim__timeline_init(&timeline, PLIM__SOURCE_RUN);
    assert_int_equal(plim__report_read(s.path, -1, &timeline, &s.error), PLIM_OK);
    assert_int_equal(plim__summary_make(&timeline, &summary, &s.error), PLIM_OK);
    const plim_plan_report *report = plim_plan_get_report(s.plan);
    assert_int_equal(timeline.source, PLIM__SOURCE_PLAN);
    assert_int_equal(summary.peak, report->chosen.process_bytes);
    assert_int_equal(summary.extent, report->chosen.arena_bytes);
    assert_int_equal(timeline.budget, s.options.budget);
    assert_int_equal(timeline.seconds.count, timeline.ticks); /* those that the plan expects, not the clock's */
    assert_true(timeline.seconds.items[timeline.ticks - 1] > 0.5 * report->chosen.seconds);
    assert_true(timeline.seconds.items[timeline.ticks - 1] < 1.1 * report->chosen.seconds);
    plim__summary_free(&summary);
    plim__timeline_free(&timeline);
    free_plan(&s);
}

static void refuses(const saved *s, const plim_graph *model, plim_trainer_options options, const char *word) {
    plim_trainer *trainer;
    plim_error error = {0};
    (void)s;
    assert_int_equal(plim_trainer_create(model, &options, &trainer, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, word));
    assert_non_null(strstr(error.message, "--replan"));
}

static void a_plan_for_something_else_is_refused_by_name(void **state) {
    (void)state;
    saved s;
    make_plan(&s);
    plim_graph *other;
    assert_int_equal(plim_zoo_create("lenet", &(plim_zoo_options){.classes = 7}, &other, &s.error), PLIM_OK);
    refuses(&s, other, s.options, "another model");
    plim_trainer_options changed = s.options;
    changed.threads = 2;
    refuses(&s, s.model, changed, "number of threads");
    changed = s.options;
    changed.batch = 8;
    refuses(&s, s.model, changed, "another batch");
    changed = s.options;
    changed.optimizer = plim_optimizer_default(PLIM_SGD);
    refuses(&s, s.model, changed, "another optimizer");
    changed = s.options;
    changed.budget++;
    refuses(&s, s.model, changed, "budget");
    plim_graph_free(other);
    free_plan(&s);
}

static void damaged_files_are_refused(void **state) {
    (void)state;
    saved s;
    plim_trainer *trainer;
    make_plan(&s);
    assert_int_equal(truncate(s.path, 3000), 0);
    assert_int_equal(plim_trainer_create(s.model, &s.options, &trainer, &s.error), PLIM_CORRUPT);
    assert_non_null(strstr(s.error.message, s.path));
    free_plan(&s);
}

static void an_older_form_is_refused_by_its_number(void **state) {
    (void)state;
    saved s;
    plim_trainer *trainer;
    plim__timeline timeline;
    make_plan(&s);
    plim__timeline_init(&timeline, PLIM__SOURCE_PLAN);
    timeline.plan = plim__strdup("{\"plimsoll_plan\": 1, \"budget_bytes\": 1000}");
    assert_int_equal(plim__trace_write_timeline(&timeline, s.path, &s.error), PLIM_OK);
    plim__timeline_free(&timeline);
    assert_int_equal(plim_trainer_create(s.model, &s.options, &trainer, &s.error), PLIM_UNSUPPORTED);
    assert_non_null(strstr(s.error.message, s.path));
    assert_non_null(strstr(s.error.message, "form 1"));
    free_plan(&s);
}

int main(void) {
    setenv("PLIMSOLL_COSTS", "default", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_plan_is_made_again), cmocka_unit_test(a_report_opens_a_saved_plan),
        cmocka_unit_test(a_plan_for_something_else_is_refused_by_name), cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(an_older_form_is_refused_by_its_number)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
