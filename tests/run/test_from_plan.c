/* A trainer that is made from a plan: it does what plim_trainer_create does, in the arena that the plan named, and a plan
 * that fits nothing trains nothing. */
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

#define BATCH  24
#define PIXELS (28 * 28)
#define STEPS  3

/* Sanitizers hold memory of their own, which no plan knows of. */
#ifdef __SANITIZE_ADDRESS__
#define SKIP_UNDER_SANITIZERS() skip()
#else
#define SKIP_UNDER_SANITIZERS() (void)0
#endif

static plim_error error;

static void must(plim_status status) {
    if (status != PLIM_OK) fail_msg("%s", error.message);
}

static plim_graph *lenet(void) {
    plim_graph *model;
    must(plim_zoo_create("lenet", &(plim_zoo_options){.width = 32}, &model, &error));
    return model;
}

static plim_trainer_options options_of(uint64_t budget) {
    return (plim_trainer_options){.batch = BATCH,
                                  .threads = 1,
                                  .budget = budget,
                                  .allow = PLIM_ALLOW_EXACT,
                                  .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                  .optimizer = plim_optimizer_default(PLIM_ADAMW)};
}

static plim_plan *plan_of(const plim_graph *model, const plim_trainer_options *o) {
    plim_plan *plan;
    must(plim_plan_create(model, o, &plan, &error));
    return plan;
}

static double learn(plim_trainer *t, int steps) {
    static float image[BATCH * PIXELS];
    static int64_t labels[BATCH];
    plim_step_result result = {0};
    for (int i = 0; i < BATCH * PIXELS; i++) image[i] = (float)(i * 7919 % 251) / 251;
    for (int i = 0; i < BATCH; i++) labels[i] = i % 10;
    plim_batch batch = {BATCH, {image}, labels};
    for (int s = 0; s < steps; s++) must(plim_trainer_step(t, &batch, &result, &error));
    return result.loss;
}

static void same_weights(plim_trainer *a, plim_trainer *b) {
    assert_int_equal(plim_trainer_tensor_count(a), plim_trainer_tensor_count(b));
    for (size_t i = 0; i < plim_trainer_tensor_count(a); i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(a, i, &tensor);
        char *x = malloc(tensor.bytes), *y = malloc(tensor.bytes);
        must(plim_trainer_read(a, i, x, &error));
        must(plim_trainer_read(b, i, y, &error));
        assert_memory_equal(x, y, tensor.bytes);
        free(x);
        free(y);
    }
}

/* Trains by a plan and without one, to the same bits; returns what the plan said of its arena. */
static void trains_alike(uint64_t budget) {
    plim_graph *model = lenet();
    plim_trainer_options o = options_of(budget);
    plim_plan *plan = plan_of(model, &o);
    const plim_plan_report *report = plim_plan_get_report(plan);
    assert_true(report->fits);
    uint64_t arena = report->chosen.arena_bytes;
    plim_trainer *planned, *usual;
    plim_trainer_stats stats;
    must(plim_trainer_create_from_plan(plan, &planned, &error));
    plim_trainer_get_stats(planned, &stats);
    assert_int_equal(stats.arena_bytes, arena);
    assert_int_equal(stats.planned_arena_bytes, arena);
    o.budget = 0;
    must(plim_trainer_create(model, &o, &usual, &error));
    assert_true(learn(planned, STEPS) == learn(usual, STEPS));
    same_weights(planned, usual);
    /* undeclared sizes and another budget come as they do to any other trainer */
    must(plim_trainer_set_budget(planned, (uint64_t)1 << 32, &error));
    assert_true(learn(planned, 1) == learn(usual, 1));
    same_weights(planned, usual);
    plim_trainer_free(planned);
    plim_trainer_free(usual);
    plim_graph_free(model);
}

static void a_plan_without_a_budget_trains_as_planned(void **state) {
    (void)state;
    trains_alike(0);
}

static void a_plan_within_a_budget_trains_as_planned(void **state) {
    (void)state;
    trains_alike((uint64_t)1 << 32);
}

static void a_tight_plan_trains_as_planned(void **state) {
    (void)state;
    SKIP_UNDER_SANITIZERS();
    plim_graph *model = lenet();
    plim_trainer_options o = options_of((uint64_t)1 << 32);
    plim_plan *plan = plan_of(model, &o);
    uint64_t least = plim_plan_get_report(plan)->minimum_budget_bytes;
    assert_true(least < plim_plan_get_report(plan)->unconstrained.budget_bytes);
    plim_plan_free(plan);
    plim_graph_free(model);
    trains_alike(least + least / 20); /* plans that were leave traces in this process */
}

static void a_plan_that_fits_nothing_trains_nothing(void **state) {
    (void)state;
    plim_graph *model = lenet();
    plim_trainer_options o = options_of((uint64_t)1 << 20);
    plim_plan *plan = plan_of(model, &o);
    plim_trainer *t = (plim_trainer *)&o; /* is set, whatever it was */
    assert_false(plim_plan_get_report(plan)->fits);
    assert_int_equal(plim_trainer_create_from_plan(plan, &t, &error), PLIM_BUDGET);
    assert_null(t);
    assert_non_null(strstr(error.message, "smallest budget"));
    plim_graph_free(model);
}

static void a_failed_allocation_frees_the_plan_too(void **state) {
    (void)state;
    plim_graph *model = lenet();
    plim_trainer_options o = options_of(0);
    plim_status status = PLIM_NO_MEMORY;
    for (size_t n = 1; status != PLIM_OK; n++) {
        plim_trainer *t;
        plim_plan *plan = plan_of(model, &o);
        plim__alloc_fail_at(n);
        status = plim_trainer_create_from_plan(plan, &t, &error);
        plim__alloc_fail_at(0);
        if (status != PLIM_OK) {
            assert_int_equal(status, PLIM_NO_MEMORY);
            assert_null(t);
            n += n / 2; /* a plan takes a while */
        }
        plim_trainer_free(t);
    }
    plim_graph_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_without_a_budget_trains_as_planned),
        cmocka_unit_test(a_plan_within_a_budget_trains_as_planned),
        cmocka_unit_test(a_tight_plan_trains_as_planned),
        cmocka_unit_test(a_plan_that_fits_nothing_trains_nothing),
        cmocka_unit_test(a_failed_allocation_frees_the_plan_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
