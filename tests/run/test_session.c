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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_of_a_graph_built_in_code_is_right),
        cmocka_unit_test(an_unknown_operator_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
