/* Gradients of recurrent networks. The backward operators (src/kernel/backward/recurrent.h) read time first; what a
 * node has batch first is turned for them, and turned back. */
#include <string.h>

#include "grad/gradient.h"

#define INPUTS 13
/* X, W, R, B, h0, c0 and P among the inputs of the forward node, in the order in which their gradients come out. */
static const size_t from[] = {0, 1, 2, 3, 5, 6, 7};
#define GRADIENTS (sizeof from / sizeof *from)

/* The backward pass needs Y: it comes out even when nothing else reads it. */
static plim_value need_y(plim__gradient *d, bool batch_first, bool table) {
    plim__shape x = plim__gradient_shape(d, plim__gradient_input(d, table ? 1 : 0)),
                r = plim__gradient_shape(d, plim__gradient_input(d, 2));
    plim__shape shape = {.rank = 4, .dims = {x.dims[0], r.dims[0], x.dims[1], r.dims[2]}};
    if (batch_first) shape = (plim__shape){.rank = 4, .dims = {x.dims[0], x.dims[1], r.dims[0], r.dims[2]}};
    return plim__gradient_need_output(d, 0, PLIM_F32, &shape);
}

/* X, h0, c0, Y_h and Y_c: their first two axes exchanged. */
static plim_value turned(plim__gradient *d, plim_value x, bool batch_first) {
    return batch_first && x >= 0 ? plim__gradient_transpose(d, x, (int[]){1, 0, 2}) : x;
}
/* Y (B, T, D, H) as (T, D, B, H). */
static plim_value turned_y(plim__gradient *d, plim_value y, bool batch_first) {
    return batch_first && y >= 0 ? plim__gradient_transpose(d, y, (int[]){1, 2, 0, 3}) : y;
}

/* The gates as the activations gave them: the node becomes the operator that gives them out. */
static plim_value need_gates(plim__gradient *d, const char *training) {
    if (!training) return PLIM_NO_VALUE;
    plim_value gates = plim__gradient_need_output(d, 3, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN);
    return plim__gradient_become(d, training, 0) == PLIM_OK ? gates : PLIM_NO_VALUE;
}

/* The rows of the table, whose products the backward operator does not read. */
static void set_rows(plim__gradient *d, int32_t node) {
    const plim__node *self = plim__gradient_self(d);
    plim_graph_set_int(d->graph, node, "rows", d->graph->values.items[self->inputs.items[0]].shape.dims[0]);
}

/* training is the forward operator that keeps the gates; NULL where Y is enough. */
static plim_status recurrent(plim__gradient *d, const char *op, const char *training, bool table) {
    size_t inputs_count = training ? INPUTS : INPUTS - 1;
    bool batch_first = plim__node_int(plim__gradient_self(d), "layout", 0) == 1;
    plim_value y = need_y(d, batch_first, table);
    plim_value inputs[INPUTS] = {turned_y(d, plim__gradient_of_output(d, 0), batch_first),
                                 turned(d, plim__gradient_of_output(d, 1), batch_first),
                                 turned(d, plim__gradient_of_output(d, 2), batch_first)};
    inputs[3] = PLIM_NO_VALUE;
    for (size_t i = table ? 1 : 0; i < 8; i++)
        inputs[3 + i] = turned(d, plim__gradient_input(d, i), batch_first && (i == 0 || i == 5 || i == 6));
    inputs[INPUTS - 2] = turned_y(d, y, batch_first);
    inputs[INPUTS - 1] = need_gates(d, training);
    PLIM_TRY(plim_graph_status(d->graph, d->error));
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, op, inputs, inputs_count, 0);
    plim__gradient_copy_attributes(d, node);
    plim_graph_set_int(d->graph, node, "layout", 0);
    if (table) set_rows(d, node);
    for (size_t i = 0; i < GRADIENTS; i++) {
        bool wanted = plim__gradient_wanted(d, from[i]);
        plim_value made =
            wanted ? plim__graph_add_value(d->graph, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN)
                   : PLIM_NO_VALUE;
        plim__node_add_output(d->graph, node, made);
    }
    if (training) /* the gates become their gradients where they are */
        plim__node_add_output(
            d->graph, node,
            plim__graph_add_value(d->graph, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN));
    plim__gradient_end(d, node);
    PLIM_TRY(plim_graph_status(d->graph, d->error));
    for (size_t i = 0; i < GRADIENTS; i++) {
        if (!plim__gradient_wanted(d, from[i])) continue;
        bool turn = batch_first && (from[i] == 0 || from[i] == 5 || from[i] == 6);
        PLIM_TRY(plim__gradient_set(d, from[i], turned(d, plim_graph_node_output(d->graph, node, i), turn)));
    }
    return PLIM_OK;
}

plim_status plim__gradient_rnn(plim__gradient *d) { return recurrent(d, "RnnGrad", NULL, false); }
plim_status plim__gradient_gru(plim__gradient *d) { return recurrent(d, "GruGrad", "GruTrain", false); }
plim_status plim__gradient_lstm(plim__gradient *d) { return recurrent(d, "LstmGrad", "LstmTrain", false); }
plim_status plim__gradient_table_rnn(plim__gradient *d) { return recurrent(d, "TableRnnGrad", NULL, true); }
plim_status plim__gradient_table_gru(plim__gradient *d) { return recurrent(d, "TableGruGrad", "TableGruTrain", true); }
plim_status plim__gradient_table_lstm(plim__gradient *d) {
    return recurrent(d, "TableLstmGrad", "TableLstmTrain", true);
}
