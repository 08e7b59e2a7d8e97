/* A run that stops and goes on ends with the bits of one that never stopped; validation, the best weights, an early end;
 * checkpoints of other runs are refused by name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

#define SAMPLES 50
#define PIXELS  784
#define BATCH   8 /* with a short batch at the end of each epoch */

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

struct run {
    plim_graph *model;
    plim_trainer *trainer;
    plim_data *data, *validation;
    float *image;
    int64_t labels[SAMPLES];
    /* what `on_event` does and counts */
    int64_t stop_at;
    int kinds[8];
    double losses[64];
};

static char folder[] = "/tmp/plimsoll-fit-XXXXXX";
static const char *in_folder(const char *name) {
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static plim_trainer_options options_of(void) {
    plim_trainer_options o = {.batch = BATCH,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                              .optimizer = plim_optimizer_default(PLIM_ADAMW),
                              .schedule = {.kind = PLIM_COSINE, .warmup = 3},
                              .threads = 2,
                              .seed = 3};
    o.optimizer.rate = 1e-3;
    return o;
}

/* Images whose pattern tells their class. */
static plim_data *open_samples(struct run *r, int64_t samples, bool shuffled) {
    plim_data_array arrays[] = {
        {"image", PLIM_F32, 4, (const int64_t[]){samples, 1, 28, 28}, r->image, 0},
        {"label", PLIM_I64, 1, &samples, r->labels, 1},
    };
    plim_data *data;
    plim_error error = {0};
    plim_data_options o = {.batch = BATCH, .seed = 3, .in_order = !shuffled, .epochs = !shuffled};
    must(plim_data_create_arrays(arrays, 2, &o, &data, &error), &error);
    return data;
}

static struct run *begin(const char *zoo, plim_trainer_options o) {
    struct run *r = calloc(1, sizeof *r);
    plim_error error = {0};
    r->image = malloc(SAMPLES * PIXELS * sizeof *r->image);
    for (int64_t i = 0; i < SAMPLES; i++) {
        r->labels[i] = i % 10;
        for (int64_t k = 0; k < PIXELS; k++)
            r->image[i * PIXELS + k] = (float)(sin((double)(k * (1 + r->labels[i]))) + 0.3 * sin((double)(i * k)));
    }
    must(plim_zoo_create(zoo, &(plim_zoo_options){.width = 8}, &r->model, &error), &error);
    must(plim_trainer_create(r->model, &o, &r->trainer, &error), &error);
    r->data = open_samples(r, SAMPLES, true);
    r->validation = open_samples(r, 20, false);
    return r;
}

static void end(struct run *r) {
    plim_data_free(r->data);
    plim_data_free(r->validation);
    plim_trainer_free(r->trainer);
    plim_graph_free(r->model);
    free(r->image);
    free(r);
}

static int seen(void *context, const plim_fit_event *event) {
    struct run *r = context;
    r->kinds[event->kind]++;
    if (event->kind == PLIM_FIT_STEP) r->losses[event->updates] = event->step.loss;
    return event->kind == PLIM_FIT_STEP && event->updates == r->stop_at;
}

static plim_fit_result fit(struct run *r, plim_fit_options o) {
    plim_fit_result result;
    plim_error error = {0};
    o.on_event = seen;
    o.context = r;
    plim_status status = plim_fit(r->trainer, r->data, &o, &result, &error);
    assert_int_equal(status, result.stopped ? PLIM_INTERRUPTED : PLIM_OK);
    return result;
}

static void assert_same_file(const char *a, const char *b) {
    FILE *x = fopen(a, "rb"), *y = fopen(b, "rb");
    assert_non_null(x);
    assert_non_null(y);
    int p, q;
    do {
        p = fgetc(x);
        q = fgetc(y);
        assert_int_equal(p, q);
    } while (p != EOF);
    fclose(x);
    fclose(y);
}

static void save(struct run *r, const char *name) {
    plim_error error = {0};
    must(plim_trainer_save(r->trainer, in_folder(name), &error), &error);
}

/* Three epochs of 7 updates: stopped in the middle, at the ends of epochs, and at the end of the run. */
static void a_run_that_was_stopped_ends_with_the_same_bits(void **state) {
    (void)state;
    struct run *whole = begin("lenet", options_of());
    plim_fit_options o = {.epochs = 3, .validation = whole->validation, .best = in_folder("best.safetensors")};
    plim_fit_result all = fit(whole, o);
    assert_int_equal(all.steps, 21);
    assert_int_equal(all.epochs, 3);
    assert_int_equal(whole->kinds[PLIM_FIT_VALIDATED], 3);
    save(whole, "whole.safetensors");
    static const int64_t stops[] = {1, 6, 7, 8, 14, 20, 21};
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        unlink(in_folder("run.ckpt"));
        int validations = 0;
        struct run *r = NULL;
        plim_fit_result last = {0};
        for (int part = 0; part < 2; part++) {
            if (r) end(r);
            r = begin("lenet", options_of());
            r->stop_at = part ? -1 : stops[i];
            last = fit(r, (plim_fit_options){.epochs = 3,
                                             .validation = r->validation,
                                             .best = in_folder("best2.safetensors"),
                                             .checkpoint = in_folder("run.ckpt"),
                                             .resume = 1});
            assert_int_equal(last.stopped, part == 0);
            validations += r->kinds[PLIM_FIT_VALIDATED];
        }
        assert_int_equal(last.steps, 21);
        assert_int_equal(validations, 3);
        assert_true(last.loss == all.loss);
        assert_true(last.best_loss == all.best_loss);
        assert_true(last.metric == all.metric);
        save(r, "parts.safetensors");
        assert_same_file(in_folder("whole.safetensors"), in_folder("parts.safetensors"));
        assert_same_file(in_folder("best.safetensors"), in_folder("best2.safetensors"));
        end(r);
    }
    end(whole);
}

static void checkpoints_are_written_when_they_are_due(void **state) {
    (void)state;
    struct run *r = begin("lenet", options_of());
    unlink(in_folder("run.ckpt"));
    plim_fit_options o = {.steps = 9, .checkpoint = in_folder("run.ckpt"), .checkpoint_every = 4};
    fit(r, o);
    assert_int_equal(r->kinds[PLIM_FIT_CHECKPOINT], 4); /* 4, 7 (the epoch's end), 8, 9 */
    end(r);
}

static void training_ends_early_when_validation_does_not_improve(void **state) {
    (void)state;
    plim_trainer_options options = options_of();
    options.optimizer.rate = PLIM_ZERO; /* nothing ever improves */
    options.optimizer.weight_decay = 0;
    struct run *r = begin("lenet", options);
    plim_fit_result result = fit(r, (plim_fit_options){.epochs = 9, .validation = r->validation, .patience = 2});
    assert_true(result.early);
    assert_int_equal(result.epochs, 3); /* the first is the best, two are not better */
    assert_int_equal(result.validation.samples, 20);
    end(r);
}

static void validation_agrees_with_evaluation_of_what_is_saved(void **state) {
    (void)state;
    struct run *r = begin("lenet", options_of());
    plim_fit_result result = fit(r, (plim_fit_options){.epochs = 4, .validation = r->validation});
    save(r, "trained.onnx");
    plim_error error = {0};
    plim_graph *model;
    plim_session *session;
    plim_evaluation evaluation;
    must(plim_graph_load(in_folder("trained.onnx"), &model, &error), &error);
    plim_loss loss = options_of().loss;
    plim_session_options o = {.batch = BATCH, .threads = 2, .loss = &loss};
    must(plim_session_create(model, &o, &session, &error), &error);
    must(plim_data_seek(r->validation, (plim_data_position){0, 0}, &error), &error);
    must(plim_evaluate(session, r->validation, &evaluation, &error), &error);
    assert_true(evaluation.accuracy == result.metric);
    assert_true(fabs(evaluation.loss - result.validation.loss) < 1e-5);
    plim_session_free(session);
    plim_graph_free(model);
    end(r);
}

/* One thing is different each time, and the message says which. */
static void checkpoints_of_other_runs_are_refused(void **state) {
    (void)state;
    unlink(in_folder("run.ckpt"));
    plim_fit_options o = {.steps = 2, .checkpoint = in_folder("run.ckpt"), .resume = 1};
    struct run *r = begin("lenet", options_of());
    fit(r, o);
    end(r);
    static const struct {
        const char *what, *says;
    } cases[] = {{"model", "another model"}, {"optimizer", "adamw"}, {"rate", "rate="},
                 {"seed", "seed"},           {"batch", "batch="},    {"data", "other data"},
                 {"loss", "loss"},           {"weights", "loss"},    {"freeze", "other frozen weights: '"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plim_trainer_options other = options_of();
        const char *what = cases[i].what;
        if (strcmp(what, "optimizer") == 0) other.optimizer = plim_optimizer_default(PLIM_SGD);
        if (strcmp(what, "rate") == 0) other.optimizer.rate = 0.5;
        if (strcmp(what, "seed") == 0) other.seed = 4;
        if (strcmp(what, "batch") == 0) other.batch = BATCH + 1;
        if (strcmp(what, "loss") == 0) other.loss.label_smoothing = 0.1;
        if (strcmp(what, "weights") == 0) {
            static const float weights[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 2};
            other.loss.class_weights = weights;
            other.loss.class_count = 10;
        }
        static const char *const frozen[] = {"*conv1*"};
        if (strcmp(what, "freeze") == 0) {
            other.freeze = frozen;
            other.freeze_count = 1;
        }
        r = begin(strcmp(what, "model") == 0 ? "mlp" : "lenet", other);
        plim_data *few = strcmp(what, "data") == 0 ? open_samples(r, 30, true) : NULL;
        plim_error error = {0};
        plim_fit_result result;
        assert_int_equal(plim_fit(r->trainer, few ? few : r->data, &o, &result, &error), PLIM_INVALID);
        if (!strstr(error.message, cases[i].says)) fail_msg("%s: %s", what, error.message);
        plim_data_free(few);
        end(r);
    }
}

/* Both ways, and the weight is named. */
static void checkpoints_with_other_frozen_weights_are_refused(void **state) {
    (void)state;
    static const char *const first[] = {"*conv1*"}, *const second[] = {"*conv2*"};
    plim_trainer_options o = options_of();
    plim_fit_options run = {.steps = 2, .checkpoint = in_folder("run.ckpt"), .resume = 1};
    unlink(in_folder("run.ckpt"));
    o.freeze = first;
    o.freeze_count = 1;
    struct run *r = begin("lenet", o);
    fit(r, run);
    end(r);
    static const char *const says[] = {"conv1", "conv1", NULL};
    for (int i = 0; i < 3; i++) {
        o.freeze = i == 1 ? second : first;
        o.freeze_count = i > 0;
        r = begin("lenet", o);
        plim_error error = {0};
        plim_fit_result result;
        plim_status status = plim_fit(r->trainer, r->data, &run, &result, &error);
        assert_int_equal(status, says[i] ? PLIM_INVALID : PLIM_OK);
        if (says[i] && (!strstr(error.message, "other frozen weights") || !strstr(error.message, says[i]) ||
                        !strstr(error.message, "frozen there")))
            fail_msg("%s", error.message);
        end(r);
    }
}

static void what_cannot_be_learned_from_is_named(void **state) {
    (void)state;
    struct run *r = begin("lenet", options_of());
    r->labels[13] = 10;
    plim_error error = {0};
    plim_fit_result result;
    assert_int_equal(plim_fit(r->trainer, r->data, &(plim_fit_options){0}, &result, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "label 10"));
    assert_null(strstr(error.message, "epoch")); /* before the first step */
    assert_non_null(strstr(error.message, "sample 13"));
    end(r);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    static const char *const files[] = {"whole.safetensors", "parts.safetensors", "best.safetensors",
                                        "best2.safetensors", "trained.onnx",      "run.ckpt"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) unlink(in_folder(files[i]));
    return rmdir(folder); /* fails when something else was left there */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_was_stopped_ends_with_the_same_bits),
        cmocka_unit_test(checkpoints_are_written_when_they_are_due),
        cmocka_unit_test(training_ends_early_when_validation_does_not_improve),
        cmocka_unit_test(validation_agrees_with_evaluation_of_what_is_saved),
        cmocka_unit_test(checkpoints_of_other_runs_are_refused),
        cmocka_unit_test(checkpoints_with_other_frozen_weights_are_refused),
        cmocka_unit_test(what_cannot_be_learned_from_is_named),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
