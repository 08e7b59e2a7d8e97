/* Operators mean what the model's opset says, and empty tensors are tensors too. */
#include <math.h>
#include <string.h>

#include "graph/graph.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

static plim_graph *graph_of(int opset) {
    plim_graph *g = plim_graph_create();
    assert_true(plim__graph_set_opset(g, "", opset));
    return g;
}

static plim_session *run(plim_graph *g, const void *x, size_t bytes) {
    plim_error error;
    plim_session *s = NULL;
    plim_status status = plim_session_create(g, NULL, &s, &error);
    if (status != PLIM_OK) fail_msg("%s", error.message);
    if (bytes) memcpy(plim_session_input(s, "x"), x, bytes);
    assert_int_equal(plim_session_run(s, &error), PLIM_OK);
    return s;
}

static const float numbers[12] = {0, -1, 2, -3, 4, -5, 6, -7, 8, -9, 10, -11};

static void before_opset_7_an_attribute_aligns_the_second_input(void **state) {
    (void)state;
    plim_graph *g = graph_of(6);
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){2, 3, 2});
    plim_value b = plim_graph_constant(g, NULL, PLIM_F32, 1, (int64_t[]){3}, (float[]){100, 200, 300});
    int32_t node = plim_graph_node(g, "Add", NULL, (plim_value[]){x, b}, 2, 1);
    plim_graph_set_int(g, node, "broadcast", 1);
    plim_graph_set_int(g, node, "axis", 1);
    plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
    plim_session *s = run(g, numbers, sizeof numbers);
    const float *y = plim_session_output(s, "y");
    for (int i = 0; i < 12; i++) assert_true(y[i] == numbers[i] + 100 * (float)(1 + i / 2 % 3));
    plim_session_free(s);
    plim_graph_free(g);
}

static void before_opset_7_prelu_has_a_slope_for_each_channel(void **state) {
    (void)state;
    plim_graph *g = graph_of(6);
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){2, 2, 3});
    plim_value slope = plim_graph_constant(g, NULL, PLIM_F32, 1, (int64_t[]){2}, (float[]){10, 100});
    plim_graph_output(g, plim_graph_apply(g, "PRelu", (plim_value[]){x, slope}, 2), "y");
    plim_session *s = run(g, numbers, sizeof numbers);
    const float *y = plim_session_output(s, "y");
    for (int i = 0; i < 12; i++)
        assert_true(y[i] == (numbers[i] < 0 ? numbers[i] * (i / 3 % 2 ? 100 : 10) : numbers[i]));
    plim_session_free(s);
    plim_graph_free(g);
}

/* Sums of e^x over what softmax normalises: everything from axis 1 on, or the last axis. */
static void check_softmax(int opset, int64_t group) {
    plim_graph *g = graph_of(opset);
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){2, 3, 2});
    plim_graph_output(g, plim_graph_apply(g, "Softmax", &x, 1), "y");
    plim_session *s = run(g, numbers, sizeof numbers);
    const float *y = plim_session_output(s, "y");
    for (int64_t i = 0; i < 12; i++) {
        double sum = 0;
        for (int64_t k = i / group * group; k < (i / group + 1) * group; k++) sum += exp((double)numbers[k]);
        assert_true(fabs((double)y[i] - exp((double)numbers[i]) / sum) < 1e-6);
    }
    plim_session_free(s);
    plim_graph_free(g);
}

static void softmax_takes_all_later_axes_before_opset_13_and_one_since(void **state) {
    (void)state;
    check_softmax(12, 6);
    check_softmax(13, 2);
}

static void clip_bounds_are_attributes_before_opset_11(void **state) {
    (void)state;
    for (int opset = 10; opset <= 11; opset++) {
        plim_graph *g = graph_of(opset);
        plim_value in[3] = {plim_graph_input(g, "x", PLIM_F32, 1, (int64_t[]){12})};
        in[1] = plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, (float[]){-4});
        in[2] = plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, (float[]){5});
        int32_t node = plim_graph_node(g, "Clip", NULL, in, opset < 11 ? 1 : 3, 1);
        if (opset < 11) {
            plim_graph_set_float(g, node, "min", -4);
            plim_graph_set_float(g, node, "max", 5);
        }
        plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
        plim_session *s = run(g, numbers, sizeof numbers);
        const float *y = plim_session_output(s, "y");
        for (int i = 0; i < 12; i++) assert_true(y[i] == fminf(fmaxf(numbers[i], -4), 5));
        plim_session_free(s);
        plim_graph_free(g);
    }
}

static void shapes_that_do_not_broadcast_are_named(void **state) {
    (void)state;
    plim_graph *g = graph_of(17);
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){3, 4});
    plim_value b = plim_graph_input(g, "b", PLIM_F32, 1, (int64_t[]){3});
    plim_graph_output(g, plim_graph_apply(g, "Mul", (plim_value[]){x, b}, 2), "y");
    plim_error error;
    plim_session *s = NULL;
    assert_int_equal(plim_session_create(g, NULL, &s, &error), PLIM_SHAPE);
    assert_non_null(strstr(error.message, "[3,4] and [3]"));
    plim_graph_free(g);
}

static void empty_tensors_go_through(void **state) {
    (void)state;
    plim_graph *g = graph_of(17);
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){3, 0});
    plim_value y = plim_graph_apply(g, "Softmax", (plim_value[]){plim_graph_apply(g, "Exp", &x, 1)}, 1);
    plim_graph_output(g, plim_graph_apply(g, "Add", (plim_value[]){y, x}, 2), "y");
    int32_t node = plim_graph_node(g, "ReduceProd", NULL, &x, 1, 1);
    plim_graph_set_ints(g, node, "axes", (int64_t[]){1}, 1);
    plim_graph_output(g, plim_graph_node_output(g, node, 0), "products");
    plim_session *s = run(g, NULL, 0);
    const float *products = plim_session_output(s, "products");
    for (int i = 0; i < 3; i++) assert_true(products[i] == 1);
    plim_session_free(s);
    plim_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_opset_7_an_attribute_aligns_the_second_input),
        cmocka_unit_test(before_opset_7_prelu_has_a_slope_for_each_channel),
        cmocka_unit_test(softmax_takes_all_later_axes_before_opset_13_and_one_since),
        cmocka_unit_test(clip_bounds_are_attributes_before_opset_11),
        cmocka_unit_test(shapes_that_do_not_broadcast_are_named),
        cmocka_unit_test(empty_tensors_go_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
