/* Dropout in training draws from counters: the same run drops the same elements, forward, backward and again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grad/gradient.h"
#include "graph/pass.h"
#include "kernel/processor.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

static void must(plim_status status, const plim_error *error) {
    if (status != PLIM_OK) fail_msg("%s", error->message);
}

struct model {
    int version; /* opset of the Dropout node */
    double ratio;
    int training; /* the training_mode that the file says; -1: none */
    int64_t count;
    bool mask;
};

/* y = Dropout(x), as files of different opsets have it. */
static plim_graph *build(const struct model *m) {
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 1, &m->count), inputs[3] = {x, PLIM_NO_VALUE, PLIM_NO_VALUE};
    float ratio = (float)m->ratio;
    uint8_t training = m->training > 0;
    size_t count = 1;
    if (m->version >= 12) {
        inputs[count++] = plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &ratio);
        if (m->training >= 0) inputs[count++] = plim_graph_constant(g, NULL, PLIM_BOOL, 0, NULL, &training);
    }
    int32_t n = plim_graph_node(g, "Dropout", "drop", inputs, count, m->mask ? 2 : 1);
    g->nodes.items[n].version = m->version;
    if (m->version < 12) plim_graph_set_float(g, n, "ratio", ratio);
    plim_graph_output(g, plim_graph_node_output(g, n, 0), "y");
    if (m->mask) plim_graph_output(g, plim_graph_node_output(g, n, 1), "mask");
    return g;
}

/* In training mode, with the gradient of sum(3 y). */
static plim_session *train(const struct model *m, uint64_t seed, int threads) {
    plim_error error = {0};
    plim_graph *g = build(m);
    float three = 3;
    must(plim__infer_graph(g, plim__processor_fold, NULL, &error), &error);
    must(plim__dropouts_to_training_mode(g, seed, &error), &error);
    must(plim__passes_run(g, NULL, true, &error), &error);
    plim_value y = plim_graph_find(g, "y"), x = plim_graph_find(g, "x"), gradient;
    plim_value scale = plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &three);
    plim_value product = plim_graph_apply(g, "Mul", (plim_value[]){y, scale}, 2);
    int32_t sum = plim_graph_node(g, "ReduceSum", NULL, &product, 1, 1);
    plim_graph_set_int(g, sum, "keepdims", 0);
    plim_graph_output(g, plim_graph_node_output(g, sum, 0), "sum");
    must(plim__infer_graph(g, NULL, NULL, &error), &error);
    must(plim__gradients_build(g, plim_graph_find(g, "sum"), &x, 1, &gradient, &error), &error);
    plim_graph_output(g, gradient, "dx");
    plim_session *s = NULL;
    must(plim_session_create(g, &(plim_session_options){.threads = threads}, &s, &error), &error);
    plim_graph_free(g);
    return s;
}

static const float *run(plim_session *s, const struct model *m) {
    plim_error error = {0};
    float *x = plim_session_input(s, "x");
    for (int64_t i = 0; i < m->count; i++) x[i] = 1 + (float)(i % 7);
    must(plim_session_run(s, &error), &error);
    return plim_session_output(s, "y");
}

/* What is not dropped is scaled, its gradient too. Returns the share that was dropped. */
static double check(plim_session *s, const struct model *m) {
    const float *y = run(s, m), *dx = plim_session_output(s, "dx");
    float scale = (float)(1 / (1 - (double)(float)m->ratio));
    int64_t dropped = 0;
    for (int64_t i = 0; i < m->count; i++) {
        float x = 1 + (float)(i % 7);
        if (y[i] == 0)
            dropped++;
        else if (!(fabsf(y[i] - x * scale) <= 1e-6f * x * scale))
            fail_msg("y[%lld] is %g, expected 0 or %g", (long long)i, (double)y[i], (double)(x * scale));
        float slope = y[i] == 0 ? 0 : 3 * scale;
        if (!(fabsf(dx[i] - slope) <= 1e-6f * slope))
            fail_msg("dx[%lld] is %g, expected %g", (long long)i, (double)dx[i], (double)slope);
    }
    return (double)dropped / (double)m->count;
}

static void a_share_is_dropped_and_the_rest_scaled(void **state) {
    (void)state;
    static const double ratios[] = {0, 0.1, 0.5, 0.9, 1};
    for (size_t r = 0; r < sizeof ratios / sizeof *ratios; r++)
        for (int64_t count = 1; count <= 1000000; count = count * 100 + 7) {
            struct model m = {.version = 13, .ratio = ratios[r], .training = 1, .count = count};
            plim_session *s = train(&m, 5, 2);
            double share = check(s, &m), deviation = sqrt(m.ratio * (1 - m.ratio) / (double)count);
            if (!(fabs(share - m.ratio) <= 5 * deviation + 1e-12))
                fail_msg("%g of %lld were dropped, expected %g", share, (long long)count, m.ratio);
            plim_session_free(s);
        }
}

/* Neighbours, and elements that share a draw, are dropped independently of each other. */
static void draws_are_independent(void **state) {
    (void)state;
    struct model m = {.version = 13, .ratio = 0.3, .training = 1, .count = 400000};
    plim_session *s = train(&m, 77, 1);
    const float *y = run(s, &m);
    for (int64_t apart = 1; apart <= 64; apart++) {
        int64_t both = 0, pairs = m.count - apart;
        for (int64_t i = 0; i < pairs; i++) both += y[i] == 0 && y[i + apart] == 0;
        double share = (double)both / (double)pairs, deviation = sqrt(0.09 * 0.91 / (double)pairs);
        if (!(fabs(share - 0.09) < 6 * deviation))
            fail_msg("%lld apart, both are dropped %g of the time, expected 0.09", (long long)apart, share);
    }
    plim_session_free(s);
}

static int64_t differences(const float *a, const float *b, int64_t count) {
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) found += (a[i] == 0) != (b[i] == 0);
    return found;
}

static void the_same_run_drops_the_same_elements_and_another_one_others(void **state) {
    (void)state;
    struct model m = {.version = 13, .ratio = 0.5, .training = 1, .count = 100003};
    plim_session *one = train(&m, 5, 1), *same = train(&m, 5, 3), *other = train(&m, 6, 1);
    size_t bytes = (size_t)m.count * sizeof(float);
    float *first = malloc(bytes);
    memcpy(first, run(one, &m), bytes);
    assert_memory_equal(first, run(same, &m), bytes); /* on another number of threads */
    int64_t seeds = differences(first, run(other, &m), m.count), ticks = differences(first, run(one, &m), m.count);
    assert_true(llabs(seeds - m.count / 2) < 1000);
    assert_true(llabs(ticks - m.count / 2) < 1000);
    assert_memory_equal(plim_session_output(one, "y"), run(same, &m), bytes);
    free(first);
    plim_session_free(one);
    plim_session_free(same);
    plim_session_free(other);
}

static void two_nodes_drop_different_elements(void **state) {
    (void)state;
    plim_error error = {0};
    plim_graph *g = plim_graph_create();
    int64_t count = 10000;
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 1, &count);
    plim_graph_output(g, plim_graph_apply(g, "Dropout", &x, 1), "a");
    plim_graph_output(g, plim_graph_apply(g, "Dropout", &x, 1), "b");
    must(plim__infer_graph(g, NULL, NULL, &error), &error);
    must(plim__dropouts_to_training_mode(g, 1, &error), &error);
    plim_session *s = NULL;
    must(plim_session_create(g, &(plim_session_options){.threads = 1}, &s, &error), &error);
    float *in = plim_session_input(s, "x");
    for (int64_t i = 0; i < count; i++) in[i] = 1;
    must(plim_session_run(s, &error), &error);
    int64_t found = differences(plim_session_output(s, "a"), plim_session_output(s, "b"), count);
    assert_true(found > 4700 && found < 5300);
    plim_session_free(s);
    plim_graph_free(g);
}

static void every_opset_can_be_trained(void **state) {
    (void)state;
    static const int versions[] = {1, 6, 7, 10, 12, 13, 21};
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++)
        for (int training = -1; training < 2; training++)
            for (int mask = 0; mask < 2; mask++) {
                struct model m = {versions[v], 0.25, training, 50021, mask};
                plim_session *s = train(&m, 3, 2);
                assert_true(fabs(check(s, &m) - 0.25) < 0.01);
                const float *y = plim_session_output(s, "y");
                for (int64_t i = 0; mask && i < m.count; i++) {
                    bool kept = m.version < 10 ? ((const float *)plim_session_output(s, "mask"))[i] == 1
                                               : ((const uint8_t *)plim_session_output(s, "mask"))[i] == 1;
                    assert_true(kept == (y[i] != 0));
                }
                plim_session_free(s);
            }
}

static void what_is_dropped_is_zero_even_if_it_was_no_number(void **state) {
    (void)state;
    plim_error error = {0};
    struct model m = {.version = 13, .ratio = 0.5, .training = 1, .count = 1000};
    plim_session *s = train(&m, 5, 1);
    float *x = plim_session_input(s, "x");
    for (int64_t i = 0; i < m.count; i++) x[i] = NAN;
    must(plim_session_run(s, &error), &error);
    const float *y = plim_session_output(s, "y");
    int zeros = 0;
    for (int64_t i = 0; i < m.count; i++) zeros += y[i] == 0;
    assert_true(zeros > 400 && zeros < 600);
    plim_session_free(s);
}

static void a_mask_that_nobody_reads_is_not_made(void **state) {
    (void)state;
    for (int read = 0; read < 2; read++) {
        plim_error error = {0};
        plim_graph *g = build(&(struct model){.version = 13, .ratio = 0.5, .training = 1, .count = 9, .mask = true});
        if (!read) g->outputs.count = 1;
        must(plim__infer_graph(g, NULL, NULL, &error), &error);
        must(plim__dropouts_to_training_mode(g, 0, &error), &error);
        assert_int_equal(g->nodes.items[g->values.items[plim_graph_find(g, "y")].producer].outputs.count, read + 1);
        plim_graph_free(g);
    }
}

static void a_ratio_out_of_range_is_refused(void **state) {
    (void)state;
    static const double wrong[] = {-0.1, 1.5, NAN};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (int version = 7; version < 14; version += 6) {
            plim_error error = {0};
            plim_graph *g = build(&(struct model){.version = version, .ratio = wrong[i], .training = 1, .count = 3});
            must(plim__infer_graph(g, NULL, NULL, &error), &error);
            assert_int_equal(plim__dropouts_to_training_mode(g, 0, &error), PLIM_INVALID);
            assert_non_null(strstr(error.message, "node 'drop' (Dropout): the ratio is"));
            plim_graph_free(g);
        }
    plim_error error = {0};
    plim_graph *g = plim_graph_create();
    plim_value inputs[] = {plim_graph_input(g, "x", PLIM_F32, 1, (int64_t[]){3}),
                           plim_graph_input(g, "ratio", PLIM_F32, 0, NULL)};
    plim_graph_output(g, plim_graph_apply(g, "Dropout", inputs, 2), "y");
    must(plim__infer_graph(g, NULL, NULL, &error), &error);
    assert_int_equal(plim__dropouts_to_training_mode(g, 0, &error), PLIM_UNSUPPORTED);
    plim_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_is_dropped_and_the_rest_scaled),
        cmocka_unit_test(draws_are_independent),
        cmocka_unit_test(the_same_run_drops_the_same_elements_and_another_one_others),
        cmocka_unit_test(two_nodes_drop_different_elements),
        cmocka_unit_test(every_opset_can_be_trained),
        cmocka_unit_test(what_is_dropped_is_zero_even_if_it_was_no_number),
        cmocka_unit_test(a_mask_that_nobody_reads_is_not_made),
        cmocka_unit_test(a_ratio_out_of_range_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
