/* When the n-th allocation fails, for n after n, while a model is loaded, planned, trained for three steps, written to a
 * checkpoint and freed, and while all ways to train it are looked for (there a sample, unless PLIM_FAULTS=all): a status, never a crash or a leak, and the same calls succeed right afterwards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"
#include "run/trainer_save.h"

#define BATCH  4
#define PIXELS 784

static char model_path[] = "/tmp/plim-faults-XXXXXX", checkpoint_path[64];
static float image[BATCH * PIXELS];
static int64_t labels[BATCH] = {1, 2, 3, 4};

static plim_status train(plim_trainer *t, plim_error *error) {
    plim_status status = PLIM_OK;
    for (int i = 0; status == PLIM_OK && i < 3; i++)
        status = plim_trainer_step(t, &(plim_batch){BATCH, {image}, labels}, NULL, error);
    return status;
}

/* The whole of it; every object is freed whatever happens. */
static plim_status whole_run(plim_error *error) {
    plim_graph *model = NULL;
    plim_trainer *t = NULL;
    plim_trainer_options o = {.batch = BATCH,
                              .threads = 1,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                              .optimizer = plim_optimizer_default(PLIM_ADAMW)};
    plim_status status = plim_onnx_load(model_path, &model, error);
    if (status == PLIM_OK) status = plim_trainer_create(model, &o, &t, error);
    if (status == PLIM_OK) status = train(t, error);
    if (status == PLIM_OK) status = plim__trainer_write_checkpoint(t, checkpoint_path, (plim__checkpoint){0}, error);
    plim_trainer_free(t);
    plim_graph_free(model);
    return status;
}

/* All ways to make the step, as `plan` looks for them. */
static plim_status whole_plan(plim_error *error) {
    plim_graph *model = NULL;
    plim_plan *plan = NULL;
    plim_trainer_options o = {.batch = BATCH,
                              .threads = 1,
                              .budget = (uint64_t)1 << 30,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                              .optimizer = plim_optimizer_default(PLIM_SGD)};
    plim_status status = plim_onnx_load(model_path, &model, error);
    if (status == PLIM_OK) status = plim_plan_create(model, &o, &plan, error);
    plim_plan_free(plan);
    plim_graph_free(model);
    return status;
}

/* A few allocations can be done without (a folder's name that is only synced): then all is well. */
static void fail_each(plim_status (*run)(plim_error *), size_t most) {
    plim_error error = {0};
    size_t before = plim__alloc_count();
    if (run(&error) != PLIM_OK) fail_msg("%s", error.message);
    size_t count = plim__alloc_count() - before, spared = 0;
    const char *all = getenv("PLIM_FAULTS");
    size_t stride = all && strcmp(all, "all") == 0 ? 1 : (count + most - 1) / most;
    for (size_t n = 1; n <= count; n += stride) {
        error = (plim_error){0};
        plim__alloc_fail_at(n);
        plim_status status = run(&error);
        plim__alloc_fail_at(0);
        if (status != PLIM_NO_MEMORY && status != PLIM_OK)
            fail_msg("allocation %zu of %zu: status %d (%s)", n, count, (int)status, error.message);
        if (status != PLIM_OK && !*error.message) fail_msg("allocation %zu: no message", n);
        spared += status == PLIM_OK;
    }
    if (spared > 8) fail_msg("%zu failures went by unseen", spared);
    if (run(&error) != PLIM_OK) fail_msg("afterwards: %s", error.message);
}

static void training_survives_any_failed_allocation(void **state) {
    (void)state;
    fail_each(whole_run, 4000);
}

/* Under sanitizers a plan takes seconds. */
#ifdef __SANITIZE_ADDRESS__
#define PLANS 12
#else
#define PLANS 150
#endif

static void planning_survives_any_failed_allocation(void **state) {
    (void)state;
    fail_each(whole_plan, PLANS);
}

static int make_model(void **state) {
    (void)state;
    plim_graph *model = NULL;
    plim_error error;
    int fd = mkstemp(model_path);
    if (fd < 0) return 1;
    close(fd);
    snprintf(checkpoint_path, sizeof checkpoint_path, "%s.checkpoint", model_path);
    int failed = plim_zoo_create("lenet", &(plim_zoo_options){.width = 4}, &model, &error) != PLIM_OK ||
                 plim_onnx_save(model, model_path, &error) != PLIM_OK;
    plim_graph_free(model);
    setenv("PLIMSOLL_COSTS", "default", 1);
    for (int i = 0; i < BATCH * PIXELS; i++) image[i] = (float)(i % 17) / 17;
    return failed;
}

static int remove_files(void **state) {
    (void)state;
    unlink(model_path);
    unlink(checkpoint_path);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(training_survives_any_failed_allocation),
                                       cmocka_unit_test(planning_survives_any_failed_allocation)};
    return cmocka_run_group_tests(tests, make_model, remove_files);
}
