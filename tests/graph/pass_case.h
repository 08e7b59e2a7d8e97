/* What every test of a rewriting pass does: build a spelled-out graph, run it with no pass at all, without the
 * one pass, and with every pass; the answers must agree, and the graph that ran must show what the pass did. */
#ifndef PLIM_TESTS_GRAPH_PASS_CASE_H
#define PLIM_TESTS_GRAPH_PASS_CASE_H

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/pass.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

#define DIMS(...)                                                                                                      \
    (int64_t[]) { __VA_ARGS__ }

typedef void (*builder)(plim_graph *g);

/* --- building ------------------------------------------------------------------------------------------------- */

static inline uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Numbers in [-1, 1), the same for the same seed. */
static inline void fill_random(float *data, size_t count, uint32_t seed) {
    for (size_t i = 0; i < count; i++) data[i] = (float)next_random(&seed) / (float)(1 << 23) - 1;
}

static inline plim_value input_of(plim_graph *g, const char *name, int rank, const int64_t *dims) {
    return plim_graph_input(g, name, PLIM_F32, rank, dims);
}

/* Random weights around `middle`. */
static inline plim_value weights_around(plim_graph *g, const char *name, int rank, const int64_t *dims, float middle) {
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
    float *data = malloc(count * sizeof *data);
    assert_non_null(data);
    fill_random(data, count, (uint32_t)name[0] * 31u + (uint32_t)strlen(name) * 7u + 1);
    for (size_t i = 0; i < count; i++) data[i] = middle + data[i] * 0.5f;
    return plim_graph_parameter_take(g, name, PLIM_F32, rank, dims, data);
}

static inline plim_value weights_of(plim_graph *g, const char *name, int rank, const int64_t *dims) {
    return weights_around(g, name, rank, dims, 0);
}

static inline plim_value scalar_of(plim_graph *g, float number) {
    return plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &number);
}

static inline plim_value one(plim_graph *g, const char *op, plim_value a) { return plim_graph_apply(g, op, &a, 1); }
static inline plim_value two(plim_graph *g, const char *op, plim_value a, plim_value b) {
    return plim_graph_apply(g, op, (plim_value[]){a, b}, 2);
}
static inline plim_value three(plim_graph *g, const char *op, plim_value a, plim_value b, plim_value c) {
    return plim_graph_apply(g, op, (plim_value[]){a, b, c}, 3);
}
static inline plim_value with_scalar(plim_graph *g, const char *op, plim_value a, float number) {
    return two(g, op, a, scalar_of(g, number));
}
static inline plim_value with_int(plim_graph *g, const char *op, plim_value a, const char *attribute, int64_t number) {
    int32_t node = plim_graph_node(g, op, NULL, &a, 1, 1);
    plim_graph_set_int(g, node, attribute, number);
    return plim_graph_node_output(g, node, 0);
}
static inline plim_value transposed(plim_graph *g, plim_value a, const int64_t *order, size_t rank) {
    int32_t node = plim_graph_node(g, "Transpose", NULL, &a, 1, 1);
    plim_graph_set_ints(g, node, "perm", order, rank);
    return plim_graph_node_output(g, node, 0);
}

/* --- looking -------------------------------------------------------------------------------------------------- */

static inline int count_op(const plim_graph *g, const char *op) {
    int count = 0;
    for (size_t n = 0; n < g->nodes.count; n++)
        count += !g->nodes.items[n].dead && strcmp(g->nodes.items[n].op_name, op) == 0;
    return count;
}

static inline const plim__node *find_op(const plim_graph *g, const char *op) {
    for (size_t n = 0; n < g->nodes.count; n++)
        if (!g->nodes.items[n].dead && strcmp(g->nodes.items[n].op_name, op) == 0) return &g->nodes.items[n];
    return NULL;
}

/* --- running -------------------------------------------------------------------------------------------------- */

/* Every pass that rewrites; `fold` does not, whose work some graphs need to have shapes at all. */
static inline const char *every_pass(void) {
    static char list[512];
    *list = 0;
    for (size_t i = 0; i < plim__pass_count; i++) {
        if (!plim__passes[i].run) continue;
        if (*list) strcat(list, ",");
        strcat(list, plim__passes[i].name);
    }
    return list;
}

static inline size_t elements_of(const plim_graph *g, plim_value v) {
    size_t count = 1;
    for (int i = 0; i < g->values.items[v].shape.rank; i++) count *= (size_t)g->values.items[v].shape.dims[i];
    return count;
}

/* Inputs by their place: floats are random, integers count 0, 1, 2, 0, ... (labels of three classes). */
static inline void fill_inputs(plim_session *s) {
    const plim_graph *g = plim_session_graph(s);
    for (size_t i = 0; i < g->inputs.count; i++) {
        plim_value v = g->inputs.items[i];
        size_t count = elements_of(g, v);
        void *memory = plim_session_input(s, g->values.items[v].name);
        if (!memory) continue;
        if (g->values.items[v].dtype == PLIM_F32)
            fill_random(memory, count, (uint32_t)i + 77);
        else if (g->values.items[v].dtype == PLIM_I64)
            for (size_t k = 0; k < count; k++) ((int64_t *)memory)[k] = (int64_t)(k % 3);
        else
            fail_msg("no data for inputs of this type");
    }
}

static inline plim_session *run_without(const plim_graph *model, const char *without) {
    plim_error error = {0};
    plim_session *s = NULL;
    if (plim_session_create(model, &(plim_session_options){.batch = 2, .without = without, .threads = 1}, &s, &error) !=
        PLIM_OK)
        fail_msg("without '%s': %s", without ? without : "", error.message);
    if (!plim__graph_is_valid(plim_session_graph(s), &error))
        fail_msg("without '%s': %s", without ? without : "", error.message);
    for (int run = 0; run < 2; run++) { /* twice: a run must not spoil the weights for the next */
        fill_inputs(s);
        if (plim_session_run(s, &error) != PLIM_OK) fail_msg("without '%s': %s", without ? without : "", error.message);
    }
    return s;
}

static inline void assert_same_outputs(const plim_session *right, const plim_session *s, const char *what) {
    const plim_graph *g = plim_session_graph(right);
    assert_int_equal(g->outputs.count, plim_session_graph(s)->outputs.count);
    for (size_t i = 0; i < g->outputs.count; i++) {
        const char *name = g->values.items[g->outputs.items[i]].name;
        const float *a = plim_session_output(right, name), *b = plim_session_output(s, name);
        if (!a || !b) fail_msg("%s: output '%s' is missing", what, name);
        double largest = 0, difference = 0;
        for (size_t k = 0; k < elements_of(g, g->outputs.items[i]); k++) {
            largest = fmax(largest, fabs((double)a[k]));
            difference =
                fmax(difference, isfinite(a[k]) && isfinite(b[k]) ? fabs((double)a[k] - (double)b[k]) : INFINITY);
        }
        if (!(largest > 0) || difference > 1e-5 * largest)
            fail_msg("%s: output '%s' differs by %g of a largest %g", what, name, difference, largest);
    }
}

/* Builds, runs all three variants, compares; `check` inspects the graph that ran with every pass. */
static inline void check_pass(builder build, const char *pass, const char *op, int expected,
                              void (*check)(const plim_graph *g)) {
    plim_graph *model = plim_graph_create();
    build(model);
    plim_error error = {0};
    if (plim_graph_status(model, &error) != PLIM_OK) fail_msg("building: %s", error.message);
    plim_session *plain = run_without(model, every_pass()), *off = run_without(model, pass),
                 *on = run_without(model, NULL);
    assert_same_outputs(plain, off, "without the pass");
    assert_same_outputs(plain, on, "with every pass");
    if (count_op(plim_session_graph(on), op) != expected) {
        char *text = plim_graph_print(plim_session_graph(on));
        fail_msg("expected %d of %s in\n%s", expected, op, text ? text : "");
    }
    int before = count_op(plim_session_graph(plain), op), without = count_op(plim_session_graph(off), op);
    if (before == 0 && expected > 0 && without >= expected) fail_msg("%s is made without the pass", op);
    if (before > 0 && expected == 0 && without == 0) fail_msg("%s vanishes without the pass", op);
    if (check) check(plim_session_graph(on));
    plim_session_free(plain);
    plim_session_free(off);
    plim_session_free(on);
    plim_graph_free(model);
}

#endif
