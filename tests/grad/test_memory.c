/* A gradient check survives any failed allocation. */
#include "check.h"
#include "core/alloc.h"

static plim_graph *network(void) {
    plim_graph *g = plim_graph_create();
    plim_value x = real_input(g, "x", DIMS(2, 3, 6, 6)), w = real_input(g, "w", DIMS(4, 3, 3, 3));
    plim_value y = plim_graph_apply(g, "Conv", (plim_value[]){x, w}, 2);
    plim_value scale = real_input(g, "s", DIMS(4)), bias = real_input(g, "b", DIMS(4));
    plim_value zero = plim_graph_constant(g, NULL, PLIM_F32, DIMS(4), (float[]){0, 0, 0, 0}),
               one = plim_graph_constant(g, NULL, PLIM_F32, DIMS(4), (float[]){1, 1, 1, 1});
    int32_t norm = plim_graph_node(g, "BatchNormalization", NULL, (plim_value[]){y, scale, bias, zero, one}, 5, 3);
    plim_graph_set_int(g, norm, "training_mode", 1);
    y = plim_graph_node_output(g, norm, 0);
    y = plim_graph_apply(g, "Relu", &y, 1);
    int32_t pool = plim_graph_node(g, "MaxPool", NULL, &y, 1, 1);
    plim_graph_set_ints(g, pool, "kernel_shape", (int64_t[]){2, 2}, 2);
    y = plim_graph_node_output(g, pool, 0);
    int32_t layer =
        plim_graph_node(g, "LayerNormalization", NULL, (plim_value[]){y, real_input(g, "t", DIMS(3))}, 2, 1);
    y = plim_graph_node_output(g, layer, 0);
    y = plim_graph_apply(g, "Softmax", &y, 1);
    plim_graph_output(g, plim_graph_apply(g, "Mul", (plim_value[]){y, y}, 2), "y");
    return g;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    plim_graph *g = network();
    plim_gradient_options options = {.samples = 1};
    plim_error error = {0};
    plim_gradient_result r;
    size_t before = plim__alloc_count();
    assert_int_equal(plim_gradient_check(g, &options, &r, &error), PLIM_OK);
    size_t total = plim__alloc_count() - before;
    assert_true(total > 100);
    for (size_t n = 1; n <= total; n++) {
        plim__alloc_fail_at(n);
        plim_status status = plim_gradient_check(g, &options, &r, &error);
        plim__alloc_fail_at(0);
        if (status != PLIM_OK && status != PLIM_NO_MEMORY) fail_msg("allocation %zu: %s", n, error.message);
    }
    plim_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
