/* When the n-th allocation fails, for every n, while a model is loaded, planned within a budget with all alternatives,
 * trained for three steps of which one is short, evaluated, written to a checkpoint and freed: a status, never a crash or a
 * leak, and the same calls succeed right afterwards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "plimsoll/plimsoll.h"
#include "run/trainer_save.h"

#define BATCH  2
#define PIXELS 784

/* A run takes tens of milliseconds, under sanitizers a fifth of a second, and makes thousands of allocations: a sample is tried,
 * spread over all of them, unless PLIM_FAULTS=all (make test-faults). */
#ifdef __SANITIZE_ADDRESS__
#define MOST 200
#else
#define MOST 1000
#endif
#define SPARE 4 /* a folder's name that is only synced */

static char model_path[] = "/tmp/plim-faults-XXXXXX", small_path[64], checkpoint_path[64];
static float image[BATCH * PIXELS];
static int64_t labels[BATCH] = {1, 2};

/* Whole, short, whole; and an evaluation. */
static plim_status train(plim_trainer *t, plim_error *error) {
    plim_status status = PLIM_OK;
    plim_data *data = NULL;
    plim_evaluation evaluation;
    int64_t count = BATCH;
    plim_data_array arrays[] = {{"image", PLIM_F32, 4, (const int64_t[]){BATCH, 1, 28, 28}, image, 0},
                                {"label", PLIM_I64, 1, &count, labels, 1}};
    for (int i = 0; status == PLIM_OK && i < 3; i++)
        status = plim_trainer_step(t, &(plim_batch){i == 1 ? BATCH - 1 : BATCH, {image}, labels}, NULL, error);
    if (status == PLIM_OK)
        status = plim_data_create_arrays(arrays, 2, &(plim_data_options){.batch = BATCH, .epochs = 1}, &data, error);
    if (status == PLIM_OK) status = plim_trainer_evaluate(t, data, &evaluation, error);
    plim_data_free(data);
    return status;
}

/* The whole of it, with all exact levers that a budget may need; every object is freed whatever happens. */
static plim_status whole_run(void *unused, plim_error *error) {
    (void)unused;
    plim_graph *model = NULL;
    plim_trainer *t = NULL;
    plim_trainer_options o = {.batch = BATCH,
                              .threads = 1,
                              .budget = (uint64_t)1 << 40,
                              .alternatives = 1,
                              .allow = PLIM_ALLOW_EXACT,
                              .samples = 2 * BATCH - 1,
                              .evaluates = BATCH,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                              .optimizer = plim_optimizer_default(PLIM_ADAMW)};
    plim_status status = plim_graph_load(model_path, &model, error);
    if (status == PLIM_OK) status = plim_trainer_create(model, &o, &t, error);
    if (status == PLIM_OK) status = train(t, error);
    if (status == PLIM_OK) status = plim__trainer_write_checkpoint(t, checkpoint_path, (plim__checkpoint){0}, error);
    plim_trainer_free(t);
    plim_graph_free(model);
    return status;
}

/* All candidates for the step, as `plan` searches for them, with micro-batches and the largest batch: often enough for a model
 * of one layer. */
static plim_status whole_plan(void *unused, plim_error *error) {
    (void)unused;
    plim_graph *model = NULL;
    plim_plan *plan = NULL;
    plim_trainer_options o = {.batch = BATCH,
                              .threads = 1,
                              .budget = (uint64_t)1 << 30,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                              .optimizer = plim_optimizer_default(PLIM_SGD)};
    plim_status status = plim_graph_load(small_path, &model, error);
    if (status == PLIM_OK) status = plim_plan_create(model, &o, &plan, error);
    plim_plan_free(plan);
    plim_graph_free(model);
    return status;
}

static void training_survives_any_failed_allocation(void **state) {
    (void)state;
    fail_each(&(faults){whole_run, NULL, MOST, SPARE});
}

static void planning_survives_any_failed_allocation(void **state) {
    (void)state;
    fail_each(&(faults){whole_plan, NULL, MOST, SPARE});
}

/* y = x w. */
static bool save_small(plim_error *error) {
    static const float weights[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){plim_graph_symbol(g, "N"), 4});
    plim_value w = plim_graph_parameter(g, "w", PLIM_F32, 2, (int64_t[]){4, 3}, weights);
    plim_graph_output(g, plim_graph_apply(g, "MatMul", (plim_value[]){x, w}, 2), "y");
    bool saved = plim_graph_save(g, small_path, error) == PLIM_OK;
    plim_graph_free(g);
    return saved;
}

static int make_model(void **state) {
    (void)state;
    plim_graph *model = NULL;
    plim_error error;
    int fd = mkstemp(model_path);
    if (fd < 0) return 1;
    close(fd);
    snprintf(checkpoint_path, sizeof checkpoint_path, "%s.checkpoint", model_path);
    snprintf(small_path, sizeof small_path, "%s.small", model_path);
    int failed = !save_small(&error) ||
                 plim_zoo_create("lenet", &(plim_zoo_options){.width = 2}, &model, &error) != PLIM_OK ||
                 plim_graph_save(model, model_path, &error) != PLIM_OK;
    plim_graph_free(model);
    setenv("PLIMSOLL_COSTS", "default", 1);
    for (int i = 0; i < BATCH * PIXELS; i++) image[i] = (float)(i % 17) / 17;
    return failed;
}

static int remove_files(void **state) {
    (void)state;
    unlink(model_path);
    unlink(checkpoint_path);
    unlink(small_path);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(planning_survives_any_failed_allocation),
                                       cmocka_unit_test(training_survives_any_failed_allocation)};
    return cmocka_run_group_tests(tests, make_model, remove_files);
}
