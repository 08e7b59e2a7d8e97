/* Graphs built in code: the first failure sticks, names are unique, order and copies are right, print reads. */
#include "core/alloc.h"
#include "graph/pass_case.h"

static plim_value small_model(plim_graph *g) {
    int64_t n = plim_graph_symbol(g, "N");
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, DIMS(n, 3));
    plim_value y = two(g, "MatMul", x, weights_of(g, "fc.weight", 2, DIMS(3, 4)));
    plim_graph_output(g, one(g, "Relu", y), "y");
    return x;
}

static void the_first_failure_sticks_and_later_calls_do_nothing(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = small_model(g);
    plim_error error = {0};
    assert_int_equal(plim_graph_input(g, "x", PLIM_F32, 1, DIMS(3)), PLIM_NO_VALUE); /* the name is taken */
    size_t values = g->values.count, nodes = g->nodes.count;
    assert_int_equal(plim_graph_input(g, "bad", PLIM_F32, 1, DIMS(-7)), PLIM_NO_VALUE);
    assert_int_equal(one(g, "Relu", x), PLIM_NO_VALUE);
    assert_int_equal(plim_graph_node(g, "Relu", NULL, &x, 1, 1), -1);
    plim_graph_set_int(g, -1, "axis", 1);
    plim_graph_output(g, x, "again");
    assert_int_equal(g->values.count, values);
    assert_int_equal(g->nodes.count, nodes);
    assert_int_equal(plim_graph_status(g, &error), PLIM_CORRUPT);
    assert_non_null(strstr(error.message, "'x'"));
    plim_session *s = NULL;
    assert_int_equal(plim_session_create(g, NULL, &s, &error), PLIM_CORRUPT);
    assert_null(s);
    plim_graph_free(g);
}

static void bad_shapes_are_named_and_refused(void **state) {
    (void)state;
    static const struct {
        int rank;
        int64_t dims[9];
        plim_status status;
    } cases[] = {{1, {-3}, PLIM_SHAPE},
                 {9, {1, 1, 1, 1, 1, 1, 1, 1, 1}, PLIM_UNSUPPORTED},
                 {-1, {0}, PLIM_UNSUPPORTED},
                 {3, {1LL << 40, 1LL << 40, 4}, PLIM_OVERFLOW}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plim_graph *g = plim_graph_create();
        plim_error error = {0};
        plim_graph_constant(g, "c", PLIM_F32, cases[i].rank, cases[i].dims, NULL);
        assert_int_equal(plim_graph_status(g, &error), cases[i].status);
        assert_non_null(strstr(error.message, "'c'"));
        plim_graph_free(g);
    }
}

static void null_graphs_do_nothing(void **state) {
    (void)state;
    plim_error error = {0};
    assert_int_equal(plim_graph_input(NULL, "x", PLIM_F32, 0, NULL), PLIM_NO_VALUE);
    assert_int_equal(plim_graph_status(NULL, &error), PLIM_NO_MEMORY);
    assert_null(plim_graph_clone(NULL));
    assert_null(plim_graph_print(NULL));
    assert_int_equal(plim_graph_input_count(NULL), 0);
    assert_int_equal(plim_graph_node_count(NULL), 0);
    assert_int_equal(plim_graph_find(NULL, "x"), PLIM_NO_VALUE);
    plim_graph_free(NULL);
}

static void a_cycle_is_named(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 1, DIMS(3));
    int32_t a = plim_graph_node(g, "Add", "first", (plim_value[]){x, x}, 2, 1);
    int32_t b = plim_graph_node(g, "Relu", "second", (plim_value[]){plim_graph_node_output(g, a, 0)}, 1, 1);
    g->nodes.items[a].inputs.items[1] = plim_graph_node_output(g, b, 0);
    plim_graph_output(g, plim_graph_node_output(g, b, 0), "y");
    plim_error error = {0};
    plim_session *s = NULL;
    assert_int_equal(plim_session_create(g, NULL, &s, &error), PLIM_CORRUPT);
    assert_non_null(strstr(error.message, "cycle"));
    assert_true(strstr(error.message, "'first'") || strstr(error.message, "'second'"));
    plim_graph_free(g);
}

static void nodes_run_after_what_they_need_whatever_their_order(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    small_model(g);
    plim__node swap = g->nodes.items[0]; /* Relu before MatMul */
    g->nodes.items[0] = g->nodes.items[1];
    g->nodes.items[1] = swap;
    for (size_t n = 0; n < 2; n++) g->values.items[g->nodes.items[n].outputs.items[0]].producer = (int32_t)n;
    plim_error error = {0};
    assert_int_equal(plim__graph_sort(g, &error), PLIM_OK);
    assert_string_equal(g->nodes.items[0].op_name, "MatMul");
    assert_true(plim__graph_is_valid(g, &error));
    plim_graph_free(g);
}

static void a_long_chain_is_sorted_without_a_deep_stack(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value v = plim_graph_input(g, "x", PLIM_F32, 1, DIMS(1));
    for (int i = 0; i < 20000; i++) v = one(g, "Neg", v);
    plim_graph_output(g, v, "y");
    plim_error error = {0};
    assert_int_equal(plim_graph_status(g, &error), PLIM_OK);
    assert_int_equal(plim__graph_sort(g, &error), PLIM_OK);
    assert_int_equal(plim__graph_prune(g, &error), PLIM_OK);
    plim_graph_free(g);
}

static void a_value_that_nobody_makes_is_named(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim__shape shape = plim__shape_of(1, DIMS(3));
    plim_value lost = plim__graph_add_value(g, "lost", PLIM__VALUE_NODE, PLIM_F32, &shape);
    plim_graph_output(g, one(g, "Relu", lost), "y");
    plim_error error = {0};
    plim_session *s = NULL;
    assert_int_equal(plim_session_create(g, NULL, &s, &error), PLIM_CORRUPT);
    assert_non_null(strstr(error.message, "lost"));
    plim_graph_free(g);
}

static void a_copy_shares_weights_and_nothing_else(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    small_model(g);
    plim_graph *copy = plim_graph_clone(g);
    plim_error error = {0};
    assert_true(plim__graph_is_valid(copy, &error));
    plim_value w = plim_graph_find(g, "fc.weight");
    assert_ptr_equal(plim__graph_tensor(g, w), plim__graph_tensor(copy, plim_graph_find(copy, "fc.weight")));
    char *before = plim_graph_print(g), *same = plim_graph_print(copy);
    assert_string_equal(before, same);
    assert_int_equal(plim__graph_bind(copy, "N", 5, &error), PLIM_OK);
    plim_graph_output(copy, plim_graph_find(copy, "x"), NULL);
    char *after = plim_graph_print(g);
    assert_string_equal(before, after);
    plim_graph_free(g); /* the copy keeps the weights alive */
    assert_true(isfinite(plim__tensor_at(plim__graph_tensor(copy, plim_graph_find(copy, "fc.weight")), 0)));
    plim_graph_free(copy);
    plim_text_free(before);
    plim_text_free(same);
    plim_text_free(after);
}

static void binding_gives_symbols_their_sizes(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    int64_t n = plim_graph_symbol(g, "N"), t = plim_graph_symbol(g, "T");
    assert_int_equal(plim_graph_symbol(g, "N"), n);
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, DIMS(n, t, 4));
    int64_t dims[PLIM_MAX_RANK];
    plim_error error = {0};
    assert_int_equal(plim__graph_bind(g, "T", 7, &error), PLIM_OK);
    assert_int_equal(plim_graph_value_shape(g, x, dims), 3);
    assert_int_equal(dims[0], n);
    assert_int_equal(dims[1], 7);
    assert_int_equal(plim__graph_bind(g, NULL, 2, &error), PLIM_OK);
    plim_graph_value_shape(g, x, dims);
    assert_int_equal(dims[0], 2);
    assert_int_equal(plim__graph_bind(g, NULL, -1, &error), PLIM_INVALID);
    plim_graph_free(g);
}

static void print_shows_nodes_types_and_symbols(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    small_model(g);
    plim_session *s = NULL;
    plim_error error = {0};
    assert_int_equal(plim_session_create(
                         g, &(plim_session_options){.batch = 5, .plan_only = 1, .without = "fuse-linear"}, &s, &error),
                     PLIM_OK);
    char *text = plim_graph_print(plim_session_graph(s)), *built = plim_graph_print(g);
    assert_non_null(strstr(built, "MatMul(%x, %fc.weight)"));
    assert_non_null(strstr(built, "float32[N,3]"));
    assert_non_null(strstr(text, "%y = Relu("));
    assert_non_null(strstr(text, "float32[5,4]"));
    plim_text_free(text);
    plim_text_free(built);
    plim_session_free(s);
    plim_graph_free(g);
}

/* A graph as large as this one grows every list. */
static plim_status build_and_copy(void) {
    plim_graph *g = plim_graph_create();
    if (g) {
        float data[12] = {0};
        int64_t n = plim_graph_symbol(g, "N");
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, DIMS(n, 3));
        plim_value w = plim_graph_parameter(g, "w", PLIM_F32, 2, DIMS(3, 4), data), y = two(g, "MatMul", x, w);
        int32_t node = plim_graph_node(g, "Softmax", "s", &y, 1, 1);
        plim_graph_set_int(g, node, "axis", 1);
        plim_graph_set_string(g, node, "note", "text");
        plim_graph_set_floats(g, node, "numbers", data, 12);
        plim_graph_set_ints(g, node, "dims", DIMS(1, 2, 3), 3);
        plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
    }
    plim_status status = plim_graph_status(g, NULL);
    plim_graph *copy = status == PLIM_OK ? plim_graph_clone(g) : NULL;
    char *text = copy ? plim_graph_print(copy) : NULL;
    if (status == PLIM_OK && !text) status = PLIM_NO_MEMORY;
    plim_text_free(text);
    plim_graph_free(copy);
    plim_graph_free(g);
    return status;
}

static void any_failed_allocation_while_building_is_told(void **state) {
    (void)state;
    size_t before = plim__alloc_count();
    assert_int_equal(build_and_copy(), PLIM_OK);
    size_t total = plim__alloc_count() - before;
    for (size_t n = 1; n <= total; n++) {
        plim__alloc_fail_at(n);
        plim_status status = build_and_copy();
        plim__alloc_fail_at(0);
        if (status != PLIM_NO_MEMORY) fail_msg("allocation %zu of %zu: %s", n, total, plim_status_name(status));
    }
    assert_int_equal(build_and_copy(), PLIM_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_failure_sticks_and_later_calls_do_nothing),
        cmocka_unit_test(bad_shapes_are_named_and_refused),
        cmocka_unit_test(null_graphs_do_nothing),
        cmocka_unit_test(a_cycle_is_named),
        cmocka_unit_test(nodes_run_after_what_they_need_whatever_their_order),
        cmocka_unit_test(a_long_chain_is_sorted_without_a_deep_stack),
        cmocka_unit_test(a_value_that_nobody_makes_is_named),
        cmocka_unit_test(a_copy_shares_weights_and_nothing_else),
        cmocka_unit_test(binding_gives_symbols_their_sizes),
        cmocka_unit_test(print_shows_nodes_types_and_symbols),
        cmocka_unit_test(any_failed_allocation_while_building_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
