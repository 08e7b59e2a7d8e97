/* Views stay views, blocked tensors stay blocked, and both hold the right values. */
#include "run_op.h"

/* A 1×1 convolution that gives back its input, possibly in a blocked arrangement. */
static plim_value through_conv(plim_graph *g, plim_value x, int64_t channels, const char *name) {
    float *w = calloc((size_t)(channels * channels), sizeof *w);
    for (int64_t c = 0; c < channels; c++) w[c * channels + c] = 1;
    plim_value weight = plim_graph_parameter(g, name, PLIM_F32, 4, (int64_t[]){channels, channels, 1, 1}, w);
    free(w);
    return plim_graph_apply(g, "Conv", (plim_value[]){x, weight}, 2);
}

static plim_value transpose(plim_graph *g, plim_value x, const int64_t *perm, size_t rank) {
    int32_t node = plim_graph_node(g, "Transpose", NULL, &x, 1, 1);
    plim_graph_set_ints(g, node, "perm", perm, rank);
    return plim_graph_node_output(g, node, 0);
}

static void reshapes_transposes_slices_and_expansions_compose(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){4, 6, 5});
    plim_value t = transpose(g, x, (int64_t[]){2, 0, 1}, 3); /* [5, 4, 6] */
    plim_value sliced = plim_graph_apply(
        g, "Slice",
        (plim_value[]){t, constant_ints(g, 2, (int64_t[]){1, 5}), constant_ints(g, 2, (int64_t[]){5, INT64_MIN}),
                       constant_ints(g, 2, (int64_t[]){0, 2}), constant_ints(g, 2, (int64_t[]){2, -2})},
        5); /* [2, 4, 3]: 1, 3 of the first, 5, 3, 1 of the last */
    plim_value flat =
        plim_graph_apply(g, "Reshape", (plim_value[]){sliced, constant_ints(g, 2, (int64_t[]){-1, 4})}, 2); /* [6, 4] */
    plim_value back = transpose(g, flat, (int64_t[]){1, 0}, 2);                                             /* [4, 6] */
    plim_value joined = plim_graph_apply(g, "Reshape", (plim_value[]){back, constant_ints(g, 1, (int64_t[]){24})}, 2);
    plim_value wide =
        plim_graph_apply(g, "Expand", (plim_value[]){joined, constant_ints(g, 2, (int64_t[]){3, 1})}, 2); /* [3, 24] */
    plim_graph_output(g, wide, "y");
    plim_session *s = session_of(g);
    float *data = random_floats(120), right[72];
    feed(s, "x", data, 120 * sizeof(float));
    run(s);
    float cut[24];
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 4; b++)
            for (int c = 0; c < 3; c++) cut[(a * 4 + b) * 3 + c] = data[(b * 6 + 5 - 2 * c) * 5 + 1 + 2 * a];
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 6; j++) right[r * 24 + i * 6 + j] = cut[j * 4 + i];
    expect_floats(s, "y", right, 72, 0);
    free(data);
    plim_session_free(s);
}

static void views_own_no_memory_and_take_no_step(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){2, 6, 4});
    int32_t split =
        plim_graph_node(g, "Split", NULL, (plim_value[]){x, constant_ints(g, 3, (int64_t[]){1, 2, 3})}, 2, 3);
    plim_graph_set_int(g, split, "axis", 1);
    plim_value parts[3];
    for (size_t i = 0; i < 3; i++) parts[i] = plim_graph_node_output(g, split, i);
    plim_value turned = transpose(g, parts[1], (int64_t[]){0, 2, 1}, 3); /* [2, 4, 2] */
    plim_graph_output(g, plim_graph_apply(g, "MatMul", (plim_value[]){parts[2], turned}, 2),
                      "y"); /* [2, 3, 4] · [2, 4, 2] */
    plim_session *s = session_of(g);
    assert_int_equal(plim_session_step_count(s), 1);
    float *data = random_floats(48), right[12] = {0};
    feed(s, "x", data, 48 * sizeof(float));
    run(s);
    for (int n = 0; n < 2; n++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 2; j++)
                for (int k = 0; k < 4; k++)
                    right[(n * 3 + i) * 2 + j] += data[(n * 6 + 3 + i) * 4 + k] * data[(n * 6 + 1 + j) * 4 + k];
    expect_floats(s, "y", right, 12, 1e-5f);
    free(data);
    plim_session_free(s);
}

static void flattening_a_globally_pooled_blocked_tensor_is_free(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){2, 32, 4, 4});
    plim_value pooled = plim_graph_apply(g, "GlobalAveragePool", (plim_value[]){through_conv(g, x, 32, "w")}, 1);
    plim_value flat = plim_graph_apply(g, "Flatten", &pooled, 1);
    plim_graph_output(g, plim_graph_apply(g, "Relu", &flat, 1), "y");
    plim_session *s = session_of(g);
    float *data = random_floats(1024), right[64] = {0};
    feed(s, "x", data, 1024 * sizeof(float));
    run(s);
    for (int i = 0; i < 64; i++) {
        for (int k = 0; k < 16; k++) right[i] += data[i * 16 + k] / 16;
        right[i] = right[i] > 0 ? right[i] : 0;
    }
    expect_floats(s, "y", right, 64, 1e-4f);
    size_t after_pool = 0;
    bool pooled_yet = false; /* what the pool itself reads is the convolution's choice */
    for (size_t i = 0; i < plim_session_step_count(s); i++) {
        plim_session_step step;
        plim_session_get_step(s, i, &step);
        if (strcmp(step.label, "reorder") == 0 && pooled_yet) after_pool++;
        pooled_yet |= strcmp(step.label, "GlobalAveragePool") == 0;
    }
    assert_true(pooled_yet);
    assert_int_equal(after_pool, 0);
    free(data);
    plim_session_free(s);
}

static void concat_and_resize_of_blocked_tensors_are_right(void **state) {
    (void)state;
    static const int64_t channels[] = {16, 24, 3};
    for (int c = 0; c < 3; c++) {
        int64_t n = channels[c], points = 2 * n * 9;
        plim_graph *g = plim_graph_create();
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){2, n, 3, 3});
        plim_value parts[] = {through_conv(g, x, n, "w1"), x, through_conv(g, x, n, "w2")};
        int32_t concat = plim_graph_node(g, "Concat", NULL, parts, 3, 1);
        plim_graph_set_int(g, concat, "axis", 1);
        plim_value joined = plim_graph_node_output(g, concat, 0);
        float scales[] = {1, 1, 2, 2};
        plim_value none = PLIM_NO_VALUE, factors = plim_graph_constant(g, NULL, PLIM_F32, 1, (int64_t[]){4}, scales);
        int32_t up = plim_graph_node(g, "Resize", NULL, (plim_value[]){joined, none, factors}, 3, 1);
        plim_graph_set_string(g, up, "coordinate_transformation_mode", "asymmetric");
        plim_graph_set_string(g, up, "nearest_mode", "floor");
        plim_graph_output(g, plim_graph_node_output(g, up, 0), "y");
        plim_session *s = session_of(g);
        float *data = random_floats(points), *right = malloc((size_t)points * 12 * sizeof *right);
        feed(s, "x", data, (size_t)points * sizeof(float));
        run(s);
        for (int64_t b = 0; b < 2; b++)
            for (int64_t k = 0; k < 3 * n; k++)
                for (int64_t i = 0; i < 36; i++)
                    right[(b * 3 * n + k) * 36 + i] = data[(b * n + k % n) * 9 + i / 12 * 3 + i % 6 / 2];
        expect_floats(s, "y", right, points * 12, 1e-5f);
        free(data), free(right);
        plim_session_free(s);
    }
}

static void linear_resize_of_a_blocked_tensor_equals_that_of_a_plain_one(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){1, 16, 5, 7}), none = PLIM_NO_VALUE;
    plim_value sizes = constant_ints(g, 4, (int64_t[]){1, 16, 11, 14});
    plim_value sources[] = {x, through_conv(g, x, 16, "w")};
    static const char *const names[] = {"plain", "blocked"};
    for (int i = 0; i < 2; i++) {
        int32_t node = plim_graph_node(g, "Resize", NULL, (plim_value[]){sources[i], none, none, sizes}, 4, 1);
        plim_graph_set_string(g, node, "mode", "linear");
        plim_graph_output(g, plim_graph_node_output(g, node, 0), names[i]);
    }
    plim_session *s = session_of(g);
    float *data = random_floats(560);
    feed(s, "x", data, 560 * sizeof(float));
    run(s);
    expect_floats(s, "blocked", plim_session_output(s, "plain"), 16 * 11 * 14, 1e-4f);
    free(data);
    plim_session_free(s);
}

static void padding_reflects_repeats_wraps_and_cuts(void **state) {
    (void)state;
    static const struct {
        const char *mode;
        int64_t pads[4];
        int columns;
        float row[12];
    } cases[] = {
        {"constant", {0, 2, 0, 1}, 6, {9, 9, 1, 2, 3, 9}},
        {"edge", {0, 2, 0, 1}, 6, {1, 1, 1, 2, 3, 3}},
        {"reflect", {0, 5, 0, 4}, 12, {2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3}},
        {"wrap", {0, 2, 0, 2}, 7, {2, 3, 1, 2, 3, 1, 2}},
        {"constant", {0, -1, 0, 2}, 4, {2, 3, 9, 9}},
        {"edge", {0, -1, 0, 1}, 3, {2, 3, 3}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        plim_graph *g = plim_graph_create();
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){1, 3});
        float nine = 9;
        plim_value in[] = {x, constant_ints(g, 4, cases[c].pads),
                           plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &nine)};
        int32_t node = plim_graph_node(g, "Pad", NULL, in, 3, 1);
        plim_graph_set_string(g, node, "mode", cases[c].mode);
        plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
        plim_session *s = session_of(g);
        feed(s, "x", (float[]){1, 2, 3}, 12);
        run(s);
        expect_floats(s, "y", cases[c].row, cases[c].columns, 0);
        plim_session_free(s);
    }
}

static void empty_axes_are_carried_through(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){2, 0, 3}),
               full = plim_graph_input(g, "full", PLIM_F32, 3, (int64_t[]){2, 1, 3});
    plim_value t = transpose(g, x, (int64_t[]){1, 2, 0}, 3);
    plim_value flat = plim_graph_apply(g, "Reshape", (plim_value[]){t, constant_ints(g, 2, (int64_t[]){0, 6})}, 2);
    plim_graph_output(g, flat, "nothing");
    int32_t concat = plim_graph_node(g, "Concat", NULL, (plim_value[]){x, full, x}, 3, 1);
    plim_graph_set_int(g, concat, "axis", 1);
    plim_graph_output(g, plim_graph_node_output(g, concat, 0), "y");
    plim_session *s = session_of(g);
    float data[] = {1, 2, 3, 4, 5, 6};
    feed(s, "full", data, sizeof data);
    run(s);
    expect_floats(s, "y", data, 6, 0);
    plim_session_free(s);
}

static plim_status refused(plim_graph *g, const char *words) {
    plim_error error = {0};
    plim_session *s = NULL;
    plim_status status = plim_session_create(g, NULL, &s, &error);
    plim_session_free(s);
    plim_graph_free(g);
    if (!strstr(error.message, words)) fail_msg("\"%s\" does not say \"%s\"", error.message, words);
    return status;
}

static void shapes_that_depend_on_data_are_refused_by_name(void **state) {
    (void)state;
    static const char *const ops[] = {"NonZero", "Unique"};
    for (int i = 0; i < 2; i++) {
        plim_graph *g = plim_graph_create();
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 1, (int64_t[]){4});
        plim_graph_output(g, plim_graph_apply(g, ops[i], &x, 1), "y");
        assert_int_equal(refused(g, "whose output size depends on data"), PLIM_UNSUPPORTED);
    }
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 1, (int64_t[]){4}),
               shape = plim_graph_input(g, "shape", PLIM_I64, 1, (int64_t[]){2});
    plim_graph_output(g, plim_graph_apply(g, "Reshape", (plim_value[]){x, shape}, 2), "y");
    assert_int_equal(refused(g, "unsupported: operator Reshape"), PLIM_UNSUPPORTED);
}

static void shapes_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const int64_t bad[][2] = {{3, 5}, {-1, -1}, {-2, 4}, {INT64_MAX, 4}, {-1, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        plim_graph *g = plim_graph_create();
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 1, (int64_t[]){16});
        plim_graph_output(g, plim_graph_apply(g, "Reshape", (plim_value[]){x, constant_ints(g, 2, bad[i])}, 2), "y");
        assert_int_equal(refused(g, "Reshape"), PLIM_SHAPE);
    }
}

static void hostile_sizes_are_refused_without_harm(void **state) {
    (void)state;
    static const int64_t huge[] = {INT64_MIN,        INT64_MIN + 1, -(INT64_C(1) << 40),
                                   INT64_C(1) << 40, INT64_MAX - 1, INT64_MAX};
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++)
        for (int op = 0; op < 7; op++) {
            plim_graph *g = plim_graph_create();
            plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){0, 3}), none = PLIM_NO_VALUE, y = none;
            plim_value two = constant_ints(g, 2, (int64_t[]){huge[i], 1}),
                       ends = constant_ints(g, 2, (int64_t[]){INT64_MIN, INT64_MAX});
            plim_value steps = constant_ints(g, 2, (int64_t[]){1, huge[i]}),
                       axes = constant_ints(g, 2, (int64_t[]){0, 1});
            plim_value pads = constant_ints(g, 4, (int64_t[]){0, huge[i], 0, INT64_MAX});
            if (op == 0)
                y = plim_graph_apply(g, "Reshape", (plim_value[]){x, two}, 2);
            else if (op == 1)
                y = plim_graph_apply(g, "Slice", (plim_value[]){x, two, ends, axes, steps}, 5);
            else if (op == 2)
                y = plim_graph_apply(g, "Pad", (plim_value[]){x, pads}, 2);
            else if (op == 3)
                y = plim_graph_apply(g, "Tile", (plim_value[]){x, steps}, 2);
            else if (op == 4)
                y = plim_graph_apply(g, "Expand", (plim_value[]){x, two}, 2);
            else if (op == 5)
                y = plim_graph_apply(g, "Resize", (plim_value[]){x, none, none, steps}, 4);
            else
                y = plim_graph_apply(g, "Split", (plim_value[]){x, two}, 2);
            plim_graph_output(g, y, "y");
            plim_session *s = NULL;
            plim_error error = {0};
            plim_status status = plim_session_create(g, NULL, &s, &error);
            assert_int_not_equal(status, PLIM_INTERNAL);
            if (status == PLIM_OK) assert_int_equal(plim_session_run(s, &error), PLIM_OK);
            plim_session_free(s);
            plim_graph_free(g);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reshapes_transposes_slices_and_expansions_compose),
        cmocka_unit_test(views_own_no_memory_and_take_no_step),
        cmocka_unit_test(flattening_a_globally_pooled_blocked_tensor_is_free),
        cmocka_unit_test(concat_and_resize_of_blocked_tensors_are_right),
        cmocka_unit_test(linear_resize_of_a_blocked_tensor_equals_that_of_a_plain_one),
        cmocka_unit_test(padding_reflects_repeats_wraps_and_cuts),
        cmocka_unit_test(empty_axes_are_carried_through),
        cmocka_unit_test(shapes_that_depend_on_data_are_refused_by_name),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
        cmocka_unit_test(hostile_sizes_are_refused_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
