/* Passes that make one step of several: convolution and matrix product with bias, residual and activation, and
 * batch norm. The answers stay the same, the pass fires, and near misses are left alone. */
#include "graph/pass_case.h"
#include "graph/passes/match.h"

/* --- convolution ---------------------------------------------------------------------------------------------- */

static plim_value conv_of(plim_graph *g, plim_value x, const char *name, int64_t in, int64_t out, bool bias) {
    char w[32], b[32];
    snprintf(w, sizeof w, "%s.weight", name);
    snprintf(b, sizeof b, "%s.bias", name);
    plim_value inputs[3] = {x, weights_of(g, w, 4, DIMS(out, in, 3, 3)), PLIM_NO_VALUE};
    if (bias) inputs[2] = weights_of(g, b, 1, DIMS(out));
    int32_t node = plim_graph_node(g, "Conv", name, inputs, bias ? 3 : 2, 1);
    plim_graph_set_ints(g, node, "pads", DIMS(1, 1, 1, 1), 4);
    plim_graph_set_ints(g, node, "kernel_shape", DIMS(3, 3), 2);
    return plim_graph_node_output(g, node, 0);
}

static plim_value picture(plim_graph *g) { return input_of(g, "x", 4, DIMS(2, 4, 6, 5)); }

static void build_conv_relu(plim_graph *g) {
    plim_graph_output(g, one(g, "Relu", conv_of(g, picture(g), "a", 4, 8, true)), "y");
}
static void build_conv_clip(plim_graph *g) {
    plim_value y = conv_of(g, picture(g), "a", 4, 8, false);
    plim_graph_output(g, three(g, "Clip", y, scalar_of(g, -0.25f), scalar_of(g, 0.5f)), "y");
}
static void build_conv_leaky(plim_graph *g) {
    plim_value y = conv_of(g, picture(g), "a", 4, 8, true);
    int32_t leaky = plim_graph_node(g, "LeakyRelu", NULL, &y, 1, 1);
    plim_graph_set_float(g, leaky, "alpha", 0.2f);
    plim_graph_output(g, plim_graph_node_output(g, leaky, 0), "y");
}
static void build_conv_swish(plim_graph *g) {
    plim_value y = conv_of(g, picture(g), "a", 4, 8, true);
    plim_graph_output(g, two(g, "Mul", y, one(g, "Sigmoid", y)), "y");
}
static void build_conv_swish_reversed(plim_graph *g) {
    plim_value y = conv_of(g, picture(g), "a", 4, 8, true);
    plim_graph_output(g, two(g, "Mul", one(g, "Sigmoid", y), y), "y");
}
static void build_conv_sigmoid(plim_graph *g) {
    plim_graph_output(g, one(g, "Sigmoid", conv_of(g, picture(g), "a", 4, 8, true)), "y");
}
static void build_conv_hardswish(plim_graph *g) {
    plim_graph_output(g, one(g, "HardSwish", conv_of(g, picture(g), "a", 4, 8, true)), "y");
}

static void a_convolution_takes_its_activation_along(void **state) {
    (void)state;
    static const struct {
        builder build;
        const char *gone;
    } cases[] = {{build_conv_relu, "Relu"},          {build_conv_clip, "Clip"},
                 {build_conv_leaky, "LeakyRelu"},    {build_conv_swish, "Sigmoid"},
                 {build_conv_swish_reversed, "Mul"}, {build_conv_sigmoid, "Sigmoid"},
                 {build_conv_hardswish, "HardSwish"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_pass(cases[i].build, "fuse-conv", "FusedConv", 1, NULL);
        check_pass(cases[i].build, "fuse-conv", cases[i].gone, 0, NULL);
    }
}

static void build_residual(plim_graph *g) {
    plim_value x = input_of(g, "x", 4, DIMS(2, 8, 6, 5));
    plim_graph_output(g, one(g, "Relu", two(g, "Add", conv_of(g, x, "a", 8, 8, true), x)), "y");
}
static void build_residual_first(plim_graph *g) {
    plim_value x = input_of(g, "x", 4, DIMS(2, 8, 6, 5));
    plim_graph_output(g, two(g, "Add", one(g, "Tanh", x), conv_of(g, x, "a", 8, 8, false)), "y");
}
/* The residual is needed after the convolution has run: it must not be written over. */
static void build_residual_with_users(plim_graph *g) {
    plim_value x = input_of(g, "x", 4, DIMS(2, 8, 6, 5)), r = one(g, "Tanh", x);
    plim_value y = one(g, "Relu", two(g, "Add", conv_of(g, x, "a", 8, 8, true), r));
    plim_value z = one(g, "Relu", two(g, "Add", conv_of(g, y, "bb", 8, 8, true), r));
    plim_graph_output(g, two(g, "Mul", z, r), "y");
    plim_graph_output(g, r, "r");
}
static void build_two_convs(plim_graph *g) {
    plim_value x = picture(g);
    plim_graph_output(g, one(g, "Relu", two(g, "Add", conv_of(g, x, "a", 4, 8, true), conv_of(g, x, "bb", 4, 8, true))),
                      "y");
}
static void build_residual_of_its_input(plim_graph *g) { /* a chain of blocks, as in a residual network */
    plim_value x = input_of(g, "x", 4, DIMS(2, 8, 6, 5));
    for (int i = 0; i < 3; i++) {
        char a[8], b[8];
        snprintf(a, sizeof a, "a%d", i);
        snprintf(b, sizeof b, "bb%d", i);
        plim_value y = one(g, "Relu", conv_of(g, x, a, 8, 8, true));
        x = one(g, "Relu", two(g, "Add", conv_of(g, y, b, 8, 8, true), x));
    }
    plim_graph_output(g, x, "y");
}

static void no_add_is_left(const plim_graph *g) { assert_int_equal(count_op(g, "Add") + count_op(g, "Relu"), 0); }

static void a_convolution_takes_its_residual_along(void **state) {
    (void)state;
    check_pass(build_residual, "fuse-conv", "FusedConv", 1, no_add_is_left);
    check_pass(build_residual_first, "fuse-conv", "FusedConv", 1, no_add_is_left);
    check_pass(build_residual_with_users, "fuse-conv", "FusedConv", 2, no_add_is_left);
    check_pass(build_residual_of_its_input, "fuse-conv", "FusedConv", 6, no_add_is_left);
}

static void of_two_added_convolutions_one_takes_the_other(void **state) {
    (void)state;
    check_pass(build_two_convs, "fuse-conv", "FusedConv", 1, no_add_is_left);
    check_pass(build_two_convs, "fuse-conv", "Conv", 1, NULL);
}

static void build_conv_seen(plim_graph *g) { /* the convolution's own result is an output */
    plim_value y = conv_of(g, picture(g), "a", 4, 8, true);
    plim_graph_output(g, one(g, "Relu", y), "y");
    plim_graph_output(g, y, "raw");
}
static void build_conv_two_users(plim_graph *g) {
    plim_value y = conv_of(g, picture(g), "a", 4, 8, true);
    plim_graph_output(g, two(g, "Mul", one(g, "Relu", y), one(g, "Tanh", y)), "y");
}
static void build_conv_broadcast(plim_graph *g) { /* an addition that makes the result larger is no residual */
    plim_value x = input_of(g, "x", 4, DIMS(1, 4, 6, 5)), r = input_of(g, "r", 4, DIMS(3, 8, 6, 5));
    plim_graph_output(g, two(g, "Add", conv_of(g, x, "a", 4, 8, true), r), "y");
}
static void build_conv_doubled(plim_graph *g) { /* y + y */
    plim_value y = conv_of(g, picture(g), "a", 4, 8, true);
    plim_graph_output(g, two(g, "Add", y, y), "y");
}
static void build_swish_of_two(plim_graph *g) { /* sigmoid(y) · z */
    plim_value x = picture(g), y = conv_of(g, x, "a", 4, 8, true), z = conv_of(g, x, "bb", 4, 8, true);
    plim_graph_output(g, two(g, "Mul", one(g, "Sigmoid", y), z), "y");
}
static void build_clip_unbounded(plim_graph *g) { /* a clip with one bound */
    plim_value y = conv_of(g, picture(g), "a", 4, 8, true);
    plim_graph_output(g, two(g, "Clip", y, scalar_of(g, -0.25f)), "y");
}
static void build_clip_with_input_bound(plim_graph *g) { /* bounds that are only known when it runs */
    plim_value y = conv_of(g, picture(g), "a", 4, 8, true);
    plim_graph_output(g, two(g, "Clip", y, input_of(g, "low", 0, NULL)), "y");
}

static void build_clip_crossed(plim_graph *g) { /* everything becomes the upper bound */
    plim_value y = conv_of(g, picture(g), "a", 4, 8, true);
    plim_graph_output(g, three(g, "Clip", y, scalar_of(g, 0.5f), scalar_of(g, -0.25f)), "y");
}

static void what_a_convolution_must_not_take_along_stays(void **state) {
    (void)state;
    check_pass(build_conv_seen, "fuse-conv", "FusedConv", 0, NULL);
    check_pass(build_conv_two_users, "fuse-conv", "FusedConv", 0, NULL);
    check_pass(build_conv_broadcast, "fuse-conv", "FusedConv", 0, NULL);
    check_pass(build_conv_doubled, "fuse-conv", "FusedConv", 0, NULL);
    check_pass(build_swish_of_two, "fuse-conv", "Mul", 1, NULL);
    check_pass(build_clip_unbounded, "fuse-conv", "Clip", 1, NULL);
    check_pass(build_clip_with_input_bound, "fuse-conv", "Clip", 1, NULL);
    check_pass(build_clip_crossed, "fuse-conv", "Clip", 1, NULL);
}

/* --- batch norm ----------------------------------------------------------------------------------------------- */

static plim_value norm_of(plim_graph *g, plim_value x, int64_t channels) {
    plim_value inputs[5] = {x, weights_around(g, "scale", 1, DIMS(channels), 1),
                            weights_of(g, "shift", 1, DIMS(channels)), weights_of(g, "mean", 1, DIMS(channels)),
                            weights_around(g, "variance", 1, DIMS(channels), 1)};
    int32_t node = plim_graph_node(g, "BatchNormalization", "norm", inputs, 5, 1);
    plim_graph_set_float(g, node, "epsilon", 1e-3f);
    return plim_graph_node_output(g, node, 0);
}

static void build_conv_norm(plim_graph *g) {
    plim_graph_output(g, norm_of(g, conv_of(g, picture(g), "a", 4, 8, false), 8), "y");
}
static void build_conv_norm_bias(plim_graph *g) {
    plim_graph_output(g, one(g, "Relu", norm_of(g, conv_of(g, picture(g), "a", 4, 8, true), 8)), "y");
}
static void build_shared_weights(plim_graph *g) { /* only one of two convolutions with the same weights is normalised */
    plim_value x = picture(g), w = weights_of(g, "w", 4, DIMS(8, 4, 3, 3));
    plim_value a = two(g, "Conv", x, w), b = two(g, "Conv", x, w);
    plim_graph_output(g, two(g, "Mul", norm_of(g, a, 8), b), "y");
}
static void build_norm_alone(plim_graph *g) {
    plim_graph_output(g, one(g, "Relu", norm_of(g, one(g, "Tanh", picture(g)), 4)), "y");
}
static void build_norm_of_seen_conv(plim_graph *g) {
    plim_value y = conv_of(g, picture(g), "a", 4, 8, true);
    plim_graph_output(g, norm_of(g, y, 8), "y");
    plim_graph_output(g, y, "raw");
}
static void build_norm_leaky(plim_graph *g) {
    plim_graph_output(g, one(g, "LeakyRelu", norm_of(g, one(g, "Tanh", picture(g)), 4)), "y");
}

static void no_norm_is_left(const plim_graph *g) {
    assert_int_equal(count_op(g, "BatchNormalization") + count_op(g, "FusedBatchNorm"), 0);
}

static void a_batch_norm_becomes_part_of_the_weights(void **state) {
    (void)state;
    check_pass(build_conv_norm, "fold-batch-norm", "BatchNormalization", 0, no_norm_is_left);
    check_pass(build_conv_norm_bias, "fold-batch-norm", "FusedBatchNorm", 0, no_norm_is_left);
    check_pass(build_shared_weights, "fold-batch-norm", "BatchNormalization", 0, no_norm_is_left);
    check_pass(build_norm_of_seen_conv, "fold-batch-norm", "BatchNormalization", 1, NULL);
}

static void a_batch_norm_that_stays_takes_a_relu_along(void **state) {
    (void)state;
    check_pass(build_norm_alone, "fuse-batch-norm", "FusedBatchNorm", 1, NULL);
    check_pass(build_norm_alone, "fuse-batch-norm", "Relu", 0, NULL);
    check_pass(build_norm_leaky, "fuse-batch-norm", "FusedBatchNorm", 0, NULL);
}

/* --- matrix products ------------------------------------------------------------------------------------------ */

static plim_value product_of(plim_graph *g, plim_value x, const char *name, int64_t in, int64_t out) {
    return two(g, "MatMul", x, weights_of(g, name, 2, DIMS(in, out)));
}
static plim_value tokens(plim_graph *g) { return input_of(g, "x", 3, DIMS(2, 5, 16)); }

static void build_linear_bias(plim_graph *g) {
    plim_graph_output(g, two(g, "Add", product_of(g, tokens(g), "w", 16, 12), weights_of(g, "bias", 1, DIMS(12))), "y");
}
static void build_linear_bias_first(plim_graph *g) {
    plim_graph_output(g, two(g, "Add", weights_of(g, "bias", 1, DIMS(12)), product_of(g, tokens(g), "w", 16, 12)), "y");
}
static void build_linear_relu(plim_graph *g) {
    plim_graph_output(
        g, one(g, "Relu", two(g, "Add", product_of(g, tokens(g), "w", 16, 12), weights_of(g, "bias", 1, DIMS(12)))),
        "y");
}
static void build_linear_residual(plim_graph *g) {
    plim_value x = tokens(g);
    plim_graph_output(
        g, two(g, "Add", x, two(g, "Add", product_of(g, x, "w", 16, 16), weights_of(g, "bias", 1, DIMS(16)))), "y");
}
static void build_linear_residual_with_users(plim_graph *g) {
    plim_value x = one(g, "Tanh", tokens(g));
    plim_value y = two(g, "Add", x, two(g, "Add", product_of(g, x, "w", 16, 16), weights_of(g, "bias", 1, DIMS(16))));
    plim_graph_output(g, two(g, "Mul", two(g, "Add", product_of(g, y, "ww", 16, 16), x), x), "y");
}
static void build_linear_gelu(plim_graph *g) { /* spelled out: two passes work together */
    plim_value x = two(g, "Add", product_of(g, tokens(g), "w", 16, 12), weights_of(g, "bias", 1, DIMS(12)));
    plim_value gate = with_scalar(g, "Add", one(g, "Erf", with_scalar(g, "Div", x, 1.41421356f)), 1);
    plim_graph_output(g, with_scalar(g, "Mul", two(g, "Mul", x, gate), 0.5f), "y");
}
static void only_linear_is_left(const plim_graph *g) { assert_int_equal(plim_graph_node_count(g), 1); }

static void a_matrix_product_takes_bias_residual_and_activation_along(void **state) {
    (void)state;
    check_pass(build_linear_bias, "fuse-linear", "Linear", 1, only_linear_is_left);
    check_pass(build_linear_bias_first, "fuse-linear", "Linear", 1, only_linear_is_left);
    check_pass(build_linear_relu, "fuse-linear", "Linear", 1, only_linear_is_left);
    check_pass(build_linear_residual, "fuse-linear", "Linear", 1, only_linear_is_left);
    check_pass(build_linear_residual_with_users, "fuse-linear", "Linear", 2, NULL);
    check_pass(build_linear_gelu, "fuse-linear", "Linear", 1, only_linear_is_left);
}

static void build_gemm(plim_graph *g, const char *activation) {
    plim_value x = input_of(g, "x", 2, DIMS(5, 16));
    plim_value inputs[3] = {x, weights_of(g, "w", 2, DIMS(12, 16)), weights_of(g, "bias", 1, DIMS(12))};
    int32_t gemm = plim_graph_node(g, "Gemm", NULL, inputs, 3, 1);
    plim_graph_set_int(g, gemm, "transB", 1);
    plim_graph_set_float(g, gemm, "alpha", 0.5f);
    plim_graph_set_float(g, gemm, "beta", 2);
    plim_graph_output(g, one(g, activation, plim_graph_node_output(g, gemm, 0)), "y");
}
static void build_gemm_relu(plim_graph *g) { build_gemm(g, "Relu"); }
static void build_gemm_sigmoid(plim_graph *g) { build_gemm(g, "Sigmoid"); }

static void a_gemm_takes_its_activation_along(void **state) {
    (void)state;
    check_pass(build_gemm_relu, "fuse-linear", "FusedGemm", 1, only_linear_is_left);
    check_pass(build_gemm_sigmoid, "fuse-linear", "FusedGemm", 1, only_linear_is_left);
}

static void build_linear_seen(plim_graph *g) {
    plim_value y = product_of(g, tokens(g), "w", 16, 12);
    plim_graph_output(g, two(g, "Add", y, weights_of(g, "bias", 1, DIMS(12))), "y");
    plim_graph_output(g, y, "raw");
}
static void build_linear_column(plim_graph *g) { /* a bias down the columns, not along the rows */
    plim_graph_output(g, two(g, "Add", product_of(g, tokens(g), "w", 16, 12), weights_of(g, "bias", 2, DIMS(5, 1))),
                      "y");
}
static void build_linear_batched(plim_graph *g) { /* a product of two activations */
    plim_value y = two(g, "MatMul", tokens(g), input_of(g, "z", 3, DIMS(2, 16, 12)));
    plim_graph_output(g, one(g, "Relu", y), "y");
}

static void what_a_matrix_product_must_not_take_along_stays(void **state) {
    (void)state;
    check_pass(build_linear_seen, "fuse-linear", "Linear", 0, NULL);
    check_pass(build_linear_column, "fuse-linear", "Linear", 0, NULL);
    check_pass(build_linear_batched, "fuse-linear", "Linear", 0, NULL);
}

/* --- pools ---------------------------------------------------------------------------------------------------- */

static plim_value pool_of(plim_graph *g, plim_value x) {
    int32_t pool = plim_graph_node(g, "MaxPool", "pool", &x, 1, 1);
    plim_graph_set_ints(g, pool, "kernel_shape", DIMS(3, 2), 2);
    plim_graph_set_ints(g, pool, "strides", DIMS(2, 2), 2);
    plim_graph_set_ints(g, pool, "pads", DIMS(1, 0, 1, 0), 4);
    return plim_graph_node_output(g, pool, 0);
}
static void build_relu_pool(plim_graph *g) {
    plim_value x = two(g, "Mul", picture(g), scalar_of(g, 2));
    plim_graph_output(g, one(g, "Neg", pool_of(g, one(g, "Relu", x))), "y");
}
static void build_relu_pool_and_more(plim_graph *g) {
    plim_value r = one(g, "Relu", two(g, "Mul", picture(g), scalar_of(g, 2)));
    plim_graph_output(g, pool_of(g, r), "y");
    plim_graph_output(g, one(g, "Neg", r), "z");
}

static bool pools_first(const plim_graph *g) {
    for (size_t n = 0; n < g->nodes.count; n++)
        if (!g->nodes.items[n].dead && strcmp(g->nodes.items[n].op_name, "Relu") == 0)
            return plim__match_producer(g, g->nodes.items[n].inputs.items[0], "MaxPool") != NULL;
    return false;
}
static void expect_pool_first(const plim_graph *g) { assert_true(pools_first(g)); }
static void expect_relu_first(const plim_graph *g) { assert_false(pools_first(g)); }

static void a_max_pool_goes_before_its_relu(void **state) {
    (void)state;
    check_pass(build_relu_pool, "pool-first", "MaxPool", 1, expect_pool_first);
    check_pass(build_relu_pool_and_more, "pool-first", "MaxPool", 1, expect_relu_first);
}

/* --- recurrent layers of a table ------------------------------------------------------------------------------- */

/* Words of `rows` through a layer in both directions. */
static void build_words(plim_graph *g, const char *op, int64_t gates, int64_t rows, bool turned) {
    plim_value tokens = plim_graph_input(g, "tokens", PLIM_I64, 2, turned ? DIMS(2, 9) : DIMS(9, 2));
    plim_value x = two(g, "Gather", weights_of(g, "table", 2, DIMS(rows, 24)), tokens);
    if (turned) x = transposed(g, x, DIMS(1, 0, 2), 3);
    plim_value in[] = {x, weights_of(g, "w", 3, DIMS(2, gates * 5, 24)), weights_of(g, "rr", 3, DIMS(2, gates * 5, 5)),
                       weights_of(g, "bias", 2, DIMS(2, 2 * gates * 5))};
    int32_t n = plim_graph_node(g, op, "layer", in, 4, 2);
    plim_graph_set_string(g, n, "direction", "bidirectional");
    plim_graph_set_int(g, n, "hidden_size", 5);
    plim_graph_output(g, plim_graph_node_output(g, n, 0), "y");
    plim_graph_output(g, plim_graph_node_output(g, n, 1), "y_h");
}
static void build_lstm_of_words(plim_graph *g) { build_words(g, "LSTM", 4, 4, true); }
static void build_gru_of_words(plim_graph *g) { build_words(g, "GRU", 3, 3, false); }
static void build_rnn_of_words(plim_graph *g) { build_words(g, "RNN", 1, 7, true); }
static void build_lstm_of_many_words(plim_graph *g) { build_words(g, "LSTM", 4, 11, true); }

static void expect_no_gather(const plim_graph *g) { assert_int_equal(count_op(g, "Gather"), 0); }
static void expect_gather(const plim_graph *g) { assert_int_equal(count_op(g, "Gather"), 1); }

static void a_recurrent_layer_multiplies_each_row_of_a_small_table_once(void **state) {
    (void)state;
    check_pass(build_lstm_of_words, "table-first", "TableLSTM", 1, expect_no_gather);
    check_pass(build_gru_of_words, "table-first", "TableGRU", 1, expect_no_gather);
    check_pass(build_rnn_of_words, "table-first", "TableRNN", 1, expect_no_gather);
    check_pass(build_lstm_of_many_words, "table-first", "LSTM", 1, expect_gather);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_takes_its_activation_along),
        cmocka_unit_test(a_convolution_takes_its_residual_along),
        cmocka_unit_test(of_two_added_convolutions_one_takes_the_other),
        cmocka_unit_test(what_a_convolution_must_not_take_along_stays),
        cmocka_unit_test(a_batch_norm_becomes_part_of_the_weights),
        cmocka_unit_test(a_batch_norm_that_stays_takes_a_relu_along),
        cmocka_unit_test(a_matrix_product_takes_bias_residual_and_activation_along),
        cmocka_unit_test(a_gemm_takes_its_activation_along),
        cmocka_unit_test(what_a_matrix_product_must_not_take_along_stays),
        cmocka_unit_test(a_max_pool_goes_before_its_relu),
        cmocka_unit_test(a_recurrent_layer_multiplies_each_row_of_a_small_table_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
