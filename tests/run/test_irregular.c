/* Batches of undeclared sizes, as data whose damaged samples are left out brings them. Within a budget: the arena
 * stays what was planned, one such program lives at a time, and the weights are those without a budget: the same
 * bits where the plan is exact. Also for sizes that come as a surprise, when the budget changes, and when memory fails. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"
#include "run/recording.h"
#include "run/same_trainer.h"
#include "run/trainer.h"
#include "run/training_plan.h"

#define BATCH   12
#define SAMPLE  (3 * 32 * 32)
#define ENDLESS ((uint64_t)1 << 40)

#ifdef __SANITIZE_ADDRESS__ /* holds memory of its own, which no plan knows of */
#define SKIP_UNDER_SANITIZERS() skip()
#else
#define SKIP_UNDER_SANITIZERS() (void)0
#endif

static float images[BATCH * SAMPLE];
static int64_t labels[BATCH];
static const int64_t counts[] = {12, 11, 7, 12, 10, 9, 6, 5, 3, 1, 12, 5, 11};
#define COUNTS (sizeof counts / sizeof *counts)

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

static plim_graph *make_model(const char *name, plim_zoo_options o) {
    plim_graph *model;
    plim_error error = {0};
    o.image = 32;
    o.classes = 10;
    must(plim_zoo_create(name, &o, &model, &error), &error);
    return model;
}

/* One that does not mix the samples of a batch, and one that does. */
static plim_graph *apart(void) { return make_model("vit-tiny", (plim_zoo_options){.width = 24, .layers = 2}); }
static plim_graph *mixing(void) { return make_model("resnet18", (plim_zoo_options){.width = 8}); }

static plim_trainer_options options_of(uint64_t budget) {
    plim_trainer_options o = {.batch = BATCH,
                              .threads = 2,
                              .seed = 5,
                              .budget = budget,
                              .irregular_batches = 1,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                              .optimizer = plim_optimizer_default(PLIM_ADAMW)};
    return o;
}

static plim_trainer *trainer_of(const plim_graph *model, const plim_trainer_options *o) {
    plim_trainer *t;
    plim_error error = {0};
    must(plim_trainer_create(model, o, &t, &error), &error);
    return t;
}

static plim_status step(plim_trainer *t, int64_t count, double *loss, plim_error *error) {
    plim_step_result result = {0};
    plim_status status = plim_trainer_step(t, &(plim_batch){count, {images}, labels}, &result, error);
    *loss = result.loss;
    return status;
}

/* Trains with batches of all sizes; the arena and what is declared stay. */
static void learn(plim_trainer *t, double losses[COUNTS]) {
    plim_error error = {0};
    plim_trainer_stats before, after;
    size_t tails = t->tails.count;
    for (size_t i = 0; i < COUNTS; i++) {
        plim_trainer_get_stats(t, &before);
        must(step(t, counts[i], &losses[i], &error), &error);
        plim_trainer_get_stats(t, &after);
        if (!t->plan->bounds.budget) continue;
        assert_int_equal(after.arena_bytes, before.arena_bytes);
        assert_int_equal(after.arena_bytes, after.planned_arena_bytes);
        assert_int_equal(t->arena.persistent_bytes + t->arena.transient_bytes, after.planned_arena_bytes);
        assert_int_equal(t->tails.count, tails);
        assert_int_equal(after.replans, 0);
    }
}

/* The smallest that an exact plan needs, and what plans that were before may have left behind. */
static uint64_t least_exact_budget(const plim_graph *model) {
    plim_trainer_options o = options_of(ENDLESS);
    o.allow = PLIM_ALLOW_EXACT;
    o.alternatives = 1;
    plim__training_plan *plan = plan_of(model, &o, PLIM__PLAN_TO_RUN);
    uint64_t least = plan->least_budget;
    plim__training_plan_free(plan);
    assert_true(least > 0);
    return least + least / 50;
}

static void learns_the_same(plim_graph *model, bool tight) {
    double right[COUNTS], got[COUNTS];
    plim_trainer_options o = options_of(0);
    plim_trainer *free_one = trainer_of(model, &o);
    learn(free_one, right);
    o = options_of(tight ? least_exact_budget(model) : ENDLESS);
    o.allow = PLIM_ALLOW_EXACT;
    plim_trainer *t = trainer_of(model, &o);
    assert_int_equal(t->plan->choice.class, PLIM_EXACT);
    if (tight) assert_true(t->plan->choice.repeated > 0);
    assert_non_null(t->plan->irregular.variant);
    learn(t, got);
    assert_memory_equal(right, got, sizeof right);
    must_be_equal(free_one, t, "irregular batches");
    plim_trainer_free(t);
    plim_trainer_free(free_one);
    plim_graph_free(model);
}

static void within_a_budget_any_size_learns_the_same_in_the_same_arena(void **state) {
    (void)state;
    learns_the_same(apart(), false);
    learns_the_same(mixing(), false);
}

static void also_where_steps_are_recomputed(void **state) {
    (void)state;
    SKIP_UNDER_SANITIZERS();
    learns_the_same(make_model("vit-tiny", (plim_zoo_options){.width = 48, .layers = 4}), true);
    learns_the_same(make_model("mobilenet_v2", (plim_zoo_options){0}), true);
}

/* A batch of 12 in pieces of 4: of others 1 to 3 are left. */
static void rests_of_micro_batches_have_room_for_one_more(void **state) {
    (void)state;
    plim_graph *model = apart();
    double right[COUNTS], got[COUNTS];
    plim_trainer_options o = options_of(0);
    o.accumulate = 3;
    plim_trainer *free_one = trainer_of(model, &o);
    learn(free_one, right);
    o.budget = ENDLESS;
    plim_trainer *t = trainer_of(model, &o);
    assert_int_equal(t->plan->main->samples, 4);
    assert_int_equal(t->plan->irregular.variant->samples, 3);
    learn(t, got);
    assert_memory_equal(right, got, sizeof right);
    plim_trainer_free(t);
    plim_trainer_free(free_one);
    plim_graph_free(model);
}

static void a_surprise_is_planned_for_once(void **state) {
    (void)state;
    plim_graph *model = mixing();
    plim_error error = {0};
    double right, got;
    plim_trainer_options o = options_of(0);
    plim_trainer *free_one = trainer_of(model, &o);
    o.budget = ENDLESS;
    o.irregular_batches = 0;
    plim_trainer *t = trainer_of(model, &o);
    assert_null(t->plan->irregular.variant);
    for (size_t i = 0; i < COUNTS; i++) {
        must(step(free_one, counts[i], &right, &error), &error);
        must(step(t, counts[i], &got, &error), &error);
        assert_true(right == got);
        plim_trainer_stats stats;
        plim_trainer_get_stats(t, &stats);
        assert_int_equal(stats.replans, i > 0);
        assert_int_equal(stats.arena_bytes, stats.planned_arena_bytes);
        assert_int_equal(t->tails.count, 0);
    }
    must_be_equal(free_one, t, "irregular batches");
    plim_trainer_free(t);
    plim_trainer_free(free_one);
    plim_graph_free(model);
}

static void another_budget_has_room_for_them_too(void **state) {
    (void)state;
    SKIP_UNDER_SANITIZERS();
    plim_graph *model = mixing();
    plim_error error = {0};
    double right[COUNTS], got[COUNTS];
    plim_trainer_options o = options_of(0);
    plim_trainer *free_one = trainer_of(model, &o);
    for (int i = 0; i < 3; i++) learn(free_one, right);
    uint64_t least = least_exact_budget(model);
    o = options_of(ENDLESS);
    o.allow = PLIM_ALLOW_EXACT;
    plim_trainer *t = trainer_of(model, &o);
    learn(t, got);
    must(plim_trainer_set_budget(t, least + ((uint64_t)8 << 20), &error), &error);
    t->replans = 0;
    learn(t, got);
    must(plim_trainer_set_budget(t, ENDLESS, &error), &error);
    t->replans = 0;
    learn(t, got);
    assert_memory_equal(right, got, sizeof right);
    must_be_equal(free_one, t, "irregular batches");
    plim_trainer_free(t);
    plim_trainer_free(free_one);
    plim_graph_free(model);
}

/* Less room than was planned stands for programs that need more than the one that was planned with. */
static void what_does_not_fit_is_recomputed_or_goes_in_pieces(void **state) {
    (void)state;
    plim_graph *model = apart();
    plim_error error = {0};
    double right, got;
    plim_trainer_options o = options_of(0);
    o.accumulate = 2;
    plim_trainer *free_one = trainer_of(model, &o);
    o.budget = ENDLESS;
    plim_trainer *t = trainer_of(model, &o);
    size_t transient = t->plan->transient_bytes;
    bool repeats = false, splits = false;
    for (size_t part = 10; part > 1; part--) {
        t->plan->transient_bytes = transient * part / 10;
        plim__trainer_drop_irregular(t); /* so that it is planned again */
        must(step(free_one, 10, &right, &error), &error);
        plim_status status = step(t, 10, &got, &error);
        if (status == PLIM_BUDGET) break;
        must(status, &error);
        if (fabs(right - got) > 1e-4 * right) fail_msg("loss %.9g instead of %.9g", got, right);
        assert_true(plim__variant_transient_bytes(t->plan->irregular.variant) <= t->plan->transient_bytes);
        repeats |= t->plan->irregular.variant->repeated > 0;
        splits |= t->plan->irregular.variant->samples < 4;
    }
    assert_true(repeats && splits);
    plim_trainer_free(t);
    plim_trainer_free(free_one);
    plim_graph_free(model);
}

static void what_does_not_fit_is_refused_and_training_goes_on(void **state) {
    (void)state;
    plim_graph *model = mixing();
    plim_error error = {0};
    double loss;
    plim_trainer_options o = options_of(ENDLESS);
    plim_trainer *t = trainer_of(model, &o);
    size_t transient = t->plan->transient_bytes;
    t->plan->transient_bytes = 1;
    assert_int_equal(step(t, 7, &loss, &error), PLIM_BUDGET);
    assert_non_null(strstr(error.message, "7 samples"));
    must(step(t, BATCH, &loss, &error), &error);
    t->plan->transient_bytes = transient;
    must(step(t, 7, &loss, &error), &error);
    plim_trainer_free(t);
    plim_graph_free(model);
}

static void a_failed_allocation_leaves_a_trainer_that_goes_on(void **state) {
    (void)state;
    plim_graph *model = apart();
    plim_error error = {0};
    double loss;
    plim_trainer_options o = options_of(ENDLESS);
    plim_trainer *t = trainer_of(model, &o);
    must(step(t, 3, &loss, &error), &error);
    size_t before = plim__alloc_count();
    must(step(t, 4, &loss, &error), &error);
    size_t all = plim__alloc_count() - before, failed = 0, stride = all / 60 + 1;
    for (size_t n = 1; n <= all; n += stride) {
        must(step(t, 3, &loss, &error), &error);
        plim__alloc_fail_at(n);
        plim_status status = step(t, 4, &loss, &error);
        plim__alloc_fail_at(0);
        if (status != PLIM_OK) assert_int_equal(status, PLIM_NO_MEMORY);
        failed += status != PLIM_OK;
    }
    assert_true(failed > 30);
    plim_trainer_free(t);
    plim_graph_free(model);
}

static void runs_with_them_can_be_recorded(void **state) {
    (void)state;
    char path[] = "/tmp/plim-irregular-XXXXXX";
    int fd = mkstemp(path);
    plim_graph *model = apart();
    plim_error error = {0};
    double losses[COUNTS];
    plim_trainer_options o = options_of(ENDLESS);
    plim_trainer *t = trainer_of(model, &o);
    must(plim__trainer_record(t, path, "irregular", "plimsoll train", 1, &error), &error);
    learn(t, losses);
    must(plim__trainer_record_end(t, &error), &error);
    plim_trainer_free(t);
    plim_graph_free(model);
    close(fd);
    unlink(path);
}

/* plim_fit sees from the data that any size may come; a model with its own loss is evaluated sample by sample then. */
static void data_that_skips_tells_so(void **state) {
    (void)state;
    plim_graph *model = apart();
    plim_error error = {0};
    plim_data *data;
    plim_data_info info;
    int64_t samples = BATCH;
    plim_data_array arrays[] = {{"image", PLIM_F32, 4, (const int64_t[]){BATCH, 3, 32, 32}, images, 0},
                                {"label", PLIM_I64, 1, &samples, labels, 1}};
    must(plim_data_create_arrays(arrays, 2, &(plim_data_options){.batch = BATCH, .skip_bad = 1}, &data, &error),
         &error);
    plim_data_get_info(data, &info);
    assert_true(info.skips_bad);
    plim_loss own = plim_loss_default(PLIM_LOSS_MODEL), classes = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
    assert_int_equal(plim_evaluation_batch(&own, data), 1);
    assert_int_equal(plim_evaluation_batch(&classes, data), BATCH);
    plim_trainer_options o = options_of(ENDLESS);
    o.irregular_batches = 0;
    plim_trainer *t = trainer_of(model, &o);
    must(plim_fit(t, data, &(plim_fit_options){.epochs = 1}, NULL, &error), &error);
    assert_non_null(t->plan->irregular.variant);
    plim_trainer_free(t);
    plim_data_free(data);
    plim_graph_free(model);
}

static int fill(void **state) {
    (void)state;
    setenv("PLIMSOLL_COSTS", "default", 1);
    for (int i = 0; i < BATCH * SAMPLE; i++) images[i] = (float)((i * 31 + i / SAMPLE * 7) % 97) / 97;
    for (int i = 0; i < BATCH; i++) labels[i] = i % 10;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_a_budget_any_size_learns_the_same_in_the_same_arena),
        cmocka_unit_test(also_where_steps_are_recomputed),
        cmocka_unit_test(rests_of_micro_batches_have_room_for_one_more),
        cmocka_unit_test(a_surprise_is_planned_for_once),
        cmocka_unit_test(another_budget_has_room_for_them_too),
        cmocka_unit_test(what_does_not_fit_is_recomputed_or_goes_in_pieces),
        cmocka_unit_test(what_does_not_fit_is_refused_and_training_goes_on),
        cmocka_unit_test(a_failed_allocation_leaves_a_trainer_that_goes_on),
        cmocka_unit_test(runs_with_them_can_be_recorded),
        cmocka_unit_test(data_that_skips_tells_so),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
