/* Threads that give way: one on each processor that is named, gone when they are told, and never in the way. */
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "mem/crowd.h"
#include "plim_test.h"

/* Threads of this process but the calling one that may run on that processor alone. */
static int pinned_to(int processor) {
    DIR *tasks = opendir("/proc/self/task");
    int found = 0;
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        cpu_set_t set;
        pid_t id = (pid_t)atoi(task->d_name);
        if (id <= 0 || id == getpid() || sched_getaffinity(id, sizeof set, &set) != 0) continue;
        found += CPU_COUNT(&set) == 1 && CPU_ISSET((size_t)processor, &set);
    }
    closedir(tasks);
    return found;
}

static double used(clockid_t clock) {
    struct timespec t;
    assert_int_equal(clock_gettime(clock, &t), 0);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void wait_until(int processor, int wanted) {
    for (int i = 0; i < 2000 && pinned_to(processor) != wanted; i++) nanosleep(&(struct timespec){0, 1000000}, NULL);
    assert_int_equal(pinned_to(processor), wanted);
}

static void each_goes_to_a_processor_and_ends(void **state) {
    (void)state;
    cpu_set_t here;
    assert_int_equal(sched_getaffinity(0, sizeof here, &here), 0);
    plim__crowd *crowd = plim__crowd_create(1);
    assert_non_null(crowd);
    plim__crowd_place(crowd, &here); /* more processors than members */
    int first = 0;
    while (!CPU_ISSET((size_t)first, &here)) first++;
    wait_until(first, 1);
    plim__crowd_place(crowd, NULL);
    plim__crowd_place(crowd, &here);
    plim__crowd_free(crowd);
    wait_until(first, 0);
}

/* Where giving way costs something, a member goes to sleep: what it used meanwhile is bounded. */
static void it_takes_next_to_nothing_from_who_computes(void **state) {
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    plim__crowd *crowd = plim__crowd_create(1);
    assert_non_null(crowd);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    plim__crowd_place(crowd, &one);
    double own = used(CLOCK_THREAD_CPUTIME_ID), whole = used(CLOCK_PROCESS_CPUTIME_ID);
    while (used(CLOCK_THREAD_CPUTIME_ID) - own < 0.5) continue;
    own = used(CLOCK_THREAD_CPUTIME_ID) - own;
    whole = used(CLOCK_PROCESS_CPUTIME_ID) - whole;
    plim__crowd_free(crowd);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_true(whole - own < 0.2 * own);
}

static void none_is_a_crowd_too(void **state) {
    (void)state;
    cpu_set_t set;
    CPU_ZERO(&set);
    plim__crowd_place(NULL, &set);
    plim__crowd_free(NULL);
    plim__crowd *crowd = plim__crowd_create(2); /* freed while it sleeps, and while it has nowhere to go */
    plim__crowd_free(crowd);
    crowd = plim__crowd_create(2);
    plim__crowd_place(crowd, &set);
    plim__crowd_free(crowd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_goes_to_a_processor_and_ends),
        cmocka_unit_test(it_takes_next_to_nothing_from_who_computes),
        cmocka_unit_test(none_is_a_crowd_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
