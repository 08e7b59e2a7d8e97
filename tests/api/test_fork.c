/* A child that was forked after OpenMP's threads had run in its parent gets a status for what needs threads, and never waits
 * for them; with one thread everything works, and the parent goes on as before. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

#define BATCH 64
#define LONG  60 /* seconds after which a child counts as hanging */

static float image[BATCH * 784];
static int64_t labels[BATCH];

static plim_status step(plim_trainer *trainer, plim_error *error) {
    return plim_trainer_step(trainer, &(plim_batch){BATCH, {image}, labels}, NULL, error);
}

static plim_status train(const plim_graph *model, int threads, plim_trainer **kept, plim_error *error) {
    plim_trainer *trainer = NULL;
    plim_trainer_options o = {.batch = BATCH,
                              .threads = threads,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                              .optimizer = plim_optimizer_default(PLIM_SGD)};
    plim_status status = plim_trainer_create(model, &o, &trainer, error);
    if (status == PLIM_OK) status = step(trainer, error);
    if (kept && status == PLIM_OK)
        *kept = trainer;
    else
        plim_trainer_free(trainer);
    return status;
}

/* Exit code: which of the child's expectations was not met. */
static int child(plim_graph *model, plim_trainer *inherited) {
    plim_error error = {0};
    plim_graph *made = NULL;
    alarm(LONG);
    if (step(inherited, &error) != PLIM_UNSUPPORTED || !strstr(error.message, "fork")) return 1;
    if (train(model, 2, NULL, &error) != PLIM_UNSUPPORTED || !strstr(error.message, "fork")) return 2;
    if (train(model, 1, NULL, &error) != PLIM_OK) return 3;
    if (plim_zoo_create("mlp", &(plim_zoo_options){.width = 512}, &made, &error) != PLIM_OK) return 4;
    plim_graph_free(made);
    plim_trainer_free(inherited);
    return 0;
}

static void a_forked_child_does_not_wait_for_threads_of_its_parent(void **state) {
    (void)state;
    plim_error error = {0};
    plim_graph *model = NULL;
    plim_trainer *trainer = NULL;
    assert_int_equal(plim_zoo_create("lenet", NULL, &model, &error), PLIM_OK);
    if (train(model, 2, &trainer, &error) != PLIM_OK) fail_msg("%s", error.message);
    pid_t forked = fork();
    if (forked == 0) _exit(child(model, trainer));
    int status = 0;
    assert_int_equal(waitpid(forked, &status, 0), forked);
    if (WIFSIGNALED(status)) fail_msg("the child ended by signal %d", WTERMSIG(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(step(trainer, &error), PLIM_OK);
    plim_trainer_free(trainer);
    plim_graph_free(model);
}

static const plim_data_field field = {.name = "x", .dtype = PLIM_F32, .rank = 1, .dims = {3}};
static const plim_data_options synthetic = {.batch = 4, .fields = &field, .field_count = 1};

/* Exit code: which of the child's expectations was not met. */
static int child_with_data(plim_data *inherited) {
    plim_error error = {0};
    plim_data_batch batch;
    plim_data_stats stats;
    plim_data *own = NULL;
    alarm(LONG);
    if (plim_data_next(inherited, &batch, &error) != PLIM_UNSUPPORTED || !strstr(error.message, "fork")) return 1;
    if (plim_data_seek(inherited, (plim_data_position){0}, &error) != PLIM_UNSUPPORTED) return 2;
    plim_data_get_stats(inherited, &stats);
    plim_data_free(inherited);
    if (plim_data_create("synthetic", &synthetic, &own, &error) != PLIM_OK) return 3;
    if (plim_data_next(own, &batch, &error) != PLIM_OK || batch.count != 4) return 4;
    plim_data_free(own);
    return 0;
}

static void a_forked_child_does_not_wait_for_data(void **state) {
    (void)state;
    plim_error error = {0};
    plim_data *data = NULL;
    plim_data_batch batch;
    if (plim_data_create("synthetic", &synthetic, &data, &error) != PLIM_OK) fail_msg("%s", error.message);
    assert_int_equal(plim_data_next(data, &batch, &error), PLIM_OK);
    pid_t forked = fork();
    if (forked == 0) _exit(child_with_data(data));
    int status = 0;
    assert_int_equal(waitpid(forked, &status, 0), forked);
    if (WIFSIGNALED(status)) fail_msg("the child ended by signal %d", WTERMSIG(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(plim_data_next(data, &batch, &error), PLIM_OK);
    assert_int_equal(batch.count, 4);
    plim_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_forked_child_does_not_wait_for_threads_of_its_parent),
                                       cmocka_unit_test(a_forked_child_does_not_wait_for_data)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
