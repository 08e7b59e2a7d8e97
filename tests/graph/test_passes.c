/* Passes that recognise what exporters spell out: GELU, layer norm, attention; removing what does nothing, and
 * computing what is constant. The answers stay the same, the pass fires, and near misses are left alone. */
#include "graph/pass_case.h"

/* --- identity, fold ------------------------------------------------------------------------------------------- */

static void build_identities(plim_graph *g) {
    plim_value x = input_of(g, "x", 2, DIMS(3, 4));
    plim_value y = one(g, "Identity", one(g, "Relu", one(g, "Identity", x)));
    plim_graph_output(g, one(g, "Identity", one(g, "Dropout", y)), "y");
}

static void identities_and_idle_dropout_vanish(void **state) {
    (void)state;
    check_pass(build_identities, "identity", "Identity", 0, NULL);
    check_pass(build_identities, "identity", "Dropout", 0, NULL);
    check_pass(build_identities, "identity", "Relu", 1, NULL);
}

static void build_identity_outputs(plim_graph *g) {
    plim_value x = input_of(g, "x", 2, DIMS(3, 4)), w = weights_of(g, "w", 2, DIMS(3, 4));
    plim_value y = two(g, "Add", x, w);
    plim_graph_output(g, y, "y");
    plim_graph_output(g, one(g, "Identity", y), "again");
    plim_graph_output(g, one(g, "Identity", x), "x_out");
    plim_graph_output(g, one(g, "Identity", w), "w_out");
}

static void outputs_keep_their_own_names_and_values(void **state) {
    (void)state;
    check_pass(build_identity_outputs, "identity", "Add", 1, NULL);
}

static void build_constant_arithmetic(plim_graph *g) {
    plim_value x = input_of(g, "x", 2, DIMS(3, 4));
    plim_value c = with_scalar(g, "Mul", with_scalar(g, "Add", scalar_of(g, 2), 3), 0.5f);
    plim_graph_output(g, two(g, "Mul", x, one(g, "Sqrt", c)), "y");
}

static void what_depends_on_constants_only_is_computed_once(void **state) {
    (void)state;
    plim_graph *model = plim_graph_create();
    build_constant_arithmetic(model);
    plim_session *off = run_without(model, "fold"), *on = run_without(model, NULL);
    assert_same_outputs(off, on, "folded");
    assert_int_equal(plim_graph_node_count(plim_session_graph(on)), 1);
    assert_true(plim_graph_node_count(plim_session_graph(off)) > 1);
    plim_session_free(off);
    plim_session_free(on);
    plim_graph_free(model);
}

/* view(x.size(0), -1), expand, arange and masks, as the exporter writes them */
static void build_boilerplate(plim_graph *g) {
    int64_t n = plim_graph_symbol(g, "N"), zero = 0, minus = -1, five = 5, step = 1;
    plim_value x = input_of(g, "x", 3, DIMS(n, 5, 4));
    plim_value first = plim_graph_constant(g, NULL, PLIM_I64, 0, NULL, &zero),
               axes = plim_graph_constant(g, NULL, PLIM_I64, 1, DIMS(1), &zero);
    plim_value rest = plim_graph_constant(g, NULL, PLIM_I64, 1, DIMS(1), &minus);
    plim_value batch = two(g, "Unsqueeze", two(g, "Gather", one(g, "Shape", x), first), axes);
    int32_t concat = plim_graph_node(g, "Concat", NULL, (plim_value[]){batch, rest}, 2, 1);
    plim_graph_set_int(g, concat, "axis", 0);
    plim_value flat = two(g, "Reshape", x, plim_graph_node_output(g, concat, 0));
    plim_value range = three(g, "Range", first, plim_graph_constant(g, NULL, PLIM_I64, 0, NULL, &five),
                             plim_graph_constant(g, NULL, PLIM_I64, 0, NULL, &step));
    plim_value row = two(g, "Unsqueeze", range, axes), column = two(g, "Unsqueeze", range, rest);
    plim_value shown = two(g, "GreaterOrEqual", column, row);
    plim_value mask = three(g, "Where", shown, scalar_of(g, 1), scalar_of(g, 0));
    plim_graph_output(g, two(g, "MatMul", mask, x), "masked");
    plim_graph_output(g, one(g, "Relu", flat), "flat");
}

static void the_exporters_boilerplate_is_gone(void **state) {
    (void)state;
    plim_graph *model = plim_graph_create();
    build_boilerplate(model);
    plim_session *s = run_without(model, NULL);
    static const char *const gone[] = {"Shape", "Gather", "Unsqueeze", "Concat", "Range", "Where", "GreaterOrEqual"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        assert_int_equal(count_op(plim_session_graph(s), gone[i]), 0);
    assert_int_equal(plim_graph_node_count(plim_session_graph(s)), 3); /* MatMul, Reshape, Relu */
    plim_session_free(s);
    plim_graph_free(model);
}

/* --- GELU ----------------------------------------------------------------------------------------------------- */

static plim_value erf_gate(plim_graph *g, plim_value x, bool divide, bool one_first) {
    plim_value inner = divide ? with_scalar(g, "Div", x, 1.41421356f) : with_scalar(g, "Mul", x, 0.70710678f);
    plim_value erf = one(g, "Erf", inner);
    return one_first ? two(g, "Add", scalar_of(g, 1), erf) : with_scalar(g, "Add", erf, 1);
}

static plim_value tanh_gate(plim_graph *g, plim_value x, bool by_power) {
    plim_value cube = by_power ? with_scalar(g, "Pow", x, 3) : two(g, "Mul", two(g, "Mul", x, x), x);
    plim_value sum = two(g, "Add", x, with_scalar(g, "Mul", cube, 0.044715f));
    return with_scalar(g, "Add", one(g, "Tanh", with_scalar(g, "Mul", sum, 0.79788456f)), 1);
}

static void build_erf_pytorch(plim_graph *g) { /* (x · gate) · ½ */
    plim_value x = input_of(g, "x", 2, DIMS(5, 9));
    plim_graph_output(g, with_scalar(g, "Mul", two(g, "Mul", x, erf_gate(g, x, true, false)), 0.5f), "y");
}
static void build_erf_half_x(plim_graph *g) { /* (½ · x) · gate */
    plim_value x = input_of(g, "x", 2, DIMS(5, 9));
    plim_graph_output(g, two(g, "Mul", two(g, "Mul", scalar_of(g, 0.5f), x), erf_gate(g, x, false, true)), "y");
}
static void build_erf_half_gate(plim_graph *g) { /* x · (½ · gate), as Keras writes it */
    plim_value x = input_of(g, "x", 2, DIMS(5, 9));
    plim_graph_output(g, two(g, "Mul", x, with_scalar(g, "Mul", erf_gate(g, x, true, true), 0.5f)), "y");
}
static void build_tanh_power(plim_graph *g) {
    plim_value x = input_of(g, "x", 2, DIMS(5, 9));
    plim_graph_output(g, two(g, "Mul", with_scalar(g, "Mul", x, 0.5f), tanh_gate(g, x, true)), "y");
}
static void build_tanh_products(plim_graph *g) {
    plim_value x = input_of(g, "x", 2, DIMS(5, 9));
    plim_graph_output(g, two(g, "Mul", with_scalar(g, "Mul", x, 0.5f), tanh_gate(g, x, false)), "y");
}

static void check_erf(const plim_graph *g) {
    assert_string_equal(plim__node_string(find_op(g, "Gelu"), "approximate", "none"), "none");
}
static void check_tanh(const plim_graph *g) {
    assert_string_equal(plim__node_string(find_op(g, "Gelu"), "approximate", "none"), "tanh");
}

static void every_spelling_of_gelu_is_recognised(void **state) {
    (void)state;
    check_pass(build_erf_pytorch, "fuse-gelu", "Gelu", 1, check_erf);
    check_pass(build_erf_half_x, "fuse-gelu", "Gelu", 1, check_erf);
    check_pass(build_erf_half_gate, "fuse-gelu", "Gelu", 1, check_erf);
    check_pass(build_tanh_power, "fuse-gelu", "Gelu", 1, check_tanh);
    check_pass(build_tanh_products, "fuse-gelu", "Gelu", 1, check_tanh);
}

static void build_gelu_of_another(plim_graph *g) { /* the gate reads x, the product is with z */
    plim_value x = input_of(g, "x", 2, DIMS(5, 9)), z = input_of(g, "z", 2, DIMS(5, 9));
    plim_graph_output(g, with_scalar(g, "Mul", two(g, "Mul", z, erf_gate(g, x, true, false)), 0.5f), "y");
}
static void build_gelu_wrong_constant(plim_graph *g) { /* erf(x / √3) */
    plim_value x = input_of(g, "x", 2, DIMS(5, 9));
    plim_value gate = with_scalar(g, "Add", one(g, "Erf", with_scalar(g, "Div", x, 1.7320508f)), 1);
    plim_graph_output(g, with_scalar(g, "Mul", two(g, "Mul", x, gate), 0.5f), "y");
}
static void build_gelu_seen_inside(plim_graph *g) { /* the gate is an output too: it must still be computed */
    plim_value x = input_of(g, "x", 2, DIMS(5, 9)), gate = erf_gate(g, x, true, false);
    plim_graph_output(g, with_scalar(g, "Mul", two(g, "Mul", x, gate), 0.5f), "y");
    plim_graph_output(g, gate, "gate");
}

static void what_is_almost_gelu_is_left_alone(void **state) {
    (void)state;
    check_pass(build_gelu_of_another, "fuse-gelu", "Gelu", 0, NULL);
    check_pass(build_gelu_wrong_constant, "fuse-gelu", "Gelu", 0, NULL);
    check_pass(build_gelu_seen_inside, "fuse-gelu", "Erf", 1, NULL);
}

/* --- layer norm ----------------------------------------------------------------------------------------------- */

struct norm_spelling {
    bool axes_input, by_product, no_bias, wide; /* wide: over two axes */
    int keepdims;
};

static plim_value mean_of(plim_graph *g, plim_value x, const struct norm_spelling *s) {
    static const int64_t axes[] = {-2, -1};
    const int64_t *first = s->wide ? axes : axes + 1;
    size_t count = s->wide ? 2 : 1;
    plim_value inputs[2] = {x, PLIM_NO_VALUE};
    if (s->axes_input) inputs[1] = plim_graph_constant(g, NULL, PLIM_I64, 1, DIMS((int64_t)count), first);
    int32_t node = plim_graph_node(g, "ReduceMean", NULL, inputs, s->axes_input ? 2 : 1, 1);
    if (!s->axes_input) plim_graph_set_ints(g, node, "axes", first, count);
    plim_graph_set_int(g, node, "keepdims", 1);
    return plim_graph_node_output(g, node, 0);
}

static void build_norm(plim_graph *g, const struct norm_spelling *s) {
    if (s->axes_input) plim__graph_set_opset(g, "", 18);
    plim_value x = input_of(g, "x", 3, DIMS(2, 3, 16));
    plim_value d = two(g, "Sub", x, mean_of(g, x, s));
    plim_value square = s->by_product ? two(g, "Mul", d, d) : with_scalar(g, "Pow", d, 2);
    plim_value y = two(g, "Div", d, one(g, "Sqrt", with_scalar(g, "Add", mean_of(g, square, s), 1e-5f)));
    const int64_t *dims = s->wide ? DIMS(3, 16) : DIMS(16);
    int rank = s->wide ? 2 : 1;
    y = two(g, "Mul", y, weights_around(g, "scale", rank, dims, 1));
    if (!s->no_bias) y = two(g, "Add", y, weights_of(g, "bias", rank, dims));
    plim_graph_output(g, y, "y");
}

static void build_norm_attribute(plim_graph *g) { build_norm(g, &(struct norm_spelling){0}); }
static void build_norm_input(plim_graph *g) { build_norm(g, &(struct norm_spelling){.axes_input = true}); }
static void build_norm_product(plim_graph *g) { build_norm(g, &(struct norm_spelling){.by_product = true}); }
static void build_norm_no_bias(plim_graph *g) { build_norm(g, &(struct norm_spelling){.no_bias = true}); }
static void build_norm_wide(plim_graph *g) { build_norm(g, &(struct norm_spelling){.wide = true}); }

static void every_spelling_of_layer_norm_is_recognised(void **state) {
    (void)state;
    check_pass(build_norm_attribute, "fuse-layer-norm", "LayerNormalization", 1, NULL);
    check_pass(build_norm_input, "fuse-layer-norm", "LayerNormalization", 1, NULL);
    check_pass(build_norm_product, "fuse-layer-norm", "LayerNormalization", 1, NULL);
    check_pass(build_norm_no_bias, "fuse-layer-norm", "LayerNormalization", 1, NULL);
    check_pass(build_norm_wide, "fuse-layer-norm", "LayerNormalization", 1, NULL);
}

static void build_norm_of_channels(plim_graph *g) { /* over axis 1 of 3: not the last axes */
    plim_value x = input_of(g, "x", 3, DIMS(2, 8, 5));
    int32_t mean = plim_graph_node(g, "ReduceMean", NULL, &x, 1, 1);
    plim_graph_set_ints(g, mean, "axes", DIMS(1), 1);
    plim_value d = two(g, "Sub", x, plim_graph_node_output(g, mean, 0)), square = with_scalar(g, "Pow", d, 2);
    int32_t variance = plim_graph_node(g, "ReduceMean", NULL, &square, 1, 1);
    plim_graph_set_ints(g, variance, "axes", DIMS(1), 1);
    plim_value y =
        two(g, "Div", d, one(g, "Sqrt", with_scalar(g, "Add", plim_graph_node_output(g, variance, 0), 1e-5f)));
    y = two(g, "Mul", y, weights_around(g, "scale", 2, DIMS(8, 1), 1));
    plim_graph_output(g, two(g, "Add", y, weights_of(g, "bias", 2, DIMS(8, 1))), "y");
}
static void build_norm_of_another(plim_graph *g) { /* the variance is of another value */
    struct norm_spelling s = {0};
    plim_value x = input_of(g, "x", 3, DIMS(2, 3, 16)), z = input_of(g, "z", 3, DIMS(2, 3, 16));
    plim_value d = two(g, "Sub", x, mean_of(g, x, &s));
    plim_value y = two(g, "Div", d, one(g, "Sqrt", with_scalar(g, "Add", mean_of(g, two(g, "Mul", z, z), &s), 1e-5f)));
    plim_graph_output(g, two(g, "Mul", y, weights_around(g, "scale", 1, DIMS(16), 1)), "y");
}

static void what_is_almost_layer_norm_is_left_alone(void **state) {
    (void)state;
    check_pass(build_norm_of_channels, "fuse-layer-norm", "LayerNormalization", 0, NULL);
    check_pass(build_norm_of_another, "fuse-layer-norm", "LayerNormalization", 0, NULL);
}

/* --- leaving out ---------------------------------------------------------------------------------------------- */

static void an_unknown_pass_is_refused_by_name(void **state) {
    (void)state;
    plim_graph *model = plim_graph_create();
    build_identities(model);
    plim_error error = {0};
    plim_session *s = NULL;
    assert_int_equal(plim_session_create(model, &(plim_session_options){.without = "fold,frobnicate"}, &s, &error),
                     PLIM_INVALID);
    assert_non_null(strstr(error.message, "frobnicate"));
    assert_null(s);
    plim_graph_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identities_and_idle_dropout_vanish),
        cmocka_unit_test(outputs_keep_their_own_names_and_values),
        cmocka_unit_test(what_depends_on_constants_only_is_computed_once),
        cmocka_unit_test(the_exporters_boilerplate_is_gone),
        cmocka_unit_test(every_spelling_of_gelu_is_recognised),
        cmocka_unit_test(what_is_almost_gelu_is_left_alone),
        cmocka_unit_test(every_spelling_of_layer_norm_is_recognised),
        cmocka_unit_test(what_is_almost_layer_norm_is_left_alone),
        cmocka_unit_test(an_unknown_pass_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
