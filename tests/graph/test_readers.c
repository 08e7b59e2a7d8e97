/* An index of readers answers what a walk over all nodes does, whatever happens to the graph meanwhile. */
#include <stdlib.h>

#include "graph/graph.h"

#include "plim_test.h"

static unsigned chance = 1;
static size_t draw(size_t below) {
    chance = chance * 1103515245u + 12345u;
    return (chance >> 8) % below;
}

static int by_number(const void *a, const void *b) { return *(const int32_t *)a - *(const int32_t *)b; }

static void same_answers(plim_graph *g) {
    plim__readers *index = g->readers;
    int32_t with[64], without[64];
    assert_non_null(index);
    for (plim_value v = -1; v < (plim_value)g->values.count; v++) {
        size_t count = plim__graph_readers(g, v, with, 64);
        int32_t only = plim__graph_only_user(g, v);
        bool used = plim__graph_is_used(g, v);
        g->readers = NULL;
        assert_int_equal(plim__graph_readers(g, v, without, 64), count);
        assert_int_equal(plim__graph_only_user(g, v), only);
        assert_int_equal(plim__graph_is_used(g, v), used);
        g->readers = index;
        qsort(with, count, sizeof *with, by_number);
        qsort(without, count, sizeof *without, by_number);
        assert_memory_equal(with, without, count * sizeof *with);
    }
}

static plim_value some_value(const plim_graph *g) { return (plim_value)draw(g->values.count); }

static void change(plim_graph *g) {
    int32_t node = (int32_t)draw(g->nodes.count);
    plim__node *n = &g->nodes.items[node];
    plim_value pair[2] = {some_value(g), some_value(g)};
    switch (draw(5)) {
    case 0: plim_graph_apply(g, "Add", pair, 2); break;
    case 1: plim__graph_reread(g, pair[0], pair[1]); break;
    case 2:
        if (n->inputs.count) plim__node_set_input(g, node, draw(n->inputs.count), pair[0]);
        break;
    case 3: n->dead |= draw(4) == 0; break;
    default:
        if (n->inputs.count > 1) n->inputs.count--;
        break;
    }
}

static void an_index_answers_what_a_walk_does(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        plim_graph *g = plim_graph_create();
        int64_t dims[] = {2};
        plim_value x = plim_graph_input(g, "x", PLIM_F32, 1, dims), y = x;
        for (int i = 0; i < 12; i++) y = plim_graph_apply(g, i % 2 ? "Relu" : "Tanh", (plim_value[]){i % 3 ? y : x}, 1);
        plim_graph_output(g, y, "y");
        plim__readers_index(g);
        for (int i = 0; i < 40; i++) {
            change(g);
            same_answers(g);
        }
        plim_graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_index_answers_what_a_walk_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
