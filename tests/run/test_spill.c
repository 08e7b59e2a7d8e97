/* Weights and optimizer state in a file are the same: the same bits as in memory for every optimizer, through checkpoints
 * and other budgets; plans that spill keep the budget's promises; what fails on disk is said. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "budget/programs.h"
#include "budget/saved_plan.h"
#include "mem/carrier.h"
#include "mem/spill.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"
#include "run/same_trainer.h"
#include "run/trainer.h"
#include "run/trainer_save.h"
#include "run/training_plan.h"

#ifdef __SANITIZE_ADDRESS__
#define SKIP_UNDER_SANITIZERS() skip() /* they hold memory of their own, which no plan knows of */
#else
#define SKIP_UNDER_SANITIZERS() (void)0
#endif

enum { BATCH = 6, PIXELS = 3 * 32 * 32 };

static plim_error error;
static float images[BATCH * PIXELS];
static int64_t labels[BATCH];

static void must(plim_status status) {
    if (status != PLIM_OK) fail_msg("%s", error.message);
}

/* --- training ------------------------------------------------------------------------------------------------- */

/* Widths that are no multiples of what oneDNN makes blocks of: its arrangements have padding. */
static plim_graph *make_model(const char *name, int64_t width) {
    plim_graph *model;
    must(plim_zoo_create(name, &(plim_zoo_options){.width = width, .image = 32, .classes = 10}, &model, &error));
    return model;
}

static plim_trainer_options options_of(plim_optimizer optimizer) {
    return (plim_trainer_options){.batch = BATCH,
                                  .seed = 5,
                                  .threads = 2,
                                  .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                  .optimizer = optimizer};
}

static plim_trainer *make_trainer(const plim_graph *model, plim_trainer_options o) {
    plim_trainer *t;
    must(plim_trainer_create(model, &o, &t, &error));
    return t;
}

static plim_trainer *make_by_levers(const plim_graph *model, plim_trainer_options o, plim__levers levers) {
    plim_trainer *t = make_trainer(model, o);
    plim__training_plan *plan = t->plan;
    plim__trainer_stop(t);
    plim__training_plan_clear(plan);
    plan->costs = plim__alloc(sizeof *plan->costs);
    *plan->costs = plim__costs_default(o.threads);
    plim__task task = plim__training_plan_task(plan);
    levers.micro_batch = task.most_samples;
    must(plim__levers_apply(&task, &levers, NULL, &plan->main, &error));
    must(plim__programs_plan(plan, &error));
    must(plim__trainer_start(t, &error));
    plan->choice.levers = levers;
    return t;
}

/* The same with `spill` bytes of its state in a file; SIZE_MAX: all. */
static plim_trainer *make_spilled(const plim_graph *model, plim_trainer_options o, size_t spill) {
    return make_by_levers(model, o, (plim__levers){.transient_limit = INT64_MAX, .spill = spill});
}

/* All of its state and its large weights in a file; with little transient memory weights are fetched once more. */
static plim_trainer *make_streamed(const plim_graph *model, plim_trainer_options o, int64_t transient) {
    return make_by_levers(model, o, (plim__levers){.transient_limit = transient, .stream = true, .spill = SIZE_MAX});
}

static size_t streamed_by(const plim_trainer *t) {
    plim_trainer_stats stats;
    plim_trainer_get_stats(t, &stats);
    return stats.streamed_bytes;
}

static size_t fetches_of(const plim_trainer *t) {
    size_t count = 0;
    for (size_t s = 0; s < t->plan->main->program->steps.count; s++)
        count += strcmp(t->plan->main->program->steps.items[s].label, "fetch") == 0;
    return count;
}

static size_t spilled_by(const plim_trainer *t) {
    plim_trainer_stats stats;
    plim_trainer_get_stats(t, &stats);
    return stats.spilled_bytes;
}

static void learn_some(plim_trainer *t, int from, int to, int64_t count) {
    for (int step = from; step < to; step++) {
        plim_step_result result;
        for (int i = 0; i < BATCH; i++) labels[i] = (i + step) % 10;
        for (int i = 0; i < BATCH * PIXELS; i++) images[i] = (float)sin((double)(i * (step + 1)));
        must(plim_trainer_step(t, &(plim_batch){count, {images}, labels}, &result, &error));
    }
}

static void learn(plim_trainer *t, int from, int to) { learn_some(t, from, to, BATCH); }

/* --- the same bits -------------------------------------------------------------------------------------------- */

static plim_optimizer optimizer_of(int k, const char **what) {
    static const struct {
        plim_optimizer_kind kind;
        double momentum;
        int nesterov;
        const char *what;
    } rules[] = {{PLIM_SGD, 0.9, 0, "momentum"},  {PLIM_SGD, 0.9, 1, "nesterov"},
                 {PLIM_ADAM, 0, 0, "adam"},       {PLIM_ADAMW, 0, 0, "adamw"},
                 {PLIM_RMSPROP, 0, 0, "rmsprop"}, {PLIM_RMSPROP, 0.9, 0, "rmsprop, momentum"},
                 {PLIM_ADAGRAD, 0, 0, "adagrad"}, {PLIM_LION, 0, 0, "lion"}};
    plim_optimizer o = plim_optimizer_default(rules[k].kind);
    o.momentum = rules[k].momentum;
    o.nesterov = rules[k].nesterov;
    o.weight_decay = 0.01;
    o.rate = 0.003;
    *what = rules[k].what;
    return o;
}
#define RULES 8

static void every_optimizer_gives_the_same_bits(void **state) {
    (void)state;
    plim_graph *model = make_model("resnet18", 12);
    for (int k = 0; k < RULES; k++) {
        const char *what;
        plim_trainer_options o = options_of(optimizer_of(k, &what));
        o.threads = 1 + k % 2;
        plim_trainer *right = make_trainer(model, o), *all = make_spilled(model, o, SIZE_MAX);
        size_t most = spilled_by(all);
        plim_trainer *half = make_spilled(model, o, most / 2);
        assert_true(most > ((size_t)1 << 20));
        assert_true(spilled_by(half) >= most / 2 && spilled_by(half) < most);
        assert_true(all->plan->main->plan->persistent_bytes < right->plan->main->plan->persistent_bytes);
        learn(right, 0, 3);
        learn(all, 0, 3);
        learn(half, 0, 3);
        must_be_equal(right, all, what);
        must_be_equal(right, half, what);
        plim_trainer_free(right);
        plim_trainer_free(all);
        plim_trainer_free(half);
    }
    plim_graph_free(model);
}

static void weights_in_a_file_give_the_same_bits(void **state) {
    (void)state;
    plim_graph *model = make_model("resnet18", 28);
    for (int k = 0; k < RULES; k++) {
        const char *what;
        plim_trainer_options o = options_of(optimizer_of(k, &what));
        o.threads = 1 + k % 2;
        plim_trainer *right = make_trainer(model, o), *once = make_streamed(model, o, INT64_MAX);
        int64_t transient = (int64_t)plim__variant_transient_bytes(once->plan->main);
        plim_trainer *again = make_streamed(model, o, transient / 2);
        assert_true(streamed_by(once) > ((size_t)4 << 20) && streamed_by(again) == streamed_by(once));
        /* with AVX2, sums of two threads are the most that a step holds: no fetch lowers that */
        assert_true(fetches_of(again) + (o.threads > 1) > fetches_of(once));
        assert_true(once->arena.persistent_bytes + streamed_by(once) < right->arena.persistent_bytes);
        learn(right, 0, 2);
        learn(once, 0, 2);
        learn(again, 0, 2);
        must_be_equal(right, once, what);
        must_be_equal(right, again, what);
        plim_trainer_free(right);
        plim_trainer_free(once);
        plim_trainer_free(again);
    }
    plim_graph_free(model);
}

static void around_the_cache_bits_are_the_same(void **state) {
    (void)state;
    plim_graph *model = make_model("resnet18", 28);
    for (int k = 0; k < RULES; k += 4) {
        const char *what;
        plim_trainer_options o = options_of(optimizer_of(k, &what));
        plim_trainer *right = make_trainer(model, o), *t = make_streamed(model, o, INT64_MAX);
        plim__spill_go_around_cache(t->arena.spill);
        learn(right, 0, 3);
        learn(t, 0, 3);
        must_be_equal(right, t, what);
        plim_trainer_free(right);
        plim_trainer_free(t);
    }
    plim_graph_free(model);
}

/* --- ahead ---------------------------------------------------------------------------------------------------- */

static bool has_product(const plim__program *program, int32_t from, int32_t to) {
    for (int32_t s = from; s < to; s++)
        if (program->steps.items[s].product) return true;
    return false;
}

/* Fetches that begin a product earlier, and updates that end a product later. */
static void most_of_the_file_is_moved_while_something_computes(void **state) {
    (void)state;
    plim_graph *model = make_model("resnet18", 28);
    plim_trainer *t = make_streamed(model, options_of(plim_optimizer_default(PLIM_ADAMW)), INT64_MAX);
    const plim__program *program = t->plan->main->program;
    const plim__plan *plan = t->plan->main->plan;
    int fetches = 0, early = 0, updates = 0, late = 0;
    for (int32_t s = 0; s < (int32_t)program->steps.count; s++) {
        const plim__step *step = &program->steps.items[s];
        assert_true(plan->begins[s] <= s && plan->ends[s] >= s);
        if (!plim__step_in_pieces(program, step)) assert_true(plan->begins[s] == s && plan->ends[s] == s);
        if (!plim__step_in_pieces(program, step)) continue;
        bool fetch = step->pieces->held < 0;
        fetches += fetch;
        early += fetch && has_product(program, plan->begins[s], s);
        updates += !fetch;
        late += !fetch && has_product(program, s + 1, plan->ends[s] + 1);
    }
    if (2 * early < fetches || 2 * late < updates)
        fail_msg("%d of %d fetches begin earlier, %d of %d updates end later", early, fetches, late, updates);
    if (!plim__plan_is_valid(plan, program, &error)) fail_msg("%s", error.message);
    plim_trainer_free(t);
    plim_graph_free(model);
}

/* Runs up to the step that fetches, and not further: what it fetches arrives all the same. */
static void a_thread_reads_before_the_step_that_needs_it(void **state) {
    (void)state;
    plim_graph *model = make_model("resnet18", 28);
    plim_trainer *t = make_streamed(model, options_of(plim_optimizer_default(PLIM_ADAMW)), INT64_MAX);
    const plim__program *program = t->plan->main->program;
    const plim__plan *plan = t->plan->main->plan;
    learn(t, 0, 1);
    int tried = 0;
    for (int32_t s = 0; s < (int32_t)t->main.variant->after_loss; s++) {
        const plim__step *step = &program->steps.items[s];
        if (plan->begins[s] == s) continue;
        const plim__buffer *weight = &program->buffers.items[step->operands[0].buffer];
        char *copy = plim__runner_at(t->main.runner, step->operands[1]), *right = malloc(weight->bytes);
        must(plim__spill_read(t->arena.spill, right, weight->bytes, weight->spill_at, &error));
        must(plim__runner_run_part(t->main.runner, 0, (size_t)plan->begins[s], &error));
        memset(copy, 0, weight->bytes);
        must(plim__runner_run_part(t->main.runner, (size_t)plan->begins[s], (size_t)plan->begins[s] + 1, &error));
        plim__carrier_counts counts;
        for (int i = 0; i < 60000; i++) { /* it will come; how long that takes says nothing */
            counts = plim__carrier_count(t->arena.carrier);
            if (memcmp(copy, right, weight->bytes) == 0) break;
            usleep(1000);
        }
        assert_memory_equal(copy, right, weight->bytes);
        assert_true(counts.pieces > 0);
        free(right);
        tried++;
    }
    assert_true(tried > 3);
    learn(t, 1, 2); /* what was under way is no trouble */
    plim_trainer_free(t);
    plim_graph_free(model);
}

static void a_forked_child_does_not_touch_the_file(void **state) {
    (void)state;
    plim_graph *model = make_model("lenet", 20);
    plim_trainer_options o = options_of(plim_optimizer_default(PLIM_ADAMW));
    o.threads = 1;
    plim_trainer *right = make_trainer(model, o), *t = make_spilled(model, o, SIZE_MAX);
    learn(t, 0, 1);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        plim_batch batch = {BATCH, {images}, labels};
        bool refused = plim_trainer_step(t, &batch, NULL, &error) == PLIM_UNSUPPORTED && strstr(error.message, "fork");
        plim_trainer_free(t);
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    learn(t, 1, 2);
    learn(right, 0, 2);
    must_be_equal(right, t, "beside a child");
    plim_trainer_free(right);
    plim_trainer_free(t);
    plim_graph_free(model);
}

static double evaluate(plim_trainer *t) {
    plim_data_array arrays[] = {{"image", PLIM_F32, 4, (const int64_t[]){BATCH, 3, 32, 32}, images, 0},
                                {"label", PLIM_I64, 1, (const int64_t[]){BATCH}, labels, 1}};
    plim_evaluation evaluation;
    plim_data *data;
    must(plim_data_create_arrays(arrays, 2, &(plim_data_options){.batch = BATCH, .epochs = 1}, &data, &error));
    must(plim_trainer_evaluate(t, data, &evaluation, &error));
    plim_data_free(data);
    return evaluation.loss;
}

/* Evaluation and batches of other sizes have programs of their own over the same weights. */
static void other_programs_read_weights_from_the_file_too(void **state) {
    (void)state;
    plim_graph *model = make_model("resnet18", 28);
    plim_trainer_options o = options_of(plim_optimizer_default(PLIM_ADAMW));
    plim_trainer *right = make_trainer(model, o), *t = make_streamed(model, o, INT64_MAX);
    for (int round = 0; round < 2; round++) {
        learn(right, 2 * round, 2 * round + 1);
        learn(t, 2 * round, 2 * round + 1);
        learn_some(right, 2 * round + 1, 2 * round + 2, 5);
        learn_some(t, 2 * round + 1, 2 * round + 2, 5);
        assert_true(evaluate(right) == evaluate(t));
    }
    must_be_equal(right, t, "other programs");
    plim_trainer_free(right);
    plim_trainer_free(t);
    plim_graph_free(model);
}

static void adafactor_keeps_its_state_in_memory(void **state) {
    (void)state;
    plim_graph *model = make_model("lenet", 4);
    plim_trainer *t = make_spilled(model, options_of(plim_optimizer_default(PLIM_ADAFACTOR)), SIZE_MAX);
    assert_int_equal(spilled_by(t), 0);
    assert_null(t->arena.spill);
    plim_trainer_free(t);
    plim_graph_free(model);
}

/* Micro-batches, clipping by norm (updates come last), and a short batch, whose program shares the state. */
static void other_levers_and_short_batches_change_nothing(void **state) {
    (void)state;
    plim_graph *model = make_model("lenet", 20);
    plim_trainer_options o = options_of(plim_optimizer_default(PLIM_ADAMW));
    o.accumulate = 2;
    o.optimizer.clip_norm = 1;
    plim_trainer *right = make_trainer(model, o), *t = make_spilled(model, o, SIZE_MAX);
    for (int round = 0; round < 2; round++) {
        learn(right, 3 * round, 3 * round + 2);
        learn(t, 3 * round, 3 * round + 2);
        learn_some(right, 3 * round + 2, 3 * round + 3, 5);
        learn_some(t, 3 * round + 2, 3 * round + 3, 5);
    }
    assert_true(spilled_by(t) > 0);
    must_be_equal(right, t, "micro-batches");
    plim_trainer_free(right);
    plim_trainer_free(t);
    plim_graph_free(model);
}

/* Cuts what follows byte `bytes` of a file. */
static void cut(const char *path, off_t bytes) { assert_int_equal(truncate(path, bytes), 0); }

/* Weights that nothing changes and that the model's file has in the order in which steps read them stay there. */
static void frozen_weights_are_read_from_the_models_own_file(void **state) {
    (void)state;
    char path[] = "/tmp/plim-spill-model-XXXXXX";
    close(mkstemp(path));
    plim_graph *made, *model;
    must(plim_zoo_create("vit-tiny", &(plim_zoo_options){.image = 32, .classes = 10, .layers = 2}, &made, &error));
    must(plim_graph_save(made, path, &error));
    plim_graph_free(made);
    must(plim_graph_load(path, &model, &error));
    const char *freeze[] = {"blocks.*"};
    plim_trainer_options o = options_of(plim_optimizer_default(PLIM_ADAMW));
    o.freeze = freeze;
    o.freeze_count = 1;
    plim_trainer *right = make_trainer(model, o), *t = make_streamed(model, o, INT64_MAX);
    const plim__program *program = t->plan->main->program;
    size_t in_model = plim__in_model_bytes(program);
    print_message("%zu of %zu bytes that are streamed are in the model's file\n", in_model, streamed_by(t));
    assert_true(in_model > ((size_t)256 << 10) && in_model <= streamed_by(t));
    assert_true(plim__spill_file_bytes(program) + in_model <= spilled_by(t) + 4096 * program->buffers.count);
    for (int round = 0; round < 2; round++) {
        learn(right, 2 * round, 2 * round + 1);
        learn(t, 2 * round, 2 * round + 1);
        learn_some(right, 2 * round + 1, 2 * round + 2, 5);
        learn_some(t, 2 * round + 1, 2 * round + 2, 5);
        assert_true(evaluate(right) == evaluate(t));
    }
    must_be_equal(right, t, "frozen");
    cut(path, 4096);
    plim_batch batch = {BATCH, {images}, labels};
    assert_int_not_equal(plim_trainer_step(t, &batch, NULL, &error), PLIM_OK);
    assert_non_null(strstr(error.message, path));
    plim_trainer_free(right);
    plim_trainer_free(t);
    plim_graph_free(model);
    unlink(path);
}

/* --- from one run to another ---------------------------------------------------------------------------------- */

static void checkpoints_carry_what_is_spilled_both_ways(void **state) {
    (void)state;
    char path[] = "/tmp/plim-spill-XXXXXX";
    close(mkstemp(path));
    plim_graph *model = make_model("resnet18", 12);
    plim_trainer_options o = options_of(plim_optimizer_default(PLIM_ADAMW));
    plim_trainer *right = make_trainer(model, o);
    learn(right, 0, 4);
    for (int way = 0; way < 2; way++) {
        plim_trainer *first = make_spilled(model, o, way ? 0 : SIZE_MAX),
                     *second = make_spilled(model, o, way ? SIZE_MAX : 0);
        plim__checkpoint_file file;
        learn(first, 0, 2);
        must(plim__trainer_write_checkpoint(first, path, (plim__checkpoint){0}, &error));
        must(plim__checkpoint_open(&file, path, &error));
        learn(second, 0, 1); /* what it did before does not matter */
        must(plim__trainer_read_checkpoint(second, &file, &error));
        plim__checkpoint_close(&file);
        must_be_equal(first, second, "read back");
        learn(second, 2, 4);
        must_be_equal(right, second, way ? "to a file" : "from a file");
        plim_trainer_free(first);
        plim_trainer_free(second);
    }
    plim_trainer_free(right);
    plim_graph_free(model);
    unlink(path);
}

/* A budget under which state has to be spilled: what the smallest of exact plans takes, and some more for what differs in
 * this process. */
static uint64_t small_budget(const plim_graph *model, plim_trainer_options o) {
    plim_plan *plan;
    o.budget = (uint64_t)1 << 40;
    must(plim_plan_create(model, &o, &plan, &error));
    uint64_t budget = plim_plan_get_report(plan)->minimum_budget_bytes + ((uint64_t)8 << 20);
    plim_plan_free(plan);
    return budget;
}

static void another_budget_moves_state_to_a_file_and_back(void **state) {
    (void)state;
    SKIP_UNDER_SANITIZERS();
    plim_graph *model = make_model("resnet18", 44);
    plim_trainer_options o = options_of(plim_optimizer_default(PLIM_ADAMW));
    o.allow = PLIM_ALLOW_EXACT;
    plim_trainer *right = make_trainer(model, o), *t = make_trainer(model, o);
    size_t unspilled = t->arena.persistent_bytes + t->arena.transient_bytes;
    learn(right, 0, 4);
    learn(t, 0, 1);
    /* what is planned here stands beside the memory that will be given back */
    uint64_t budget = small_budget(model, o) - unspilled;
    must(plim_trainer_set_budget(t, budget, &error));
    assert_true(spilled_by(t) > ((size_t)8 << 20));
    assert_true(t->arena.persistent_bytes + t->arena.transient_bytes + spilled_by(t) / 2 < unspilled);
    learn(t, 1, 3);
    must(plim_trainer_set_budget(t, 0, &error));
    assert_int_equal(spilled_by(t), 0);
    learn(t, 3, 4);
    must_be_equal(right, t, "after two other budgets");
    plim_trainer_free(right);
    plim_trainer_free(t);
    plim_graph_free(model);
}

/* --- plans ---------------------------------------------------------------------------------------------------- */

static void plans_spill_less_and_are_faster_with_more_memory(void **state) {
    (void)state;
    SKIP_UNDER_SANITIZERS();
    plim_graph *model = make_model("resnet18", 44);
    plim_trainer_options o = options_of(plim_optimizer_default(PLIM_ADAMW));
    o.allow = PLIM_ALLOW_EXACT;
    uint64_t least = small_budget(model, o);
    double slower = INFINITY;
    size_t first = 0, last = 0;
    for (int k = 0; k < 8; k++) {
        o.budget = least + (uint64_t)k * ((uint64_t)12 << 20);
        plim__training_plan *plan = plan_of(model, &o, PLIM__PLAN_TO_RUN);
        plim_trainer_stats stats;
        plim__training_plan_stats(plan, &stats);
        assert_true(stats.process_bytes <= o.budget);
        if (stats.seconds > slower * (1 + 1e-9)) fail_msg("%d: slower than with less memory", k);
        slower = stats.seconds;
        last = stats.spilled_bytes;
        if (k == 0) first = last;
        plim__training_plan_free(plan);
    }
    assert_true(first > 0);
    assert_int_equal(last, 0);
    /* without the lever the smallest budget is larger */
    o.no_spill = 1;
    assert_true(small_budget(model, o) > least + ((uint64_t)16 << 20));
    o.budget = least;
    plim_trainer *refused;
    assert_int_equal(plim_trainer_create(model, &o, &refused, &error), PLIM_BUDGET);
    plim_graph_free(model);
}

static void a_saved_plan_spills_the_same(void **state) {
    (void)state;
    SKIP_UNDER_SANITIZERS();
    char path[] = "/tmp/plim-spill-plan-XXXXXX";
    close(mkstemp(path));
    plim_graph *model = make_model("resnet18", 44);
    plim_trainer_options o = options_of(plim_optimizer_default(PLIM_ADAMW));
    o.allow = PLIM_ALLOW_EXACT;
    plim_trainer *right = make_trainer(model, o);
    plim_plan *plan;
    o.budget = small_budget(model, o);
    must(plim_plan_create(model, &o, &plan, &error));
    assert_true(plim_plan_get_report(plan)->fits && plim_plan_get_report(plan)->chosen.spilled > 0);
    must(plim_plan_save(plan, "resnet18", NULL, path, &error));
    size_t spilled = plim_plan_get_report(plan)->chosen.spilled;
    plim_plan_free(plan); /* what it holds is no part of the budget */
    o.plan = path;
    plim_trainer *t = make_trainer(model, o);
    assert_int_equal(spilled_by(t), spilled);
    learn(right, 0, 2);
    learn(t, 0, 2);
    must_be_equal(right, t, "a saved plan");
    plim_trainer_free(t);
    o.no_spill = 1;
    assert_int_equal(plim_trainer_create(model, &o, &t, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, path));
    plim_trainer_free(right);
    plim_graph_free(model);
    unlink(path);
}

static void a_folder_that_cannot_be_used_is_refused_when_it_was_asked_for(void **state) {
    (void)state;
    plim_graph *model = make_model("lenet", 4);
    plim_trainer_options o = options_of(plim_optimizer_default(PLIM_ADAMW));
    plim_trainer *t;
    o.budget = (uint64_t)1 << 33;
    o.spill = "/var/tmp/no/such/folder";
    assert_int_not_equal(plim_trainer_create(model, &o, &t, &error), PLIM_OK);
    assert_non_null(strstr(error.message, o.spill));
    plim_graph_free(model);
}

/* --- failures ------------------------------------------------------------------------------------------------- */

/* Cuts every open file without a name in this folder; returns how many. */
static int cut_files(const char *folder) {
    DIR *list = opendir("/proc/self/fd");
    int cut = 0;
    for (const struct dirent *entry; (entry = readdir(list));) {
        char path[512], target[512] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%.20s", entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length > 0 && strncmp(target, folder, strlen(folder)) == 0 && strstr(target, "(deleted)"))
            cut += ftruncate(atoi(entry->d_name), 0) == 0;
    }
    closedir(list);
    return cut;
}

static void a_file_that_fails_is_named_and_nothing_crashes(void **state) {
    (void)state;
    char folder[] = "/var/tmp/plimsoll-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    plim_graph *model = make_model("lenet", 20);
    plim_trainer_options o = options_of(plim_optimizer_default(PLIM_ADAMW));
    o.spill = folder;
    plim_trainer *t = make_spilled(model, o, SIZE_MAX);
    learn(t, 0, 1);
    assert_int_equal(cut_files(folder), 1);
    plim_batch batch = {BATCH, {images}, labels};
    assert_int_equal(plim_trainer_step(t, &batch, NULL, &error), PLIM_IO);
    assert_non_null(strstr(error.message, folder));
    assert_non_null(strstr(error.message, "last checkpoint"));
    plim_trainer_free(t);
    plim_graph_free(model);
    assert_int_equal(rmdir(folder), 0);
}

/* The thread meets it, in the middle of a step or long before the one that needs the bytes. */
static void a_disk_that_fails_under_a_thread_ends_the_run(void **state) {
    (void)state;
    char folder[] = "/var/tmp/plimsoll-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    plim_graph *model = make_model("resnet18", 28);
    plim_trainer_options o = options_of(plim_optimizer_default(PLIM_ADAMW));
    o.spill = folder;
    for (int around = 0; around < 2; around++) {
        plim_trainer *t = make_streamed(model, o, INT64_MAX);
        if (around) plim__spill_go_around_cache(t->arena.spill);
        plim_batch batch = {BATCH, {images}, labels};
        learn(t, 0, 1);
        assert_true(cut_files(folder) >= 1);
        for (int again = 0; again < 2; again++) {
            error.message[0] = 0;
            assert_int_equal(plim_trainer_step(t, &batch, NULL, &error), PLIM_IO);
            assert_non_null(strstr(error.message, folder));
            assert_null(strchr(error.message, '\n'));
        }
        plim_trainer_free(t);
    }
    plim_graph_free(model);
    assert_int_equal(rmdir(folder), 0);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]); /* one test alone */
    setenv("PLIMSOLL_COSTS", "default", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_optimizer_gives_the_same_bits),
        cmocka_unit_test(weights_in_a_file_give_the_same_bits),
        cmocka_unit_test(around_the_cache_bits_are_the_same),
        cmocka_unit_test(most_of_the_file_is_moved_while_something_computes),
        cmocka_unit_test(a_thread_reads_before_the_step_that_needs_it),
        cmocka_unit_test(a_forked_child_does_not_touch_the_file),
        cmocka_unit_test(other_programs_read_weights_from_the_file_too),
        cmocka_unit_test(adafactor_keeps_its_state_in_memory),
        cmocka_unit_test(other_levers_and_short_batches_change_nothing),
        cmocka_unit_test(frozen_weights_are_read_from_the_models_own_file),
        cmocka_unit_test(checkpoints_carry_what_is_spilled_both_ways),
        cmocka_unit_test(another_budget_moves_state_to_a_file_and_back),
        cmocka_unit_test(plans_spill_less_and_are_faster_with_more_memory),
        cmocka_unit_test(a_saved_plan_spills_the_same),
        cmocka_unit_test(a_folder_that_cannot_be_used_is_refused_when_it_was_asked_for),
        cmocka_unit_test(a_file_that_fails_is_named_and_nothing_crashes),
        cmocka_unit_test(a_disk_that_fails_under_a_thread_ends_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
