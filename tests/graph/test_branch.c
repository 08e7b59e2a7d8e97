/* An If whose condition is known becomes its branch: when the file is read, or as soon as shapes tell. What is wrong with
 * a branch is named. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/alloc.h"
#include "format/load_case.h"
#include "graph/graph.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

/* --- models ------------------------------------------------------------------------------------------------------- */

static void add_graph(bytes *node, const char *name, bytes *graph) {
    bytes attribute = {0};
    add_text(&attribute, 1, name);
    add_message(&attribute, 6, graph);
    add_int(&attribute, 20, 5);
    add_message(node, 5, &attribute);
}

/* A branch that makes `output` from `input` by one node, through an inner value called "h". */
static bytes branch_of(const char *op, const char *input, const char *output) {
    bytes graph = {0};
    add_node(&graph, op, input, NULL, "h");
    add_node(&graph, "Identity", "h", NULL, output);
    add_text(&graph, 2, op);
    add_value(&graph, 12, output, 1, 1, (int64_t[]){3});
    return graph;
}

static void add_if(bytes *graph, const char *condition, bytes *then, bytes *otherwise, const char *output) {
    bytes node = node_of("If", condition, NULL, output);
    if (then) add_graph(&node, "then_branch", then);
    if (otherwise) add_graph(&node, "else_branch", otherwise);
    add_message(graph, 1, &node);
}

/* x float32[3] to y, where a graph may have been begun. */
static bytes model_around(bytes *graph) {
    add_value(graph, 11, "x", 1, 1, (int64_t[]){3});
    add_value(graph, 12, "y", 1, 1, (int64_t[]){3});
    return model_of(graph, 8, 17);
}

static void add_condition(bytes *graph, const char *name, bool is) {
    add_raw_tensor(graph, tensor_head(name, 9, 0, NULL), is ? "\1" : "\0", 1);
}

/* y = condition ? -x : |x| */
static bytes choice(bool condition) {
    bytes graph = {0}, then = branch_of("Neg", "x", "t"), otherwise = branch_of("Abs", "x", "t");
    add_condition(&graph, "c", condition);
    add_if(&graph, "c", &then, &otherwise, "y");
    return model_around(&graph);
}

/* --- what it is read as ------------------------------------------------------------------------------------------- */

static size_t live(const plim_graph *g, const char *op) {
    size_t count = 0;
    for (size_t n = 0; n < g->nodes.count; n++)
        count += !g->nodes.items[n].dead && strcmp(g->nodes.items[n].op_name, op) == 0;
    return count;
}

/* Runs the model on x and compares the first `count` numbers of y; frees it. */
static void must_compute(plim_graph *g, const plim_session_options *options, const float *x, const float *y,
                         size_t count) {
    plim_session *s = NULL;
    if (plim_session_create(g, options, &s, &error) != PLIM_OK) fail_msg("%s", error.message);
    memcpy(plim_session_input(s, "x"), x, count * sizeof *x);
    assert_int_equal(plim_session_run(s, &error), PLIM_OK);
    const float *got = plim_session_output(s, "y");
    for (size_t i = 0; i < count; i++) assert_true(got[i] == y[i]);
    plim_session_free(s);
    plim_graph_free(g);
}

static const float input[] = {1, -2, 3}, negative[] = {-1, 2, -3}, absolute[] = {1, 2, 3};

static void the_branch_that_an_initializer_selects_takes_the_place_of_the_node(void **state) {
    (void)state;
    for (int is = 0; is < 2; is++) {
        bytes model = choice(is);
        plim_graph *g = must_load(&model);
        assert_int_equal(live(g, "If"), 0);
        assert_int_equal(live(g, is ? "Neg" : "Abs"), 1);
        assert_int_equal(live(g, is ? "Abs" : "Neg"), 0);
        must_compute(g, NULL, input, is ? negative : absolute, 3);
    }
}

static void a_constant_node_selects_too(void **state) {
    (void)state;
    bytes graph = {0}, then = branch_of("Neg", "x", "t"), otherwise = branch_of("Abs", "x", "t"), attribute = {0},
          constant = node_of("Constant", NULL, NULL, "c"), t = tensor_head("", 9, 0, NULL);
    add_block(&t, 9, "\1", 1);
    add_text(&attribute, 1, "value");
    add_message(&attribute, 5, &t);
    add_int(&attribute, 20, 4);
    add_message(&constant, 5, &attribute);
    add_if(&graph, "c", &then, &otherwise, "y"); /* before what it needs: nodes may come in any order */
    add_message(&graph, 1, &constant);
    bytes model = model_around(&graph);
    plim_graph *g = must_load(&model);
    assert_int_equal(live(g, "If"), 0);
    must_compute(g, NULL, input, negative, 3);
}

static void names_of_a_branch_do_not_meet_those_outside(void **state) {
    (void)state;
    bytes graph = {0}, one = branch_of("Neg", "x", "t"), other = branch_of("Abs", "x", "t");
    bytes two = branch_of("Abs", "a", "t"), another = branch_of("Neg", "a", "t");
    add_condition(&graph, "c", true);
    add_node(&graph, "Abs", "x", NULL, "h"); /* each branch has an "h" and a "t" of its own */
    add_if(&graph, "c", &one, &other, "a");
    add_if(&graph, "c", &two, &another, "b");
    add_node(&graph, "Add", "b", "h", "y");
    bytes model = model_around(&graph);
    must_compute(must_load(&model), NULL, input, (float[]){2, 4, 6}, 3);
}

static void branches_in_branches_are_taken(void **state) {
    (void)state;
    bytes deep = branch_of("Neg", "x", "t"), not_taken = branch_of("Abs", "x", "t"), middle = {0}, graph = {0};
    add_if(&middle, "c", &deep, &not_taken, "m"); /* the condition and x are two scopes away */
    add_value(&middle, 12, "m", 1, 1, (int64_t[]){3});
    bytes otherwise = branch_of("Abs", "x", "t");
    add_condition(&graph, "c", true);
    add_if(&graph, "c", &middle, &otherwise, "y");
    bytes model = model_around(&graph);
    plim_graph *g = must_load(&model);
    assert_int_equal(live(g, "If"), 0);
    must_compute(g, NULL, input, negative, 3);
}

static void a_branch_may_hand_on_what_it_captures(void **state) {
    (void)state;
    bytes graph = {0}, then = {0}, otherwise = branch_of("Abs", "x", "t");
    add_value(&then, 12, "x", 1, 1, (int64_t[]){3});
    add_condition(&graph, "c", true);
    add_if(&graph, "c", &then, &otherwise, "y");
    bytes model = model_around(&graph);
    must_compute(must_load(&model), NULL, input, input, 3);
}

static void weights_of_a_branch_are_weights_of_the_model(void **state) {
    (void)state;
    bytes graph = {0}, then = {0}, otherwise = branch_of("Abs", "x", "t");
    add_node(&then, "Mul", "x", "w", "t");
    add_raw_tensor(&then, tensor_head("w", 1, 1, (int64_t[]){3}), (float[]){2, 2, 2}, 12);
    add_value(&then, 12, "t", 1, 1, (int64_t[]){3});
    add_condition(&graph, "c", true);
    add_if(&graph, "c", &then, &otherwise, "y");
    bytes model = model_around(&graph);
    plim_graph *g = must_load(&model);
    assert_int_equal(g->values.items[plim_graph_find(g, "w")].kind, PLIM__VALUE_PARAMETER);
    must_compute(g, NULL, input, (float[]){2, -4, 6}, 3);
}

/* --- conditions that shapes tell ---------------------------------------------------------------------------------- */

/* y = (N == 1) ? -x : |x| for x float32[N] */
static bytes choice_by_size(void) {
    bytes graph = {0}, then = branch_of("Neg", "x", "t"), otherwise = branch_of("Abs", "x", "t");
    add_node(&graph, "Shape", "x", NULL, "s");
    add_node(&graph, "Equal", "s", "one", "c");
    add_if(&graph, "c", &then, &otherwise, "u");
    add_node(&graph, "Identity", "u", NULL, "y");
    add_raw_tensor(&graph, tensor_head("one", 7, 1, (int64_t[]){1}), (int64_t[]){1}, 8);
    add_value(&graph, 11, "x", 1, 1, (int64_t[]){-1});
    add_value(&graph, 12, "y", 1, 1, (int64_t[]){-1});
    return model_of(&graph, 8, 17);
}

static void a_condition_that_follows_from_shapes_selects(void **state) {
    (void)state;
    for (int64_t batch = 1; batch <= 3; batch += 2) {
        bytes model = choice_by_size();
        plim_graph *g = must_load(&model);
        assert_int_equal(live(g, "If"), 1);
        must_compute(g, &(plim_session_options){.batch = batch}, input, batch == 1 ? negative : absolute,
                     (size_t)batch);
    }
}

/* y = c ? -x : |x| with c an input */
static bytes choice_by_data(void) {
    bytes graph = {0}, then = branch_of("Neg", "x", "t"), otherwise = branch_of("Abs", "x", "t");
    add_if(&graph, "c", &then, &otherwise, "y");
    add_value(&graph, 11, "c", 9, 0, NULL);
    return model_around(&graph);
}

static void a_condition_that_depends_on_data_is_refused_by_name(void **state) {
    (void)state;
    bytes model = choice_by_data();
    plim_graph *g = must_load(&model);
    plim_session *s = NULL;
    assert_int_equal(plim_session_create(g, NULL, &s, &error), PLIM_UNSUPPORTED);
    assert_non_null(strstr(error.message, "unsupported: operator If whose condition depends on data"));
    plim_graph_free(g);
}

static void a_node_that_is_left_is_written_as_it_was_read(void **state) {
    (void)state;
    bytes model = choice_by_data();
    plim_graph *g = must_load(&model), *again;
    char path[] = "/tmp/plimsoll_branch_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    if (plim_graph_save(g, path, &error) != PLIM_OK) fail_msg("%s", error.message);
    if (plim_graph_load(path, &again, &error) != PLIM_OK) fail_msg("%s", error.message);
    unlink(path);
    const plim__node *node = &again->nodes.items[0];
    assert_string_equal(node->op_name, "If");
    assert_int_equal(plim__node_captured(node), 2); /* x, by either branch */
    assert_int_equal(node->inputs.count, 3);
    uint64_t before = 0, after = 1;
    assert_int_equal(plim__graph_fingerprint(g, &before, &error), PLIM_OK);
    assert_int_equal(plim__graph_fingerprint(again, &after, &error), PLIM_OK);
    assert_true(before == after);
    plim_graph_free(g);
    plim_graph_free(again);
}

/* --- bad input ---------------------------------------------------------------------------------------------------- */

static void a_branch_without_the_output_is_refused(void **state) {
    (void)state;
    bytes graph = {0}, none = {0}, otherwise = branch_of("Abs", "x", "t");
    add_node(&none, "Neg", "x", NULL, "t");
    add_condition(&graph, "c", true);
    add_if(&graph, "c", &none, &otherwise, "y");
    bytes model = model_around(&graph);
    must_refuse(&model, PLIM_CORRUPT, "node 'y' (If)", "then_branch makes 0 outputs, not 1");

    bytes then = branch_of("Neg", "x", "t");
    add_condition(&graph, "c", false);
    add_if(&graph, "c", &then, NULL, "y");
    model = model_around(&graph);
    must_refuse(&model, PLIM_CORRUPT, "node 'y' (If)", "no else_branch");
}

static void a_branch_that_takes_inputs_is_refused(void **state) {
    (void)state;
    bytes graph = {0}, then = branch_of("Neg", "i", "t"), otherwise = branch_of("Abs", "x", "t");
    add_value(&then, 11, "i", 1, 1, (int64_t[]){3});
    add_condition(&graph, "c", true);
    add_if(&graph, "c", &then, &otherwise, "y");
    bytes model = model_around(&graph);
    must_refuse(&model, PLIM_CORRUPT, "node 'y' (If)", "then_branch takes 1 inputs");
}

static void a_name_that_is_nowhere_is_refused(void **state) {
    (void)state;
    for (int nested = 0; nested < 2; nested++) {
        bytes graph = {0}, then = branch_of("Neg", "nowhere", "t"), otherwise = branch_of("Abs", "x", "t");
        if (nested) {
            bytes middle = {0}, another = branch_of("Abs", "x", "t");
            add_if(&middle, "c", &then, &another, "m");
            add_value(&middle, 12, "m", 1, 1, (int64_t[]){3});
            then = middle;
        }
        add_condition(&graph, "c", false); /* even in a branch that is not taken */
        add_if(&graph, "c", &then, &otherwise, "y");
        bytes model = model_around(&graph);
        must_refuse(&model, PLIM_CORRUPT, "node 'y' (If)", "'nowhere', which nothing produces");
    }
}

static void a_cycle_through_a_branch_is_refused(void **state) {
    (void)state;
    bytes graph = {0}, then = branch_of("Neg", "y", "t"), otherwise = branch_of("Abs", "x", "t");
    add_condition(&graph, "c", true);
    add_if(&graph, "c", &then, &otherwise, "y");
    bytes model = model_around(&graph);
    must_refuse(&model, PLIM_CORRUPT, "cycle", "");
}

static void a_condition_that_is_not_one_bool_is_refused(void **state) {
    (void)state;
    bytes graph = {0}, then = branch_of("Neg", "x", "t"), otherwise = branch_of("Abs", "x", "t");
    add_raw_tensor(&graph, tensor_head("c", 9, 1, (int64_t[]){2}), "\1\1", 2);
    add_if(&graph, "c", &then, &otherwise, "y");
    bytes model = model_around(&graph);
    must_refuse(&model, PLIM_DTYPE, "node 'y' (If)", "bool with 2 elements, not one bool");

    then = branch_of("Neg", "x", "t"), otherwise = branch_of("Abs", "x", "t");
    add_raw_tensor(&graph, tensor_head("c", 7, 0, NULL), (int64_t[]){1}, 8);
    add_if(&graph, "c", &then, &otherwise, "y");
    model = model_around(&graph);
    must_refuse(&model, PLIM_DTYPE, "node 'y' (If)", "int64 with 1 elements, not one bool");
}

/* `depth` branches inside one another, each the then_branch of the one around it. */
static bytes nested_model(int depth) {
    bytes inner = branch_of("Neg", "x", "t"), graph = {0};
    for (int i = 1; i < depth; i++) {
        bytes around = {0}, otherwise = branch_of("Abs", "x", "t");
        add_if(&around, "c", &inner, &otherwise, "t");
        add_value(&around, 12, "t", 1, 1, (int64_t[]){3});
        inner = around;
    }
    bytes otherwise = branch_of("Abs", "x", "t");
    add_condition(&graph, "c", true);
    add_if(&graph, "c", &inner, &otherwise, "y");
    return model_around(&graph);
}

static void branches_may_nest_but_not_without_end(void **state) {
    (void)state;
    bytes deep = nested_model(16), deeper = nested_model(17);
    must_compute(must_load(&deep), NULL, input, negative, 3);
    must_refuse(&deeper, PLIM_UNSUPPORTED, "(If)", "nest deeper than 16");
}

static void what_is_not_understood_in_a_branch_matters_only_when_it_is_taken(void **state) {
    (void)state;
    for (int taken = 0; taken < 2; taken++) {
        bytes graph = {0}, then = {0}, otherwise = branch_of("Abs", "x", "t"), words = tensor_head("w", 8, 0, NULL);
        add_text(&words, 6, "text");
        add_message(&then, 5, &words);
        add_node(&then, "StringNormalizer", "w", NULL, "t");
        add_value(&then, 12, "t", 1, 1, (int64_t[]){3});
        add_condition(&graph, "c", taken);
        add_if(&graph, "c", &then, &otherwise, "y");
        bytes model = model_around(&graph);
        if (taken)
            must_refuse(&model, PLIM_UNSUPPORTED, "node 'y' (If): then_branch", "StringNormalizer");
        else
            must_compute(must_load(&model), NULL, input, absolute, 3);
    }
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    bytes models[] = {nested_model(3), choice_by_size()};
    for (int m = 0; m < 2; m++) {
        plim_status status = PLIM_NO_MEMORY;
        for (size_t n = 1; status != PLIM_OK; n++) {
            assert_true(n < 20000);
            plim_graph *g;
            plim_session *s = NULL;
            plim__alloc_fail_at(n);
            status = plim_graph_load_memory(models[m].data, models[m].size, &g, &error);
            if (status == PLIM_OK)
                status = plim_session_create(g, &(plim_session_options){.batch = 3, .plan_only = true}, &s, &error);
            plim__alloc_fail_at(0);
            if (status != PLIM_OK && status != PLIM_NO_MEMORY) fail_msg("allocation %zu: %s", n, error.message);
            plim_session_free(s);
            plim_graph_free(g);
        }
        free(models[m].data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_branch_that_an_initializer_selects_takes_the_place_of_the_node),
        cmocka_unit_test(a_constant_node_selects_too),
        cmocka_unit_test(names_of_a_branch_do_not_meet_those_outside),
        cmocka_unit_test(branches_in_branches_are_taken),
        cmocka_unit_test(a_branch_may_hand_on_what_it_captures),
        cmocka_unit_test(weights_of_a_branch_are_weights_of_the_model),
        cmocka_unit_test(a_condition_that_follows_from_shapes_selects),
        cmocka_unit_test(a_condition_that_depends_on_data_is_refused_by_name),
        cmocka_unit_test(a_node_that_is_left_is_written_as_it_was_read),
        cmocka_unit_test(a_branch_without_the_output_is_refused),
        cmocka_unit_test(a_branch_that_takes_inputs_is_refused),
        cmocka_unit_test(a_name_that_is_nowhere_is_refused),
        cmocka_unit_test(a_cycle_through_a_branch_is_refused),
        cmocka_unit_test(a_condition_that_is_not_one_bool_is_refused),
        cmocka_unit_test(branches_may_nest_but_not_without_end),
        cmocka_unit_test(what_is_not_understood_in_a_branch_matters_only_when_it_is_taken),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
