/* The load of others is what the kernel counts of our processors, without what we used ourselves. */
#include <stdint.h>

#include "mem/cpu_load.h"

#include "plim_test.h"

static int below_two(int processor, void *context) {
    (void)context;
    return processor < 2;
}

static void only_our_processors_count(void **state) {
    (void)state;
    plim__cpu_load load = {0};
    plim__cpu_load_parse("cpu  900 900 900 900 900 900 900 900 0 0\n"
                         "cpu0 100 10 20 500 30 1 2 3 77 0\n"
                         "cpu1 200 0 0 300 0 0 0 0 0 0\n"
                         "cpu2 999 999 999 999 0 0 0 0 0 0\n"
                         "intr 12345\n",
                         below_two, NULL, &load);
    assert_true(load.all == 100 + 10 + 20 + 500 + 30 + 1 + 2 + 3 + 500);
    assert_true(load.busy == 100 + 10 + 20 + 1 + 2 + 3 + 200);
}

static void shares_lie_between_nothing_and_all(void **state) {
    (void)state;
    plim__cpu_load begin = plim__cpu_load_begin();
    for (volatile int i = 0; i < 100000000; i++) {}
    double others = plim__cpu_load_others(&begin);
    assert_true(others >= 0 && others <= 1);
    plim__cpu_load never = begin, later = begin;
    never.busy = -1e9;
    never.all = 0;
    assert_true(plim__cpu_load_others(&never) == 1);
    later.busy = 1e18;
    later.all = -1;
    assert_true(plim__cpu_load_others(&later) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_our_processors_count),
        cmocka_unit_test(shares_lie_between_nothing_and_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
