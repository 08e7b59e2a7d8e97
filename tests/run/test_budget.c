/* The budget's promises, inside one process: exact plans give the same bits as no budget, others the same sums; the
 * arena is as planned; more memory is never slower; a refusal names a budget that works; dropout and running statistics
 * survive recompute; a budget that changes in the middle changes nothing else. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget/programs.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"
#include "run/trainer.h"
#include "run/training_plan.h"

#define BUDGETS   6
#define MOST_RUNS 32

/* Sanitizers hold memory of their own, which no plan knows of. */
#ifdef __SANITIZE_ADDRESS__
#define SKIP_UNDER_SANITIZERS() skip()
#else
#define SKIP_UNDER_SANITIZERS() (void)0
#endif

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

struct setting {
    const char *name;
    plim_zoo_options zoo;
    int64_t batch;
};

static const struct setting settings[] = {
    {"lenet", {.width = 8, .image = 16}, 12},
    {"resnet18", {.width = 8, .image = 32, .classes = 10}, 4},
    {"mobilenet_v2", {.width = 8, .image = 32, .classes = 10}, 4},
    {"unet", {.width = 4, .image = 32}, 4},
    {"gpt2-tiny", {.width = 32, .heads = 2, .layers = 2, .seq = 32}, 8},
    {"vit-tiny", {.width = 24, .heads = 2, .layers = 2, .image = 16}, 8},
    {"lstm", {.width = 32, .seq = 16, .classes = 64}, 8},
};
#define SETTINGS (sizeof settings / sizeof *settings)

/* What the budgets are tried with: large enough that each asks for another plan. */
static const struct setting constrained[] = {
    {"lenet", {.width = 32}, 128},
    {"resnet18", {.width = 16, .image = 64, .classes = 10}, 24},
    {"mobilenet_v2", {.image = 64, .classes = 10}, 8},
    {"unet", {.width = 8, .image = 64}, 6},
    {"gpt2-tiny", {.layers = 2}, 8},
    {"vit-tiny", {.layers = 2}, 24},
    {"lstm", {.layers = 1}, 32},
};

static int step_count(void) {
    const char *wish = getenv("PLIM_TEST_STEPS");
    int count = wish ? atoi(wish) : 5;
    return count < 1 ? 1 : count > MOST_RUNS ? MOST_RUNS : count;
}

static plim_trainer_options options_of(const struct setting *s) {
    plim_trainer_options o = {.batch = s->batch,
                              .threads = 2,
                              .seed = 7,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                              .optimizer = plim_optimizer_default(PLIM_SGD)};
    o.optimizer.rate = 0.01;
    o.optimizer.momentum = 0.9;
    return o;
}

static plim_graph *model_of(const struct setting *s) {
    plim_graph *model;
    plim_error error = {0};
    must(plim_zoo_create(s->name, &s->zoo, &model, &error), &error);
    return model;
}

/* --- runs ----------------------------------------------------------------------------------------------------- */

struct run {
    plim_trainer *trainer;
    plim_data *data;
    plim_feed feed;
    double losses[MOST_RUNS];
    int steps;
};

static struct run begin(const plim_graph *model, const plim_trainer_options *o) {
    struct run r = {0};
    plim_error error = {0};
    plim_data_field fields[PLIM_MOST_INPUTS + 1];
    must(plim_trainer_create(model, o, &r.trainer, &error), &error);
    plim_data_options data = {.batch = o->batch, .depth = 1, .seed = 3};
    data.field_count = plim_trainer_fields(r.trainer, fields);
    data.fields = fields;
    must(plim_data_create("synthetic", &data, &r.data, &error), &error);
    must(plim_trainer_match(r.trainer, r.data, &r.feed, &error), &error);
    return r;
}

static void learn(struct run *r, int steps) {
    plim_error error = {0};
    for (int i = 0; i < steps; i++) {
        plim_data_batch batch;
        plim_step_result result;
        must(plim_data_next(r->data, &batch, &error), &error);
        plim_batch given = plim_feed_batch(r->trainer, &r->feed, &batch);
        must(plim_trainer_step(r->trainer, &given, &result, &error), &error);
        r->losses[r->steps++] = result.loss;
    }
}

static void end(struct run *r) {
    plim_data_free(r->data);
    plim_trainer_free(r->trainer);
}

/* All that is learned, by name: another plan may keep it in another order. */
struct learned {
    size_t count;
    char names[512][96];
    float *values[512];
    size_t sizes[512];
};

static struct learned *learned_by(plim_trainer *t) {
    struct learned *all = calloc(1, sizeof *all);
    plim_error error = {0};
    all->count = plim_trainer_tensor_count(t);
    assert_true(all->count > 0 && all->count <= 512);
    for (size_t i = 0; i < all->count; i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(t, i, &tensor);
        snprintf(all->names[i], sizeof all->names[i], "%s", tensor.name);
        all->sizes[i] = tensor.bytes;
        all->values[i] = malloc(tensor.bytes);
        must(plim_trainer_read(t, i, all->values[i], &error), &error);
    }
    return all;
}

static void release(struct learned *all) {
    for (size_t i = 0; i < all->count; i++) free(all->values[i]);
    free(all);
}

/* tolerance 0: the same bits; else relative to the tensor's largest entry. */
static void compare(const struct learned *right, const struct learned *got, double tolerance, const char *what) {
    assert_int_equal(right->count, got->count);
    for (size_t i = 0; i < right->count; i++) {
        size_t k = 0;
        while (k < got->count && strcmp(right->names[i], got->names[k]) != 0) k++;
        assert_true(k < got->count && got->sizes[k] == right->sizes[i]);
        if (tolerance <= 0) {
            if (memcmp(right->values[i], got->values[k], right->sizes[i]) != 0)
                fail_msg("%s: '%s' has other bits", what, right->names[i]);
            continue;
        }
        double most = 0, worst = 0;
        for (size_t e = 0; e < right->sizes[i] / sizeof(float); e++) {
            most = fmax(most, fabs((double)right->values[i][e]));
            worst = fmax(worst, fabs((double)right->values[i][e] - (double)got->values[k][e]));
        }
        if (!(worst <= tolerance * most + 1e-7))
            fail_msg("%s: '%s' is off by %g of %g", what, right->names[i], worst, most);
    }
}

/* --- budgets -------------------------------------------------------------------------------------------------- */

/* From the smallest to what the fastest plan takes. */
static void budgets_of(const plim_graph *model, plim_trainer_options o, uint64_t budgets[BUDGETS]) {
    o.budget = (uint64_t)1 << 40;
    plim__training_plan *plan = plan_of(model, &o, PLIM__PLAN_TO_SHOW);
    uint64_t least = plan->least_budget, most = plan->alternatives.items[0].budget_bytes;
    if (most < least) most = least;
    assert_true(least > 0);
    /* plans that were leave traces in this process: as much as a plan may be off */
    least += least / 50;
    most += most / 50;
    for (uint64_t k = 0; k < BUDGETS; k++) budgets[k] = least + (most - least) * k / (BUDGETS - 1);
    plim__training_plan_free(plan);
}

/* Trains within each budget; everything that was promised is checked. */
static void hold_budgets(const struct setting *s) {
    SKIP_UNDER_SANITIZERS();
    plim_graph *model = model_of(s);
    plim_trainer_options o = options_of(s);
    uint64_t budgets[BUDGETS];
    struct run free_run = begin(model, &o);
    learn(&free_run, 1);
    struct learned *after_one = learned_by(free_run.trainer);
    learn(&free_run, step_count() - 1);
    struct learned *after_all = learned_by(free_run.trainer);
    end(&free_run); /* its memory is not that of the runs below */
    budgets_of(model, o, budgets);
    double slower = INFINITY;
    size_t arenas[BUDGETS], plans = 0;
    for (int k = 0; k < BUDGETS; k++) {
        char what[96];
        plim_trainer_stats stats;
        snprintf(what, sizeof what, "%s within %llu bytes", s->name, (unsigned long long)budgets[k]);
        o.budget = budgets[k];
        struct run r = begin(model, &o);
        plim_trainer_get_stats(r.trainer, &stats);
        if (stats.arena_bytes != stats.planned_arena_bytes) fail_msg("%s: the arena is not as planned", what);
        if (stats.process_bytes > budgets[k]) fail_msg("%s: planned for %zu", what, stats.process_bytes);
        if (stats.seconds > slower * (1 + 1e-9)) fail_msg("%s: slower than with less memory", what);
        slower = stats.seconds;
        size_t known = 0;
        while (known < plans && arenas[known] != stats.arena_bytes) known++;
        if (known == plans) arenas[plans++] = stats.arena_bytes;
        learn(&r, 1);
        struct learned *one = learned_by(r.trainer);
        compare(after_one, one, stats.class_ == PLIM_EXACT ? 0 : 1e-5, what);
        release(one);
        if (stats.class_ == PLIM_EXACT) {
            learn(&r, step_count() - 1);
            struct learned *all = learned_by(r.trainer);
            compare(after_all, all, 0, what);
            assert_memory_equal(r.losses, free_run.losses, sizeof(double) * (size_t)r.steps);
            release(all);
        }
        plim_trainer_get_stats(r.trainer, &stats);
        assert_int_equal(stats.arena_bytes, stats.planned_arena_bytes);
        end(&r);
    }
    if (plans < 3) fail_msg("%s: %zu plans for %d budgets: they ask for too little", s->name, plans, BUDGETS);
    release(after_one);
    release(after_all);
    plim_graph_free(model);
}

#define HOLDS(name, index)                                                                                             \
    static void budgets_hold_for_##name(void **state) {                                                                \
        (void)state;                                                                                                   \
        hold_budgets(&constrained[index]);                                                                             \
    }
HOLDS(lenet, 0)
HOLDS(resnet18, 1)
HOLDS(mobilenet_v2, 2)
HOLDS(unet, 3)
HOLDS(gpt2_tiny, 4)
HOLDS(vit_tiny, 5)
HOLDS(lstm, 6)

/* --- every schedule of one program ---------------------------------------------------------------------------- */

/* A trainer whose step has less room than it would take. */
static struct run begin_lean(const plim_graph *model, const plim_trainer_options *o, int64_t transient_limit) {
    struct run r = begin(model, o);
    plim_error error = {0};
    plim__costs costs = plim__costs_default(o->threads);
    plim__levers levers = {.micro_batch = o->batch, .transient_limit = transient_limit};
    plim__training_plan *plan = r.trainer->plan;
    plim__task task = plim__training_plan_task(plan);
    task.costs = &costs;
    plim__trainer_stop(r.trainer);
    plim__training_plan_clear(plan);
    must(plim__levers_apply(&task, &levers, NULL, &plan->main, &error), &error);
    must(plim__programs_plan(plan, &error), &error);
    must(plim__trainer_start(r.trainer, &error), &error);
    return r;
}

/* Small arenas are lost in the process's own size: here transient bytes are bounded themselves. Returns how many steps
 * were done again in all. */
static size_t squeeze(const char *what, const plim_graph *model, plim_trainer_options o) {
    struct run r = begin(model, &o);
    int64_t most = (int64_t)plim__variant_transient_bytes(r.trainer->plan->main);
    learn(&r, 3);
    struct learned *right = learned_by(r.trainer);
    size_t repeated = 0;
    for (int eighths = 7; eighths >= 3; eighths -= 2) {
        struct run lean = begin_lean(model, &o, most / 8 * eighths);
        repeated += lean.trainer->plan->main->repeated;
        learn(&lean, 3);
        struct learned *got = learned_by(lean.trainer);
        compare(right, got, 0, what);
        assert_memory_equal(lean.losses, r.losses, 3 * sizeof(double));
        release(got);
        end(&lean);
    }
    release(right);
    end(&r);
    return repeated;
}

/* Running statistics of batch norm are among what is compared: they are updated once. */
static void recompute_gives_the_same_bits(void **state) {
    (void)state;
    size_t repeated = 0;
    for (size_t k = 0; k < SETTINGS; k++) {
        plim_graph *model = model_of(&settings[k]);
        repeated += squeeze(settings[k].name, model, options_of(&settings[k]));
        plim_graph_free(model);
    }
    assert_true(repeated > 20);
}

static plim_value layer(plim_graph *g, plim_value x, int64_t in, int64_t out, const char *name) {
    float *w = malloc((size_t)(in * out) * sizeof *w);
    for (int64_t i = 0; i < in * out; i++) w[i] = (float)sin((double)(i * 7 % 1001)) / sqrtf((float)in);
    plim_value weight = plim_graph_parameter_take(g, name, PLIM_F32, 2, (int64_t[]){in, out}, w);
    return plim_graph_apply(g, "MatMul", (plim_value[]){x, weight}, 2);
}

static void a_recomputed_dropout_draws_the_same_mask(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    int64_t dims[] = {plim_graph_symbol(g, "N"), 64};
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, dims);
    char names[4][8];
    for (int i = 0; i < 4; i++) {
        snprintf(names[i], sizeof names[i], "w%d", i);
        x = layer(g, x, i ? 256 : 64, 256, names[i]);
        x = plim_graph_apply(g, "Tanh", &x, 1);
        x = plim_graph_apply(g, "Dropout", &x, 1);
        x = plim_graph_apply(g, "Sigmoid", &x, 1);
    }
    plim_graph_output(g, layer(g, x, 256, 10, "last"), "y");
    plim_error error = {0};
    must(plim_graph_status(g, &error), &error);
    plim_trainer_options o = options_of(&(struct setting){.batch = 64});
    assert_true(squeeze("dropout", g, o) > 0);
    /* the mask matters: another seed learns something else */
    struct run one = begin(g, &o);
    o.seed++;
    struct run other = begin(g, &o);
    learn(&one, 1);
    learn(&other, 1);
    assert_true(one.losses[0] != other.losses[0]);
    end(&one);
    end(&other);
    plim_graph_free(g);
}

/* --- refusal -------------------------------------------------------------------------------------------------- */

static void a_refusal_names_a_budget_that_works(void **state) {
    (void)state;
    SKIP_UNDER_SANITIZERS();
    static const uint64_t too_small[] = {1, (uint64_t)1 << 20};
    for (size_t k = 0; k < SETTINGS; k += 2) {
        plim_graph *model = model_of(&settings[k]);
        plim_trainer_options o = options_of(&settings[k]);
        for (int i = 0; i < 2; i++) {
            plim_trainer *t;
            plim_error error = {0};
            o.budget = too_small[i];
            assert_int_equal(plim_trainer_create(model, &o, &t, &error), PLIM_BUDGET);
            assert_null(t);
            const char *named = strstr(error.message, "smallest budget that works is ");
            if (!named) fail_msg("%s: %s", settings[k].name, error.message);
            char *unit;
            o.budget = (uint64_t)(strtod(named + strlen("smallest budget that works is "), &unit) * 1048576.0);
            assert_int_equal(strncmp(unit, " MiB", 4), 0);
            struct run r = begin(model, &o);
            learn(&r, 1);
            plim_trainer_stats stats;
            plim_trainer_get_stats(r.trainer, &stats);
            assert_true(stats.process_bytes <= o.budget);
            end(&r);
        }
        plim_graph_free(model);
    }
}

/* --- a budget that changes ------------------------------------------------------------------------------------ */

static void another_budget_in_the_middle_changes_nothing_else(void **state) {
    (void)state;
    SKIP_UNDER_SANITIZERS();
    const struct setting *s = &settings[1];
    plim_graph *model = model_of(s);
    plim_trainer_options o = options_of(s);
    o.allow = PLIM_ALLOW_EXACT;
    uint64_t budgets[BUDGETS];
    budgets_of(model, o, budgets);
    struct run right = begin(model, &o), r = begin(model, &o);
    learn(&right, 6);
    plim_error error = {0};
    plim_trainer_stats stats;
    learn(&r, 1);
    struct learned *before = learned_by(r.trainer);
    must(plim_trainer_set_budget(r.trainer, budgets[BUDGETS - 1] + ((uint64_t)64 << 20), &error), &error);
    struct learned *after = learned_by(r.trainer);
    compare(before, after, 0, "moved");
    release(before);
    release(after);
    learn(&r, 1);
    /* what cannot be met is refused, and everything is as it was */
    assert_int_equal(plim_trainer_set_budget(r.trainer, 1, &error), PLIM_BUDGET);
    assert_non_null(strstr(error.message, "smallest budget"));
    learn(&r, 2);
    must(plim_trainer_set_budget(r.trainer, 0, &error), &error);
    learn(&r, 2);
    plim_trainer_get_stats(r.trainer, &stats);
    assert_int_equal(stats.replans, 2);
    assert_int_equal(stats.process_bytes, 0);
    for (int i = 0; i < 6; i++)
        if (r.losses[i] != right.losses[i]) fail_msg("step %d: %.17g, %.17g", i + 1, r.losses[i], right.losses[i]);
    struct learned *a = learned_by(right.trainer), *b = learned_by(r.trainer);
    compare(a, b, 0, "after two other budgets");
    release(a);
    release(b);
    end(&right);
    end(&r);
    plim_graph_free(model);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]); /* one test alone */
    setenv("PLIMSOLL_COSTS", "default", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budgets_hold_for_lenet),
        cmocka_unit_test(budgets_hold_for_resnet18),
        cmocka_unit_test(budgets_hold_for_mobilenet_v2),
        cmocka_unit_test(budgets_hold_for_unet),
        cmocka_unit_test(budgets_hold_for_gpt2_tiny),
        cmocka_unit_test(budgets_hold_for_vit_tiny),
        cmocka_unit_test(budgets_hold_for_lstm),
        cmocka_unit_test(recompute_gives_the_same_bits),
        cmocka_unit_test(a_recomputed_dropout_draws_the_same_mask),
        cmocka_unit_test(a_refusal_names_a_budget_that_works),
        cmocka_unit_test(another_budget_in_the_middle_changes_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
