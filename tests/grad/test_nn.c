/* Gradients of convolutions, pools, norms and attention. */
#include <math.h>

#include "check.h"

#define TOLERANCE 2e-3

struct conv {
    const char *what;
    int64_t x[5], w[5];
    int rank;
    int64_t group, stride, dilation, before, after;
    bool bias;
};

/* The same along each axis; padding before and after. */
struct window {
    int64_t kernel, stride, dilation, before, after;
};

static void set_window(plim_graph *g, int32_t n, int axes, struct window w) {
    int64_t kernels[3] = {w.kernel, w.kernel, w.kernel}, strides[3] = {w.stride, w.stride, w.stride},
            dilations[3] = {w.dilation, w.dilation, w.dilation}, pads[6];
    for (int i = 0; i < axes; i++) pads[i] = w.before, pads[axes + i] = w.after;
    if (w.kernel) plim_graph_set_ints(g, n, "kernel_shape", kernels, (size_t)axes);
    plim_graph_set_ints(g, n, "strides", strides, (size_t)axes);
    plim_graph_set_ints(g, n, "dilations", dilations, (size_t)axes);
    plim_graph_set_ints(g, n, "pads", pads, (size_t)(2 * axes));
}

static void convolutions(void **state) {
    (void)state;
    static const struct conv cases[] = {
        {"Conv", {2, 3, 7, 9}, {4, 3, 3, 3}, 4, 1, 1, 1, 1, 1, true},
        {"Conv of 16 channels", {2, 16, 6, 6}, {32, 16, 3, 3}, 4, 1, 1, 1, 1, 1, true},
        {"Conv 1x1", {2, 16, 5, 5}, {16, 16, 1, 1}, 4, 1, 1, 1, 0, 0, false},
        {"Conv with stride", {2, 5, 9, 8}, {6, 5, 3, 3}, 4, 1, 2, 1, 1, 0, true},
        {"Conv with dilation", {1, 3, 11, 11}, {4, 3, 3, 3}, 4, 1, 1, 2, 2, 2, true},
        {"Conv in groups", {2, 8, 6, 6}, {12, 4, 3, 3}, 4, 2, 1, 1, 1, 1, true},
        {"Conv depthwise", {2, 16, 6, 6}, {16, 1, 3, 3}, 4, 16, 2, 1, 1, 1, true},
        {"Conv 1-D", {2, 3, 17}, {5, 3, 4}, 3, 1, 2, 1, 1, 2, true},
        {"Conv 3-D", {1, 2, 5, 6, 7}, {3, 2, 3, 3, 3}, 5, 1, 1, 1, 1, 1, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct conv *c = &cases[i];
        plim_graph *g = plim_graph_create();
        plim_value inputs[] = {real_input(g, "x", c->rank, c->x), real_input(g, "w", c->rank, c->w),
                               real_input(g, "b", 1, c->w)};
        int32_t n = plim_graph_node(g, "Conv", NULL, inputs, c->bias ? 3 : 2, 1);
        set_window(g, n, c->rank - 2, (struct window){0, c->stride, c->dilation, c->before, c->after});
        plim_graph_set_int(g, n, "group", c->group);
        plim_value y = plim_graph_node_output(g, n, 0);
        if (i == 1) y = plim_graph_apply(g, "Sigmoid", &y, 1); /* blocked layouts go on */
        expect_right(c->what, g, y, NULL, TOLERANCE);
    }
}

static void transposed_convolutions(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        plim_graph *g = plim_graph_create();
        int64_t group = i == 3 ? 2 : 1;
        plim_value inputs[] = {real_input(g, "x", DIMS(2, 4, 5, 6)), real_input(g, "w", DIMS(4, 3, 3, 3)),
                               real_input(g, "b", DIMS(3 * group))};
        int32_t n = plim_graph_node(g, "ConvTranspose", NULL, inputs, 3, 1);
        set_window(g, n, 2, (struct window){0, i ? 2 : 1, 1, i == 2, i == 2});
        if (i == 2) plim_graph_set_ints(g, n, "output_padding", (int64_t[]){1, 1}, 2);
        plim_graph_set_int(g, n, "group", group);
        expect_right("ConvTranspose", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
    }
}

/* By parts: the pass has split the weights, so their gradient comes from the parts' own. */
static void convolution_of_joined_channels(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value parts[] = {real_input(g, "a", DIMS(2, 16, 5, 4)), real_input(g, "b", DIMS(2, 32, 5, 4))};
    int32_t concat = plim_graph_node(g, "Concat", NULL, parts, 2, 1);
    plim_graph_set_int(g, concat, "axis", 1);
    int64_t out = 16;
    plim_value inputs[] = {plim_graph_node_output(g, concat, 0), real_input(g, "w", DIMS(16, 48, 3, 3)),
                           real_input(g, "bias", 1, &out)};
    int32_t n = plim_graph_node(g, "Conv", NULL, inputs, 3, 1);
    set_window(g, n, 2, (struct window){3, 1, 1, 1, 1});
    expect_right("Conv of joined channels", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
}

static void pools(void **state) {
    (void)state;
    static const char *const ops[] = {"MaxPool", "AveragePool", "AveragePool"};
    for (int i = 0; i < 3; i++)
        for (int blocked = 0; blocked < 3; blocked++) {
            plim_graph *g = plim_graph_create();
            plim_value x = real_input(g, "x", DIMS(2, blocked ? 16 : 3, 7, 9));
            if (blocked) { /* a convolution in front brings oneDNN's layout along */
                plim_value w = real_input(g, "w", DIMS(16, 16, 1, 1));
                x = plim_graph_apply(g, "Conv", (plim_value[]){x, w}, 2);
            }
            int32_t n = plim__graph_node(g, ops[i], NULL, &x, 1, 1);
            set_window(g, n, 2,
                       (struct window){blocked == 2 ? 3 : 2, blocked == 2 ? 1 : 2, 1, blocked == 2, blocked == 2});
            if (i == 2) plim_graph_set_int(g, n, "count_include_pad", 1);
            plim_value y = plim_graph_node_output(g, n, 0);
            if (blocked) y = plim_graph_apply(g, "Tanh", &y, 1);
            expect_right(ops[i], g, y, &(plim_gradient_options){.epsilon = i ? 0.01 : 5e-4}, i ? TOLERANCE : 1e-2);
        }
    for (int i = 0; i < 2; i++) {
        plim_graph *g = plim_graph_create();
        plim_value x = real_input(g, "x", DIMS(2, 3, 4, 5));
        expect_right("global pools", g, plim_graph_apply(g, i ? "GlobalMaxPool" : "GlobalAveragePool", &x, 1),
                     &(plim_gradient_options){.epsilon = i ? 1e-3 : 0.05}, TOLERANCE);
    }
}

static void batch_norm_in_training_and_with_fixed_statistics(void **state) {
    (void)state;
    for (int training = 0; training < 3; training++) /* 2: with a ReLU behind it */
        for (int blocked = 0; blocked < 2; blocked++) {
            plim_graph *g = plim_graph_create();
            float mean[16], variance[16];
            int64_t c = blocked ? 16 : 5;
            for (int i = 0; i < 16; i++) mean[i] = 0.1f * (float)i, variance[i] = 0.5f + 0.1f * (float)i;
            plim_value x = real_input(g, "x", DIMS(3, c, 4, 5));
            if (blocked) x = plim_graph_apply(g, "Conv", (plim_value[]){x, real_input(g, "w", DIMS(16, 16, 1, 1))}, 2);
            plim_value inputs[] = {x, real_input(g, "scale", 1, &c), real_input(g, "bias", 1, &c),
                                   plim_graph_constant(g, NULL, PLIM_F32, 1, &c, mean),
                                   plim_graph_constant(g, NULL, PLIM_F32, 1, &c, variance)};
            int32_t n = plim_graph_node(g, "BatchNormalization", NULL, inputs, 5, training ? 3 : 1);
            plim_graph_set_int(g, n, "training_mode", training > 0);
            plim_value y = plim_graph_node_output(g, n, 0);
            y = plim_graph_apply(g, training == 2 ? "Relu" : "Tanh", &y, 1);
            expect_right(training ? "BatchNormalization, training" : "BatchNormalization", g, y,
                         &(plim_gradient_options){.epsilon = training == 2 ? 3e-4 : 0.01},
                         training == 2 ? 2e-2 : TOLERANCE);
        }
}

static void the_other_norms(void **state) {
    (void)state;
    for (int axis = 1; axis < 3; axis++)
        for (int bias = 0; bias < 2; bias++) {
            plim_graph *g = plim_graph_create();
            plim_value x = real_input(g, "x", DIMS(3, 5, 7));
            plim_value s = axis == 2 ? real_input(g, "s", DIMS(7)) : real_input(g, "s", DIMS(5, 7)),
                       b = axis == 2 ? real_input(g, "b", DIMS(7)) : real_input(g, "b", DIMS(5, 7));
            int32_t n = plim_graph_node(g, "LayerNormalization", NULL, (plim_value[]){x, s, b}, bias ? 3 : 2, 1);
            plim_graph_set_int(g, n, "axis", axis);
            plim_value y = plim_graph_node_output(g, n, 0);
            if (!bias) y = plim_graph_apply(g, "Add", (plim_value[]){y, b}, 2);
            expect_right("LayerNormalization", g, y, NULL, TOLERANCE);
        }
    plim_graph *g = plim_graph_create();
    plim_value inputs[] = {real_input(g, "x", DIMS(3, 4, 5, 2)), real_input(g, "s", DIMS(4)),
                           real_input(g, "b", DIMS(4))};
    expect_right("InstanceNormalization", g, plim_graph_apply(g, "InstanceNormalization", inputs, 3), NULL, TOLERANCE);
    for (int p = 1; p < 3; p++) {
        g = plim_graph_create();
        plim_value x = real_input(g, "x", DIMS(3, 4, 5));
        int32_t n = plim_graph_node(g, "LpNormalization", NULL, &x, 1, 1);
        plim_graph_set_int(g, n, "p", p);
        plim_graph_set_int(g, n, "axis", 1);
        expect_right("LpNormalization", g, plim_graph_node_output(g, n, 0),
                     &(plim_gradient_options){.low = 0.3, .high = 1.5}, TOLERANCE);
    }
}

/* As onnxruntime and ONNX's own reference have it; its gradient is 0 too, so that a row of padding spoils no update. */
static void a_vector_of_zeros_stays_when_it_is_normalized(void **state) {
    (void)state;
    for (int p = 1; p < 3; p++) {
        const float rows[] = {0, 0, 0, 3, 0, 4}, ones[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        const float right[2][6] = {{0, 0, 0, 3.0f / 7, 0, 4.0f / 7}, {0, 0, 0, 0.6f, 0, 0.8f}};
        plim_error error = {0};
        plim_graph *g = plim_graph_create();
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){2, 3});
        plim_value w = plim_graph_parameter(g, "w", PLIM_F32, 2, (int64_t[]){3, 3}, ones);
        plim_value a = plim_graph_apply(g, "MatMul", (plim_value[]){x, w}, 2);
        int32_t n = plim_graph_node(g, "LpNormalization", NULL, &a, 1, 1);
        plim_graph_set_int(g, n, "p", p);
        plim_graph_output(g, plim_graph_node_output(g, n, 0), "y");
        plim_session *s;
        assert_int_equal(plim_session_create(g, NULL, &s, &error), PLIM_OK);
        memcpy(plim_session_input(s, "x"), rows, sizeof rows);
        assert_int_equal(plim_session_run(s, &error), PLIM_OK);
        for (int i = 0; i < 6; i++)
            assert_true(fabsf(((const float *)plim_session_output(s, "y"))[i] - right[p - 1][i]) < 1e-6f);
        plim_session_free(s);
        plim_trainer *trainer;
        plim_trainer_options o = {
            .batch = 2, .loss = plim_loss_default(PLIM_LOSS_MSE), .optimizer = plim_optimizer_default(PLIM_SGD)};
        assert_int_equal(plim_trainer_create(g, &o, &trainer, &error), PLIM_OK);
        plim_batch batch = {.count = 2, .inputs = {rows}, .target = ones};
        plim_step_result result;
        for (int step = 0; step < 2; step++) /* the second shows what the first made of the weights */
            if (plim_trainer_step(trainer, &batch, &result, &error) != PLIM_OK) fail_msg("%s", error.message);
        assert_true(isfinite(result.loss));
        plim_trainer_free(trainer);
        plim_graph_free(g);
    }
}

static void attention_with_and_without_masks(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        plim_graph *g = plim_graph_create();
        int64_t queries = i == 3 ? 70 : 5, keys = i == 3 ? 73 : 6;
        plim_value q = real_input(g, "q", DIMS(2, 3, queries, 4)), k = real_input(g, "k", DIMS(2, 3, 4, keys)),
                   v = real_input(g, "v", DIMS(2, 3, keys, 7));
        if (i == 2) { /* keys stored row by row, as models have them */
            k = real_input(g, "rows", DIMS(2, 3, keys, 4));
            int32_t t = plim_graph_node(g, "Transpose", NULL, &k, 1, 1);
            plim_graph_set_ints(g, t, "perm", (int64_t[]){0, 1, 3, 2}, 4);
            k = plim_graph_node_output(g, t, 0);
        }
        float numbers[30];
        for (int j = 0; j < 30; j++) numbers[j] = (float)(j * 7 % 5) * 0.3f;
        plim_value mask = i == 1 ? plim_graph_constant(g, NULL, PLIM_F32, DIMS(5, 6), numbers) : PLIM_NO_VALUE;
        int32_t n = plim__graph_node(g, "plimsoll::Attention", NULL, (plim_value[]){q, k, v, mask}, i == 1 ? 4 : 3, 1);
        plim_graph_set_float(g, n, "scale", 0.5f);
        plim_graph_set_int(g, n, "causal", i >= 2);
        expect_right("Attention", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
    }
}

static void losses_over_classes(void **state) {
    (void)state;
    static const char *const reductions[] = {"mean", "sum", "none"};
    static const int64_t labels[] = {0, 3, 1, 1, -100, 2, 3, 0};
    for (int i = 0; i < 12; i++) {
        plim_graph *g = plim_graph_create();
        bool softmax = i < 6, images = i & 1;
        float weights[] = {0.5f, 1, 2, 0.25f};
        plim_value x = images ? real_input(g, "x", DIMS(2, 4, 2, 2)) : real_input(g, "x", DIMS(8, 4));
        plim_value t = images ? ints(g, DIMS(2, 2, 2), labels) : ints(g, DIMS(8), labels),
                   w = plim_graph_constant(g, NULL, PLIM_F32, DIMS(4), weights);
        int32_t n = plim_graph_node(g, softmax ? "SoftmaxCrossEntropyLoss" : "NegativeLogLikelihoodLoss", NULL,
                                    (plim_value[]){x, t, w}, images ? 3 : 2, 1);
        plim_graph_set_string(g, n, "reduction", reductions[i % 6 / 2]);
        plim_graph_set_int(g, n, "ignore_index", -100);
        expect_right(softmax ? "SoftmaxCrossEntropyLoss" : "NegativeLogLikelihoodLoss", g,
                     plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
    }
}

static void lstm_through_time(void **state) {
    (void)state;
    static const char *const directions[] = {"forward", "reverse", "bidirectional"};
    for (int i = 0; i < 9; i++) {
        plim_graph *g = plim_graph_create();
        int64_t d = i % 3 == 2 ? 2 : 1;
        plim_value x = real_input(g, "x", DIMS(5, 3, 4)), w = real_input(g, "w", DIMS(d, 4 * 6, 4)),
                   r = real_input(g, "r", DIMS(d, 4 * 6, 6));
        plim_value b = real_input(g, "b", DIMS(d, 8 * 6)), h = real_input(g, "h", DIMS(d, 3, 6)),
                   c = real_input(g, "c", DIMS(d, 3, 6));
        int32_t n = plim_graph_node(g, "LSTM", NULL, (plim_value[]){x, w, r, b, PLIM_NO_VALUE, h, c}, i < 3 ? 3 : 7, 3);
        plim_graph_set_int(g, n, "hidden_size", 6);
        plim_graph_set_string(g, n, "direction", directions[i % 3]);
        plim_value y = plim_graph_node_output(g, n, 0);
        if (i >= 6)
            y = plim_graph_apply(g, "Mul",
                                 (plim_value[]){plim_graph_node_output(g, n, 1), plim_graph_node_output(g, n, 2)}, 2);
        expect_right("LSTM", g, y, NULL, TOLERANCE);
    }
}

/* Threads that own samples, and that own units where samples are few. */
static void cells_on_two_threads(void **state) {
    (void)state;
    static const char *const names[] = {"RNN", "GRU", "GRU", "LSTM"};
    static const int64_t gates[] = {1, 3, 3, 4};
    for (int i = 0; i < 8; i++) {
        plim_graph *g = plim_graph_create();
        int64_t batch = i < 4 ? 17 : 5, hidden = i < 4 ? 112 : 210, units = gates[i % 4] * hidden;
        plim_value in[] = {real_input(g, "x", DIMS(3, batch, 4)), real_input(g, "w", DIMS(2, units, 4)),
                           real_input(g, "r", DIMS(2, units, hidden)), real_input(g, "b", DIMS(2, 2 * units))};
        int32_t n = plim_graph_node(g, names[i % 4], NULL, in, 4, 2);
        plim_graph_set_int(g, n, "hidden_size", hidden);
        plim_graph_set_string(g, n, "direction", "bidirectional");
        if (i % 4 == 2) plim_graph_set_int(g, n, "linear_before_reset", 1);
        expect_right(names[i % 4], g, plim_graph_node_output(g, n, 0),
                     &(plim_gradient_options){.low = -0.2, .high = 0.2, .samples = 6, .threads = 2}, TOLERANCE);
    }
}

static void gru_through_time(void **state) {
    (void)state;
    static const char *const directions[] = {"forward", "reverse", "bidirectional"};
    for (int i = 0; i < 12; i++) {
        plim_graph *g = plim_graph_create();
        int64_t d = i % 3 == 2 ? 2 : 1;
        plim_value x = real_input(g, "x", DIMS(5, 3, 4)), w = real_input(g, "w", DIMS(d, 3 * 6, 4)),
                   r = real_input(g, "r", DIMS(d, 3 * 6, 6));
        plim_value b = real_input(g, "b", DIMS(d, 6 * 6)), h = real_input(g, "h", DIMS(d, 3, 6));
        int32_t n = plim_graph_node(g, "GRU", NULL, (plim_value[]){x, w, r, b, PLIM_NO_VALUE, h}, 6, 2);
        plim_graph_set_int(g, n, "hidden_size", 6);
        plim_graph_set_int(g, n, "linear_before_reset", i >= 6);
        plim_graph_set_string(g, n, "direction", directions[i % 3]);
        expect_right("GRU", g, plim_graph_node_output(g, n, i / 3 & 1), NULL, TOLERANCE);
    }
}

static void the_rarer_ones(void **state) {
    (void)state;
    for (int p = 1; p < 4; p++) {
        plim_graph *g = plim_graph_create();
        plim_value x = real_input(g, "x", DIMS(2, 3, 5, 6));
        int32_t n = plim_graph_node(g, p == 3 ? "GlobalLpPool" : "LpPool", NULL, &x, 1, 1);
        if (p < 3) set_window(g, n, 2, (struct window){3, 2, 1, 1, 0});
        plim_graph_set_int(g, n, "p", p);
        expect_right("LpPool", g, plim_graph_node_output(g, n, 0), &(plim_gradient_options){.low = 0.3, .high = 1.5},
                     TOLERANCE);
    }
    for (int size = 3; size < 6; size += 2) {
        plim_graph *g = plim_graph_create();
        plim_value x = real_input(g, "x", DIMS(2, 7, 3, 4));
        int32_t n = plim_graph_node(g, "LRN", NULL, &x, 1, 1);
        plim_graph_set_int(g, n, "size", size);
        plim_graph_set_float(g, n, "alpha", 0.5f);
        expect_right("LRN", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
    }
    plim_graph *g = plim_graph_create();
    plim_value x = real_input(g, "x", DIMS(3, 2, 4, 5));
    expect_right("MeanVarianceNormalization", g, plim_graph_apply(g, "MeanVarianceNormalization", &x, 1), NULL,
                 TOLERANCE);
    g = plim_graph_create();
    plim_value unpool[] = {real_input(g, "x", DIMS(1, 1, 2, 2)), ints(g, DIMS(1, 1, 2, 2), (int64_t[]){5, 2, 8, 15})};
    int32_t n = plim_graph_node(g, "MaxUnpool", NULL, unpool, 2, 1);
    set_window(g, n, 2, (struct window){2, 2, 1, 0, 0});
    expect_right("MaxUnpool", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
    g = plim_graph_create();
    n = plim_graph_node(
        g, "Mod", NULL,
        (plim_value[]){real_input(g, "a", DIMS(4, 5)),
                       plim_graph_parameter(g, "b", PLIM_F32, DIMS(5), (float[]){0.7f, 1.1f, -0.9f, 0.6f, 1.3f})},
        2, 1);
    plim_graph_set_int(g, n, "fmod", 1);
    expect_right("Mod", g, plim_graph_node_output(g, n, 0),
                 &(plim_gradient_options){.epsilon = 1e-3, .low = 2, .high = 4}, TOLERANCE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions),
        cmocka_unit_test(transposed_convolutions),
        cmocka_unit_test(convolution_of_joined_channels),
        cmocka_unit_test(pools),
        cmocka_unit_test(batch_norm_in_training_and_with_fixed_statistics),
        cmocka_unit_test(the_other_norms),
        cmocka_unit_test(a_vector_of_zeros_stays_when_it_is_normalized),
        cmocka_unit_test(attention_with_and_without_masks),
        cmocka_unit_test(losses_over_classes),
        cmocka_unit_test(lstm_through_time),
        cmocka_unit_test(cells_on_two_threads),
        cmocka_unit_test(gru_through_time),
        cmocka_unit_test(the_rarer_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
