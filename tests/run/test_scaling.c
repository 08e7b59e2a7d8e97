/* Halves: the loss is scaled as torch.amp.GradScaler does it, decision by decision; an update that overflows is as if it had not
 * been, whatever the plan and the optimizer are; overflow without an end stops, and nothing is lost. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/same_trainer.h"
#include "run/scaling_numbers.h"

enum { BATCH = 8, IN = 4, HIDDEN = 128, OUT = 3 };

static plim_error error;

static void must(plim_status status) {
    if (status != PLIM_OK) fail_msg("%s", error.message);
}

/* x (N, 4) → h (N, 128), which waits for the backward pass → scores (N, 3) */
static plim_graph *model_make(void) {
    static float first[IN * HIDDEN], second[HIDDEN * OUT];
    for (int i = 0; i < IN * HIDDEN; i++) first[i] = (float)(i * 7 % 13) / 6 - 1;
    for (int i = 0; i < HIDDEN * OUT; i++) second[i] = (float)(i * 5 % 11) / 50 - 0.1f;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){plim_graph_symbol(g, "N"), IN});
    plim_value a = plim_graph_parameter(g, "a", PLIM_F32, 2, (int64_t[]){IN, HIDDEN}, first),
               b = plim_graph_parameter(g, "b", PLIM_F32, 2, (int64_t[]){HIDDEN, OUT}, second);
    plim_value h = plim_graph_apply(g, "MatMul", (plim_value[]){x, a}, 2);
    plim_graph_output(g, plim_graph_apply(g, "MatMul", (plim_value[]){h, b}, 2), "scores");
    return g;
}

static plim_trainer *trainer_of(const plim_graph *model, plim_trainer_options o) {
    plim_trainer *trainer;
    o.batch = BATCH;
    o.precision = PLIM_PRECISION_F16;
    must(plim_trainer_create(model, &o, &trainer, &error));
    return trainer;
}

static plim_trainer_options options_of(plim_optimizer_kind kind) {
    plim_trainer_options o = {.optimizer = plim_optimizer_default(kind)};
    return o;
}

/* What a half cannot hold comes of numbers that float32 computes with. */
static plim_step_result step(plim_trainer *trainer, bool overflows, unsigned salt) {
    static float x[BATCH * IN];
    static int64_t target[BATCH];
    for (unsigned i = 0; i < BATCH * IN; i++)
        x[i] = ((float)((i + salt) * 7919 % 251) / 125 - 1) * (overflows && i >= 4 * IN ? 1e6f : 1);
    for (unsigned i = 0; i < BATCH; i++) target[i] = (i + salt) % OUT;
    plim_step_result result;
    must(plim_trainer_step(trainer, &(plim_batch){.count = BATCH, .inputs = {x}, .target = target}, &result, &error));
    return result;
}

static bool is_among(const int *list, size_t count, int number) {
    for (size_t i = 0; i < count; i++)
        if (list[i] == number) return true;
    return false;
}

static void every_decision_is_that_of_pytorch(void **state) {
    (void)state;
    plim_graph *model = model_make();
    plim_trainer_options o = options_of(PLIM_SGD);
    o.optimizer.rate = 1e-6;
    plim_trainer *trainer = trainer_of(model, o);
    double scale = 65536;
    size_t change = 0;
    for (int i = 0; i < UPDATES; i++) {
        bool overflows = is_among(overflows_at, sizeof overflows_at / sizeof *overflows_at, i);
        plim_step_result r = step(trainer, overflows, (unsigned)i % 5);
        if (r.loss_scale != scale || (r.skipped != 0) != overflows)
            fail_msg("update %d: scale %g, not %g; %s", i, r.loss_scale, scale, r.skipped ? "skipped" : "made");
        if (change < sizeof changes / sizeof *changes && changes[change].update == i) scale = changes[change++].scale;
    }
    plim_progress now = plim_trainer_progress(trainer);
    assert_int_equal(now.updates, UPDATES);
    assert_int_equal(now.updates - now.skipped_updates, OPTIMIZER_STEPS);
    assert_int_equal(now.good_in_row, GROWTH_TRACKER);
    assert_true(now.loss_scale == scale);
    plim_trainer_free(trainer);
    plim_graph_free(model);
}

/* The same updates without those that overflow: weights and state are the same bits, bias corrections by the number of updates
 * included. */
static void must_leave_no_trace(plim_trainer_options o, const char *what) {
    plim_graph *model = model_make();
    plim_trainer *with = trainer_of(model, o), *without = trainer_of(model, o);
    static const bool overflows[] = {true, false, false, true, true, false, false};
    for (unsigned i = 0; i < sizeof overflows / sizeof *overflows; i++) {
        plim_step_result r = step(with, overflows[i], i);
        assert_int_equal(r.skipped, overflows[i]);
        if (!overflows[i]) step(without, false, i);
    }
    assert_int_equal(plim_trainer_progress(with).skipped_updates, 3);
    must_be_equal(with, without, what);
    plim_trainer_free(with);
    plim_trainer_free(without);
    plim_graph_free(model);
}

static void a_skipped_update_leaves_no_trace(void **state) {
    (void)state;
    static const plim_optimizer_kind kinds[] = {PLIM_SGD,     PLIM_ADAM,      PLIM_ADAMW, PLIM_RMSPROP,
                                                PLIM_ADAGRAD, PLIM_ADAFACTOR, PLIM_LION};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const char *name = plim_optimizer_name(kinds[k]);
        plim_trainer_options o = options_of(kinds[k]);
        must_leave_no_trace(o, name);
        if (kinds[k] == PLIM_SGD) o.optimizer.momentum = 0.9, o.optimizer.dampening = 0.5;
        o.optimizer.clip_norm = 0.1;
        o.accumulate = 2;
        must_leave_no_trace(o, name);
        if (kinds[k] == PLIM_ADAGRAD || kinds[k] == PLIM_ADAFACTOR) continue;
        o.optimizer.state_bits = 8;
        o.threads = 2;
        must_leave_no_trace(o, name);
    }
}

/* The scale is a power of two: where nothing overflows, gradients divided by it are those of a loss that is not scaled. */
static void the_scale_itself_changes_nothing(void **state) {
    (void)state;
    plim_graph *model = model_make();
    plim_trainer *one = trainer_of(model, options_of(PLIM_ADAMW)), *other = trainer_of(model, options_of(PLIM_ADAMW));
    plim_trainer_set_progress(other, (plim_progress){.loss_scale = 1});
    for (unsigned i = 0; i < 5; i++) {
        assert_true(step(one, false, i).loss_scale == 65536);
        assert_true(step(other, false, i).loss_scale == 1);
    }
    must_be_equal(one, other, "another scale");
    plim_trainer_free(one);
    plim_trainer_free(other);
    plim_graph_free(model);
}

static void overflow_without_an_end_stops_and_keeps_the_weights(void **state) {
    (void)state;
    plim_graph *model = model_make();
    plim_trainer *trainer = trainer_of(model, options_of(PLIM_ADAMW)),
                 *before = trainer_of(model, options_of(PLIM_ADAMW));
    step(trainer, false, 1);
    step(before, false, 1);
    for (unsigned i = 0; i < 19; i++) assert_true(step(trainer, true, i).skipped);
    static float x[BATCH * IN];
    static int64_t target[BATCH];
    for (int i = 0; i < BATCH * IN; i++) x[i] = 1e6f;
    plim_step_result result;
    plim_batch batch = {.count = BATCH, .inputs = {x}, .target = target};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(plim_trainer_step(trainer, &batch, &result, &error), PLIM_NUMERIC);
        if (!strstr(error.message, "update 21: ") || !strstr(error.message, "20 updates in a row") ||
            !strstr(error.message, "bf16") || !strstr(error.message, "those of update 1"))
            fail_msg("%s", error.message);
    }
    must_be_equal(trainer, before, "after the overflow");
    assert_false(step(trainer, false, 2).skipped); /* and it goes on where numbers are smaller */
    assert_int_equal(plim_trainer_progress(trainer).skipped_in_row, 0);
    plim_trainer_free(trainer);
    plim_trainer_free(before);
    plim_graph_free(model);
}

/* A loss that is not finite is none of the scale's business: the forward pass is float32. */
static void a_loss_that_is_not_finite_is_named_as_ever(void **state) {
    (void)state;
    plim_graph *model = model_make();
    plim_trainer *trainer = trainer_of(model, options_of(PLIM_ADAMW));
    static float x[BATCH * IN];
    static int64_t target[BATCH];
    for (int i = 0; i < BATCH * IN; i++) x[i] = 3e38f;
    plim_batch batch = {.count = BATCH, .inputs = {x}, .target = target};
    assert_int_equal(plim_trainer_step(trainer, &batch, NULL, &error), PLIM_NUMERIC);
    assert_non_null(strstr(error.message, "the loss is"));
    assert_int_equal(plim_trainer_progress(trainer).updates, 0);
    plim_trainer_free(trainer);
    plim_graph_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_decision_is_that_of_pytorch),
                                       cmocka_unit_test(a_skipped_update_leaves_no_trace),
                                       cmocka_unit_test(the_scale_itself_changes_nothing),
                                       cmocka_unit_test(overflow_without_an_end_stops_and_keeps_the_weights),
                                       cmocka_unit_test(a_loss_that_is_not_finite_is_named_as_ever)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
