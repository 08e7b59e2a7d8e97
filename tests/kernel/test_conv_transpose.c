/* Transposed convolutions against their definition: windows that touch, overlap and leave holes, whole blocks of
 * channels and odd numbers of them, batches of several pieces. */
#include "run_op.h"

typedef struct transposed_case {
    int64_t n, c, h, w, o, kernel[2], stride[2];
    bool bias;
} transposed_case;

static int64_t out_size(const transposed_case *t, int axis) {
    return ((axis ? t->w : t->h) - 1) * t->stride[axis] + t->kernel[axis];
}

/* Every input pixel adds its window to the output. */
static float *by_definition(const transposed_case *t, const float *x, const float *w, const float *bias) {
    int64_t rows = out_size(t, 0), columns = out_size(t, 1), area = t->kernel[0] * t->kernel[1];
    float *y = calloc((size_t)(t->n * t->o * rows * columns), sizeof *y);
    assert_non_null(y);
    for (int64_t i = 0; i < t->n * t->o * rows * columns; i++) y[i] = t->bias ? bias[i / (rows * columns) % t->o] : 0;
    for (int64_t n = 0; n < t->n; n++)
        for (int64_t c = 0; c < t->c; c++)
            for (int64_t h = 0; h < t->h; h++)
                for (int64_t v = 0; v < t->w; v++)
                    for (int64_t o = 0; o < t->o; o++)
                        for (int64_t k = 0; k < area; k++) {
                            int64_t row = h * t->stride[0] + k / t->kernel[1],
                                    column = v * t->stride[1] + k % t->kernel[1];
                            y[((n * t->o + o) * rows + row) * columns + column] +=
                                x[((n * t->c + c) * t->h + h) * t->w + v] * w[(c * t->o + o) * area + k];
                        }
    return y;
}

static void check(const transposed_case *t) {
    int64_t area = t->kernel[0] * t->kernel[1], x_count = t->n * t->c * t->h * t->w;
    float *x = random_floats(x_count), *w = random_floats(t->c * t->o * area), *bias = random_floats(t->o);
    plim_graph *g = plim_graph_create();
    plim_value inputs[] = {
        plim_graph_input(g, "x", PLIM_F32, 4, (int64_t[]){t->n, t->c, t->h, t->w}),
        plim_graph_constant(g, "w", PLIM_F32, 4, (int64_t[]){t->c, t->o, t->kernel[0], t->kernel[1]}, w),
        plim_graph_constant(g, "b", PLIM_F32, 1, &t->o, bias)};
    int32_t node = plim_graph_node(g, "ConvTranspose", NULL, inputs, t->bias ? 3 : 2, 1);
    plim_graph_set_ints(g, node, "strides", t->stride, 2);
    plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
    plim_session *s = session_of(g);
    for (int again = 0; again < 2; again++) {
        feed(s, "x", x, (size_t)x_count * sizeof *x);
        run(s);
        float *right = by_definition(t, x, w, bias);
        expect_floats(s, "y", right, t->n * t->o * out_size(t, 0) * out_size(t, 1), 2e-5f);
        free(right);
    }
    plim_session_free(s);
    free(x);
    free(w);
    free(bias);
}

static void windows_that_touch(void **state) {
    (void)state;
    static const transposed_case cases[] = {
        {2, 16, 5, 7, 32, {2, 2}, {2, 2}, true}, {3, 32, 4, 3, 16, {2, 2}, {2, 2}, false},
        {1, 16, 3, 5, 16, {3, 2}, {3, 2}, true}, {5, 16, 1, 9, 48, {1, 4}, {1, 4}, true},
        {2, 8, 6, 6, 24, {2, 2}, {2, 2}, true},  {6, 16, 96, 96, 16, {2, 2}, {2, 2}, true}, /* of several pieces */
        {2, 7, 5, 4, 9, {2, 2}, {2, 2}, true},   {2, 16, 4, 4, 5, {2, 2}, {2, 2}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&cases[i]);
}

static void windows_that_overlap_or_leave_holes(void **state) {
    (void)state;
    static const transposed_case cases[] = {
        {2, 16, 5, 7, 16, {3, 3}, {2, 2}, true},
        {2, 16, 5, 7, 16, {2, 2}, {3, 3}, true},
        {2, 16, 4, 6, 16, {2, 3}, {2, 2}, false},
        {2, 16, 4, 6, 16, {1, 1}, {1, 1}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&cases[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_that_touch),
        cmocka_unit_test(windows_that_overlap_or_leave_holes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
