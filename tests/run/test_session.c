/* A session computes what the graph says, in planned memory. */
#include <math.h>
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

static void matmul_of_a_graph_built_in_code_is_right(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    int64_t n = plim_graph_symbol(g, "N");
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){n, 3});
    float w[6] = {1, 2, 3, 4, 5, 6};
    plim_value weights = plim_graph_parameter(g, "w", PLIM_F32, 2, (int64_t[]){3, 2}, w);
    plim_graph_output(g, plim_graph_apply(g, "MatMul", (plim_value[]){x, weights}, 2), "y");
    plim_error error;
    plim_session *s = NULL;
    assert_int_equal(plim_session_create(g, &(plim_session_options){.batch = 2}, &s, &error), PLIM_OK);
    memcpy(plim_session_input(s, "x"), (float[]){1, 0, 0, 1, 1, 1}, 6 * sizeof(float));
    assert_int_equal(plim_session_run(s, &error), PLIM_OK);
    const float *y = plim_session_output(s, "y");
    static const float right[] = {1, 2, 9, 12};
    for (int i = 0; i < 4; i++) assert_true(fabsf(y[i] - right[i]) < 1e-6f);
    plim_session_free(s);
    plim_graph_free(g);
}

/* Of a norm that takes 4 samples of one number to 2 (x - 3) / 2 + 1 in evaluation. */
static void norm_inputs(plim_graph *g, plim_value in[5]) {
    in[0] = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){4, 1});
    in[1] = plim_graph_parameter(g, "scale", PLIM_F32, 1, (int64_t[]){1}, (float[]){2});
    in[2] = plim_graph_parameter(g, "shift", PLIM_F32, 1, (int64_t[]){1}, (float[]){1});
    in[3] = plim_graph_constant(g, "mean", PLIM_F32, 1, (int64_t[]){1}, (float[]){3});
    in[4] = plim_graph_constant(g, "variance", PLIM_F32, 1, (int64_t[]){1}, (float[]){4});
}

static int32_t add_norm(plim_graph *g, const plim_value in[5]) {
    int32_t norm = plim_graph_node(g, "BatchNormalization", NULL, in, 5, 3);
    plim_graph_set_int(g, norm, "training_mode", 1);
    plim_graph_set_float(g, norm, "epsilon", 0);
    return norm;
}

/* A model as exporters write it for training: batch norm that counts the batch, dropout that drops half. */
static void a_model_that_trains_is_set_to_evaluation(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value in[5];
    norm_inputs(g, in);
    int32_t norm = add_norm(g, in);
    plim_value half = plim_graph_constant(g, "half", PLIM_F32, 0, NULL, (float[]){0.5f});
    plim_value yes = plim_graph_constant(g, "yes", PLIM_BOOL, 0, NULL, (unsigned char[]){1});
    plim_value drops[] = {plim_graph_node_output(g, norm, 0), half, yes};
    plim_graph_output(g, plim_graph_apply(g, "Dropout", drops, 3), "y");
    plim_error error;
    plim_session *s = NULL;
    assert_int_equal(
        plim_session_create(g, &(plim_session_options){.evaluation = PLIM_EVALUATION_AS_TRAINED}, &s, &error), PLIM_OK);
    memcpy(plim_session_input(s, "x"), (float[]){3, 5, 7, 1}, 4 * sizeof(float));
    assert_int_equal(plim_session_run(s, &error), PLIM_OK);
    static const float right[] = {1, 3, 5, -1}; /* 2 (x - 3) / 2 + 1 */
    for (int i = 0; i < 4; i++) assert_true(fabsf(((const float *)plim_session_output(s, "y"))[i] - right[i]) < 1e-5f);
    plim_session_free(s);
    plim_graph_free(g);
}

/* y = n(n(x)) with one norm in training mode, whose second call reads what its statistics became in the first. */
static void a_norm_that_is_called_again_keeps_its_statistics_in_evaluation(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value in[5];
    norm_inputs(g, in);
    for (int call = 0; call < 2; call++) {
        int32_t norm = add_norm(g, in);
        in[0] = plim_graph_node_output(g, norm, 0);
        in[3] = plim_graph_node_output(g, norm, 1);
        in[4] = plim_graph_node_output(g, norm, 2);
    }
    plim_graph_output(g, in[0], "y");
    for (plim_evaluation_mode how = PLIM_EVALUATION_AS_TRAINED; how <= PLIM_EVALUATION_AS_STORED; how++) {
        plim_error error;
        plim_session *s = NULL;
        assert_int_equal(plim_session_create(g, &(plim_session_options){.evaluation = how}, &s, &error), PLIM_OK);
        memcpy(plim_session_input(s, "x"), (float[]){3, 5, 7, 1}, 4 * sizeof(float));
        assert_int_equal(plim_session_run(s, &error), PLIM_OK);
        static const float right[] = {-1, 1, 3, -3}; /* x - 2, twice */
        for (int i = 0; i < 4; i++)
            assert_true(fabsf(((const float *)plim_session_output(s, "y"))[i] - right[i]) < 1e-5f);
        plim_session_free(s);
    }
    plim_graph_free(g);
}

static void an_unknown_operator_is_named(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 1, (int64_t[]){4});
    plim_graph_output(g, plim_graph_apply(g, "Frobnicate", &x, 1), "y");
    plim_error error;
    plim_session *s = NULL;
    assert_int_equal(plim_session_create(g, NULL, &s, &error), PLIM_UNSUPPORTED);
    assert_non_null(strstr(error.message, "unsupported: operator Frobnicate"));
    assert_null(s);
    plim_graph_free(g);
}

/* image → conv → relu → flat → product, with a symbolic batch */
static plim_graph *small_model(void) {
    plim_graph *g = NULL;
    assert_int_equal(plim_zoo_create("lenet", &(plim_zoo_options){.width = 4}, &g, NULL), PLIM_OK);
    return g;
}

static plim_session *session_of(const plim_graph *g, const plim_session_options *options) {
    plim_session *s = NULL;
    plim_error error = {0};
    if (plim_session_create(g, options, &s, &error) != PLIM_OK) fail_msg("%s", error.message);
    return s;
}

static const float *run_on(plim_session *s, int64_t batch, float shift) {
    float *image = plim_session_input(s, "image");
    for (int64_t i = 0; i < batch * 784; i++) image[i] = (float)(i % 31) / 31 - shift;
    plim_error error = {0};
    assert_int_equal(plim_session_run(s, &error), PLIM_OK);
    return plim_session_output(s, "logits");
}

static void a_session_outlives_its_graph_and_repeats_itself_to_the_bit(void **state) {
    (void)state;
    plim_graph *g = small_model();
    plim_session *s = session_of(g, &(plim_session_options){.batch = 3});
    plim_graph_free(g);
    float first[30];
    memcpy(first, run_on(s, 3, 0), sizeof first);
    run_on(s, 3, 0.5f);
    assert_memory_equal(first, run_on(s, 3, 0), sizeof first);
    plim_session_free(s);
}

static void sessions_of_one_graph_do_not_disturb_each_other(void **state) {
    (void)state;
    plim_graph *g = small_model();
    plim_session *a = session_of(g, &(plim_session_options){.batch = 1}),
                 *b = session_of(g, &(plim_session_options){.batch = 2, .threads = 2});
    float alone[10];
    memcpy(alone, run_on(a, 1, 0), sizeof alone);
    const float *other = run_on(b, 2, 0);
    for (int i = 0; i < 10; i++) assert_true(fabsf(other[i] - alone[i]) <= 1e-5f);
    assert_memory_equal(alone, plim_session_output(a, "logits"), sizeof alone);
    plim_session_free(a);
    plim_session_free(b);
    plim_graph_free(g);
}

static void a_plan_has_the_bytes_of_the_session_but_does_not_run(void **state) {
    (void)state;
    plim_graph *g = small_model();
    plim_session *plan = session_of(g, &(plim_session_options){.batch = 3, .plan_only = 1}),
                 *s = session_of(g, &(plim_session_options){.batch = 3});
    plim_session_stats planned, real;
    plim_session_get_stats(plan, &planned);
    plim_session_get_stats(s, &real);
    assert_int_equal(planned.arena_bytes, real.arena_bytes);
    assert_true(planned.lower_bound_bytes <= planned.arena_bytes);
    assert_true(planned.weight_bytes + planned.input_bytes + planned.activation_bytes + planned.workspace_bytes <=
                planned.arena_bytes);
    assert_true(planned.flops > 0);
    plim_error error = {0};
    assert_int_equal(plim_session_run(plan, &error), PLIM_INVALID);
    assert_null(plim_session_input(plan, "image"));
    plim_session_tensor tensors[4];
    size_t count = plim_session_peak_tensors(plan, tensors, 4);
    assert_int_equal(count, 4);
    for (size_t i = 1; i < count; i++) assert_true(tensors[i - 1].bytes >= tensors[i].bytes);
    plim_session_free(plan);
    plim_session_free(s);
    plim_graph_free(g);
}

static void what_does_not_exist_has_no_memory(void **state) {
    (void)state;
    plim_graph *g = small_model();
    plim_session *s = session_of(g, NULL);
    assert_null(plim_session_input(s, "logits"));
    assert_null(plim_session_input(s, ""));
    assert_null(plim_session_output(s, "image"));
    plim_session_free(s);
    plim_session_free(NULL);
    plim_graph_free(g);
}

static void sizes_too_large_for_any_machine_are_refused(void **state) {
    (void)state;
    static const int64_t sizes[] = {(int64_t)1 << 62, (int64_t)1 << 55, (int64_t)1 << 45, INT64_MAX, (int64_t)1 << 38};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        plim_graph *g = small_model();
        plim_session *s = NULL;
        plim_error error = {0};
        plim_status status = plim_session_create(g, &(plim_session_options){.batch = sizes[i]}, &s, &error);
        if (status != PLIM_OVERFLOW && status != PLIM_NO_MEMORY && status != PLIM_UNSUPPORTED)
            fail_msg("a batch of %lld gives %s: %s", (long long)sizes[i], plim_status_name(status), error.message);
        assert_true(*error.message);
        assert_null(s);
        plim_graph_free(g);
    }
}

static void fixed_inputs_must_fit(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){2, 3}),
               shape = plim_graph_input(g, "shape", PLIM_I64, 1, (int64_t[]){2});
    plim_graph_output(g, plim_graph_apply(g, "Reshape", (plim_value[]){x, shape}, 2), "y");
    plim_error error = {0};
    plim_session *s = NULL;
    assert_int_equal(plim_session_create(g, NULL, &s, &error), PLIM_UNSUPPORTED); /* the shape must be known */
    int64_t dims = 2, target[] = {3, 2}, wrong[] = {4, 2};
    plim_fixed_input good = {"shape", PLIM_I64, 1, &dims, target}, bad = {"shape", PLIM_I64, 1, &dims, wrong},
                     type = {"shape", PLIM_F32, 1, &dims, target}, name = {"size", PLIM_I64, 1, &dims, target};
    assert_int_equal(plim_session_create(g, &(plim_session_options){.fixed = &type, .fixed_count = 1}, &s, &error),
                     PLIM_DTYPE);
    assert_int_equal(plim_session_create(g, &(plim_session_options){.fixed = &name, .fixed_count = 1}, &s, &error),
                     PLIM_NOT_FOUND);
    assert_int_equal(plim_session_create(g, &(plim_session_options){.fixed = &bad, .fixed_count = 1}, &s, &error),
                     PLIM_SHAPE);
    assert_null(s);
    s = session_of(g, &(plim_session_options){.fixed = &good, .fixed_count = 1});
    memcpy(plim_session_input(s, "x"), (float[]){1, 2, 3, 4, 5, 6}, 6 * sizeof(float));
    assert_int_equal(plim_session_run(s, &error), PLIM_OK);
    assert_memory_equal(plim_session_output(s, "y"), ((float[]){1, 2, 3, 4, 5, 6}), 6 * sizeof(float));
    plim_session_free(s);
    plim_graph_free(g);
}

static void a_model_may_hand_its_input_and_its_weights_through(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 1, (int64_t[]){4});
    plim_value w = plim_graph_parameter(g, "w", PLIM_F32, 1, (int64_t[]){4}, (float[]){5, 6, 7, 8});
    plim_graph_output(g, x, NULL);
    plim_graph_output(g, w, NULL);
    plim_graph_output(g, plim_graph_apply(g, "Relu", &x, 1), "y");
    plim_session *s = session_of(g, NULL);
    plim_error error = {0};
    for (int i = 0; i < 2; i++) {
        memcpy(plim_session_input(s, "x"), (float[]){-1, 2, -3, 4}, 16);
        assert_int_equal(plim_session_run(s, &error), PLIM_OK);
        assert_memory_equal(plim_session_output(s, "x"), ((float[]){-1, 2, -3, 4}), 16);
        assert_memory_equal(plim_session_output(s, "w"), ((float[]){5, 6, 7, 8}), 16);
        assert_memory_equal(plim_session_output(s, "y"), ((float[]){0, 2, 0, 4}), 16);
    }
    plim_session_free(s);
    plim_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_of_a_graph_built_in_code_is_right),
        cmocka_unit_test(a_norm_that_is_called_again_keeps_its_statistics_in_evaluation),
        cmocka_unit_test(a_model_that_trains_is_set_to_evaluation),
        cmocka_unit_test(an_unknown_operator_is_named),
        cmocka_unit_test(a_session_outlives_its_graph_and_repeats_itself_to_the_bit),
        cmocka_unit_test(sessions_of_one_graph_do_not_disturb_each_other),
        cmocka_unit_test(a_plan_has_the_bytes_of_the_session_but_does_not_run),
        cmocka_unit_test(what_does_not_exist_has_no_memory),
        cmocka_unit_test(sizes_too_large_for_any_machine_are_refused),
        cmocka_unit_test(fixed_inputs_must_fit),
        cmocka_unit_test(a_model_may_hand_its_input_and_its_weights_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
