/* Graphs of a few nodes, built and run in one go. */
#ifndef PLIM_TEST_RUN_OP_H
#define PLIM_TEST_RUN_OP_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

static uint64_t test_seed = 1;

static inline int64_t random_below(int64_t n) {
    test_seed = test_seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((test_seed >> 33) % (uint64_t)n);
}

static inline float *random_floats(int64_t count) {
    float *x = malloc((size_t)count * sizeof *x + 1);
    for (int64_t i = 0; i < count; i++) x[i] = (float)(random_below(2001) - 1000) / 500;
    return x;
}

/* A session on two threads; the graph is freed. */
static inline plim_session *session_of(plim_graph *g) {
    plim_error error = {0};
    plim_session *s = NULL;
    plim_status status = plim_session_create(g, &(plim_session_options){.threads = 2}, &s, &error);
    if (status != PLIM_OK) fail_msg("%s", error.message);
    plim_graph_free(g);
    return s;
}

static inline void feed(plim_session *s, const char *name, const void *data, size_t bytes) {
    void *to = plim_session_input(s, name);
    assert_non_null(to);
    if (bytes) memcpy(to, data, bytes);
}

static inline void run(plim_session *s) {
    plim_error error = {0};
    if (plim_session_run(s, &error) != PLIM_OK) fail_msg("%s", error.message);
}

static inline void expect_floats(const plim_session *s, const char *name, const float *right, int64_t count,
                                 float tolerance) {
    const float *y = plim_session_output(s, name);
    assert_non_null(y);
    for (int64_t i = 0; i < count; i++)
        if (!(fabsf(y[i] - right[i]) <= tolerance * (1 + fabsf(right[i]))))
            fail_msg("%s[%lld] is %g, expected %g", name, (long long)i, (double)y[i], (double)right[i]);
}

static inline bool has_step(const plim_session *s, const char *label) {
    for (size_t i = 0; i < plim_session_step_count(s); i++) {
        plim_session_step step;
        plim_session_get_step(s, i, &step);
        if (strcmp(step.label, label) == 0) return true;
    }
    return false;
}

static inline plim_value constant_ints(plim_graph *g, int64_t count, const int64_t *values) {
    return plim_graph_constant(g, NULL, PLIM_I64, 1, &count, values);
}

#endif
