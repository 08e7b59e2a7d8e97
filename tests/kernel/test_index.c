/* Gathers, scatters and selections pick the right elements, and refuse indices that do not exist. */
#include "core/alloc.h"
#include "run_op.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static plim_value with_axis(plim_graph *g, const char *op, const plim_value *in, size_t count, int64_t axis) {
    int32_t node = plim_graph_node(g, op, "picker", in, count, 1);
    plim_graph_set_int(g, node, "axis", axis);
    return plim_graph_node_output(g, node, 0);
}

static void gathers_take_rows_elements_and_tuples(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){3, 4});
    plim_value rows = plim_graph_input(g, "rows", PLIM_I32, 2, (int64_t[]){2, 2});
    plim_value places = plim_graph_input(g, "places", PLIM_I64, 2, (int64_t[]){2, 4});
    plim_value tuples = plim_graph_input(g, "tuples", PLIM_I64, 2, (int64_t[]){3, 2});
    plim_graph_output(g, with_axis(g, "Gather", (plim_value[]){x, rows}, 2, 0), "rows_y");
    plim_graph_output(g, with_axis(g, "Gather", (plim_value[]){x, rows}, 2, 1), "columns_y");
    plim_graph_output(g, with_axis(g, "GatherElements", (plim_value[]){x, places}, 2, 0), "elements_y");
    plim_graph_output(g, plim_graph_apply(g, "GatherND", (plim_value[]){x, tuples}, 2), "tuples_y");
    plim_session *s = session_of(g);
    float data[12];
    for (int i = 0; i < 12; i++) data[i] = (float)i;
    feed(s, "x", data, sizeof data);
    feed(s, "rows", (int32_t[]){2, 0, -1, -3}, 16);
    feed(s, "places", (int64_t[]){0, 1, 2, -1, 2, 2, 0, 0}, 64);
    feed(s, "tuples", (int64_t[]){0, 0, 2, 3, -1, -2}, 48);
    run(s);
    expect_floats(s, "rows_y", (float[]){8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11, 0, 1, 2, 3}, 16, 0);
    expect_floats(s, "columns_y", (float[]){2, 0, 3, 1, 6, 4, 7, 5, 10, 8, 11, 9}, 12, 0);
    expect_floats(s, "elements_y", (float[]){0, 5, 10, 11, 8, 9, 2, 3}, 8, 0);
    expect_floats(s, "tuples_y", (float[]){0, 11, 10}, 3, 0);
    plim_session_free(s);
}

static void a_known_single_index_is_a_view(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){2, 3, 4});
    int64_t second = -2;
    plim_value index = plim_graph_constant(g, NULL, PLIM_I64, 0, NULL, &second);
    plim_value row = with_axis(g, "Gather", (plim_value[]){x, index}, 2, 1);
    plim_graph_output(g, plim_graph_apply(g, "Neg", &row, 1), "y");
    plim_session *s = session_of(g);
    assert_int_equal(plim_session_step_count(s), 1);
    float data[24], right[8];
    for (int i = 0; i < 24; i++) data[i] = (float)i;
    for (int i = 0; i < 8; i++) right[i] = -data[i / 4 * 12 + 4 + i % 4];
    feed(s, "x", data, sizeof data);
    run(s);
    expect_floats(s, "y", right, 8, 0);
    plim_session_free(s);
}

static void indices_out_of_range_are_named(void **state) {
    (void)state;
    static const struct {
        const char *op;
        int rank;
        int64_t dims[2];
    } cases[] = {{"Gather", 1, {2}},
                 {"GatherElements", 2, {1, 2}},
                 {"GatherND", 2, {2, 1}},
                 {"ScatterElements", 2, {1, 2}},
                 {"ScatterND", 2, {2, 1}}};
    static const int64_t bad[] = {5, -6, INT64_MAX, INT64_MIN};
    for (size_t c = 0; c < COUNT(cases); c++)
        for (size_t b = 0; b < COUNT(bad); b++) {
            plim_graph *g = plim_graph_create();
            bool scatter = cases[c].op[0] == 'S', nd = strstr(cases[c].op, "ND");
            plim_value in[] = {plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){5, 3}),
                               plim_graph_input(g, "i", PLIM_I64, cases[c].rank, cases[c].dims),
                               scatter ? plim_graph_input(g, "u", PLIM_F32, 2, nd ? (int64_t[]){2, 3} : cases[c].dims)
                                       : PLIM_NO_VALUE};
            int32_t node = plim_graph_node(g, cases[c].op, "picker", in, scatter ? 3 : 2, 1);
            plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
            plim_session *s = session_of(g);
            memset(plim_session_input(s, "x"), 0, 15 * sizeof(float));
            feed(s, "i", (int64_t[]){1, bad[b]}, 16);
            plim_error error = {0};
            assert_int_equal(plim_session_run(s, &error), PLIM_INVALID);
            char index[32];
            snprintf(index, sizeof index, "%lld", (long long)bad[b]);
            assert_non_null(strstr(error.message, "picker"));
            assert_non_null(strstr(error.message, index));
            plim_session_free(s);
        }
}

static void scatters_apply_updates_in_order_with_every_reduction(void **state) {
    (void)state;
    static const struct {
        const char *reduction;
        float right[4];
    } cases[] = {{"none", {1, 30, 3, 20}},
                 {"add", {1, 42, 3, 24}},
                 {"mul", {1, 600, 3, 80}},
                 {"max", {1, 30, 3, 20}},
                 {"min", {1, 2, 3, 4}}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        plim_graph *g = plim_graph_create();
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 1, (int64_t[]){4}),
                   u = plim_graph_input(g, "u", PLIM_F32, 1, (int64_t[]){3});
        plim_value i = plim_graph_input(g, "i", PLIM_I64, 1, (int64_t[]){3}),
                   t = plim_graph_input(g, "t", PLIM_I64, 2, (int64_t[]){3, 1});
        int32_t nodes[] = {plim_graph_node(g, "ScatterElements", NULL, (plim_value[]){x, i, u}, 3, 1),
                           plim_graph_node(g, "ScatterND", NULL, (plim_value[]){x, t, u}, 3, 1)};
        for (int k = 0; k < 2; k++) {
            plim_graph_set_string(g, nodes[k], "reduction", cases[c].reduction);
            plim_graph_output(g, plim_graph_node_output(g, nodes[k], 0), k ? "nd" : "elements");
        }
        plim_session *s = session_of(g);
        feed(s, "x", (float[]){1, 2, 3, 4}, 16);
        feed(s, "u", (float[]){10, 20, 30}, 12);
        feed(s, "i", (int64_t[]){1, 3, -3}, 24);
        feed(s, "t", (int64_t[]){1, 3, -3}, 24);
        run(s);
        expect_floats(s, "elements", cases[c].right, 4, 0);
        expect_floats(s, "nd", cases[c].right, 4, 0);
        plim_session_free(s);
    }
}

static void top_k_sorts_and_keeps_the_first_of_equals(void **state) {
    (void)state;
    for (int round = 0; round < 60; round++) {
        int64_t rows = 1 + random_below(4), length = 1 + random_below(40), inner = 1 + random_below(3),
                k = 1 + random_below(length);
        int64_t largest = random_below(2), count = rows * length * inner;
        plim_graph *g = plim_graph_create();
        plim_value x = plim_graph_input(g, "x", PLIM_I64, 3, (int64_t[]){rows, length, inner});
        int32_t node = plim_graph_node(g, "TopK", NULL, (plim_value[]){x, constant_ints(g, 1, &k)}, 2, 2);
        plim_graph_set_int(g, node, "axis", 1);
        plim_graph_set_int(g, node, "largest", largest);
        plim_graph_output(g, plim_graph_node_output(g, node, 0), "values");
        plim_graph_output(g, plim_graph_node_output(g, node, 1), "indices");
        plim_session *s = session_of(g);
        int64_t *data = malloc((size_t)count * sizeof *data);
        for (int64_t i = 0; i < count; i++)
            data[i] = INT64_MAX / 2 + random_below(8) - 4; /* more than a double can tell apart */
        feed(s, "x", data, (size_t)count * sizeof *data);
        run(s);
        const int64_t *values = plim_session_output(s, "values"), *indices = plim_session_output(s, "indices");
        for (int64_t line = 0; line < rows * inner; line++) {
            int64_t from = line / inner * length * inner + line % inner, to = line / inner * k * inner + line % inner;
            for (int64_t i = 0; i < length; i++) { /* the rank of an element is how many come before it */
                int64_t rank = 0, value = data[from + i * inner];
                for (int64_t j = 0; j < length; j++) {
                    int64_t other = data[from + j * inner];
                    rank += other == value ? j < i : largest ? other > value : other < value;
                }
                if (rank >= k) continue;
                assert_int_equal(values[to + rank * inner], value);
                assert_int_equal(indices[to + rank * inner], i);
            }
        }
        free(data);
        plim_session_free(s);
    }
}

static void one_hot_trilu_and_reversed_sequences(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){3, 3}),
               k = plim_graph_input(g, "k", PLIM_I64, 0, NULL);
    int32_t lower = plim_graph_node(g, "Trilu", NULL, (plim_value[]){x, k}, 2, 1);
    plim_graph_set_int(g, lower, "upper", 0);
    plim_graph_output(g, plim_graph_node_output(g, lower, 0), "lower");
    plim_value lengths = plim_graph_input(g, "lengths", PLIM_I64, 1, (int64_t[]){3});
    plim_graph_output(g, plim_graph_apply(g, "ReverseSequence", (plim_value[]){x, lengths}, 2), "reversed");
    plim_value hot = plim_graph_input(g, "hot", PLIM_I64, 1, (int64_t[]){3});
    float values[] = {-1, 1};
    plim_value pair = plim_graph_constant(g, NULL, PLIM_F32, 1, (int64_t[]){2}, values);
    plim_graph_output(
        g, plim_graph_apply(g, "OneHot", (plim_value[]){hot, constant_ints(g, 1, (int64_t[]){2}), pair}, 3), "one_hot");
    plim_session *s = session_of(g);
    feed(s, "x", (float[]){1, 2, 3, 4, 5, 6, 7, 8, 9}, 36);
    feed(s, "k", (int64_t[]){-1}, 8);
    feed(s, "lengths", (int64_t[]){3, 1, 2}, 24);
    feed(s, "hot", (int64_t[]){1, -2, 2}, 24);
    run(s);
    expect_floats(s, "lower", (float[]){0, 0, 0, 4, 0, 0, 7, 8, 0}, 9, 0);
    expect_floats(s, "reversed", (float[]){7, 2, 6, 4, 5, 3, 1, 8, 9}, 9, 0);
    expect_floats(s, "one_hot", (float[]){-1, 1, 1, -1, -1, -1}, 6, 0);
    plim_session_free(s);
}

/* A graph with one of most kinds, to see what happens when memory runs out anywhere. */
static plim_graph *mixed_graph(void) {
    plim_graph *g = plim_graph_create();
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 3, (int64_t[]){2, 4, 6});
    int32_t split = plim_graph_node(g, "Split", NULL, (plim_value[]){x, constant_ints(g, 2, (int64_t[]){2, 4})}, 2, 2);
    plim_graph_set_int(g, split, "axis", 2);
    plim_value parts[] = {plim_graph_node_output(g, split, 0), plim_graph_node_output(g, split, 1)};
    plim_value tiled =
        plim_graph_apply(g, "Tile", (plim_value[]){parts[0], constant_ints(g, 3, (int64_t[]){1, 1, 2})}, 2);
    plim_value joined = with_axis(g, "Concat", (plim_value[]){tiled, parts[1]}, 2, 2);
    plim_value padded =
        plim_graph_apply(g, "Pad", (plim_value[]){joined, constant_ints(g, 6, (int64_t[]){0, 1, 1, 0, 0, 1})}, 2);
    plim_value sizes = constant_ints(g, 3, (int64_t[]){2, 7, 5}), none = PLIM_NO_VALUE;
    int32_t resize = plim_graph_node(g, "Resize", NULL, (plim_value[]){padded, none, none, sizes}, 4, 1);
    plim_graph_set_string(g, resize, "mode", "cubic");
    plim_value resized = plim_graph_node_output(g, resize, 0);
    int32_t einsum = plim_graph_node(g, "Einsum", NULL, (plim_value[]){resized, resized}, 2, 1);
    plim_graph_set_string(g, einsum, "equation", "bij,bik->kj");
    int32_t top = plim_graph_node(
        g, "TopK", NULL, (plim_value[]){plim_graph_node_output(g, einsum, 0), constant_ints(g, 1, (int64_t[]){2})}, 2,
        2);
    plim_graph_output(g, plim_graph_node_output(g, top, 0), "y");
    return g;
}

static void running_out_of_memory_anywhere_is_a_status(void **state) {
    (void)state;
    bool done = false;
    for (size_t n = 1; !done; n += 1 + n / 20) {
        plim_graph *g = mixed_graph();
        plim_error error = {0};
        plim_session *s = NULL;
        size_t before = plim__alloc_count();
        plim__alloc_fail_at(n);
        plim_status status = plim_session_create(g, NULL, &s, &error);
        plim__alloc_fail_at(0);
        done = plim__alloc_count() - before < n;
        if (!done)
            assert_int_equal(status, PLIM_NO_MEMORY);
        else
            assert_int_equal(status, PLIM_OK);
        plim_session_free(s);
        plim_graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers_take_rows_elements_and_tuples),
        cmocka_unit_test(a_known_single_index_is_a_view),
        cmocka_unit_test(indices_out_of_range_are_named),
        cmocka_unit_test(scatters_apply_updates_in_order_with_every_reduction),
        cmocka_unit_test(top_k_sorts_and_keeps_the_first_of_equals),
        cmocka_unit_test(one_hot_trilu_and_reversed_sequences),
        cmocka_unit_test(running_out_of_memory_anywhere_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
