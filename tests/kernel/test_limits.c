/* Inputs at the limits of operators: empty tensors compute nothing, what has no kernel is refused with a status that says so,
 * and numbers stay numbers. What the fuzzer of graphs (fuzz/fuzz_grammar.c) found is here. */
#include "run_op.h"

static plim_status try(plim_graph *g, plim_error *error) {
    plim_session *s = NULL;
    plim_status status = plim_session_create(g, NULL, &s, error);
    if (status == PLIM_OK) status = plim_session_run(s, error);
    plim_session_free(s);
    plim_graph_free(g);
    return status;
}

/* A node on an input x and weights w of these shapes; w_rank -1: without weights. */
static plim_graph *graph_of(const char *op, int rank, const int64_t *dims, int w_rank, const int64_t *w_dims) {
    plim_graph *g = plim_graph_create();
    plim_value in[2] = {plim_graph_input(g, "x", PLIM_F32, rank, dims), PLIM_NO_VALUE};
    if (w_rank >= 0) in[1] = plim_graph_parameter(g, "w", PLIM_F32, w_rank, w_dims, NULL);
    int32_t node = plim_graph_node(g, op, NULL, in, w_rank >= 0 ? 2 : 1, 1);
    if (strstr(op, "Pool") && !strstr(op, "Global")) plim_graph_set_ints(g, node, "kernel_shape", (int64_t[]){2, 2}, 2);
    if (strcmp(op, "LRN") == 0) plim_graph_set_int(g, node, "size", 3);
    plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
    return g;
}

static void empty_tensors_compute_nothing(void **state) {
    (void)state;
    static const char *const ops[] = {"MaxPool", "AveragePool", "LRN", "Softmax", "GlobalAveragePool", "Relu"};
    const int64_t x[] = {0, 3, 4, 4}, w[] = {2, 3, 3, 3}, nothing[] = {0, 3, 3, 3};
    plim_error error = {0};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        plim_graph *g = graph_of(ops[i], 4, x, -1, NULL);
        plim_status status = try(g, &error);
        if (status != PLIM_OK) fail_msg("%s: %s", ops[i], error.message);
    }
    if (try(graph_of("Conv", 4, x, 4, w), &error) != PLIM_OK) fail_msg("Conv: %s", error.message);
    if (try(graph_of("Conv", 4, (int64_t[]){2, 3, 4, 4}, 4, nothing), &error) != PLIM_OK)
        fail_msg("Conv to no channels: %s", error.message);
}

static void what_has_no_kernel_is_refused(void **state) {
    (void)state;
    plim_error error = {0};
    const int64_t none[] = {2, 0, 4, 4}, filters[] = {2, 0, 3, 3};
    assert_int_equal(try(graph_of("Conv", 4, none, 4, filters), &error), PLIM_UNSUPPORTED);
    assert_non_null(strstr(error.message, "no channels"));
    assert_int_equal(try(graph_of("LRN", 1, (int64_t[]){4}, -1, NULL), &error), PLIM_SHAPE);
    assert_int_equal(try(graph_of("LRN", 3, (int64_t[]){2, 3, 4}, -1, NULL), &error), PLIM_OK);
}

/* A few bytes of a file can ask for tables of terabytes. */
static void an_axis_without_end_is_refused_before_its_tables_are_made(void **state) {
    (void)state;
    const int64_t ends[] = {0, 0, 0, (int64_t)1 << 40}, sizes[] = {1, (int64_t)1 << 40};
    for (int resize = 0; resize < 2; resize++) {
        plim_error error = {0};
        plim_graph *g = plim_graph_create();
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){1, 4}), in[4] = {x};
        if (resize) {
            in[1] = in[2] = PLIM_NO_VALUE;
            in[3] = plim_graph_constant(g, "sizes", PLIM_I64, 1, (int64_t[]){2}, sizes);
        } else {
            in[1] = plim_graph_constant(g, "pads", PLIM_I64, 1, (int64_t[]){4}, ends);
        }
        plim_graph_output(g, plim_graph_apply(g, resize ? "Resize" : "Pad", in, resize ? 4 : 2), "y");
        assert_int_equal(try(g, &error), PLIM_UNSUPPORTED);
        assert_non_null(strstr(error.message, "an axis so long"));
    }
}

/* Strides are products of sizes, also where there is nothing to step over. */
static void an_empty_tensor_has_sizes_that_can_be_multiplied(void **state) {
    (void)state;
    plim_error error = {0};
    plim_graph *g = plim_graph_create();
    const int64_t dims[] = {0, INT64_MAX, 3};
    plim_value in[] = {plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){1, 1, 1}),
                       plim_graph_constant(g, "dims", PLIM_I64, 1, (int64_t[]){3}, dims)};
    plim_graph_output(g, plim_graph_apply(g, "Expand", in, 2), "y");
    assert_int_equal(try(g, &error), PLIM_OVERFLOW);
}

static void output_padding_is_less_than_the_stride(void **state) {
    (void)state;
    plim_error error = {0};
    plim_graph *g = plim_graph_create();
    plim_value in[] = {plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){1, 4, 1}),
                       plim_graph_parameter(g, "w", PLIM_F32, 3, (int64_t[]){4, 4, 1}, NULL)};
    int32_t node = plim_graph_node(g, "ConvTranspose", NULL, in, 2, 1);
    plim_graph_set_ints(g, node, "output_padding", (int64_t[]){1}, 1);
    plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
    assert_int_equal(try(g, &error), PLIM_UNSUPPORTED);
    assert_non_null(strstr(error.message, "output_padding"));
}

/* Kernels read every input as what the first is. */
static void factors_are_of_one_type(void **state) {
    (void)state;
    static const char *const ops[] = {"Gemm", "MatMul", "Conv"};
    for (int k = 0; k < 3; k++) {
        plim_error error = {0};
        plim_graph *g = plim_graph_create();
        int rank = k == 2 ? 3 : 2;
        plim_value in[] = {plim_graph_input(g, "x", PLIM_F32, rank, (int64_t[]){4, 4, 4}),
                           plim_graph_parameter(g, "w", PLIM_F16, rank, (int64_t[]){4, 4, 4}, NULL)};
        plim_graph_output(g, plim_graph_apply(g, ops[k], in, 2), "y");
        assert_int_equal(try(g, &error), PLIM_DTYPE);
        assert_non_null(strstr(error.message, "float32 and float16"));
    }
}

static void a_zero_point_is_of_the_type_that_it_is_taken_from(void **state) {
    (void)state;
    plim_error error = {0};
    plim_graph *g = plim_graph_create();
    const float scale = 1;
    plim_value in[] = {plim_graph_input(g, "x", PLIM_I32, 1, (int64_t[]){4}),
                       plim_graph_constant(g, "scale", PLIM_F32, 0, NULL, &scale),
                       plim_graph_constant(g, "zero", PLIM_U8, 0, NULL, &(uint8_t){3})};
    plim_graph_output(g, plim_graph_apply(g, "DequantizeLinear", in, 3), "y");
    assert_int_equal(try(g, &error), PLIM_DTYPE);
}

static void a_window_of_one_cell_has_nothing_to_dilate(void **state) {
    (void)state;
    plim_error error = {0};
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){4, 1, 7, 5});
    int32_t node = plim_graph_node(g, "MaxPool", NULL, &x, 1, 1);
    plim_graph_set_ints(g, node, "kernel_shape", (int64_t[]){1, 1}, 2);
    plim_graph_set_ints(g, node, "dilations", (int64_t[]){1, 255}, 2);
    plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
    if (try(g, &error) != PLIM_OK) fail_msg("%s", error.message);
}

static void a_window_may_lie_behind_the_last_cell(void **state) {
    (void)state;
    plim_error error = {0};
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){2, 3, 3});
    int32_t node = plim_graph_node(g, "AveragePool", NULL, &x, 1, 1);
    plim_graph_set_ints(g, node, "kernel_shape", (int64_t[]){1}, 1);
    plim_graph_set_ints(g, node, "pads", (int64_t[]){0, 1}, 2);
    plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
    if (try(g, &error) != PLIM_OK) fail_msg("%s", error.message);
}

static void groups_without_end_do_not_fit(void **state) {
    (void)state;
    plim_error error = {0};
    plim_graph *g = plim_graph_create();
    plim_value in[] = {plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){1, 2, 4}),
                       plim_graph_parameter(g, "w", PLIM_F32, 3, (int64_t[]){2, 2, 1}, NULL)};
    int32_t node = plim_graph_node(g, "Conv", NULL, in, 2, 1);
    plim_graph_set_int(g, node, "group", (int64_t)1 << 62);
    plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
    assert_int_equal(try(g, &error), PLIM_SHAPE);
}

/* As many numbers in another shape are no bias: its gradient would have no place. */
static void a_bias_is_one_number_for_each_channel(void **state) {
    (void)state;
    plim_error error = {0};
    plim_graph *g = plim_graph_create();
    plim_value in[] = {plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){2, 1, 7, 5}),
                       plim_graph_parameter(g, "w", PLIM_F32, 4, (int64_t[]){8, 1, 1, 1}, NULL), 0};
    in[2] = in[1];
    plim_graph_output(g, plim_graph_apply(g, "Conv", in, 3), "y");
    assert_int_equal(try(g, &error), PLIM_SHAPE);
    assert_non_null(strstr(error.message, "the bias is [8,1,1,1]"));
}

static void an_unpool_takes_one_index_for_each_element(void **state) {
    (void)state;
    plim_error error = {0};
    plim_graph *g = plim_graph_create();
    plim_value in[] = {plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){1, 1, 2, 2}),
                       plim_graph_input(g, "indices", PLIM_I64, 1, (int64_t[]){3})};
    int32_t node = plim_graph_node(g, "MaxUnpool", NULL, in, 2, 1);
    plim_graph_set_ints(g, node, "kernel_shape", (int64_t[]){2, 2}, 2);
    plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
    assert_int_equal(try(g, &error), PLIM_SHAPE);
    assert_non_null(strstr(error.message, "they are [3]"));
}

/* oneDNN's has at most three axes behind the channels. */
static void a_batch_norm_takes_any_number_of_axes(void **state) {
    (void)state;
    plim_error error = {0};
    plim_graph *g = plim_graph_create();
    const int64_t dims[] = {2, 2, 1, 2, 1, 3};
    const float scale[] = {2, 3}, bias[] = {1, -1}, mean[] = {4, 5}, variance[] = {1, 4};
    const float *const lists[] = {scale, bias, mean, variance};
    plim_value in[5] = {plim_graph_input(g, "x", PLIM_F32, 6, dims)};
    for (int i = 0; i < 4; i++) in[i + 1] = plim_graph_constant(g, NULL, PLIM_F32, 1, (int64_t[]){2}, lists[i]);
    plim_graph_output(g, plim_graph_apply(g, "BatchNormalization", in, 5), "y");
    plim_session *s = NULL;
    if (plim_session_create(g, NULL, &s, &error) != PLIM_OK) fail_msg("%s", error.message);
    float *x = plim_session_input(s, "x");
    for (int i = 0; i < 24; i++) x[i] = (float)i;
    assert_int_equal(plim_session_run(s, &error), PLIM_OK);
    const float *y = plim_session_output(s, "y");
    for (int i = 0; i < 24; i++) {
        int c = i / 6 % 2;
        assert_float_equal(y[i], (x[i] - mean[c]) / sqrtf(variance[c]) * scale[c] + bias[c], 1e-3);
    }
    plim_session_free(s);
    plim_graph_free(g);
}

static void a_norm_takes_lists_of_channels(void **state) {
    (void)state;
    static const char *const ops[] = {"InstanceNormalization", "BatchNormalization"};
    for (int k = 0; k < 2; k++) {
        plim_error error = {0};
        plim_graph *g = plim_graph_create();
        plim_value in[5] = {plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){2, 4, 5})};
        for (int i = 1; i < 5; i++)
            in[i] = plim_graph_parameter(g, NULL, PLIM_F32, i == 2 ? 2 : 1, (int64_t[]){4, 1}, NULL);
        int32_t node = plim_graph_node(g, ops[k], NULL, in, k == 1 ? 5 : 3, 1);
        plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
        assert_int_equal(try(g, &error), PLIM_SHAPE);
        assert_non_null(strstr(error.message, "input 2 is [4,1]"));
    }
}

/* Its backward pass has float32 only. */
static void a_maximum_of_doubles_is_trained_in_float32(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_error error = {0};
    plim_trainer *trainer = NULL;
    plim_trainer_options o = {.batch = 2, .loss = plim_loss_default(PLIM_LOSS_MODEL)};
    plim_value x = plim_graph_parameter(g, "w", PLIM_F32, 4, (int64_t[]){1, 1, 4, 4}, NULL);
    int32_t wide = plim_graph_node(g, "Cast", NULL, &x, 1, 1);
    plim_graph_set_int(g, wide, "to", 11);
    plim_value y = plim_graph_node_output(g, wide, 0);
    int32_t pool = plim_graph_node(g, "MaxPool", NULL, &y, 1, 1);
    plim_graph_set_ints(g, pool, "kernel_shape", (int64_t[]){2, 2}, 2);
    y = plim_graph_node_output(g, pool, 0);
    int32_t narrow = plim_graph_node(g, "Cast", NULL, &y, 1, 1);
    plim_graph_set_int(g, narrow, "to", 1);
    y = plim_graph_node_output(g, narrow, 0);
    plim_value in[] = {y, plim_graph_input(g, "x", PLIM_F32, 1, (int64_t[]){plim_graph_symbol(g, "N")})};
    int32_t mean = plim_graph_node(g, "ReduceMean", NULL, &in[1], 1, 1);
    in[1] = plim_graph_node_output(g, mean, 0);
    y = plim_graph_apply(g, "Mul", in, 2);
    mean = plim_graph_node(g, "ReduceMean", NULL, &y, 1, 1);
    plim_graph_set_int(g, mean, "keepdims", 0);
    plim_graph_output(g, plim_graph_node_output(g, mean, 0), "loss");
    if (plim_trainer_create(g, &o, &trainer, &error) != PLIM_OK) fail_msg("%s", error.message);
    plim_trainer_free(trainer);
    plim_graph_free(g);
}

static void whole_numbers_at_their_limits_stay_whole(void **state) {
    (void)state;
    const int64_t values[] = {INT64_MAX, INT64_MIN, 0, 3}, right[] = {INT64_MAX, INT64_MIN, 0, 3}, count = 4;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_I64, 1, &count);
    plim_graph_output(g, plim_graph_apply(g, "Shrink", &x, 1), "y");
    plim_session *s = session_of(g);
    feed(s, "x", values, sizeof values);
    run(s);
    assert_memory_equal(plim_session_output(s, "y"), right, sizeof right);
    plim_session_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_tensors_compute_nothing),
        cmocka_unit_test(what_has_no_kernel_is_refused),
        cmocka_unit_test(an_axis_without_end_is_refused_before_its_tables_are_made),
        cmocka_unit_test(an_empty_tensor_has_sizes_that_can_be_multiplied),
        cmocka_unit_test(output_padding_is_less_than_the_stride),
        cmocka_unit_test(factors_are_of_one_type),
        cmocka_unit_test(a_zero_point_is_of_the_type_that_it_is_taken_from),
        cmocka_unit_test(a_window_of_one_cell_has_nothing_to_dilate),
        cmocka_unit_test(a_window_may_lie_behind_the_last_cell),
        cmocka_unit_test(groups_without_end_do_not_fit),
        cmocka_unit_test(a_bias_is_one_number_for_each_channel),
        cmocka_unit_test(an_unpool_takes_one_index_for_each_element),
        cmocka_unit_test(a_batch_norm_takes_any_number_of_axes),
        cmocka_unit_test(a_norm_takes_lists_of_channels),
        cmocka_unit_test(a_maximum_of_doubles_is_trained_in_float32),
        cmocka_unit_test(whole_numbers_at_their_limits_stay_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
