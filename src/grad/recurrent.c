/* Gradients of recurrent networks. The backward operators (src/kernel/backward/recurrent.h) read time first; what a
 * node has batch first is turned for them, and turned back. */
#include <string.h>

#include "grad/gradient.h"

#define INPUTS 12
/* X, W, R, B, h0, c0 and P among the inputs of the forward node, in the order in which their gradients come out. */
static const size_t from[] = {0, 1, 2, 3, 5, 6, 7};
#define GRADIENTS (sizeof from / sizeof *from)

/* Y is all that the backward pass needs: it comes out even when nothing else reads it. */
static plim_value need_y(plim__gradient *d, bool batch_first) {
    plim__shape x = plim__gradient_shape(d, plim__gradient_input(d, 0)),
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

static plim_status recurrent(plim__gradient *d, const char *op) {
    bool batch_first = plim__node_int(plim__gradient_self(d), "layout", 0) == 1;
    plim_value y = need_y(d, batch_first);
    plim_value inputs[INPUTS] = {turned_y(d, plim__gradient_of_output(d, 0), batch_first),
                                 turned(d, plim__gradient_of_output(d, 1), batch_first),
                                 turned(d, plim__gradient_of_output(d, 2), batch_first)};
    for (size_t i = 0; i < 8; i++)
        inputs[3 + i] = turned(d, plim__gradient_input(d, i), batch_first && (i == 0 || i == 5 || i == 6));
    inputs[INPUTS - 1] = turned_y(d, y, batch_first);
    PLIM_TRY(plim_graph_status(d->graph, d->error));
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, op, inputs, INPUTS, 0);
    plim__gradient_copy_attributes(d, node);
    plim_graph_set_int(d->graph, node, "layout", 0);
    for (size_t i = 0; i < GRADIENTS; i++) {
        bool wanted = plim__gradient_wanted(d, from[i]);
        plim_value made =
            wanted ? plim__graph_add_value(d->graph, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN)
                   : PLIM_NO_VALUE;
        plim__node_add_output(d->graph, node, made);
    }
    plim__gradient_end(d, node);
    PLIM_TRY(plim_graph_status(d->graph, d->error));
    for (size_t i = 0; i < GRADIENTS; i++) {
        if (!plim__gradient_wanted(d, from[i])) continue;
        bool turn = batch_first && (from[i] == 0 || from[i] == 5 || from[i] == 6);
        PLIM_TRY(plim__gradient_set(d, from[i], turned(d, plim_graph_node_output(d->graph, node, i), turn)));
    }
    return PLIM_OK;
}

plim_status plim__gradient_rnn(plim__gradient *d) { return recurrent(d, "RnnGrad"); }
plim_status plim__gradient_gru(plim__gradient *d) { return recurrent(d, "GruGrad"); }
plim_status plim__gradient_lstm(plim__gradient *d) { return recurrent(d, "LstmGrad"); }
