/* Resize: known values of every coordinate rule, antialiasing, aspect ratios, and the definition itself. */
#include "graph/graph.h"
#include "run_op.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* One axis of 4 (or rows × columns) counted from 1, through a Resize of opset 19. */
typedef struct resize_case {
    const char *mode, *coordinates, *nearest, *policy;
    int antialias;
    int64_t rows, columns;
    float scale; /* of both axes; 0: sizes */
    int64_t sizes[2];
    int64_t out_rows, out_columns;
    float right[16];
} resize_case;

static void check(const resize_case *c) {
    plim_graph *g = plim_graph_create();
    assert_true(plim__graph_set_opset(g, "", 19));
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){1, 1, c->rows, c->columns}), none = PLIM_NO_VALUE;
    float scales[] = {c->rows == 1 ? 1 : c->scale, c->scale};
    plim_value given = c->scale > 0 ? plim_graph_constant(g, NULL, PLIM_F32, 1, (int64_t[]){2}, scales)
                                    : constant_ints(g, 2, c->sizes);
    plim_value in[] = {x, none, c->scale > 0 ? given : none, c->scale > 0 ? none : given};
    int32_t node = plim_graph_node(g, "Resize", NULL, in, 4, 1);
    plim_graph_set_ints(g, node, "axes", (int64_t[]){2, 3}, 2);
    plim_graph_set_string(g, node, "mode", c->mode);
    if (c->coordinates) plim_graph_set_string(g, node, "coordinate_transformation_mode", c->coordinates);
    if (c->nearest) plim_graph_set_string(g, node, "nearest_mode", c->nearest);
    if (c->policy) plim_graph_set_string(g, node, "keep_aspect_ratio_policy", c->policy);
    plim_graph_set_int(g, node, "antialias", c->antialias);
    plim_value y = plim_graph_node_output(g, node, 0);
    plim_graph_output(g, y, "y");
    plim_session *s = session_of(g);
    int64_t dims[PLIM_MAX_RANK];
    plim_value out = plim_graph_find(plim_session_graph(s), "y");
    assert_int_equal(plim_graph_value_shape(plim_session_graph(s), out, dims), 4);
    assert_int_equal(dims[2], c->out_rows);
    assert_int_equal(dims[3], c->out_columns);
    float data[16];
    for (int i = 0; i < 16; i++) data[i] = (float)(i + 1);
    feed(s, "x", data, (size_t)(c->rows * c->columns) * sizeof(float));
    run(s);
    expect_floats(s, "y", c->right, c->out_rows * c->out_columns, 1e-5f);
    plim_session_free(s);
}

static void published_examples_come_out(void **state) {
    (void)state;
    static const resize_case cases[] = {
        {"linear", NULL, NULL, NULL, 1, 4, 4, 0.6f, {0}, 2, 2, {2.875f, 4.5f, 9.375f, 11}},
        {"cubic", NULL, NULL, NULL, 1, 4, 4, 0.6f, {0}, 2, 2, {2.5180721f, 4.2858863f, 9.589329f, 11.357142f}},
        {"linear", "half_pixel_symmetric", NULL, NULL, 0, 1, 4, 0.6f, {0}, 1, 2, {1.6666667f, 3.3333333f}},
        {"linear", "align_corners", NULL, NULL, 0, 1, 4, 0, {1, 7}, 1, 7, {1, 1.5f, 2, 2.5f, 3, 3.5f, 4}},
        {"linear", "asymmetric", NULL, NULL, 0, 1, 4, 0, {1, 8}, 1, 8, {1, 1.5f, 2, 2.5f, 3, 3.5f, 4, 4}},
        {"linear", "pytorch_half_pixel", NULL, NULL, 0, 1, 4, 0, {1, 1}, 1, 1, {1}},
        {"linear", NULL, NULL, NULL, 0, 1, 4, 0, {1, 2}, 1, 2, {1.5f, 3.5f}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) check(&cases[i]);
}

static void nearest_rounds_as_told(void **state) {
    (void)state;
    static const resize_case cases[] = {
        {"nearest", "half_pixel", "floor", NULL, 0, 1, 4, 0, {1, 2}, 1, 2, {1, 3}},
        {"nearest", "half_pixel", "ceil", NULL, 0, 1, 4, 0, {1, 2}, 1, 2, {2, 4}},
        {"nearest", "half_pixel", "round_prefer_floor", NULL, 0, 1, 4, 0, {1, 2}, 1, 2, {1, 3}},
        {"nearest", "half_pixel", "round_prefer_ceil", NULL, 0, 1, 4, 0, {1, 2}, 1, 2, {2, 4}},
        {"nearest", "tf_half_pixel_for_nn", "floor", NULL, 0, 1, 4, 0, {1, 2}, 1, 2, {2, 4}},
        {"nearest", "asymmetric", "floor", NULL, 0, 1, 4, 0, {1, 6}, 1, 6, {1, 1, 2, 3, 3, 4}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) check(&cases[i]);
}

static void aspect_ratios_are_kept_when_asked(void **state) {
    (void)state;
    static const resize_case cases[] = {
        {"nearest", NULL, NULL, "not_larger", 0, 2, 2, 0, {3, 4}, 3, 3, {1, 1, 2, 1, 1, 2, 3, 3, 4}},
        {"nearest",
         NULL,
         NULL,
         "not_smaller",
         0,
         2,
         2,
         0,
         {3, 4},
         4,
         4,
         {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}},
        {"nearest", NULL, NULL, "stretch", 0, 2, 2, 0, {2, 4}, 2, 4, {1, 1, 2, 2, 3, 3, 4, 4}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) check(&cases[i]);
}

static void linear_agrees_with_its_definition_at_odd_sizes_in_every_type(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        int64_t h = 1 + random_below(7), w = 1 + random_below(7), oh = 1 + random_below(12), ow = 1 + random_below(12);
        plim_graph *g = plim_graph_create();
        plim_value none = PLIM_NO_VALUE, x = plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){2, 3, h, w});
        plim_value d = plim_graph_input(g, "d", PLIM_F64, 4, (int64_t[]){2, 3, h, w}),
                   sizes = constant_ints(g, 4, (int64_t[]){2, 3, oh, ow});
        plim_value sources[] = {x, d};
        for (int i = 0; i < 2; i++) {
            int32_t node = plim_graph_node(g, "Resize", NULL, (plim_value[]){sources[i], none, none, sizes}, 4, 1);
            plim_graph_set_string(g, node, "mode", "linear");
            plim_graph_output(g, plim_graph_node_output(g, node, 0), i ? "z" : "y");
        }
        plim_session *s = session_of(g);
        float *data = random_floats(6 * h * w);
        feed(s, "x", data, (size_t)(6 * h * w) * sizeof(float));
        for (int64_t i = 0; i < 6 * h * w; i++) ((double *)plim_session_input(s, "d"))[i] = (double)data[i];
        run(s);
        const float *y = plim_session_output(s, "y");
        const double *z = plim_session_output(s, "z");
        for (int64_t p = 0; p < 6 * oh * ow; p++) {
            double fy = ((double)(p / ow % oh) + 0.5) * (double)h / (double)oh - 0.5,
                   fx = ((double)(p % ow) + 0.5) * (double)w / (double)ow - 0.5;
            double sum = 0;
            for (int corner = 0; corner < 4; corner++) {
                int64_t iy = (int64_t)floor(fy) + corner / 2, ix = (int64_t)floor(fx) + corner % 2;
                double weight = (1 - fabs(fy - (double)iy)) * (1 - fabs(fx - (double)ix));
                iy = iy < 0 ? 0 : iy >= h ? h - 1 : iy;
                ix = ix < 0 ? 0 : ix >= w ? w - 1 : ix;
                sum += weight * (double)data[(p / ow / oh * h + iy) * w + ix];
            }
            assert_true(fabs((double)y[p] - sum) < 1e-5);
            assert_true(fabs(z[p] - sum) < 1e-5);
        }
        free(data);
        plim_session_free(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_examples_come_out),
        cmocka_unit_test(nearest_rounds_as_told),
        cmocka_unit_test(aspect_ratios_are_kept_when_asked),
        cmocka_unit_test(linear_agrees_with_its_definition_at_odd_sizes_in_every_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
