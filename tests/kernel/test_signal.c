/* Determinants and windows. */
#include <math.h>
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

static plim_session *session_of(plim_graph *g) {
    plim_session *s = NULL;
    plim_error error = {0};
    if (plim_session_create(g, NULL, &s, &error) != PLIM_OK) fail_msg("%s", error.message);
    plim_graph_free(g);
    return s;
}

static void determinants_of_swapped_singular_and_empty_matrices_are_right(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){3, 3, 3});
    plim_value none = plim_graph_input(g, "none", PLIM_F32, 2, (int64_t[]){0, 0});
    plim_graph_output(g, plim_graph_apply(g, "Det", &x, 1), "y");
    plim_graph_output(g, plim_graph_apply(g, "Det", &none, 1), "one");
    plim_session *s = session_of(g);
    static const float matrices[27] = {0, 2, 0, 3, 0, 0,  0, 0,  4, 1,  2, 3,  2, 4,
                                       6, 7, 8, 9, 2, -1, 0, -1, 2, -1, 0, -1, 2};
    static const float expected[3] = {-24, 0, 4};
    plim_error error = {0};
    memcpy(plim_session_input(s, "x"), matrices, sizeof matrices);
    assert_int_equal(plim_session_run(s, &error), PLIM_OK);
    for (int i = 0; i < 3; i++)
        assert_true(fabsf(((const float *)plim_session_output(s, "y"))[i] - expected[i]) < 1e-5f);
    assert_true(*(const float *)plim_session_output(s, "one") == 1); /* the empty product */
    plim_session_free(s);
}

static void windows_are_symmetric_only_when_told(void **state) {
    (void)state;
    static const char *const names[] = {"HannWindow", "HammingWindow", "BlackmanWindow"};
    for (int k = 0; k < 3; k++)
        for (int periodic = 0; periodic < 2; periodic++) {
            plim_graph *g = plim_graph_create();
            int64_t five = 5;
            plim_value size = plim_graph_constant(g, "size", PLIM_I64, 0, NULL, &five);
            int32_t node = plim_graph_node(g, names[k], NULL, &size, 1, 1);
            plim_graph_set_int(g, node, "periodic", periodic);
            plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
            plim_session *s = session_of(g);
            plim_error error = {0};
            assert_int_equal(plim_session_run(s, &error), PLIM_OK);
            const float *y = plim_session_output(s, "y");
            assert_true(periodic ? fabsf(y[1] - y[4]) < 1e-6f : fabsf(y[0] - y[4]) < 1e-6f && fabsf(y[2] - 1) < 1e-6f);
            assert_true(periodic == (fabsf(y[0] - y[4]) > 1e-3f));
            plim_session_free(s);
        }
}

static void a_window_of_gigabytes_is_refused_by_its_size(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    int64_t huge = INT32_MAX;
    plim_value size = plim_graph_constant(g, "size", PLIM_I64, 0, NULL, &huge);
    int32_t node = plim_graph_node(g, "HannWindow", NULL, &size, 1, 1);
    plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
    plim_session *s = NULL;
    plim_error error = {0};
    assert_int_equal(plim_session_create(g, NULL, &s, &error), PLIM_UNSUPPORTED);
    assert_non_null(strstr(error.message, "2147483647 samples"));
    plim_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(determinants_of_swapped_singular_and_empty_matrices_are_right),
        cmocka_unit_test(windows_are_symmetric_only_when_told),
        cmocka_unit_test(a_window_of_gigabytes_is_refused_by_its_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
