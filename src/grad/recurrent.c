/* Gradients of recurrent networks. */
#include <string.h>

#include "grad/gradient.h"

/* The usual LSTM or GRU: sigmoid and tanh, no clip, no peepholes, whole sequences, time first. */
static bool is_usual(plim__gradient *d, size_t functions) {
    const plim__node *node = plim__gradient_self(d);
    const plim__attribute *activations = plim__node_attribute(node, "activations");
    static const char *const names[] = {"Sigmoid", "Tanh", "Tanh"};
    for (size_t i = 0; activations && i < activations->length; i++)
        if (!activations->strings || strcmp(activations->strings[i], names[i % functions]) != 0) return false;
    return !plim__node_attribute(node, "clip") && !plim__node_int(node, "input_forget", 0) &&
           !plim__node_int(node, "layout", 0) && plim__gradient_input(d, 4) < 0 && plim__gradient_input(d, 7) < 0;
}

/* Y is all that the backward pass needs: it comes out even when nobody else reads it. */
static plim_status need_y(plim__gradient *d) {
    if (plim__gradient_output(d, 0) >= 0) return PLIM_OK;
    plim__shape x = plim__gradient_shape(d, plim__gradient_input(d, 0)),
                r = plim__gradient_shape(d, plim__gradient_input(d, 2));
    plim__shape shape = {.rank = 4, .dims = {x.dims[0], r.dims[0], x.dims[1], r.dims[2]}};
    plim_value y = plim__graph_add_value(d->graph, NULL, PLIM__VALUE_NODE, PLIM_F32, &shape);
    PLIM_TRY(plim_graph_status(d->graph, d->error));
    d->graph->nodes.items[d->node].outputs.items[0] = y; /* there are outputs, or nothing would flow back */
    d->graph->values.items[y].producer = d->node;
    return PLIM_OK;
}

/* The backward node, with a gradient for each of the forward node's inputs `from` that is wanted. */
static plim_status backward(plim__gradient *d, const char *op, const plim_value *inputs, size_t input_count,
                            const size_t *from, size_t count) {
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, op, inputs, input_count, 0);
    plim__gradient_copy_attributes(d, node);
    for (size_t i = 0; i < count; i++) {
        bool wanted = plim__gradient_wanted(d, from[i]);
        plim_value made =
            wanted ? plim__graph_add_value(d->graph, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN)
                   : PLIM_NO_VALUE;
        plim__node_add_output(d->graph, node, made);
    }
    plim__gradient_end(d, node);
    PLIM_TRY(plim_graph_status(d->graph, d->error));
    for (size_t i = 0; i < count; i++)
        if (plim__gradient_wanted(d, from[i]))
            PLIM_TRY(plim__gradient_set(d, from[i], plim_graph_node_output(d->graph, node, i)));
    return PLIM_OK;
}

plim_status plim__gradient_lstm(plim__gradient *d);
plim_status plim__gradient_lstm(plim__gradient *d) {
    if (!is_usual(d, 3))
        return plim__gradient_unsupported(d, "with clip, peepholes, lengths, layout or other activations ");
    PLIM_TRY(need_y(d));
    plim_value inputs[10] = {plim__gradient_of_output(d, 0), plim__gradient_of_output(d, 1),
                             plim__gradient_of_output(d, 2)};
    static const size_t from[] = {0, 1, 2, 3, 5, 6}; /* X, W, R, B, h0, c0 */
    for (size_t i = 0; i < 6; i++) inputs[3 + i] = plim__gradient_input(d, from[i]);
    inputs[9] = plim__gradient_output(d, 0);
    return backward(d, "LstmGrad", inputs, 10, from, 6);
}

plim_status plim__gradient_gru(plim__gradient *d);
plim_status plim__gradient_gru(plim__gradient *d) {
    if (!is_usual(d, 2)) return plim__gradient_unsupported(d, "with clip, lengths, layout or other activations ");
    PLIM_TRY(need_y(d));
    plim_value inputs[8] = {plim__gradient_of_output(d, 0), plim__gradient_of_output(d, 1)};
    static const size_t from[] = {0, 1, 2, 3, 5}; /* X, W, R, B, h0 */
    for (size_t i = 0; i < 5; i++) inputs[2 + i] = plim__gradient_input(d, from[i]);
    inputs[7] = plim__gradient_output(d, 0);
    return backward(d, "GruGrad", inputs, 8, from, 5);
}
