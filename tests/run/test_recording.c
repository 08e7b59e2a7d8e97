/* A recorded run tells what was planned, at the time it happened. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "format/trace.h"
#include "mem/resident.h"
#include "plimsoll/plimsoll.h"
#include "report/report.h"
#include "run/recording.h"
#include "run/trainer.h"

#include "plim_test.h"

#define BATCH  8
#define PIXELS (28 * 28)

typedef struct run {
    plim_graph *model;
    plim_trainer *trainer;
    float image[BATCH * PIXELS];
    int64_t labels[BATCH];
    char path[64];
    plim_error error;
} run;

static void start(run *r, int64_t accumulate, uint64_t budget) {
    *r = (run){.path = "/tmp/plimsoll-recording-XXXXXX"};
    close(mkstemp(r->path));
    for (size_t i = 0; i < BATCH * PIXELS; i++) r->image[i] = (float)(i % 17) / 17;
    for (size_t i = 0; i < BATCH; i++) r->labels[i] = (int64_t)i;
    plim_trainer_options options = {.loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                    .optimizer = plim_optimizer_default(PLIM_ADAMW),
                                    .batch = BATCH,
                                    .accumulate = accumulate,
                                    .budget = budget};
    assert_int_equal(plim_zoo_create("lenet", NULL, &r->model, &r->error), PLIM_OK);
    assert_int_equal(plim_trainer_create(r->model, &options, &r->trainer, &r->error), PLIM_OK);
}

static void step(run *r, int64_t count) {
    plim_batch batch = {count, {r->image}, r->labels};
    assert_int_equal(plim_trainer_step(r->trainer, &batch, NULL, &r->error), PLIM_OK);
}

static void end(run *r) {
    unlink(r->path);
    plim_trainer_free(r->trainer);
    plim_graph_free(r->model);
}

static void read_back(run *r, plim__timeline *timeline, plim__summary *summary) {
    assert_int_equal(plim__trainer_record_end(r->trainer, &r->error), PLIM_OK);
    plim__timeline_init(timeline, PLIM__SOURCE_RUN);
    assert_int_equal(plim__report_read(r->path, -1, timeline, &r->error), PLIM_OK);
    assert_int_equal(plim__summary_make(timeline, summary, &r->error), PLIM_OK);
}

static size_t count_marks(const plim__timeline *timeline, plim__timeline_mark_type type) {
    size_t count = 0;
    for (size_t i = 0; i < timeline->marks.count; i++) count += timeline->marks.items[i].type == type;
    return count;
}

static void assert_only_what_is_kept_is_left(const run *r, const plim__timeline *timeline) {
    for (size_t i = 0; i < timeline->lives.count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[i];
        if (life->died != PLIM__NEVER || life->offset == PLIM__NO_OFFSET) continue;
        assert_true(life->offset < r->trainer->plan->main->plan->persistent_bytes);
    }
}

static const char *fact(const plim__timeline *timeline, const char *name) {
    for (size_t i = 0; i < timeline->facts.count; i++)
        if (strcmp(plim__timeline_get(timeline, timeline->facts.items[i].name), name) == 0)
            return plim__timeline_get(timeline, timeline->facts.items[i].value);
    return NULL;
}

static void the_recorded_peak_and_arena_are_the_plans(void **state) {
    (void)state;
    run r;
    plim__timeline timeline;
    plim__summary summary;
    start(&r, 1, 0);
    assert_int_equal(
        plim__trainer_record(r.trainer, r.path, "lenet", "plimsoll train lenet.onnx --budget", 5, &r.error), PLIM_OK);
    for (int i = 0; i < 11; i++) step(&r, BATCH);
    const plim__plan *plan = r.trainer->plan->main->plan;
    size_t peak = plan->lower_bound_bytes, arena = plan->arena_bytes,
           steps = r.trainer->plan->main->program->steps.count;
    read_back(&r, &timeline, &summary);
    assert_int_equal(summary.peak - summary.kinds[PLIM__KIND_PROCESS], peak);
    assert_int_equal(summary.extent, arena);
    /* updates 1, 2, 3, 5 and 10 are whole, all eleven are sampled */
    assert_int_equal(count_marks(&timeline, PLIM__MARK_STEP), 5);
    assert_int_equal(count_marks(&timeline, PLIM__MARK_OPERATOR), 5 * steps);
    assert_int_equal(timeline.series.count, 2);
    assert_int_equal(timeline.series.items[0].samples.count, 11);
    assert_int_equal(timeline.series.items[1].samples.count, 11);
    assert_true(timeline.series.items[1].numbers);
    assert_int_equal(summary.loop.leaks.count, 0);
    assert_int_equal(timeline.cut, 0);
    plim__summary_free(&summary);
    plim__timeline_free(&timeline);
    end(&r);
}

static void micro_batches_and_what_is_left_of_a_batch_are_recorded(void **state) {
    (void)state;
    run r;
    plim__timeline timeline;
    plim__summary summary;
    start(&r, 2, 0);
    assert_int_equal(
        plim__trainer_record(r.trainer, r.path, "lenet", "plimsoll train lenet.onnx --budget", 0, &r.error), PLIM_OK);
    step(&r, BATCH);
    step(&r, BATCH - 3); /* one micro-batch of 4 and one of 1 */
    size_t steps =
        3 * r.trainer->plan->main->program->steps.count + r.trainer->plan->tails.items[0]->program->steps.count;
    read_back(&r, &timeline, &summary);
    assert_int_equal(count_marks(&timeline, PLIM__MARK_OPERATOR), steps);
    assert_only_what_is_kept_is_left(&r, &timeline);
    plim__summary_free(&summary);
    plim__timeline_free(&timeline);
    end(&r);
}

/* Everything that it needs is there before the first update: names, scripts, and room for what is recorded. */
static void recorded_updates_allocate_nothing(void **state) {
    (void)state;
    run r;
    start(&r, 2, (uint64_t)1 << 32);
    step(&r, BATCH);
    size_t before = plim__alloc_count();
    step(&r, BATCH);
    size_t plain = plim__alloc_count() - before;
    assert_int_equal(plim__trainer_record(r.trainer, r.path, "lenet", NULL, 1, &r.error), PLIM_OK);
    for (int i = 0; i < 5; i++) {
        before = plim__alloc_count();
        step(&r, BATCH);
        assert_int_equal(plim__alloc_count() - before, plain);
    }
    end(&r);
}

/* It is made where the arena was: with what planning and data take it is within the plan. */
static void a_page_is_made_in_what_training_gives_back(void **state) {
    (void)state;
    run r;
    plim__timeline timeline;
    uint64_t every;
    start(&r, 1, (uint64_t)1 << 32);
    assert_int_equal(plim__trainer_record(r.trainer, r.path, "lenet", NULL, 1, &r.error), PLIM_OK);
    for (int i = 0; i < 60; i++) step(&r, BATCH);
    assert_int_equal(plim__trainer_record_end(r.trainer, &r.error), PLIM_OK);
    size_t arena = r.trainer->plan->planned_arena;
    r.trainer->plan->process.planned_bytes = plim__resident_now(); /* as if nothing had been to spare */
    size_t room = plim__trainer_vacate(r.trainer);
    assert_in_range(room, arena * 8 / 10, arena + (4 << 20));
    plim__timeline_init(&timeline, PLIM__SOURCE_RUN);
    assert_int_equal(plim__trace_read_within(r.path, 60000, &timeline, &every, &r.error), PLIM_OK);
    size_t whole = count_marks(&timeline, PLIM__MARK_STEP);
    assert_in_range(every, 2, 30);
    assert_int_equal(whole, (60 + every - 1) / every);
    assert_int_equal(timeline.series.items[0].samples.count, 60);
    assert_only_what_is_kept_is_left(&r, &timeline);
    assert_non_null(fact(&timeline, "updates shown"));
    plim__timeline_free(&timeline);
    end(&r);
}

static void a_run_that_is_recorded_is_planned_with_what_that_holds(void **state) {
    (void)state;
    run r;
    plim_plan *plan;
    uint64_t bytes[3], recording[3];
    start(&r, 1, 0);
    for (int records = 0; records < 3; records++) {
        plim_trainer_options options = {.loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                        .optimizer = plim_optimizer_default(PLIM_ADAMW),
                                        .batch = BATCH,
                                        .budget = (uint64_t)1 << 32,
                                        .records = records};
        assert_int_equal(plim_plan_create(r.model, &options, &plan, &r.error), PLIM_OK);
        const plim_plan_candidate *way = &plim_plan_get_report(plan)->chosen;
        bytes[records] = way->process_bytes - way->program;
        recording[records] = way->recording;
        plim_plan_free(plan);
    }
    assert_int_equal(recording[0], 0);
    assert_true(recording[1] >= 64 << 10);
    assert_true(recording[2] >= recording[1]); /* a page in a small arena takes more */
    for (int records = 1; records < 3; records++) assert_int_equal(bytes[records], bytes[0] + recording[records]);
    end(&r);
}

static void recording_goes_on_after_another_budget(void **state) {
    (void)state;
    run r;
    plim__timeline timeline;
    plim__summary summary;
    start(&r, 1, (uint64_t)1 << 32);
    assert_int_equal(
        plim__trainer_record(r.trainer, r.path, "lenet", "plimsoll train lenet.onnx --budget", 1, &r.error), PLIM_OK);
    step(&r, BATCH);
    assert_int_equal(plim_trainer_set_budget(r.trainer, (uint64_t)1 << 33, &r.error), PLIM_OK);
    step(&r, BATCH);
    read_back(&r, &timeline, &summary);
    assert_int_equal(count_marks(&timeline, PLIM__MARK_STEP), 2);
    assert_true(timeline.comparisons.count == 4);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(timeline.comparisons.items[i].planned, timeline.comparisons.items[i].measured);
    plim__summary_free(&summary);
    plim__timeline_free(&timeline);
    end(&r);
}

static size_t largest(const plim_trainer *t, plim_trainer_tensor *tensor) {
    size_t best = 0;
    plim_trainer_get_tensor(t, 0, tensor);
    for (size_t i = 1; i < plim_trainer_tensor_count(t); i++) {
        plim_trainer_tensor other;
        plim_trainer_get_tensor(t, i, &other);
        if (other.role != PLIM_ROLE_PARAMETER || other.bytes <= tensor->bytes) continue;
        *tensor = other;
        best = i;
    }
    return best;
}

/* Its old values. */
static float *fill_largest(plim_trainer *t, float value) {
    plim_trainer_tensor tensor;
    size_t index = largest(t, &tensor), count;
    float *kept = malloc(tensor.bytes), *filled = malloc(tensor.bytes);
    count = tensor.bytes / sizeof *filled;
    for (size_t i = 0; i < count; i++) filled[i] = value;
    assert_int_equal(plim_trainer_read(t, index, kept, NULL), PLIM_OK);
    assert_int_equal(plim_trainer_write(t, index, filled, NULL), PLIM_OK);
    free(filled);
    return kept;
}

static void put_back(plim_trainer *t, float *kept) {
    plim_trainer_tensor tensor;
    assert_int_equal(plim_trainer_write(t, largest(t, &tensor), kept, NULL), PLIM_OK);
    free(kept);
}

/* Three ways to fail: in the data, before anything ran; at a label, in the loss; in the loss itself, with steps run again
 * to find out why. */
static void an_update_that_fails_leaves_nothing_open(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) {
        run r;
        plim__timeline timeline;
        plim__summary summary;
        start(&r, 2, 0);
        assert_int_equal(plim__trainer_record(r.trainer, r.path, "lenet", NULL, 1, &r.error), PLIM_OK);
        step(&r, BATCH);
        size_t at = BATCH / 2 * PIXELS; /* in the second micro-batch */
        plim_batch batch = {BATCH, {r.image}, r.labels};
        float image = r.image[at];
        if (way == 0) r.image[at] = NAN;
        if (way == 1) r.labels[BATCH - 1] = 10;
        float *kept = way == 2 ? fill_largest(r.trainer, 3e38f) : NULL;
        assert_int_equal(plim_trainer_step(r.trainer, &batch, NULL, &r.error), way == 2 ? PLIM_NUMERIC : PLIM_INVALID);
        char why[sizeof r.error.message];
        memcpy(why, r.error.message, sizeof why);
        r.labels[BATCH - 1] = 1;
        r.image[at] = image;
        if (kept) put_back(r.trainer, kept);
        step(&r, BATCH);
        size_t peak = r.trainer->plan->main->plan->lower_bound_bytes,
               all = 2 * r.trainer->plan->main->program->steps.count;
        read_back(&r, &timeline, &summary);
        assert_only_what_is_kept_is_left(&r, &timeline);
        assert_int_equal(summary.peak - summary.kinds[PLIM__KIND_PROCESS], peak);
        assert_int_equal(count_marks(&timeline, PLIM__MARK_STEP), 3);
        size_t ran = count_marks(&timeline, PLIM__MARK_OPERATOR); /* part of the second update */
        assert_true(ran > 2 * all && ran < 3 * all);
        assert_non_null(fact(&timeline, "failed"));
        assert_string_equal(fact(&timeline, "failed"), why);
        plim__summary_free(&summary);
        plim__timeline_free(&timeline);
        end(&r);
    }
}

static void a_run_shows_what_other_budgets_would_cost(void **state) {
    (void)state;
    run r;
    plim__timeline timeline;
    plim__summary summary;
    start(&r, 1, (uint64_t)1 << 32);
    plim_trainer_free(r.trainer);
    plim_trainer_options options = {.loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                    .optimizer = plim_optimizer_default(PLIM_ADAMW),
                                    .batch = 8 * BATCH, /* so that there is something to save */
                                    .samples = BATCH,   /* and this is what comes */
                                    .budget = (uint64_t)1 << 32,
                                    .alternatives = 1};
    assert_int_equal(plim_trainer_create(r.model, &options, &r.trainer, &r.error), PLIM_OK);
    assert_int_equal(
        plim__trainer_record(r.trainer, r.path, "lenet", "plimsoll train 'a b.onnx' --budget", 0, &r.error), PLIM_OK);
    step(&r, BATCH);
    size_t planned = r.trainer->plan->process.planned_bytes;
    read_back(&r, &timeline, &summary);
    assert_true(timeline.frontier.count > 1);
    size_t chosen = 0;
    for (size_t i = 0; i < timeline.frontier.count; i++) {
        const plim__timeline_plan *plan = &timeline.frontier.items[i];
        const char *command = plim__timeline_get(&timeline, plan->command);
        assert_int_equal(strncmp(command, "plimsoll train 'a b.onnx' --budget ", 35), 0);
        if (!plan->chosen) continue;
        chosen++;
        assert_int_equal(plan->budget, (uint64_t)1 << 32);
        assert_int_equal(plan->peak, planned);
    }
    assert_int_equal(chosen, 1);
    plim__summary_free(&summary);
    plim__timeline_free(&timeline);
    end(&r);
}

static void a_run_by_a_saved_plan_shows_what_was_saved_with_it(void **state) {
    (void)state;
    run r;
    plim__timeline timeline;
    plim__summary summary;
    start(&r, 1, 0);
    plim_trainer_free(r.trainer);
    r.trainer = NULL;
    plim_trainer_options options = {.loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                    .optimizer = plim_optimizer_default(PLIM_ADAMW),
                                    .batch = 8 * BATCH,
                                    .budget = (uint64_t)1 << 32};
    plim_plan *plan;
    char path[] = "/tmp/plimsoll-recording-plan-XXXXXX";
    close(mkstemp(path));
    assert_int_equal(plim_plan_create(r.model, &options, &plan, &r.error), PLIM_OK);
    assert_int_equal(plim_plan_save(plan, "lenet", NULL, path, &r.error), PLIM_OK);
    double seconds = plim_plan_get_report(plan)->chosen.seconds;
    plim_plan_free(plan);
    options.plan = path;
    assert_int_equal(plim_trainer_create(r.model, &options, &r.trainer, &r.error), PLIM_OK);
    assert_int_equal(plim__trainer_record(r.trainer, r.path, "lenet", NULL, 0, &r.error), PLIM_OK);
    step(&r, BATCH);
    read_back(&r, &timeline, &summary);
    assert_true(timeline.frontier.count > 1);
    assert_true(timeline.frontier.items[0].chosen);
    assert_true(timeline.frontier.items[0].seconds == seconds);
    plim__summary_free(&summary);
    plim__timeline_free(&timeline);
    unlink(path);
    end(&r);
}

static void a_path_that_cannot_be_written_is_told_before_training(void **state) {
    (void)state;
    run r;
    start(&r, 1, 0);
    assert_int_equal(plim__trainer_record(r.trainer, "/nonexistent/run.trace", "lenet",
                                          "plimsoll train lenet.onnx --budget", 0, &r.error),
                     PLIM_NOT_FOUND);
    assert_non_null(strstr(r.error.message, "/nonexistent/run.trace"));
    step(&r, BATCH);
    end(&r);
}

int main(void) {
    setenv("PLIMSOLL_COSTS", "default", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_recorded_peak_and_arena_are_the_plans),
                                       cmocka_unit_test(micro_batches_and_what_is_left_of_a_batch_are_recorded),
                                       cmocka_unit_test(recorded_updates_allocate_nothing),
                                       cmocka_unit_test(a_page_is_made_in_what_training_gives_back),
                                       cmocka_unit_test(a_run_that_is_recorded_is_planned_with_what_that_holds),
                                       cmocka_unit_test(recording_goes_on_after_another_budget),
                                       cmocka_unit_test(an_update_that_fails_leaves_nothing_open),
                                       cmocka_unit_test(a_run_shows_what_other_budgets_would_cost),
                                       cmocka_unit_test(a_run_by_a_saved_plan_shows_what_was_saved_with_it),
                                       cmocka_unit_test(a_path_that_cannot_be_written_is_told_before_training)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
