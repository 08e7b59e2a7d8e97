/* ONNX's operator Gradient gives partial derivatives of the part of the graph that it names, at the point it is given. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "graph/graph.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

#define DOMAIN "ai.onnx.preview.training"

static plim_graph *new_graph(void) {
    plim_graph *g = plim_graph_create();
    assert_true(plim__graph_set_opset(g, DOMAIN, 1));
    return g;
}

static plim_value input(plim_graph *g, const char *name, int64_t count) {
    return plim_graph_input(g, name, PLIM_F32, 1, &count);
}

static plim_value two(plim_graph *g, const char *op, plim_value a, plim_value b, const char *name) {
    plim_value y = plim_graph_apply(g, op, (plim_value[]){a, b}, 2);
    if (name) plim_graph_set_value_name(g, y, name);
    return y;
}

static void set_names(plim_graph *g, int32_t node, const char *attribute, const char *names) {
    char text[64], *rest = strcpy(text, names);
    plim__attribute a = {.name = plim__strdup(attribute), .type = PLIM__ATTRIBUTE_STRINGS};
    a.strings = plim__alloc_zero(4, sizeof *a.strings);
    for (char *name = strtok_r(rest, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        a.strings[a.length++] = plim__strdup(name);
    plim__node_set_attribute(g, node, a);
}

/* Names; those of xs and zs separated by blanks. */
struct asked {
    const char *xs, *zs, *y;
};

/* Outputs are named d0, d1, ... and are the graph's. */
static int32_t gradient(plim_graph *g, struct asked asked, const plim_value *inputs, size_t count, size_t outputs) {
    int32_t node = plim_graph_node(g, DOMAIN "::Gradient", "the request", inputs, count, outputs);
    set_names(g, node, "xs", asked.xs);
    if (*asked.zs) set_names(g, node, "zs", asked.zs);
    plim_graph_set_string(g, node, "y", asked.y);
    static const char *const names[] = {"d0", "d1", "d2"};
    for (size_t i = 0; i < outputs; i++) plim_graph_output(g, plim_graph_node_output(g, node, i), names[i]);
    return node;
}

static plim_session *session(plim_graph *g) {
    plim_error error = {0};
    plim_session *s = NULL;
    if (plim_session_create(g, NULL, &s, &error) != PLIM_OK) fail_msg("%s", error.message);
    plim_graph_free(g);
    return s;
}

static void feed(plim_session *s, const char *name, const float *values, size_t count) {
    assert_non_null(plim_session_input(s, name));
    memcpy(plim_session_input(s, name), values, count * sizeof *values);
}

static void expect(plim_session *s, const char *name, const float *right, size_t count) {
    const float *y = plim_session_output(s, name);
    assert_non_null(y);
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(y[i] - right[i]) < 1e-5f * (1 + fabsf(right[i]))))
            fail_msg("%s[%zu] is %g, expected %g", name, i, (double)y[i], (double)right[i]);
}

static void run(plim_session *s) {
    plim_error error = {0};
    if (plim_session_run(s, &error) != PLIM_OK) fail_msg("%s", error.message);
}

static const float a3[] = {1, 2, 3}, b3[] = {-4, 5, 0.5f}, c3[] = {7, -1, 2};

/* y = a b, of which nothing else needs anything, and whose numbers count as their sum. */
static void y_need_not_be_an_output_nor_one_number(void **state) {
    (void)state;
    plim_graph *g = new_graph();
    plim_value a = input(g, "a", 3), b = input(g, "b", 3);
    two(g, "Mul", a, b, "y");
    gradient(g, (struct asked){"a b", "", "y"}, (plim_value[]){a, b}, 2, 2);
    plim_session *s = session(g);
    feed(s, "a", a3, 3);
    feed(s, "b", b3, 3);
    run(s);
    expect(s, "d0", b3, 3);
    expect(s, "d1", a3, 3);
    plim_session_free(s);
}

/* h = a b, y = h h: by h it is 2 h; at another point p it is 2 p, and y itself stays where it was. */
static void derivatives_can_be_taken_at_another_point(void **state) {
    (void)state;
    plim_graph *g = new_graph();
    plim_value a = input(g, "a", 3), b = input(g, "b", 3), p = input(g, "p", 3), h = two(g, "Mul", a, b, "h");
    plim_graph_output(g, two(g, "Mul", h, h, "y"), NULL);
    gradient(g, (struct asked){"h", "", "y"}, &h, 1, 1);
    int32_t other = plim_graph_node(g, DOMAIN "::Gradient", NULL, &p, 1, 1);
    set_names(g, other, "xs", "h");
    plim_graph_set_string(g, other, "y", "y");
    plim_graph_output(g, plim_graph_node_output(g, other, 0), "at_p");
    plim_session *s = session(g);
    feed(s, "a", a3, 3);
    feed(s, "b", b3, 3);
    feed(s, "p", c3, 3);
    run(s);
    expect(s, "y", (float[]){16, 100, 2.25f}, 3);
    expect(s, "d0", (float[]){-8, 20, 3}, 3);
    expect(s, "at_p", (float[]){14, -2, 4}, 3);
    plim_session_free(s);
}

/* z = a b is held fixed: y = a z gives z by a, not 2 z. */
static void what_is_named_in_zs_is_held_fixed(void **state) {
    (void)state;
    plim_graph *g = new_graph();
    plim_value a = input(g, "a", 3), b = input(g, "b", 3), z = two(g, "Mul", a, b, "z");
    two(g, "Mul", a, z, "y");
    gradient(g, (struct asked){"a", "z", "y"}, (plim_value[]){a, z}, 2, 1);
    plim_session *s = session(g);
    feed(s, "a", a3, 3);
    feed(s, "b", b3, 3);
    run(s);
    expect(s, "d0", (float[]){-4, 10, 1.5f}, 3);
    plim_session_free(s);
}

/* y = a a a: 3 a², and 6 a from the gradient of the gradient, in whatever order the nodes stand. */
static void derivatives_of_second_order(void **state) {
    (void)state;
    for (int order = 0; order < 2; order++) {
        plim_graph *g = new_graph();
        plim_value a = input(g, "a", 3), square = two(g, "Mul", a, a, NULL);
        if (order) gradient(g, (struct asked){"a", "", "d1st"}, &a, 1, 1);
        two(g, "Mul", square, a, "y");
        int32_t first = plim_graph_node(g, DOMAIN "::Gradient", NULL, &a, 1, 1);
        set_names(g, first, "xs", "a");
        plim_graph_set_string(g, first, "y", "y");
        plim_graph_set_value_name(g, plim_graph_node_output(g, first, 0), "d1st");
        if (!order) gradient(g, (struct asked){"a", "", "d1st"}, &a, 1, 1);
        plim_graph_output(g, plim_graph_node_output(g, first, 0), NULL);
        plim_session *s = session(g);
        feed(s, "a", a3, 3);
        run(s);
        expect(s, "d1st", (float[]){3, 12, 27}, 3);
        expect(s, "d0", (float[]){6, 12, 18}, 3);
        plim_session_free(s);
    }
}

static void an_x_that_does_not_matter_has_zeros(void **state) {
    (void)state;
    plim_graph *g = new_graph();
    plim_value a = input(g, "a", 3), b = input(g, "b", 2);
    two(g, "Mul", a, a, "y");
    gradient(g, (struct asked){"a b", "", "y"}, (plim_value[]){a, b}, 2, 2);
    plim_session *s = session(g);
    feed(s, "a", a3, 3);
    feed(s, "b", b3, 2);
    run(s);
    expect(s, "d0", (float[]){2, 4, 6}, 3);
    expect(s, "d1", (float[]){0, 0}, 2);
    plim_session_free(s);
}

static void expect_refusal(plim_graph *g, plim_status right, const char *part) {
    plim_error error = {0};
    plim_session *s = NULL;
    plim_status status = plim_session_create(g, NULL, &s, &error);
    plim_graph_free(g);
    if (status != right || !strstr(error.message, part))
        fail_msg("%s: %s; expected '%s'", plim_status_name(status), error.message, part);
}

static void bad_requests_are_named(void **state) {
    (void)state;
    plim_graph *g = new_graph();
    plim_value a = input(g, "a", 3);
    two(g, "Mul", a, a, "y");
    gradient(g, (struct asked){"a", "", "nothing"}, &a, 1, 1);
    expect_refusal(g, PLIM_CORRUPT, "no tensor 'nothing'");
    g = new_graph();
    a = input(g, "a", 3);
    two(g, "Mul", a, a, "y");
    gradient(g, (struct asked){"a b", "", "y"}, &a, 1, 1);
    expect_refusal(g, PLIM_CORRUPT, "2 xs and 0 zs");
    g = new_graph();
    a = input(g, "a", 3);
    two(g, "Mul", a, a, "y");
    int32_t node = gradient(g, (struct asked){"a", "", "y"}, &a, 1, 1);
    plim_graph_set_ints(g, node, "zs", (int64_t[]){1, 2}, 2); /* names that are none */
    plim_session_free(session(g));
    g = new_graph();
    a = input(g, "a", 3);
    gradient(g, (struct asked){"a", "", "d0"}, &a, 1, 1); /* its own output */
    expect_refusal(g, PLIM_CORRUPT, "depend on each other");
}

static void failed_allocations_are_told(void **state) {
    (void)state;
    size_t total = 0;
    for (size_t n = 0; n <= total; n++) {
        plim_graph *g = new_graph();
        plim_error error = {0};
        plim_session *s = NULL;
        plim_value a = input(g, "a", 3), p = input(g, "p", 3), h = two(g, "Mul", a, a, "h");
        two(g, "Mul", h, a, "y");
        gradient(g, (struct asked){"a", "h", "y"}, (plim_value[]){p, h}, 2, 1);
        size_t before = plim__alloc_count();
        plim__alloc_fail_at(n);
        plim_status status = plim_session_create(g, NULL, &s, &error);
        plim__alloc_fail_at(0);
        if (n == 0) total = plim__alloc_count() - before;
        if (status != (n ? PLIM_NO_MEMORY : PLIM_OK))
            fail_msg("allocation %zu: %s, %s", n, plim_status_name(status), error.message);
        plim_session_free(s);
        plim_graph_free(g);
    }
    assert_true(total > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(y_need_not_be_an_output_nor_one_number),
        cmocka_unit_test(derivatives_can_be_taken_at_another_point),
        cmocka_unit_test(what_is_named_in_zs_is_held_fixed),
        cmocka_unit_test(derivatives_of_second_order),
        cmocka_unit_test(an_x_that_does_not_matter_has_zeros),
        cmocka_unit_test(bad_requests_are_named),
        cmocka_unit_test(failed_allocations_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
