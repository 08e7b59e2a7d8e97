/* The gradient of every elementwise operator is the slope of what it computes. */
#include "check.h"

#define TOLERANCE 1e-3

struct unary {
    const char *op;
    double low, high;
};

static void one_number(void **state) {
    (void)state;
    static const struct unary ops[] = {
        {"Abs", -1, 1},         {"Neg", -1, 1},      {"Sqrt", 0.5, 2},
        {"Reciprocal", 0.5, 2}, {"Exp", -1, 1},      {"Log", 0.5, 2},
        {"Erf", -2, 2},         {"Sin", -2, 2},      {"Cos", -2, 2},
        {"Tan", -1, 1},         {"Asin", -0.8, 0.8}, {"Acos", -0.8, 0.8},
        {"Atan", -2, 2},        {"Sinh", -1, 1},     {"Cosh", -1, 1},
        {"Tanh", -2, 2},        {"Asinh", -2, 2},    {"Acosh", 1.5, 3},
        {"Atanh", -0.8, 0.8},   {"Sigmoid", -3, 3},  {"HardSigmoid", -4, 4},
        {"HardSwish", -4, 4},   {"Relu", -1, 1},     {"LeakyRelu", -1, 1},
        {"Elu", -2, 2},         {"Selu", -2, 2},     {"Celu", -2, 2},
        {"Softplus", -3, 3},    {"Softsign", -2, 2}, {"ThresholdedRelu", -2, 2},
        {"Identity", -1, 1},    {"Shrink", -1, 1},   {"Floor", 0.1, 0.9},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        plim_graph *g = plim_graph_create();
        plim_value x = real_input(g, "x", DIMS(3, 5, 7));
        plim_value y = plim__graph_apply(g, ops[i].op, &x, 1);
        expect_right(ops[i].op, g, y, &(plim_gradient_options){.low = ops[i].low, .high = ops[i].high, .seed = i},
                     TOLERANCE);
    }
}

static plim_value number(plim_graph *g, float x) { return plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &x); }
static plim_value two(plim_graph *g, const char *op, plim_value a, plim_value b) {
    return plim__graph_apply(g, op, (plim_value[]){a, b}, 2);
}

/* As exporters spell it; the passes make one operator of it. */
static void gelu_in_both_forms(void **state) {
    (void)state;
    for (int tanh_form = 0; tanh_form < 2; tanh_form++) {
        plim_graph *g = plim_graph_create();
        plim_value x = real_input(g, "x", DIMS(4, 6)), u = two(g, "Div", x, number(g, 1.41421356f));
        if (tanh_form) {
            plim_value cube = two(g, "Pow", x, number(g, 3));
            u = two(g, "Mul", two(g, "Add", x, two(g, "Mul", cube, number(g, 0.044715f))), number(g, 0.7978845608f));
        }
        plim_value t = two(g, "Add", plim_graph_apply(g, tanh_form ? "Tanh" : "Erf", &u, 1), number(g, 1));
        plim_value y = two(g, "Mul", two(g, "Mul", x, t), number(g, 0.5f));
        expect_right(tanh_form ? "Gelu (tanh)" : "Gelu (erf)", g, y, &(plim_gradient_options){.low = -3, .high = 3},
                     TOLERANCE);
    }
}

/* a op b with a and b of these shapes. */
struct range {
    double low, high;
};

static void two_inputs(const char *op, int ra, const int64_t *a, int rb, const int64_t *b, struct range range) {
    plim_graph *g = plim_graph_create();
    plim_value inputs[] = {real_input(g, "a", ra, a), real_input(g, "b", rb, b)};
    expect_right(op, g, plim__graph_apply(g, op, inputs, 2),
                 &(plim_gradient_options){
                     .low = range.low, .high = range.high, .epsilon = op[0] == 'M' && op[1] != 'u' ? 5e-4 : 0},
                 TOLERANCE);
}

static void two_numbers_broadcast_both_ways(void **state) {
    (void)state;
    static const struct unary ops[] = {{"Add", -1, 1},  {"Sub", -1, 1},  {"Mul", -1, 1},
                                       {"Div", 0.5, 2}, {"Pow", 0.5, 2}, {"Max", -1, 1},
                                       {"Min", -1, 1},  {"Mean", -1, 1}, {"Sum", -1, 1}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        two_inputs(ops[i].op, DIMS(3, 5), DIMS(3, 5), (struct range){ops[i].low, ops[i].high});
        bool kinks = strcmp(ops[i].op, "Max") == 0 || strcmp(ops[i].op, "Min") == 0; /* too many elements meet one */
        if (!kinks) two_inputs(ops[i].op, DIMS(17, 23, 31), DIMS(23, 1), (struct range){ops[i].low, ops[i].high});
        two_inputs(ops[i].op, DIMS(5), DIMS(4, 3, 5), (struct range){ops[i].low, ops[i].high});
        two_inputs(ops[i].op, DIMS(4, 1, 5), DIMS(3, 1), (struct range){ops[i].low, ops[i].high});
        two_inputs(ops[i].op, DIMS(0, 5), DIMS(1, 5), (struct range){ops[i].low, ops[i].high});
    }
    two_inputs("PRelu", DIMS(3, 5), DIMS(5), (struct range){-1, 1});
    two_inputs("PRelu", DIMS(3, 5, 2), DIMS(5, 1), (struct range){-1, 1});
}

static void the_same_value_twice(void **state) {
    (void)state;
    static const char *const ops[] = {"Add", "Mul", "Div", "Sub", "Max"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        plim_graph *g = plim_graph_create();
        plim_value x = real_input(g, "x", DIMS(3, 4));
        expect_right(ops[i], g, plim__graph_apply(g, ops[i], (plim_value[]){x, x}, 2),
                     &(plim_gradient_options){.low = 0.5, .high = 2}, TOLERANCE);
    }
}

static void powers_with_constant_exponents(void **state) {
    (void)state;
    static const float exponents[] = {2, 3, 0.5f, -1, 0, 1};
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
        plim_graph *g = plim_graph_create();
        plim_value x = real_input(g, "x", DIMS(3, 4));
        plim_value e = plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &exponents[i]);
        expect_right("Pow by a constant", g, plim_graph_apply(g, "Pow", (plim_value[]){x, e}, 2),
                     &(plim_gradient_options){.low = 0.5, .high = 2}, TOLERANCE);
    }
}

static void clip_where_and_casts(void **state) {
    (void)state;
    float low = -0.5f, high = 0.25f;
    plim_graph *g = plim_graph_create();
    plim_value x = real_input(g, "x", DIMS(5, 7));
    plim_value bounds[] = {x, plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &low),
                           plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &high)};
    expect_right("Clip", g, plim_graph_apply(g, "Clip", bounds, 3), NULL, TOLERANCE);
    g = plim_graph_create();
    bool pattern[15] = {1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 1};
    plim_value c = plim_graph_constant(g, NULL, PLIM_BOOL, DIMS(3, 5), pattern);
    plim_value choice[] = {c, real_input(g, "a", DIMS(5)), real_input(g, "b", DIMS(2, 3, 1))};
    expect_right("Where", g, plim_graph_apply(g, "Where", choice, 3), NULL, TOLERANCE);
    g = plim_graph_create();
    x = real_input(g, "x", DIMS(5, 7));
    int32_t wide = plim_graph_node(g, "Cast", NULL, &x, 1, 1);
    plim_graph_set_int(g, wide, "to", PLIM_F64);
    x = plim_graph_node_output(g, wide, 0);
    int32_t back = plim_graph_node(g, "Cast", NULL, &x, 1, 1);
    plim_graph_set_int(g, back, "to", PLIM_F32);
    expect_right("Cast", g, plim_graph_node_output(g, back, 0), NULL, TOLERANCE);
    g = plim_graph_create();
    plim_value three[] = {real_input(g, "a", DIMS(3, 5)), real_input(g, "b", DIMS(5)), real_input(g, "c", DIMS(3, 1))};
    expect_right("Max of three", g, plim_graph_apply(g, "Max", three, 3), NULL, TOLERANCE);
}

static void an_operator_without_a_gradient_is_named(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = real_input(g, "x", DIMS(1, 1, 3, 4)), w = real_input(g, "w", DIMS(1, 1, 2, 2));
    plim_graph_output(g, plim__graph_apply(g, "plimsoll::FusedConv", (plim_value[]){x, w}, 2), "result");
    plim_error error = {0};
    plim_gradient_result r;
    assert_int_equal(plim_gradient_check(g, NULL, &r, &error), PLIM_UNSUPPORTED);
    assert_non_null(strstr(error.message, "unsupported: the gradient of operator FusedConv"));
    plim_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_number),
        cmocka_unit_test(gelu_in_both_forms),
        cmocka_unit_test(two_numbers_broadcast_both_ways),
        cmocka_unit_test(the_same_value_twice),
        cmocka_unit_test(powers_with_constant_exponents),
        cmocka_unit_test(clip_where_and_casts),
        cmocka_unit_test(an_operator_without_a_gradient_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
