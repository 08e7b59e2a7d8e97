/* Graphs of one operator, and their gradients against central differences. */
#ifndef PLIM_TEST_GRAD_CHECK_H
#define PLIM_TEST_GRAD_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

#define DIMS(...)                                                                                                      \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

static double worst_error;
static char worst_case[64];

static inline plim_value real_input(plim_graph *g, const char *name, int rank, const int64_t *dims) {
    return plim_graph_input(g, name, PLIM_F32, rank, dims);
}

static inline plim_value ints(plim_graph *g, int rank, const int64_t *dims, const int64_t *values) {
    return plim_graph_constant(g, NULL, PLIM_I64, rank, dims, values);
}

static inline plim_value list(plim_graph *g, int64_t count, const int64_t *values) {
    return ints(g, 1, &count, values);
}

/* Ends the graph with its output and checks it. */
static inline void expect_right(const char *what, plim_graph *g, plim_value y, const plim_gradient_options *options,
                                double tolerance) {
    plim_error error = {0};
    plim_gradient_result r = {0};
    plim_graph_output(g, y, "result");
    if (plim_gradient_check(g, options, &r, &error) != PLIM_OK) fail_msg("%s: %s", what, error.message);
    if (!(r.error <= tolerance))
        fail_msg("%s: the gradient of %s[%lld] is %g, differences give %g (off by %.2g)", what, r.value,
                 (long long)r.index, r.analytic, r.numeric, r.error);
    if (r.skipped > r.checked) fail_msg("%s: %zu of %zu entries were skipped", what, r.skipped, r.skipped + r.checked);
    if (r.error > worst_error) {
        worst_error = r.error;
        snprintf(worst_case, sizeof worst_case, "%s", what);
    }
    if (getenv("PLIM_SHOW_ERRORS"))
        print_message("%-28s %.2e  %zu entries, %zu skipped\n", what, r.error, r.checked, r.skipped);
    plim_graph_free(g);
}

#endif
