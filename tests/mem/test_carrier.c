/* Carriers: every piece of an errand is done once, by threads or without any; what is due first comes first; what fails is
 * told to who waits; threads hold signals, and a forked child is not held up by those it has not got. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "mem/carrier.h"

#include "plim_test.h"

enum { PIECES = 100, ROOM = 64, ROOMS = 4 };

static char rooms[ROOMS][ROOM];

struct job {
    plim__errand base;
    atomic_int times[PIECES]; /* that a piece was done */
    atomic_int by_threads;
    int fails_at; /* -1: no piece does */
};

static pthread_t caller;

static plim_status count_piece(const plim__errand *base, size_t piece, void *room, plim_error *error) {
    struct job *job = (struct job *)(uintptr_t)base;
    memset(room, (int)piece, ROOM);
    atomic_fetch_add(&job->times[piece], 1);
    if (!pthread_equal(pthread_self(), caller)) atomic_fetch_add(&job->by_threads, 1);
    for (int i = 0; i < ROOM; i++)
        if (((char *)room)[i] != (char)piece) return plim__fail(error, PLIM_INTERNAL, "another works in this room");
    return (int)piece == job->fails_at ? plim__fail(error, PLIM_IO, "piece %zu failed", piece) : PLIM_OK;
}

static plim__carrier *make(int count) {
    plim__carrier *carrier;
    plim_error error;
    caller = pthread_self();
    if (plim__carrier_create(count, &carrier, &error) != PLIM_OK) fail_msg("%s", error.message);
    plim__carrier_settle_in(carrier, rooms, ROOM);
    return carrier;
}

static void begin(struct job *job, int32_t due) {
    memset(job, 0, sizeof *job);
    job->base = (plim__errand){.piece = count_piece, .pieces = PIECES, .due = due};
    job->fails_at = -1;
}

static void every_piece_is_done_once(void **state) {
    (void)state;
    for (int count = 1; count <= ROOMS; count++) { /* one room: no threads */
        plim__carrier *carrier = make(count);
        static struct job jobs[5];
        for (int i = 0; i < 5; i++) {
            begin(&jobs[i], 5 - i);
            plim__carrier_send(carrier, &jobs[i].base);
        }
        for (int i = 0; i < 5; i++) {
            assert_int_equal(plim__carrier_wait(carrier, &jobs[i].base, NULL), PLIM_OK);
            for (int p = 0; p < PIECES; p++) assert_int_equal(jobs[i].times[p], 1);
            if (count == 1) assert_int_equal(jobs[i].by_threads, 0);
        }
        plim__carrier_free(carrier);
    }
}

static void threads_work_while_the_caller_does_not_wait(void **state) {
    (void)state;
    plim__carrier *carrier = make(2);
    static struct job job;
    begin(&job, 0);
    plim__carrier_send(carrier, &job.base);
    while (atomic_load(&job.by_threads) < PIECES) usleep(100);
    while (plim__carrier_count(carrier).pieces < PIECES) usleep(100);
    usleep(1000);
    assert_int_equal(plim__carrier_wait(carrier, &job.base, NULL), PLIM_OK);
    assert_int_equal(plim__carrier_count(carrier).errands, 1);
    plim__carrier_free(carrier);
}

/* --- order ---------------------------------------------------------------------------------------------------- */

static atomic_bool open_gate, at_gate;
static atomic_int order[3], ordered;

static plim_status wait_at_gate(const plim__errand *errand, size_t piece, void *room, plim_error *error) {
    (void)errand, (void)piece, (void)room, (void)error;
    atomic_store(&at_gate, true);
    while (!atomic_load(&open_gate)) usleep(100);
    return PLIM_OK;
}

static plim_status note_order(const plim__errand *errand, size_t piece, void *room, plim_error *error) {
    (void)piece, (void)room, (void)error;
    order[atomic_fetch_add(&ordered, 1)] = errand->due;
    return PLIM_OK;
}

static void what_is_due_first_comes_first(void **state) {
    (void)state;
    plim__carrier *carrier = make(2);
    plim__errand gate = {.piece = wait_at_gate, .pieces = 1, .due = 9}, later[3];
    plim__carrier_send(carrier, &gate);
    while (!atomic_load(&at_gate)) usleep(100);
    for (int i = 0; i < 3; i++) {
        later[i] = (plim__errand){.piece = note_order, .pieces = 1, .due = (int32_t[]){5, 3, 4}[i]};
        plim__carrier_send(carrier, &later[i]);
    }
    atomic_store(&open_gate, true);
    while (atomic_load(&ordered) < 3) usleep(100);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(order[i], 3 + i);
        assert_int_equal(plim__carrier_wait(carrier, &later[i], NULL), PLIM_OK);
    }
    assert_int_equal(plim__carrier_wait(carrier, &gate, NULL), PLIM_OK);
    plim__carrier_free(carrier);
}

/* --- failures ------------------------------------------------------------------------------------------------- */

static void what_fails_is_told_to_who_waits(void **state) {
    (void)state;
    for (int count = 1; count <= 3; count++) {
        plim__carrier *carrier = make(count);
        static struct job bad, good;
        plim_error error = {0};
        begin(&bad, 0);
        begin(&good, 1);
        bad.fails_at = 10;
        plim__carrier_send(carrier, &bad.base);
        plim__carrier_send(carrier, &good.base);
        assert_int_equal(plim__carrier_wait(carrier, &bad.base, &error), PLIM_IO);
        assert_string_equal(error.message, "piece 10 failed");
        if (count == 1) assert_int_equal(bad.times[11], 0); /* the rest is left out */
        assert_int_equal(plim__carrier_wait(carrier, &good.base, &error), PLIM_OK);
        plim__carrier_free(carrier);
    }
}

static void what_is_dropped_is_not_begun_any_more(void **state) {
    (void)state;
    for (int count = 1; count <= 3; count++) {
        plim__carrier *carrier = make(count);
        static struct job job;
        begin(&job, 0);
        plim__carrier_send(carrier, &job.base);
        plim__carrier_drop(carrier);
        int done = 0;
        for (int p = 0; p < PIECES; p++) done += job.times[p];
        if (count == 1) assert_int_equal(done, 0);
        begin(&job, 0);
        plim__carrier_send(carrier, &job.base);
        assert_int_equal(plim__carrier_wait(carrier, &job.base, NULL), PLIM_OK);
        for (int p = 0; p < PIECES; p++) assert_int_equal(job.times[p], 1);
        begin(&job, 0);
        plim__carrier_send(carrier, &job.base);
        plim__carrier_free(carrier); /* with work left */
    }
}

/* --- the process ---------------------------------------------------------------------------------------------- */

static atomic_int held;

static plim_status look_at_signals(const plim__errand *errand, size_t piece, void *room, plim_error *error) {
    sigset_t set;
    (void)errand, (void)piece, (void)room, (void)error;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    atomic_store(&held, sigismember(&set, SIGINT) && sigismember(&set, SIGTERM) ? 1 : -1);
    return PLIM_OK;
}

static void threads_hold_signals(void **state) {
    (void)state;
    plim__carrier *carrier = make(2);
    plim__errand errand = {.piece = look_at_signals, .pieces = 1};
    plim__carrier_send(carrier, &errand);
    while (!atomic_load(&held)) usleep(100);
    assert_int_equal(held, 1);
    sigset_t set;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    assert_false(sigismember(&set, SIGINT)); /* and this one does not */
    plim__carrier_free(carrier);
}

static void a_forked_child_is_not_held_up(void **state) {
    (void)state;
    plim__carrier *carrier = make(3);
    assert_false(plim__carrier_is_forked(carrier));
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        bool forked = plim__carrier_is_forked(carrier);
        plim__carrier_drop(carrier);
        plim__carrier_free(carrier);
        _exit(forked ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    plim__carrier_free(carrier);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_piece_is_done_once),
                                       cmocka_unit_test(threads_work_while_the_caller_does_not_wait),
                                       cmocka_unit_test(what_is_due_first_comes_first),
                                       cmocka_unit_test(what_fails_is_told_to_who_waits),
                                       cmocka_unit_test(what_is_dropped_is_not_begun_any_more),
                                       cmocka_unit_test(threads_hold_signals),
                                       cmocka_unit_test(a_forked_child_is_not_held_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
