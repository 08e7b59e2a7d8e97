/* A run that goes on from a checkpoint ends with the same bits as one that was never interrupted; a checkpoint that does
 * not fit changes nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"
#include "run/same_trainer.h"
#include "run/trainer_save.h"

enum { BATCH = 6, PIXELS = 784 };

static plim_error error;
static char path[] = "/tmp/plim-resume-XXXXXX";
static float images[BATCH * PIXELS];
static int64_t labels[BATCH];

static void must(plim_status status) {
    if (status != PLIM_OK) fail_msg("%s", error.message);
}

static plim_trainer_options options_of(plim_optimizer_kind kind) {
    return (plim_trainer_options){.batch = BATCH,
                                  .accumulate = 2,
                                  .seed = 5,
                                  .threads = 2,
                                  .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                  .optimizer = plim_optimizer_default(kind)};
}

static plim_graph *make_model(int64_t width) {
    plim_graph *model;
    must(plim_zoo_create("lenet", &(plim_zoo_options){.width = width}, &model, &error));
    return model;
}

static plim_trainer *make_trainer(const plim_graph *model, plim_trainer_options o) {
    plim_trainer *trainer;
    must(plim_trainer_create(model, &o, &trainer, &error));
    return trainer;
}

static void learn(plim_trainer *trainer, int from, int to) {
    for (int step = from; step < to; step++) {
        plim_step_result result;
        for (int i = 0; i < BATCH; i++) labels[i] = (i + step) % 10;
        for (int i = 0; i < BATCH * PIXELS; i++) images[i] = (float)sin((double)(i * (step + 1)));
        must(plim_trainer_step(trainer, &(plim_batch){BATCH, {images}, labels}, &result, &error));
        assert_int_equal(result.update, step + 1);
    }
}

static int make_file(void **state) {
    (void)state;
    strcpy(path + sizeof path - 7, "XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

static void a_resumed_run_ends_with_the_same_bits(void **state) {
    (void)state;
    static const plim_optimizer_kind kinds[] = {PLIM_SGD, PLIM_ADAMW, PLIM_ADAFACTOR, PLIM_LION};
    plim_graph *model = make_model(4);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        plim_trainer_options o = options_of(kinds[i]);
        o.optimizer.momentum = 0.9;
        plim_trainer *whole = make_trainer(model, o), *first = make_trainer(model, o);
        learn(whole, 0, 6);
        learn(first, 0, 3);
        must(plim__trainer_write_checkpoint(first, path, (plim__checkpoint){.epoch = 1, .sample = 18}, &error));
        plim_trainer_free(first);

        plim__checkpoint_file file;
        plim_trainer *second = make_trainer(model, o);
        learn(second, 0, 1); /* what it did before does not matter */
        must(plim__checkpoint_open(&file, path, &error));
        must(plim__trainer_read_checkpoint(second, &file, &error));
        assert_true(file.meta.epoch == 1 && file.meta.sample == 18 && file.meta.update == 3);
        char settings[PLIM__SETTINGS_TEXT];
        assert_string_equal(file.meta.settings, plim__trainer_settings(second, settings));
        plim__checkpoint_close(&file);
        learn(second, 3, 6);
        must_be_equal(whole, second, "resumed");
        plim_trainer_free(whole);
        plim_trainer_free(second);
    }
    plim_graph_free(model);
}

/* Nothing of the trainer has changed afterwards. */
static void must_refuse(const plim_graph *model, plim_trainer_options o, const char *words) {
    plim_trainer *trainer = make_trainer(model, o), *untouched = make_trainer(model, o);
    plim__checkpoint_file file;
    must(plim__checkpoint_open(&file, path, &error));
    plim_status status = plim__trainer_read_checkpoint(trainer, &file, &error);
    if (status != PLIM_INVALID || !strstr(error.message, words)) fail_msg("%d: %s", (int)status, error.message);
    must_be_equal(trainer, untouched, "refused");
    assert_int_equal(plim_trainer_progress(trainer).updates, 0);
    plim__checkpoint_close(&file);
    plim_trainer_free(trainer);
    plim_trainer_free(untouched);
}

static void a_checkpoint_of_another_run_changes_nothing(void **state) {
    (void)state;
    plim_graph *model = make_model(4), *wider = make_model(8);
    plim_trainer *trainer = make_trainer(model, options_of(PLIM_ADAMW));
    learn(trainer, 0, 1);
    must(plim__trainer_write_checkpoint(trainer, path, (plim__checkpoint){0}, &error));
    plim_trainer_free(trainer);
    must_refuse(wider, options_of(PLIM_ADAMW), "of another model: parameter '");
    must_refuse(model, options_of(PLIM_SGD), "a run with adamw, not with sgd");
    plim_trainer_options o = options_of(PLIM_ADAMW);
    o.seed = 6;
    must_refuse(model, o, "with the seed 5, not 6");
    const char *frozen = "conv1*";
    o = options_of(PLIM_ADAMW);
    o.freeze = &frozen;
    o.freeze_count = 1;
    must_refuse(model, o, "conv1");
    plim_graph_free(model);
    plim_graph_free(wider);
}

static void every_failing_allocation_is_told(void **state) {
    (void)state;
    plim_graph *model = make_model(4);
    plim_trainer *trainer = make_trainer(model, options_of(PLIM_ADAMW));
    plim_status status = PLIM_NO_MEMORY;
    for (size_t n = 1; status != PLIM_OK; n++) {
        assert_true(n < 2000);
        plim__alloc_fail_at(n);
        status = plim__trainer_write_checkpoint(trainer, path, (plim__checkpoint){0}, &error);
        plim__alloc_fail_at(0);
        if (status != PLIM_OK) assert_int_equal(status, PLIM_NO_MEMORY);
    }
    plim__checkpoint_file file;
    must(plim__checkpoint_open(&file, path, &error));
    status = PLIM_NO_MEMORY;
    for (size_t n = 1; status != PLIM_OK; n++) {
        assert_true(n < 2000);
        plim__alloc_fail_at(n);
        status = plim__trainer_read_checkpoint(trainer, &file, &error);
        plim__alloc_fail_at(0);
        if (status != PLIM_OK) assert_int_equal(status, PLIM_NO_MEMORY);
    }
    plim__checkpoint_close(&file);
    plim_trainer_free(trainer);
    plim_graph_free(model);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, make_file, remove_file)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FILE(a_resumed_run_ends_with_the_same_bits),
        WITH_FILE(a_checkpoint_of_another_run_changes_nothing),
        WITH_FILE(every_failing_allocation_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
