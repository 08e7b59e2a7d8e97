/* pool-first: relu(x) and then the largest of each window is the largest of each window of x and then relu, on a quarter
 * of the elements or fewer; in training nothing but the pool's places is saved. A batch norm takes its ReLU along for
 * nothing, and keeps it. */
#include "graph/pass.h"
#include "graph/passes/match.h"

/* The nodes stay where they are in the order, between the same values; what they are changes sides. */
static void exchange(plim__node *first, plim__node *second) {
    plim_value from = first->inputs.items[0], between = first->outputs.items[0], to = second->outputs.items[0];
    plim__node old = *first;
    *first = *second;
    *second = old;
    first->inputs.items[0] = from;
    first->outputs.items[0] = second->inputs.items[0] = between;
    second->outputs.items[0] = to;
}

plim_status plim__pass_pool_first(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    for (size_t n = 0; n < g->nodes.count; n++) {
        plim__node *relu = &g->nodes.items[n];
        if (!plim__match_op(relu, "Relu")) continue;
        plim_value x = relu->inputs.items[0], between = relu->outputs.items[0];
        plim__node *pool = plim__match_user(g, between, "MaxPool");
        if (!pool || plim__node_out(pool, 1) >= 0 || plim__match_producer(g, x, "BatchNormalization")) continue;
        exchange(relu, pool);
        g->values.items[between].shape = g->values.items[plim__node_out(pool, 0)].shape;
        *changed = true;
    }
    return PLIM_OK;
}
