/* Gradients of reductions, movements, gathers and matrix products. */
#include "check.h"

#define TOLERANCE 1e-3

/* A node with a list of integers as its second input. */
static plim_value with_list(plim_graph *g, const char *op, plim_value x, int64_t count, const int64_t *values) {
    return plim__graph_apply(g, op, (plim_value[]){x, list(g, count, values)}, 2);
}

static void reductions_over_any_axes(void **state) {
    (void)state;
    static const char *const ops[] = {"ReduceSum", "ReduceMean", "ReduceMax",    "ReduceMin",       "ReduceProd",
                                      "ReduceL1",  "ReduceL2",   "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"};
    static const int64_t axes[][2] = {{0, 2}, {1, 1}, {-1, -1}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int a = 0; a < 4; a++) {
            plim_graph *g = plim_graph_create();
            plim_value x = real_input(g, "x", DIMS(4, 5, 3));
            bool listed = strcmp(ops[i], "ReduceSum") == 0; /* the others have attributes in this opset */
            size_t count = a == 0 ? 2 : 1;
            int32_t n = listed && a < 3 ? plim__graph_node(g, ops[i], NULL,
                                                           (plim_value[]){x, list(g, (int64_t)count, axes[a])}, 2, 1)
                                        : plim__graph_node(g, ops[i], NULL, &x, 1, 1);
            if (!listed && a < 3) plim_graph_set_ints(g, n, "axes", axes[a], count);
            plim_graph_set_int(g, n, "keepdims", a & 1);
            expect_right(ops[i], g, plim_graph_node_output(g, n, 0),
                         &(plim_gradient_options){.low = 0.5, .high = 1.5, .epsilon = i == 2 || i == 3 ? 1e-3 : 0.04},
                         2 * TOLERANCE);
        }
}

static void a_product_with_zeros_has_a_gradient(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    float values[12] = {1, 2, 0, 3, 0, 2, 0, 1, 1, 2, 3, 4};
    plim_value x = plim_graph_parameter(g, "x", PLIM_F32, DIMS(3, 4), values);
    int32_t n = plim_graph_node(g, "ReduceProd", NULL, &x, 1, 1);
    plim_graph_set_ints(g, n, "axes", (int64_t[]){1}, 1);
    expect_right("ReduceProd with zeros", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
}

static void empty_axes_have_empty_gradients(void **state) {
    (void)state;
    static const char *const ops[] = {"ReduceSum", "Relu", "Transpose", "Softmax", "Flatten"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        plim_graph *g = plim_graph_create();
        plim_value x = real_input(g, "x", DIMS(3, 0, 4)), w = real_input(g, "w", DIMS(4));
        plim_value y =
            plim__graph_apply(g, ops[i], (plim_value[]){plim_graph_apply(g, "Mul", (plim_value[]){x, w}, 2)}, 1);
        expect_right(ops[i], g, y, NULL, TOLERANCE);
    }
    plim_graph *g = plim_graph_create();
    plim_value a = real_input(g, "a", DIMS(0, 4)), b = real_input(g, "b", DIMS(4, 3));
    expect_right("MatMul without rows", g, plim_graph_apply(g, "MatMul", (plim_value[]){a, b}, 2), NULL, TOLERANCE);
}

static void softmax_along_any_axis(void **state) {
    (void)state;
    static const char *const ops[] = {"Softmax", "LogSoftmax"};
    for (int i = 0; i < 2; i++)
        for (int axis = 0; axis < 3; axis++) {
            plim_graph *g = plim_graph_create();
            plim_value x = real_input(g, "x", DIMS(5, 7, 3));
            int32_t n = plim__graph_node(g, ops[i], NULL, &x, 1, 1);
            plim_graph_set_int(g, n, "axis", axis);
            expect_right(ops[i], g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
        }
    for (int i = 0; i < 4; i++) {
        plim_graph *g = plim_graph_create();
        int64_t axis = 1;
        plim_value x = real_input(g, "x", DIMS(3, 5, 2));
        int32_t n = plim_graph_node(g, "CumSum", NULL, (plim_value[]){x, ints(g, 0, NULL, &axis)}, 2, 1);
        plim_graph_set_int(g, n, "exclusive", i & 1);
        plim_graph_set_int(g, n, "reverse", i >> 1);
        expect_right("CumSum", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
    }
}

static void shapes_change_and_change_back(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    expect_right("Reshape", g, with_list(g, "Reshape", real_input(g, "x", DIMS(4, 6)), 3, (int64_t[]){2, 3, 4}), NULL,
                 TOLERANCE);
    g = plim_graph_create();
    expect_right("Unsqueeze", g, with_list(g, "Unsqueeze", real_input(g, "x", DIMS(4, 6)), 1, (int64_t[]){1}), NULL,
                 TOLERANCE);
    g = plim_graph_create();
    expect_right("Squeeze", g, with_list(g, "Squeeze", real_input(g, "x", DIMS(4, 1, 6)), 1, (int64_t[]){1}), NULL,
                 TOLERANCE);
    g = plim_graph_create();
    expect_right("Expand", g, with_list(g, "Expand", real_input(g, "x", DIMS(4, 1, 3)), 4, (int64_t[]){2, 4, 5, 3}),
                 NULL, TOLERANCE);
    g = plim_graph_create();
    expect_right("Tile", g, with_list(g, "Tile", real_input(g, "x", DIMS(2, 1, 3)), 3, (int64_t[]){3, 2, 2}), NULL,
                 TOLERANCE);
    g = plim_graph_create();
    plim_value x = real_input(g, "x", DIMS(3, 4, 5));
    int32_t n = plim_graph_node(g, "Transpose", NULL, &x, 1, 1);
    plim_graph_set_ints(g, n, "perm", (int64_t[]){2, 0, 1}, 3);
    expect_right("Transpose", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
    for (int i = 0; i < 3; i++) {
        g = plim_graph_create();
        x = real_input(g, "x", DIMS(2, 8, 4, 6));
        n = plim_graph_node(g, i == 2 ? "SpaceToDepth" : "DepthToSpace", NULL, &x, 1, 1);
        plim_graph_set_int(g, n, "blocksize", 2);
        if (i == 1) plim_graph_set_string(g, n, "mode", "CRD");
        expect_right("DepthToSpace, SpaceToDepth", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
    }
    g = plim_graph_create();
    x = real_input(g, "x", DIMS(4, 4));
    expect_right("Trilu", g, plim_graph_apply(g, "Trilu", &x, 1), NULL, TOLERANCE);
}

static void pieces_go_back_to_their_places(void **state) {
    (void)state;
    static const int64_t steps[][3] = {{1, 4, 1}, {5, 0, -2}, {0, 6, 2}};
    for (int i = 0; i < 3; i++) {
        plim_graph *g = plim_graph_create();
        plim_value inputs[] = {real_input(g, "x", DIMS(3, 6)), list(g, 1, &steps[i][0]), list(g, 1, &steps[i][1]),
                               list(g, 1, (int64_t[]){1}), list(g, 1, &steps[i][2])};
        expect_right("Slice", g, plim_graph_apply(g, "Slice", inputs, 5), NULL, TOLERANCE);
    }
    plim_graph *g = plim_graph_create();
    plim_value x = real_input(g, "x", DIMS(3, 7));
    int32_t n = plim_graph_node(g, "Split", NULL, (plim_value[]){x, list(g, 3, (int64_t[]){2, 1, 4})}, 2, 3);
    plim_graph_set_int(g, n, "axis", 1);
    plim_value parts[] = {plim_graph_node_output(g, n, 0), plim_graph_node_output(g, n, 2)};
    int32_t joined = plim_graph_node(g, "Concat", NULL, (plim_value[]){parts[1], x, parts[0]}, 3, 1);
    plim_graph_set_int(g, joined, "axis", 1);
    expect_right("Split, Concat", g, plim_graph_node_output(g, joined, 0), NULL, TOLERANCE);
    static const char *const modes[] = {"constant", "reflect", "edge"};
    for (int i = 0; i < 3; i++) {
        g = plim_graph_create();
        x = real_input(g, "x", DIMS(2, 4, 5));
        n = plim_graph_node(g, "Pad", NULL, (plim_value[]){x, list(g, 6, (int64_t[]){0, 2, 1, 0, 3, i ? 2 : -1})}, 2,
                            1);
        plim_graph_set_string(g, n, "mode", modes[i]);
        expect_right("Pad", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
    }
}

static void resized_images_shrink_their_gradients(void **state) {
    (void)state;
    static const char *const modes[] = {"nearest", "linear", "cubic"}, *const how[] = {"half_pixel", "align_corners",
                                                                                       "asymmetric"};
    for (int i = 0; i < 9; i++) {
        plim_graph *g = plim_graph_create();
        float scales[] = {1, 1, 2, i & 1 ? 0.5f : 1.75f};
        plim_value x = real_input(g, "x", DIMS(2, 3, 5, 6)),
                   s = plim_graph_constant(g, NULL, PLIM_F32, DIMS(4), scales);
        int32_t n = plim_graph_node(g, "Resize", NULL, (plim_value[]){x, PLIM_NO_VALUE, s}, 3, 1);
        plim_graph_set_string(g, n, "mode", modes[i / 3]);
        plim_graph_set_string(g, n, "coordinate_transformation_mode", how[i % 3]);
        expect_right("Resize", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
    }
}

static void indices_that_repeat_add_up(void **state) {
    (void)state;
    for (int axis = 0; axis < 2; axis++) {
        plim_graph *g = plim_graph_create();
        plim_value x = real_input(g, "x", DIMS(4, 5)), at = ints(g, DIMS(2, 3), (int64_t[]){0, 3, 3, -1, 1, 0});
        int32_t n = plim_graph_node(g, "Gather", NULL, (plim_value[]){x, at}, 2, 1);
        plim_graph_set_int(g, n, "axis", axis);
        expect_right("Gather", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
    }
    plim_graph *g = plim_graph_create();
    plim_value x = real_input(g, "x", DIMS(3, 4)), at = ints(g, DIMS(2, 3), (int64_t[]){0, 2, 2, 1, 1, 1});
    int32_t n = plim_graph_node(g, "GatherElements", NULL, (plim_value[]){x, at}, 2, 1);
    plim_graph_set_int(g, n, "axis", 1);
    expect_right("GatherElements", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
    g = plim_graph_create();
    x = real_input(g, "x", DIMS(3, 4));
    at = ints(g, DIMS(2, 1), (int64_t[]){2, 2});
    expect_right("GatherND", g, plim_graph_apply(g, "GatherND", (plim_value[]){x, at}, 2), NULL, TOLERANCE);
    for (int add = 0; add < 2; add++) {
        g = plim_graph_create();
        plim_value inputs[] = {real_input(g, "x", DIMS(3, 4)), ints(g, DIMS(2, 2), (int64_t[]){0, 2, 1, 3}),
                               real_input(g, "u", DIMS(2, 2))};
        n = plim_graph_node(g, "ScatterElements", NULL, inputs, 3, 1);
        plim_graph_set_int(g, n, "axis", 1);
        if (add) plim_graph_set_string(g, n, "reduction", "add");
        expect_right("ScatterElements", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
        g = plim_graph_create();
        plim_value rows[] = {real_input(g, "x", DIMS(3, 4)), ints(g, DIMS(2, 1), (int64_t[]){2, 0}),
                             real_input(g, "u", DIMS(2, 4))};
        n = plim_graph_node(g, "ScatterND", NULL, rows, 3, 1);
        if (add) plim_graph_set_string(g, n, "reduction", "add");
        expect_right("ScatterND", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
    }
    g = plim_graph_create();
    n = plim_graph_node(g, "TopK", NULL, (plim_value[]){real_input(g, "x", DIMS(3, 7)), list(g, 1, (int64_t[]){3})}, 2,
                        2);
    expect_right("TopK", g, plim_graph_node_output(g, n, 0), &(plim_gradient_options){.epsilon = 1e-3}, TOLERANCE);
}

static void matmul_of(int ra, const int64_t *a, int rb, const int64_t *b) {
    plim_graph *g = plim_graph_create();
    plim_value inputs[] = {real_input(g, "a", ra, a), real_input(g, "b", rb, b)};
    expect_right("MatMul", g, plim_graph_apply(g, "MatMul", inputs, 2), NULL, TOLERANCE);
}

static void matrix_products_of_any_rank(void **state) {
    (void)state;
    matmul_of(DIMS(5, 7), DIMS(7, 3));
    matmul_of(DIMS(2, 5, 7), DIMS(7, 3));
    matmul_of(DIMS(2, 5, 7), DIMS(2, 7, 3));
    matmul_of(DIMS(4, 1, 5, 7), DIMS(2, 7, 3));
    matmul_of(DIMS(7), DIMS(7, 3));
    matmul_of(DIMS(2, 5, 7), DIMS(7));
    matmul_of(DIMS(7), DIMS(2, 7, 3));
    matmul_of(DIMS(7), DIMS(7));
    for (int i = 0; i < 4; i++) {
        plim_graph *g = plim_graph_create();
        plim_value a = i & 1 ? real_input(g, "a", DIMS(7, 5)) : real_input(g, "a", DIMS(5, 7));
        plim_value b = i & 2 ? real_input(g, "b", DIMS(3, 7)) : real_input(g, "b", DIMS(7, 3));
        plim_value c = i & 1 ? real_input(g, "c", DIMS(3)) : real_input(g, "c", DIMS(5, 1));
        int32_t n = plim_graph_node(g, "Gemm", NULL, (plim_value[]){a, b, c}, 3, 1);
        plim_graph_set_int(g, n, "transA", i & 1);
        plim_graph_set_int(g, n, "transB", i >> 1);
        plim_graph_set_float(g, n, "alpha", 0.5f);
        plim_graph_set_float(g, n, "beta", 2);
        expect_right("Gemm", g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
    }
    static const char *const equations[] = {"ij,jk->ik", "ij,jk->k", "bij,bjk->bik", "ij,jk->kij"};
    for (size_t i = 0; i < 4; i++) {
        plim_graph *g = plim_graph_create();
        plim_value a = i == 2 ? real_input(g, "a", DIMS(2, 5, 7)) : real_input(g, "a", DIMS(5, 7));
        plim_value b = i == 2 ? real_input(g, "b", DIMS(2, 7, 3)) : real_input(g, "b", DIMS(7, 3));
        int32_t n = plim_graph_node(g, "Einsum", NULL, (plim_value[]){a, b}, 2, 1);
        plim_graph_set_string(g, n, "equation", equations[i]);
        expect_right(equations[i], g, plim_graph_node_output(g, n, 0), NULL, TOLERANCE);
    }
}

/* What the fusing pass makes: every activation, with and without bias and residual. */
static void fused_products(void **state) {
    (void)state;
    static const char *const activations[] = {NULL, "relu", "elu", "sigmoid", "gelu_erf", "hardswish", "swish", "clip"};
    for (size_t i = 0; i < 8; i++)
        for (int gemm = 0; gemm < 2; gemm++) {
            plim_graph *g = plim_graph_create();
            plim_value x = gemm ? real_input(g, "x", DIMS(6, 5)) : real_input(g, "x", DIMS(2, 3, 5)),
                       w = real_input(g, "w", DIMS(5, 4)), b = real_input(g, "b", DIMS(4));
            plim_value r = gemm ? PLIM_NO_VALUE : real_input(g, "r", DIMS(2, 3, 4));
            int32_t n = plim__graph_node(g, gemm ? "plimsoll::FusedGemm" : "plimsoll::Linear", NULL,
                                         (plim_value[]){x, w, b, r}, gemm ? 3 : 4, 1);
            if (activations[i]) plim_graph_set_string(g, n, "activation", activations[i]);
            plim_graph_set_float(g, n, "activation_alpha", i == 7 ? -0.5f : i == 1 ? 0 : 1);
            plim_graph_set_float(g, n, "activation_beta", 0.5f);
            expect_right(activations[i] ? activations[i] : "Linear", g, plim_graph_node_output(g, n, 0),
                         &(plim_gradient_options){.epsilon = 2e-3}, TOLERANCE);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_over_any_axes),
        cmocka_unit_test(a_product_with_zeros_has_a_gradient),
        cmocka_unit_test(empty_axes_have_empty_gradients),
        cmocka_unit_test(softmax_along_any_axis),
        cmocka_unit_test(shapes_change_and_change_back),
        cmocka_unit_test(pieces_go_back_to_their_places),
        cmocka_unit_test(resized_images_shrink_their_gradients),
        cmocka_unit_test(indices_that_repeat_add_up),
        cmocka_unit_test(matrix_products_of_any_rank),
        cmocka_unit_test(fused_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
