/* A host's signal handlers and training: a timer that fires all the time changes no bit, also where oneDNN uses AVX2, whose
 * matrix product does not survive a handler on its stack. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"
#include "run/same_trainer.h"

#define BATCH  16
#define PIXELS (28 * 28)
#define STEPS  400
#define EVERY  200 /* microseconds of the process's own time: no machine is too slow to get on */

static plim_error error;
static volatile sig_atomic_t caught;

static void must(plim_status status) {
    if (status != PLIM_OK) fail_msg("%s", error.message);
}

static void on_timer(int number) {
    (void)number;
    caught++;
}

static void set_timer(int microseconds) {
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    assert_int_equal(setitimer(ITIMER_PROF, &timer, NULL), 0);
}

static plim_trainer *trained(const plim_graph *model, int threads, int every) {
    static float image[BATCH * PIXELS];
    static int64_t labels[BATCH];
    plim_trainer *trainer;
    plim_step_result result;
    plim_trainer_options o = {.batch = BATCH,
                              .threads = threads,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                              .optimizer = plim_optimizer_default(PLIM_SGD)};
    for (int i = 0; i < BATCH * PIXELS; i++) image[i] = (float)(i * 7919 % 251) / 251;
    for (int i = 0; i < BATCH; i++) labels[i] = i % 10;
    must(plim_trainer_create(model, &o, &trainer, &error));
    plim_batch batch = {BATCH, {image}, labels};
    set_timer(every);
    for (int s = 0; s < STEPS; s++) must(plim_trainer_step(trainer, &batch, &result, &error));
    set_timer(0);
    return trainer;
}

static void trains_alike(int threads) {
    plim_graph *model;
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    assert_int_equal(sigaction(SIGPROF, &action, NULL), 0);
    must(plim_zoo_create("mlp", NULL, &model, &error));
    plim_trainer *still = trained(model, threads, 0);
    assert_int_equal(caught, 0);
    plim_trainer *disturbed = trained(model, threads, EVERY);
    assert_true(caught > 20); /* after kernels, and not lost */
    caught = 0;
    must_be_equal(still, disturbed, "beside a timer");
    plim_trainer_free(still);
    plim_trainer_free(disturbed);
    plim_graph_free(model);
}

static void a_handler_changes_no_bit_on_one_thread(void **state) {
    (void)state;
    trains_alike(1);
}

static void a_handler_changes_no_bit_on_two_threads(void **state) {
    (void)state;
    trains_alike(2);
}

static void the_mask_of_the_calling_thread_stays(void **state) {
    (void)state;
    sigset_t now;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
    for (int number = 1; number < SIGRTMIN; number++) assert_int_not_equal(sigismember(&now, number), 1);
}

int main(void) {
    setenv("DNNL_MAX_CPU_ISA", "AVX2", 1); /* before oneDNN looks; where there is less it has no effect */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_changes_no_bit_on_one_thread),
        cmocka_unit_test(a_handler_changes_no_bit_on_two_threads),
        cmocka_unit_test(the_mask_of_the_calling_thread_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
