/* Rates that were measured are those of the operators they name. */
#include <ctype.h>
#include <string.h>

#include "run/measure.h"

#include "plim_test.h"

static const plim__rate *find(const plim__costs *costs, const char *label) {
    for (size_t i = 0; i < costs->count; i++)
        if (strcmp(costs->rates[i].label, label) == 0) return &costs->rates[i];
    return NULL;
}

/* The networks they were measured with are gone by then, and with them the graphs that hold the names. */
static void every_rate_has_the_name_of_an_operator(void **state) {
    (void)state;
    static plim__costs costs;
    plim_error error;
    assert_int_equal(plim__costs_measure(2, &costs, &error), PLIM_OK);
    assert_true(costs.count > 10 && costs.count <= PLIM__MOST_RATES);
    for (size_t i = 0; i < costs.count; i++) {
        const char *label = costs.rates[i].label;
        assert_true(isupper((unsigned char)*label) || islower((unsigned char)*label));
        for (const char *c = label; *c; c++) assert_true(isprint((unsigned char)*c));
        assert_ptr_equal(find(&costs, label), &costs.rates[i]); /* once each */
        assert_true(costs.rates[i].bytes >= 0 && costs.rates[i].flops >= 0);
    }
    assert_non_null(find(&costs, "Conv"));
    assert_true(find(&costs, "Conv")->flops > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_rate_has_the_name_of_an_operator)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
