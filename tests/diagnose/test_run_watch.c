/* Watching a process tree from inside the library: what is seen, and every allocation that may fail. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "diagnose/watch_findings.h"
#include "diagnose/watch_table.h"

enum { HELD = 48 << 20 };

static void pause_for(double seconds) {
    nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)}, NULL);
}

/* A process with a child; each holds HELD bytes until it is killed. Returns once both do. */
static pid_t start_holders(void) {
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t parent = fork();
    if (parent == 0) {
        pid_t child = fork();
        char *block = mmap(NULL, HELD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (child < 0 || block == MAP_FAILED) _exit(1);
        memset(block, 1, HELD);
        if (write(ready[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    char byte;
    close(ready[1]);
    for (int i = 0; i < 2; i++) assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return parent;
}

static void kill_tree(pid_t root) {
    plim__process_list list = {0};
    assert_true(plim__process_scan(&list));
    plim__process_keep_tree(&list, root);
    for (size_t i = 0; i < list.count; i++) kill(list.items[i].pid, SIGKILL);
    plim__vec_free(&list);
}

static void the_whole_tree_is_seen(void **state) {
    (void)state;
    pid_t root = start_holders();
    plim__process_list list = {0};
    assert_true(plim__process_scan(&list));
    plim__process_keep_tree(&list, root);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].pid, root);
    assert_int_equal(list.items[1].parent, root);
    for (size_t i = 0; i < 2; i++) assert_true(list.items[i].rss >= HELD);
    pid_t child;
    if (plim__process_children(root, &child, 1)) assert_int_equal(child, list.items[1].pid);
    plim__vec_free(&list);
    plim__kernel_log log;
    plim__kernel_log_open(&log);
    plim__watch *watch;
    assert_int_equal(plim__watch_start(&watch, &(plim__watch_options){.pid = root}, NULL), PLIM_OK);
    plim__sample sample = {0};
    while (!plim__watch_latest(watch, &sample) || sample.processes < 2) pause_for(0.01);
    assert_true(sample.rss >= 2ull * HELD && sample.step == -1);
    kill_tree(root);
    int status;
    struct rusage usage;
    assert_int_equal(wait4(root, &status, 0, &usage), root);
    plim__watch_stop(watch);
    plim__findings findings;
    plim__ending ending = {root, status, &usage, 1};
    assert_int_equal(plim__findings_make(&findings, watch, &log, &ending, NULL), PLIM_OK);
    assert_int_equal(findings.leave_with, 128 + SIGKILL);
    if (log.fd >= 0) assert_int_equal(findings.death.kind, PLIM_DEATH_KILLED); /* else it may be unsure */
    plim__kernel_log_close(&log);
    assert_int_equal(findings.processes_most, 2);
    assert_true(findings.peak >= 2ull * HELD);
    plim__findings_free(&findings);
    plim__watch_free(watch);
}

/* Each call is made with its 1st, 2nd, 3rd ... allocation failing, until it succeeds. */
static void a_failed_allocation_is_told_or_borne(void **state) {
    (void)state;
    pid_t root = start_holders();
    plim_error error;
    for (size_t n = 1, done = 0; !done; n++) {
        plim__table table = {0};
        plim__alloc_fail_at(n);
        size_t before = plim__alloc_count();
        plim_status status = plim__table_look(&table, NULL, 0, PLIM_PROCESS_RSS, 0, &error);
        done = plim__alloc_count() - before < n;
        plim__alloc_fail_at(0);
        assert_true(status == PLIM_OK ? done : status == PLIM_NO_MEMORY || status == PLIM_IO);
        plim__table_free(&table);
    }
    struct rusage usage = {0};
    plim__ending ending = {root, 0, &usage, 1};
    for (size_t n = 1, done = 0; !done; n++) {
        plim__kernel_log log = {.fd = -1};
        plim__findings findings;
        plim__watch *watch;
        assert_int_equal(plim__watch_start(&watch, &(plim__watch_options){.pid = root}, &error), PLIM_OK);
        plim__sample sample;
        while (!plim__watch_latest(watch, &sample)) pause_for(0.002);
        plim__watch_stop(watch);
        plim__alloc_fail_at(n);
        size_t before = plim__alloc_count();
        plim_status status = plim__findings_make(&findings, watch, &log, &ending, &error);
        done = plim__alloc_count() - before < n;
        plim__alloc_fail_at(0);
        assert_true(status == (done ? PLIM_OK : PLIM_NO_MEMORY));
        if (status == PLIM_OK) plim__findings_free(&findings);
        plim__watch_free(watch);
    }
    plim__watch *watch;
    plim__alloc_fail_at(1);
    assert_int_equal(plim__watch_start(&watch, &(plim__watch_options){.pid = root}, &error), PLIM_NO_MEMORY);
    assert_null(watch);
    plim__alloc_fail_at(0);
    kill_tree(root);
    waitpid(root, NULL, 0);
}

static void growth_is_told_over_the_last_looks(void **state) {
    (void)state;
    plim__table table = {0};
    assert_int_equal(plim__table_look(&table, NULL, 0, PLIM_PROCESS_PID, 0, NULL), PLIM_OK);
    for (size_t i = 0; i < table.rows.count; i++) assert_false(table.rows.items[i].growth_known);
    char *block = malloc(HELD);
    assert_non_null(block);
    memset(block, 1, HELD);
    assert_int_equal(plim__table_look(&table, NULL, 30, PLIM_PROCESS_PID, 0, NULL), PLIM_OK);
    bool found = false;
    for (size_t i = 0; i < table.rows.count; i++) {
        const plim__table_row *row = &table.rows.items[i];
        if (row->process.pid != getpid()) continue;
        found = true;
        assert_true(row->growth_known && row->growth > 1.9 * HELD && row->growth < 2.5 * HELD); /* in half a minute */
    }
    assert_true(found);
    free(block);
    plim__table_free(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_tree_is_seen),
        cmocka_unit_test(a_failed_allocation_is_told_or_borne),
        cmocka_unit_test(growth_is_told_over_the_last_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
