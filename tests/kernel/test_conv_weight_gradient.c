/* Weight gradients of convolutions against their definition: one input channel, a few and a whole block; whole blocks of
 * output channels and odd numbers of them; strides, holes and uneven borders; batches smaller than the number of
 * threads. */
#include "ops/op.h"
#include "run_op.h"

typedef struct weight_case {
    int64_t n, c, h, w, o, kernel[2], stride[2], dilation[2], pads[4]; /* pads: top, left, bottom, right */
    bool bias;
} weight_case;

static int64_t out_size(const weight_case *t, int axis) {
    int64_t in = (axis ? t->w : t->h) + t->pads[axis] + t->pads[axis + 2];
    return (in - (t->kernel[axis] - 1) * t->dilation[axis] - 1) / t->stride[axis] + 1;
}

static float weight_of(const weight_case *t, const float *dy, const float *x, int64_t o, int64_t c, int64_t k) {
    int64_t rows = out_size(t, 0), columns = out_size(t, 1);
    double sum = 0;
    for (int64_t n = 0; n < t->n; n++)
        for (int64_t i = 0; i < rows * columns; i++) {
            int64_t row = i / columns * t->stride[0] + k / t->kernel[1] * t->dilation[0] - t->pads[0],
                    column = i % columns * t->stride[1] + k % t->kernel[1] * t->dilation[1] - t->pads[1];
            if (row < 0 || row >= t->h || column < 0 || column >= t->w) continue;
            sum += (double)dy[(n * t->o + o) * rows * columns + i] *
                   (double)x[((n * t->c + c) * t->h + row) * t->w + column];
        }
    return (float)sum;
}

static void expect_right(const weight_case *t, const plim_session *s, const float *dy, const float *x) {
    int64_t area = t->kernel[0] * t->kernel[1], plane = out_size(t, 0) * out_size(t, 1);
    float *dw = malloc((size_t)(t->o * t->c * area) * sizeof *dw), *bias = calloc((size_t)t->o, sizeof *bias);
    assert_true(dw && bias);
    for (int64_t i = 0; i < t->o * t->c * area; i++)
        dw[i] = weight_of(t, dy, x, i / area / t->c, i / area % t->c, i % area);
    for (int64_t i = 0; i < t->n * t->o * plane; i++) bias[i / plane % t->o] += dy[i];
    expect_floats(s, "dw", dw, t->o * t->c * area, 2e-5f);
    if (t->bias) expect_floats(s, "dbias", bias, t->o, 2e-5f);
    free(dw);
    free(bias);
}

static void check(const weight_case *t) {
    int64_t dy_dims[] = {t->n, t->o, out_size(t, 0), out_size(t, 1)}, x_dims[] = {t->n, t->c, t->h, t->w};
    int64_t w_dims[] = {t->o, t->c, t->kernel[0], t->kernel[1]};
    int64_t dy_count = dy_dims[0] * dy_dims[1] * dy_dims[2] * dy_dims[3], x_count = t->n * t->c * t->h * t->w;
    float *dy = random_floats(dy_count), *x = random_floats(x_count);
    plim_graph *g = plim_graph_create();
    plim_value inputs[] = {plim_graph_input(g, "dy", PLIM_F32, 4, dy_dims),
                           plim_graph_input(g, "x", PLIM_F32, 4, x_dims)};
    int32_t node = plim__graph_add_node(g, PLIM__DOMAIN, "ConvGradWeight", NULL, 1);
    for (int i = 0; i < 2; i++) assert_true(plim__node_add_input(g, node, inputs[i]));
    plim_graph_set_ints(g, node, "shape", w_dims, 4);
    plim_graph_set_ints(g, node, "strides", t->stride, 2);
    plim_graph_set_ints(g, node, "dilations", t->dilation, 2);
    plim_graph_set_ints(g, node, "pads", t->pads, 4);
    for (int i = 0; i < 1 + t->bias; i++) {
        plim_value out = plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN);
        assert_true(plim__node_add_output(g, node, out));
        plim_graph_output(g, out, i ? "dbias" : "dw");
    }
    plim_session *s = session_of(g);
    for (int again = 0; again < 2; again++) { /* nothing of the first run is left in the second */
        feed(s, "dy", dy, (size_t)dy_count * sizeof *dy);
        feed(s, "x", x, (size_t)x_count * sizeof *x);
        run(s);
        expect_right(t, s, dy, x);
    }
    plim_session_free(s);
    free(dy);
    free(x);
}

static void images_of_few_channels(void **state) {
    (void)state;
    static const weight_case cases[] = {
        {5, 1, 12, 10, 32, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}, true},
        {1, 1, 9, 7, 8, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, true},
        {3, 1, 11, 13, 24, {3, 2}, {2, 1}, {1, 2}, {0, 1, 2, 0}, false},
        {2, 2, 8, 9, 16, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, true},
        {2, 2, 17, 23, 40, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}, true},
        {2, 1, 10, 10, 16, {2, 2}, {3, 3}, {1, 1}, {0, 0, 0, 0}, true}, /* the last row and column are never seen */
        {2, 1, 6, 6, 10, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, true},   /* no whole block */
        {2, 1, 3, 3, 8, {3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}, false},   /* one pixel */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&cases[i]);
}

static void images_of_more_channels(void **state) {
    (void)state;
    static const weight_case cases[] = {
        {2, 3, 17, 15, 16, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, true},
        {2, 4, 9, 9, 16, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, true},
        {3, 16, 7, 7, 32, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&cases[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_of_few_channels),
        cmocka_unit_test(images_of_more_channels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
