/* Rates are found again from the times they make, and parts of a step never cost less than the whole. */
#include <stdio.h>

#include "plan/costs.h"

#include "plim_test.h"

static plim__timed timed(const char *label, double flops, double bytes, double seconds) {
    plim__timed t = {.flops = flops, .bytes = bytes, .seconds = seconds + 15e-6};
    snprintf(t.label, sizeof t.label, "%s", label);
    return t;
}

static double seconds_of(const plim__costs *costs, const char *label, double flops, double bytes) {
    return plim__costs_seconds(costs, &(plim__step){.label = label, .cost = {.flops = flops, .bytes = bytes}});
}

static void near(double is, double should) { assert_true(is > 0.999 * should && is < 1.001 * should); }

static void rates_are_those_that_made_the_times(void **state) {
    (void)state;
    static plim__costs costs;
    const plim__timed all[] = {
        timed("Conv", 4e9, 2e7, 4e9 / 100e9 + 2e7 / 10e9), timed("Relu", 1e7, 8e7, 8e7 / 20e9),
        timed("Conv", 1e9, 9e7, 1e9 / 100e9 + 9e7 / 10e9), timed("Relu", 4e5, 3.2e6, 3.2e6 / 20e9),
        timed("Conv", 5e8, 1e6, 5e8 / 100e9 + 1e6 / 10e9),
    };
    plim__costs_fit(&costs, all, sizeof all / sizeof *all);
    assert_int_equal(costs.count, 2);
    near(seconds_of(&costs, "Conv", 3e9, 5e7), 15e-6 + 3e9 / 100e9 + 5e7 / 10e9);
    near(seconds_of(&costs, "Relu", 2e6, 1.6e7), 15e-6 + 1.6e7 / 20e9);
    assert_true(seconds_of(&costs, "never seen", 1e9, 1e7) > 1e9 / 200e9);
}

/* Times that no rates explain: small steps faster than their share, and slower. */
static void halves_never_cost_less_than_the_whole(void **state) {
    (void)state;
    static plim__costs costs;
    const plim__timed all[] = {timed("Gemm", 1e6, 1e6, 1e-3), timed("Gemm", 8e9, 3e7, 5e-2),
                               timed("Gemm", 1e9, 9e7, 1e-2), timed("Pool", 1e6, 4e6, 1e-5),
                               timed("Pool", 1e8, 4e8, 1e-1), timed("Odd", 0, 1e6, 1e-3),
                               timed("Nothing", 0, 0, -15e-6)};
    plim__costs_fit(&costs, all, sizeof all / sizeof *all);
    for (size_t i = 0; i < costs.count; i++) {
        const char *label = costs.rates[i].label;
        assert_true(costs.rates[i].flops >= 0 && costs.rates[i].bytes >= 0);
        for (double weights = 0; weights <= 1e8; weights += 1e7) {
            double whole = seconds_of(&costs, label, 2e9, weights + 4e7);
            assert_true(2 * seconds_of(&costs, label, 1e9, weights + 2e7) >= whole);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_those_that_made_the_times),
        cmocka_unit_test(halves_never_cost_less_than_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
