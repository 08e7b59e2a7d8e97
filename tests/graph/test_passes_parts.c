/* A convolution of joined channels is done by parts: the answers stay the same, nothing is joined, and where joining is
 * wanted by somebody else, or cheaper, it is left alone. */
#include "graph/pass_case.h"
#include "ops/op.h"

static plim_value image_of(plim_graph *g, const char *name, int64_t channels) {
    return input_of(g, name, 4, DIMS(2, channels, 6, 5));
}

static plim_value joined(plim_graph *g, const plim_value *parts, size_t count, int64_t axis) {
    int32_t node = plim_graph_node(g, "Concat", NULL, parts, count, 1);
    plim_graph_set_int(g, node, "axis", axis);
    return plim_graph_node_output(g, node, 0);
}

static plim_value conv_of(plim_graph *g, plim_value x, const char *name, int64_t in, int64_t out, int64_t group) {
    char w[32], b[32];
    snprintf(w, sizeof w, "%s.weight", name);
    snprintf(b, sizeof b, "%s.bias", name);
    plim_value inputs[] = {x, weights_of(g, w, 4, DIMS(out, in / group, 3, 3)), weights_of(g, b, 1, DIMS(out))};
    int32_t node = plim_graph_node(g, "Conv", name, inputs, 3, 1);
    plim_graph_set_ints(g, node, "pads", DIMS(1, 0, 1, 2), 4);
    plim_graph_set_ints(g, node, "strides", DIMS(2, 1), 2);
    plim_graph_set_int(g, node, "group", group);
    return plim_graph_node_output(g, node, 0);
}

static plim_value two_joined(plim_graph *g) {
    return joined(g, (plim_value[]){image_of(g, "a", 16), image_of(g, "b", 32)}, 2, 1);
}

static void build_two_parts(plim_graph *g) {
    plim_graph_output(g, one(g, "Relu", conv_of(g, two_joined(g), "c", 48, 40, 1)), "y");
}
static void build_three_parts(plim_graph *g) {
    plim_value parts[] = {image_of(g, "a", 16), image_of(g, "b", 32), image_of(g, "c", 16)};
    plim_graph_output(g, conv_of(g, joined(g, parts, 3, -3), "c", 64, 24, 1), "y");
}
static void build_the_same_twice(plim_graph *g) {
    plim_value a = image_of(g, "a", 16);
    plim_graph_output(g, conv_of(g, joined(g, (plim_value[]){a, a}, 2, 1), "c", 32, 8, 1), "y");
}
static void build_two_convolutions(plim_graph *g) {
    plim_value x = two_joined(g);
    plim_graph_output(g, conv_of(g, x, "c", 48, 16, 1), "y");
    plim_graph_output(g, conv_of(g, x, "d", 48, 24, 1), "z");
}

/* As training rewrites it; what comes out must be what the graph as it was built gives. */
static void check_parts(builder build, int expected) {
    plim_graph *model = plim_graph_create(), *rewritten = plim_graph_create();
    plim_error error = {0};
    build(model);
    build(rewritten);
    if (plim__infer_graph(rewritten, NULL, NULL, &error) != PLIM_OK ||
        plim__passes_run(rewritten, NULL, true, &error) != PLIM_OK)
        fail_msg("rewriting: %s", error.message);
    plim_session *plain = run_without(model, every_pass()), *parts = run_without(rewritten, every_pass());
    assert_same_outputs(plain, parts, "by parts");
    assert_int_equal(count_op(plim_session_graph(plain), "Concat"), 1);
    assert_int_equal(count_op(plim_session_graph(parts), "Concat"), expected);
    plim_session_free(plain);
    plim_session_free(parts);
    plim_graph_free(model);
    plim_graph_free(rewritten);
}

static void joined_channels_are_convolved_by_parts(void **state) {
    (void)state;
    check_parts(build_two_parts, 0);
    check_parts(build_three_parts, 0);
    check_parts(build_the_same_twice, 0);
    check_parts(build_two_convolutions, 0);
}

static void build_seen(plim_graph *g) {
    plim_value x = two_joined(g);
    plim_graph_output(g, conv_of(g, x, "c", 48, 16, 1), "y");
    plim_graph_output(g, x, "joined");
}
static void build_other_user(plim_graph *g) {
    plim_value x = two_joined(g);
    plim_graph_output(g, conv_of(g, x, "c", 48, 16, 1), "y");
    plim_graph_output(g, one(g, "Tanh", x), "z");
}
static void build_groups(plim_graph *g) { plim_graph_output(g, conv_of(g, two_joined(g), "c", 48, 16, 4), "y"); }
static void build_many_channels(plim_graph *g) { plim_graph_output(g, conv_of(g, two_joined(g), "c", 48, 64, 1), "y"); }
static void build_odd_channels(plim_graph *g) {
    plim_value x = joined(g, (plim_value[]){image_of(g, "a", 17), image_of(g, "b", 15)}, 2, 1);
    plim_graph_output(g, conv_of(g, x, "c", 32, 8, 1), "y");
}
static void build_joined_rows(plim_graph *g) {
    plim_value x = joined(g, (plim_value[]){image_of(g, "a", 16), image_of(g, "b", 16)}, 2, 2);
    plim_graph_output(g, conv_of(g, x, "c", 16, 8, 1), "y");
}

static void what_is_joined_anyway_stays_joined(void **state) {
    (void)state;
    static const builder cases[] = {build_seen,          build_other_user,   build_groups,
                                    build_many_channels, build_odd_channels, build_joined_rows};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_parts(cases[i], 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined_channels_are_convolved_by_parts),
        cmocka_unit_test(what_is_joined_anyway_stays_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
