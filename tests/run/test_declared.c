/* Sizes that are declared are planned ahead: short batches and validation take nothing that the plan did not say, the
 * run allocates nothing after its first step, also when the budget changes in the middle, and it learns the same bits as
 * one whose sizes come as a surprise. */
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"
#include "run/trainer.h"

#define SAMPLES    44 /* five batches, the last one short */
#define VALIDATION 25
#define BATCH      10
#define PIXELS     784

#ifdef __SANITIZE_ADDRESS__ /* holds memory of its own, which no plan knows of */
#define SKIP_UNDER_SANITIZERS() skip()
#else
#define SKIP_UNDER_SANITIZERS() (void)0
#endif

static float images[SAMPLES * PIXELS];
static int64_t labels[SAMPLES];

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

static plim_trainer_options options_of(void) {
    return (plim_trainer_options){.batch = BATCH,
                                  .threads = 2,
                                  .seed = 5,
                                  .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                  .optimizer = plim_optimizer_default(PLIM_ADAMW)};
}

static plim_data *open_samples(int64_t samples, int64_t batch, bool once) {
    plim_data_array arrays[] = {
        {"image", PLIM_F32, 4, (const int64_t[]){samples, 1, 28, 28}, images, 0},
        {"label", PLIM_I64, 1, &samples, labels, 1},
    };
    plim_data *data;
    plim_error error = {0};
    must(plim_data_create_arrays(arrays, 2,
                                 &(plim_data_options){.batch = batch, .depth = 2, .in_order = once, .epochs = once},
                                 &data, &error),
         &error);
    return data;
}

struct run {
    plim_graph *model;
    plim_trainer *trainer;
    plim_data *data, *validation;
    size_t first, last; /* allocations until after the first and the last event */
    int steps;
    double losses[64], validated;
    uint64_t budget_after_three; /* 0: it stays */
};

static struct run begin(const plim_trainer_options *o) {
    struct run r = {0};
    plim_error error = {0};
    must(plim_zoo_create("lenet", &(plim_zoo_options){.width = 8}, &r.model, &error), &error);
    must(plim_trainer_create(r.model, o, &r.trainer, &error), &error);
    r.data = open_samples(SAMPLES, BATCH, false);
    r.validation = open_samples(VALIDATION, 7, true);
    return r;
}

static void end(struct run *r) {
    plim_data_free(r->data);
    plim_data_free(r->validation);
    plim_trainer_free(r->trainer);
    plim_graph_free(r->model);
}

static int seen(void *context, const plim_fit_event *event) {
    struct run *r = context;
    plim_error error = {0};
    if (event->kind == PLIM_FIT_STEP) r->losses[r->steps++] = event->step.loss;
    if (event->kind == PLIM_FIT_VALIDATED) r->validated = event->validation.loss;
    if (event->kind == PLIM_FIT_STEP && r->steps == 3 && r->budget_after_three)
        must(plim_trainer_set_budget(r->trainer, r->budget_after_three, &error), &error);
    r->last = plim__alloc_count();
    if (event->kind == PLIM_FIT_STEP && (r->steps == 1 || (r->steps == 3 && r->budget_after_three))) r->first = r->last;
    return 0;
}

static void fit(struct run *r) {
    plim_error error = {0};
    plim_fit_options o = {.epochs = 2, .validation = r->validation, .on_event = seen, .context = r};
    must(plim_fit(r->trainer, r->data, &o, NULL, &error), &error);
    assert_int_equal(r->steps, 10);
}

static plim_trainer_stats stats_of(const struct run *r) {
    plim_trainer_stats stats;
    plim_trainer_get_stats(r->trainer, &stats);
    return stats;
}

static void expect_nothing_new(struct run *r) {
    plim_trainer_stats before = stats_of(r);
    fit(r);
    if (r->last != r->first) fail_msg("%zu allocations after the first step", r->last - r->first);
    plim_trainer_stats after = stats_of(r);
    if (!r->budget_after_three) assert_int_equal(before.arena_bytes, after.arena_bytes);
    assert_int_equal(after.arena_bytes, after.planned_arena_bytes);
}

static void expect_same(struct run *a, struct run *b) {
    plim_error error = {0};
    assert_memory_equal(a->losses, b->losses, sizeof a->losses);
    assert_true(a->validated == b->validated);
    for (size_t i = 0; i < plim_trainer_tensor_count(a->trainer); i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(a->trainer, i, &tensor);
        char *x = malloc(tensor.bytes), *y = malloc(tensor.bytes);
        must(plim_trainer_read(a->trainer, i, x, &error), &error);
        must(plim_trainer_read(b->trainer, i, y, &error), &error);
        if (memcmp(x, y, tensor.bytes) != 0) fail_msg("'%s' has other bits", tensor.name);
        free(x);
        free(y);
    }
}

static plim_trainer_options declared(void) {
    plim_trainer_options o = options_of();
    o.samples = SAMPLES;
    o.evaluates = 7;
    return o;
}

static void a_run_allocates_nothing_after_its_first_step(void **state) {
    (void)state;
    plim_trainer_options o = declared(), surprise = options_of();
    struct run r = begin(&o), other = begin(&surprise);
    expect_nothing_new(&r);
    fit(&other);
    expect_same(&r, &other);
    end(&r);
    end(&other);
}

/* A batch of 10 in pieces of 4 has a rest of 2 in every update, and the last batch of 4 none. */
static void rests_of_micro_batches_are_planned_too(void **state) {
    (void)state;
    plim_trainer_options o = declared();
    o.accumulate = 3;
    struct run r = begin(&o);
    assert_int_equal(stats_of(&r).micro_batch, 4);
    expect_nothing_new(&r);
    end(&r);
}

static void a_budget_holds_for_all_of_it(void **state) {
    (void)state;
    SKIP_UNDER_SANITIZERS();
    plim_trainer_options o = declared();
    o.budget = (uint64_t)1 << 30;
    struct run r = begin(&o);
    plim_trainer_stats stats = stats_of(&r);
    assert_true(stats.process_bytes > stats.planned_arena_bytes);
    expect_nothing_new(&r);
    end(&r);
}

static void after_another_budget_nothing_is_made_late(void **state) {
    (void)state;
    SKIP_UNDER_SANITIZERS();
    plim_trainer_options o = declared();
    struct run right = begin(&o), r = begin(&o);
    r.budget_after_three = (uint64_t)1 << 30;
    fit(&right);
    expect_nothing_new(&r);
    assert_int_equal(stats_of(&r).replans, 1);
    expect_same(&right, &r);
    end(&right);
    end(&r);
}

/* Without plim_fit, and without a word: made when it comes. */
static void sizes_that_nobody_announced_work(void **state) {
    (void)state;
    plim_trainer_options o = options_of();
    struct run r = begin(&o);
    plim_error error = {0};
    plim_evaluation evaluation;
    for (int64_t count = BATCH; count >= 1; count -= 3)
        must(plim_trainer_step(r.trainer, &(plim_batch){count, {images}, labels}, NULL, &error), &error);
    must(plim_trainer_evaluate(r.trainer, r.validation, &evaluation, &error), &error);
    assert_int_equal(evaluation.samples, VALIDATION);
    size_t before = plim__alloc_count();
    for (int64_t count = BATCH; count >= 1; count -= 3)
        must(plim_trainer_step(r.trainer, &(plim_batch){count, {images}, labels}, NULL, &error), &error);
    assert_int_equal(plim__alloc_count(), before);
    end(&r);
}

/* Pieces of three and of all samples at a time give the same figures. */
static void evaluation_in_pieces_is_that_of_the_whole(void **state) {
    (void)state;
    plim_graph *model;
    plim_session *one, *all;
    plim_error error = {0};
    plim_evaluation a, b;
    must(plim_zoo_create("lenet", &(plim_zoo_options){.width = 8}, &model, &error), &error);
    plim_loss loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
    must(plim_session_create(model, &(plim_session_options){.batch = 3, .loss = &loss}, &one, &error), &error);
    must(plim_session_create(model, &(plim_session_options){.batch = VALIDATION, .loss = &loss}, &all, &error), &error);
    plim_data *data = open_samples(VALIDATION, VALIDATION, true);
    must(plim_evaluate(one, data, &a, &error), &error);
    must(plim_data_seek(data, (plim_data_position){0, 0}, &error), &error);
    must(plim_evaluate(all, data, &b, &error), &error);
    assert_int_equal(a.samples, VALIDATION);
    assert_int_equal(a.count, b.count);
    assert_true(a.accuracy == b.accuracy && a.loss > 0);
    assert_true(a.loss - b.loss < 1e-5 * b.loss && b.loss - a.loss < 1e-5 * b.loss);
    plim_data_free(data);
    plim_session_free(one);
    plim_session_free(all);
    plim_graph_free(model);
}

/* Rows go through in pairs: an epoch of 43 samples ends with a batch that cannot be built. */
static void an_end_of_an_epoch_that_cannot_be_built_is_refused_with_advice(void **state) {
    (void)state;
    plim_error error = {0};
    plim_graph *g = plim_graph_create();
    int64_t dims[] = {plim_graph_symbol(g, "N"), 4}, pairs[] = {-1, 2, 4}, rows[] = {-1, 4};
    float *weights = calloc(16, sizeof *weights);
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, dims);
    plim_value w = plim_graph_parameter_take(g, "w", PLIM_F32, 2, (const int64_t[]){4, 4}, weights);
    plim_value in_pairs = plim_graph_constant(g, "pairs", PLIM_I64, 1, (const int64_t[]){3}, pairs);
    plim_value in_rows = plim_graph_constant(g, "rows", PLIM_I64, 1, (const int64_t[]){2}, rows);
    plim_value y = plim_graph_apply(g, "Reshape", (plim_value[]){x, in_pairs}, 2);
    y = plim_graph_apply(g, "MatMul", (plim_value[]){y, w}, 2);
    plim_graph_output(g, plim_graph_apply(g, "Reshape", (plim_value[]){y, in_rows}, 2), "y");
    must(plim_graph_status(g, &error), &error);
    plim_trainer_options o = options_of();
    plim_trainer *t;
    o.loss = plim_loss_default(PLIM_LOSS_MSE);
    for (int budget = 0; budget < 2; budget++) {
        o.budget = budget ? (uint64_t)1 << 30 : 0;
        o.samples = 40 + 4;
        must(plim_trainer_create(g, &o, &t, &error), &error);
        plim_trainer_free(t);
        o.samples = 40 + 3;
        assert_int_not_equal(plim_trainer_create(g, &o, &t, &error), PLIM_OK);
        assert_null(t);
        assert_non_null(strstr(error.message, "3 of 10 samples"));
        assert_non_null(strstr(error.message, "--drop-last"));
    }
    plim_graph_free(g);
}

static int fill(void **state) {
    (void)state;
    setenv("PLIMSOLL_COSTS", "default", 1);
    for (int i = 0; i < SAMPLES * PIXELS; i++) images[i] = (float)((i * 31 + i / PIXELS * 7) % 97) / 97;
    for (int i = 0; i < SAMPLES; i++) labels[i] = i % 10;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_allocates_nothing_after_its_first_step),
        cmocka_unit_test(rests_of_micro_batches_are_planned_too),
        cmocka_unit_test(a_budget_holds_for_all_of_it),
        cmocka_unit_test(after_another_budget_nothing_is_made_late),
        cmocka_unit_test(sizes_that_nobody_announced_work),
        cmocka_unit_test(evaluation_in_pieces_is_that_of_the_whole),
        cmocka_unit_test(an_end_of_an_epoch_that_cannot_be_built_is_refused_with_advice),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
