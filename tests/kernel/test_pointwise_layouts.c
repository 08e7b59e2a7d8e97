/* Pointwise operators and reductions give the same on whatever layout comes in: blocked (after a convolution, with
 * and without padding), permuted (after a transpose), overwritten or not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"
#include "random_layout.h"

typedef struct model {
    plim_graph *graph;
    plim_value seen; /* the value in the interesting layout; an output, so that it can be looked at */
    int64_t dims[4];
} model;

/* A convolution of 3 channels to `channels`, whose result oneDNN likes to keep blocked. */
static model convolution(int64_t channels) {
    model m = {.graph = plim_graph_create(), .dims = {2, channels, 9, 11}};
    plim_value x = plim_graph_input(m.graph, "x", PLIM_F32, 4, (int64_t[]){2, 3, 9, 11});
    float *weights = malloc((size_t)channels * 27 * sizeof *weights);
    for (int64_t i = 0; i < channels * 27; i++) weights[i] = random_real() / 4;
    plim_value w = plim_graph_parameter(m.graph, "w", PLIM_F32, 4, (int64_t[]){channels, 3, 3, 3}, weights);
    free(weights);
    int32_t node = plim_graph_node(m.graph, "Conv", NULL, (plim_value[]){x, w}, 2, 1);
    plim_graph_set_ints(m.graph, node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    m.seen = plim_graph_node_output(m.graph, node, 0);
    return m;
}

/* A transposed view of the same shape. */
static model transposed(int64_t channels) {
    model m = {.graph = plim_graph_create(), .dims = {2, channels, 9, 11}};
    plim_value x = plim_graph_input(m.graph, "x", PLIM_F32, 4, (int64_t[]){2, 9, 11, channels});
    int32_t node = plim_graph_node(m.graph, "Transpose", NULL, &x, 1, 1);
    plim_graph_set_ints(m.graph, node, "perm", (int64_t[]){0, 3, 1, 2}, 4);
    m.seen = plim_graph_node_output(m.graph, node, 0);
    return m;
}

static plim_session *run(model *m, int64_t inputs) {
    plim_error error;
    plim_session *s = NULL;
    plim_graph_output(m->graph, m->seen, "seen");
    plim_status status = plim_session_create(m->graph, &(plim_session_options){.threads = 2}, &s, &error);
    if (status != PLIM_OK) fail_msg("%s", error.message);
    float *x = plim_session_input(s, "x");
    for (int64_t i = 0; i < inputs; i++) x[i] = random_real();
    assert_int_equal(plim_session_run(s, &error), PLIM_OK);
    return s;
}

static void assert_close(float got, float expected, const char *what) {
    if (fabsf(got - expected) > 1e-5f * fabsf(expected) + 1e-5f)
        fail_msg("%s: %g, expected %g", what, (double)got, (double)expected);
}

static void check_everything(model m, int64_t inputs) {
    int64_t channels = m.dims[1], plane = m.dims[2] * m.dims[3], n = m.dims[0] * channels * plane;
    float *scale = malloc((size_t)channels * sizeof *scale), *full = malloc((size_t)n * sizeof *full);
    for (int64_t i = 0; i < channels; i++) scale[i] = random_real();
    for (int64_t i = 0; i < n; i++) full[i] = random_real();
    plim_graph *g = m.graph;
    plim_value by_channel = plim_graph_constant(g, NULL, PLIM_F32, 3, (int64_t[]){channels, 1, 1}, scale);
    plim_value whole = plim_graph_constant(g, NULL, PLIM_F32, 4, m.dims, full);
    static const char *const unary[] = {"Relu", "Exp", "Sigmoid", "Tanh", "Elu", "Softplus", "Sqrt"};
    for (size_t k = 0; k < sizeof unary / sizeof *unary; k++)
        plim_graph_output(g, plim_graph_apply(g, unary[k], &m.seen, 1), unary[k]);
    plim_graph_output(g, plim_graph_apply(g, "Add", (plim_value[]){m.seen, by_channel}, 2), "added");
    plim_graph_output(g, plim_graph_apply(g, "Div", (plim_value[]){whole, m.seen}, 2), "divided");
    plim_graph_output(g, plim_graph_apply(g, "Max", (plim_value[]){m.seen, whole, by_channel}, 3), "greatest");
    plim_graph_output(g, plim_graph_apply(g, "Greater", (plim_value[]){m.seen, whole}, 2), "above");
    int32_t mean = plim_graph_node(g, "ReduceMean", NULL, &m.seen, 1, 1),
            most = plim_graph_node(g, "ReduceMax", NULL, &m.seen, 1, 1);
    plim_graph_set_ints(g, mean, "axes", (int64_t[]){2, 3}, 2);
    plim_graph_set_ints(g, most, "axes", (int64_t[]){1}, 1);
    plim_graph_output(g, plim_graph_node_output(g, mean, 0), "mean");
    plim_graph_output(g, plim_graph_node_output(g, most, 0), "most");
    plim_session *s = run(&m, inputs);
    const float *x = plim_session_output(s, "seen"), *added = plim_session_output(s, "added"),
                *divided = plim_session_output(s, "divided"), *greatest = plim_session_output(s, "greatest"),
                *results[7];
    const uint8_t *above = plim_session_output(s, "above");
    for (size_t k = 0; k < 7; k++) results[k] = plim_session_output(s, unary[k]);
    for (int64_t i = 0; i < n; i++) {
        float v = x[i], c = scale[i / plane % channels];
        assert_close(results[0][i], v < 0 ? 0 : v, "Relu");
        assert_close(results[1][i], expf(v), "Exp");
        assert_close(results[2][i], 1 / (1 + expf(-v)), "Sigmoid");
        assert_close(results[3][i], tanhf(v), "Tanh");
        assert_close(results[4][i], v < 0 ? expm1f(v) : v, "Elu");
        assert_close(results[5][i], log1pf(expf(v)), "Softplus");
        if (v >= 0)
            assert_close(results[6][i], sqrtf(v), "Sqrt");
        else
            assert_true(isnan(results[6][i]));
        assert_close(added[i], v + c, "Add");
        assert_close(divided[i], full[i] / v, "Div");
        assert_close(greatest[i], fmaxf(fmaxf(v, full[i]), c), "Max");
        assert_int_equal(above[i], v > full[i]);
    }
    const float *means = plim_session_output(s, "mean"), *peaks = plim_session_output(s, "most");
    for (int64_t i = 0; i < m.dims[0] * channels; i++) {
        double sum = 0;
        for (int64_t k = 0; k < plane; k++) sum += (double)x[i * plane + k];
        assert_close(means[i], (float)(sum / (double)plane), "ReduceMean");
    }
    for (int64_t i = 0; i < m.dims[0] * plane; i++) {
        float peak = -INFINITY;
        for (int64_t c = 0; c < channels; c++) peak = fmaxf(peak, x[(i / plane * channels + c) * plane + i % plane]);
        assert_close(peaks[i], peak, "ReduceMax");
    }
    free(scale), free(full);
    plim_session_free(s);
    plim_graph_free(g);
}

static void blocked_layouts_without_padding_give_the_same(void **state) {
    (void)state;
    check_everything(convolution(32), 2 * 3 * 9 * 11);
}

static void blocked_layouts_with_padding_give_the_same(void **state) {
    (void)state;
    check_everything(convolution(13), 2 * 3 * 9 * 11);
}

static void permuted_layouts_give_the_same(void **state) {
    (void)state;
    check_everything(transposed(5), 2 * 9 * 11 * 5);
}

/* Nothing else reads the values between: each step may overwrite the one before. */
static void chains_that_run_in_place_give_the_same(void **state) {
    (void)state;
    model m = convolution(16);
    plim_value y = m.seen;
    static const char *const chain[] = {"Tanh", "Neg", "Exp", "Relu", "Abs"};
    for (size_t k = 0; k < sizeof chain / sizeof *chain; k++) y = plim_graph_apply(m.graph, chain[k], &y, 1);
    y = plim_graph_apply(m.graph, "Mul", (plim_value[]){y, y}, 2);
    plim_graph_output(m.graph, y, "y");
    plim_session *s = run(&m, 2 * 3 * 9 * 11);
    const float *x = plim_session_output(s, "seen"), *result = plim_session_output(s, "y");
    for (int64_t i = 0; i < 2 * 16 * 9 * 11; i++) assert_close(result[i], expf(-2 * tanhf(x[i])), "chain");
    plim_session_free(s);
    plim_graph_free(m.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocked_layouts_without_padding_give_the_same),
        cmocka_unit_test(blocked_layouts_with_padding_give_the_same),
        cmocka_unit_test(permuted_layouts_give_the_same),
        cmocka_unit_test(chains_that_run_in_place_give_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
