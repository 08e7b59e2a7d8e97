/* Threads beside busy programs: they are gathered where that is faster, spread where it is not and when the machine is
 * quiet again, and a run leaves its thread where it was. Machines are simulated: how long a step takes, spread and gathered. */
#include <sched.h>
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"
#include "run/placement.h"

typedef struct machine {
    double spread, gathered; /* seconds of a step */
    double settles;          /* seconds that the kernel takes to move others away: until then gathering does not help */
    double others;           /* processors that they use */
} machine;

/* Runs for some time; the share of it that threads were gathered. */
static double run(plim__gathering *g, const machine *m, double *now, double seconds) {
    double end = *now + seconds, gathered = 0, moved = *now, looked = *now, start = *now;
    while (*now < end) {
        bool before = g->gathered;
        double left = before ? moved + m->settles - *now : 0, step = before ? m->gathered : m->spread,
               slow = 1.1 * m->spread;
        if (left > 0) step = left > slow ? slow : left + (1 - left / slow) * m->gathered;
        *now += step;
        if (before) gathered += step;
        bool looks = *now - looked >= 0.25;
        if (looks) looked = *now;
        plim__gathering_step(g, *now, step, looks ? m->others : -1);
        if (g->gathered != before) moved = *now;
    }
    return gathered / (*now - start);
}

static void gathers_where_that_is_faster(void **state) {
    (void)state;
    for (double step = 0.001; step < 3; step *= 3) {
        plim__gathering g = {0};
        double now = 1000;
        machine busy = {2.6 * step, 2 * step, 0.6, 1};
        run(&g, &busy, &now, 3 + 10 * step);
        assert_true(run(&g, &busy, &now, 100) > 0.9);
    }
}

static void waits_for_a_slow_system_where_that_costs_nothing(void **state) {
    (void)state;
    plim__gathering g = {0};
    double now = 0;
    machine busy = {0.26, 0.2, 3, 1.9};
    run(&g, &busy, &now, 6);
    assert_true(run(&g, &busy, &now, 100) > 0.9);
}

static void stays_spread_where_gathering_is_slower(void **state) {
    (void)state;
    for (double step = 0.001; step < 3; step *= 3) {
        plim__gathering g = {0};
        double now = 0;
        machine busy = {1.5 * step, 2 * step, 0.1, 1};
        assert_true(run(&g, &busy, &now, 300) < 0.07);
    }
}

static void a_quiet_machine_is_left_alone(void **state) {
    (void)state;
    plim__gathering g = {0};
    double now = 0;
    machine quiet = {0.01, 0.02, 0, 0.1};
    assert_true(run(&g, &quiet, &now, 300) == 0);
}

static void spreads_when_the_others_have_ended(void **state) {
    (void)state;
    plim__gathering g = {0};
    double now = 0;
    machine busy = {0.26, 0.2, 0.6, 1.9}, quiet = {0.1, 0.2, 0, 0};
    run(&g, &busy, &now, 10);
    assert_true(g.gathered);
    assert_true(run(&g, &quiet, &now, 10) < 0.07);
    assert_true(run(&g, &quiet, &now, 100) == 0);
    run(&g, &busy, &now, 10); /* and gathers again */
    assert_true(g.gathered);
}

static void a_run_leaves_its_thread_where_it_was(void **state) {
    (void)state;
    cpu_set_t before, meanwhile, after;
    plim__placement p;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    int threads = CPU_COUNT(&before);
    plim__placement_begin(&p, threads);
    if (threads < 2) {
        assert_int_equal(p.threads, 0);
        return;
    }
    p.gathering = (plim__gathering){.busy = true};
    for (int i = 0; i < 4 && !p.gathering.gathered; i++) {
        p.looked = 1e18; /* never: it is busy, whatever this machine is */
        plim__placement_step(&p, 1);
    }
    assert_true(p.gathering.gathered);
    assert_int_equal(sched_getaffinity(0, sizeof meanwhile, &meanwhile), 0);
    assert_int_equal(CPU_COUNT(&meanwhile), (threads + 1) / 2);
    plim__placement_end(&p);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_memory_equal(&before, &after, sizeof before);
}

static void a_host_can_decline(void **state) {
    (void)state;
    plim__placement p;
    assert_int_equal(plim_host_configure(&(plim_host_options){.keep_affinity = 1}, NULL), PLIM_OK);
    plim__placement_begin(&p, 2);
    assert_int_equal(p.threads, 0);
    assert_int_equal(plim_host_configure(NULL, NULL), PLIM_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers_where_that_is_faster),
        cmocka_unit_test(waits_for_a_slow_system_where_that_costs_nothing),
        cmocka_unit_test(stays_spread_where_gathering_is_slower),
        cmocka_unit_test(a_quiet_machine_is_left_alone),
        cmocka_unit_test(spreads_when_the_others_have_ended),
        cmocka_unit_test(a_run_leaves_its_thread_where_it_was),
        cmocka_unit_test(a_host_can_decline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
