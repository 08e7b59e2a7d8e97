/* Losses over classes ignore, weigh and reduce as told, and never look outside the classes. */
#include <math.h>
#include <string.h>

#include "graph/graph.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

/* scores (2, 3, 2), labels (2, 2) */
static const float scores[12] = {1, 2, 0, -1, 3, 0.5f, 0, 0, 100, 1, -100, 2};
static const float weights[3] = {0.5f, 2, 1};

typedef struct setting {
    const char *op, *reduction;
    bool weighted, ignores;
    int64_t ignored;
    plim_dtype label_type;
} setting;

static plim_session *make(const setting *k, bool log_prob) {
    plim_graph *g = plim_graph_create();
    plim_value in[3] = {plim_graph_input(g, "scores", PLIM_F32, 3, (int64_t[]){2, 3, 2}),
                        plim_graph_input(g, "labels", k->label_type, 2, (int64_t[]){2, 2}),
                        k->weighted ? plim_graph_constant(g, "weights", PLIM_F32, 1, (int64_t[]){3}, weights)
                                    : PLIM_NO_VALUE};
    int32_t node = plim_graph_node(g, k->op, NULL, in, 3, log_prob ? 2 : 1);
    if (k->reduction) plim_graph_set_string(g, node, "reduction", k->reduction);
    if (k->ignores) plim_graph_set_int(g, node, "ignore_index", k->ignored);
    plim_graph_output(g, plim_graph_node_output(g, node, 0), "loss");
    if (log_prob) plim_graph_output(g, plim_graph_node_output(g, node, 1), "log_prob");
    plim_session *s = NULL;
    plim_error error = {0};
    if (plim_session_create(g, NULL, &s, &error) != PLIM_OK) fail_msg("%s", error.message);
    plim_graph_free(g);
    return s;
}

static plim_status run(plim_session *s, const setting *k, const int64_t labels[4], plim_error *error) {
    memcpy(plim_session_input(s, "scores"), scores, sizeof scores);
    for (int i = 0; i < 4; i++) {
        if (k->label_type == PLIM_I32)
            ((int32_t *)plim_session_input(s, "labels"))[i] = (int32_t)labels[i];
        else
            ((int64_t *)plim_session_input(s, "labels"))[i] = labels[i];
    }
    return plim_session_run(s, error);
}

static double log_softmax(int n, int c, int i) {
    double peak = -INFINITY, sum = 0;
    for (int k = 0; k < 3; k++) peak = fmax(peak, (double)scores[(n * 3 + k) * 2 + i]);
    for (int k = 0; k < 3; k++) sum += exp((double)scores[(n * 3 + k) * 2 + i] - peak);
    return (double)scores[(n * 3 + c) * 2 + i] - peak - log(sum);
}

static void check(setting k, const int64_t labels[4]) {
    bool softmax = k.op[0] == 'S';
    plim_session *s = make(&k, softmax);
    plim_error error = {0};
    assert_int_equal(run(s, &k, labels, &error), PLIM_OK);
    const float *loss = plim_session_output(s, "loss");
    double sum = 0, total = 0;
    for (int n = 0; n < 2; n++)
        for (int i = 0; i < 2; i++) {
            int64_t label = labels[n * 2 + i];
            bool ignored = k.ignores && label == k.ignored;
            double w = ignored ? 0 : k.weighted ? (double)weights[label] : 1;
            double value =
                ignored ? 0 : -w * (softmax ? log_softmax(n, (int)label, i) : (double)scores[(n * 3 + label) * 2 + i]);
            if (k.reduction && strcmp(k.reduction, "none") == 0)
                assert_true(fabs((double)loss[n * 2 + i] - value) < 1e-5 * (1 + fabs(value)));
            sum += value;
            total += w;
        }
    if (!k.reduction || strcmp(k.reduction, "mean") == 0)
        assert_true(fabs((double)*loss - sum / total) < 1e-5 * (1 + fabs(sum)));
    if (k.reduction && strcmp(k.reduction, "sum") == 0) assert_true(fabs((double)*loss - sum) < 1e-5 * (1 + fabs(sum)));
    for (int i = 0; softmax && i < 12; i++) {
        double expected = log_softmax(i / 6, i / 2 % 3, i % 2);
        assert_true(fabs((double)((const float *)plim_session_output(s, "log_prob"))[i] - expected) <
                    1e-5 * (1 + fabs(expected)));
    }
    plim_session_free(s);
}

static void weights_reductions_and_ignored_labels_are_right(void **state) {
    (void)state;
    static const char *const ops[] = {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}, *const reductions[] = {
                                                                                                   NULL, "none", "mean",
                                                                                                   "sum"};
    for (int op = 0; op < 2; op++)
        for (int r = 0; r < 4; r++)
            for (int flags = 0; flags < 4; flags++) {
                setting k = {ops[op], reductions[r], flags & 1, flags & 2, 1, flags & 1 ? PLIM_I32 : PLIM_I64};
                check(k, (int64_t[]){2, 1, 0, 1});
                k.ignores = true;
                k.ignored = -100; /* need not be a class */
                check(k, (int64_t[]){2, -100, 0, -100});
            }
}

static void labels_out_of_range_are_refused_before_anything_is_read(void **state) {
    (void)state;
    static const int64_t bad[] = {3, -1, INT64_MAX, INT64_MIN};
    for (int op = 0; op < 2; op++) {
        setting k = {op ? "NegativeLogLikelihoodLoss" : "SoftmaxCrossEntropyLoss", "mean", true, true, 7, PLIM_I64};
        plim_session *s = make(&k, false);
        for (int i = 0; i < 4; i++) {
            plim_error error = {0};
            assert_int_equal(run(s, &k, (int64_t[]){0, 1, bad[i], 2}, &error), PLIM_INVALID);
            assert_non_null(strstr(error.message, "out of range for 3 classes"));
        }
        plim_session_free(s);
    }
}

static void nothing_but_ignored_labels_has_no_mean(void **state) {
    (void)state;
    setting k = {"SoftmaxCrossEntropyLoss", "mean", false, true, 0, PLIM_I64};
    plim_session *s = make(&k, false);
    plim_error error = {0};
    assert_int_equal(run(s, &k, (int64_t[]){0, 0, 0, 0}, &error), PLIM_OK);
    assert_true(isnan(*(const float *)plim_session_output(s, "loss")));
    plim_session_free(s);
}

static plim_status momentum(size_t inputs, size_t outputs, float *x_new, plim_error *error) {
    plim_graph *g = plim_graph_create();
    plim__graph_set_opset(g, "ai.onnx.preview.training", 1);
    int64_t two = 2;
    plim_value in[5] = {plim_graph_input(g, "r", PLIM_F32, 0, NULL), plim_graph_input(g, "t", PLIM_I64, 0, NULL),
                        plim_graph_input(g, "x", PLIM_F32, 1, &two), plim_graph_input(g, "g", PLIM_F32, 1, &two),
                        plim_graph_input(g, "v", PLIM_F32, 1, &two)};
    int32_t node = plim_graph_node(g, "ai.onnx.preview.training::Momentum", NULL, in, inputs, outputs);
    plim_graph_set_float(g, node, "alpha", 0.5f);
    plim_graph_set_float(g, node, "beta", 0.25f);
    plim_graph_set_string(g, node, "mode", "standard");
    for (size_t i = 0; i < outputs; i++) plim_graph_output(g, plim_graph_node_output(g, node, i), i ? NULL : "x_new");
    plim_session *s = NULL;
    plim_status status = plim_session_create(g, NULL, &s, error);
    if (status == PLIM_OK) {
        *(float *)plim_session_input(s, "r") = 0.1f;
        *(int64_t *)plim_session_input(s, "t") = 3;
        memcpy(plim_session_input(s, "x"), (float[]){1, 2}, 8);
        memcpy(plim_session_input(s, "g"), (float[]){4, -8}, 8);
        memcpy(plim_session_input(s, "v"), (float[]){2, 2}, 8);
        status = plim_session_run(s, error);
        memcpy(x_new, plim_session_output(s, "x_new"), 8);
    }
    plim_session_free(s);
    plim_graph_free(g);
    return status;
}

static void an_optimizer_step_pairs_its_tensors_or_says_so(void **state) {
    (void)state;
    float x[2];
    plim_error error = {0};
    assert_int_equal(momentum(5, 2, x, &error), PLIM_OK);
    assert_true(fabsf(x[0] - 0.8f) < 1e-6f && fabsf(x[1] - 2.1f) < 1e-6f); /* v' = 1 + 0.25 g = 2, -1 */
    assert_int_equal(momentum(5, 3, x, &error), PLIM_CORRUPT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_reductions_and_ignored_labels_are_right),
        cmocka_unit_test(labels_out_of_range_are_refused_before_anything_is_read),
        cmocka_unit_test(nothing_but_ignored_labels_has_no_mean),
        cmocka_unit_test(an_optimizer_step_pairs_its_tensors_or_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
