/* Gradients of recurrent networks. */
#include <string.h>

#include "grad/gradient.h"

/* The usual LSTM: sigmoid and tanh, no clip, no peepholes, whole sequences, time first. */
static bool is_usual(plim__gradient *d) {
    const plim__node *node = plim__gradient_self(d);
    const plim__attribute *activations = plim__node_attribute(node, "activations");
    static const char *const names[] = {"Sigmoid", "Tanh", "Tanh"};
    for (size_t i = 0; activations && i < activations->length; i++)
        if (!activations->strings || strcmp(activations->strings[i], names[i % 3]) != 0) return false;
    return !plim__node_attribute(node, "clip") && !plim__node_int(node, "input_forget", 0) && !plim__node_int(node, "layout", 0) &&
           plim__gradient_input(d, 4) < 0 && plim__gradient_input(d, 7) < 0;
}

/* Y is all that the backward pass needs: it comes out even when nobody else reads it. */
static plim_status need_y(plim__gradient *d) {
    if (plim__gradient_output(d, 0) >= 0) return PLIM_OK;
    plim__shape x = plim__gradient_shape(d, plim__gradient_input(d, 0)), r = plim__gradient_shape(d, plim__gradient_input(d, 2));
    plim__shape shape = {.rank = 4, .dims = {x.dims[0], r.dims[0], x.dims[1], r.dims[2]}};
    plim_value y = plim__graph_add_value(d->graph, NULL, PLIM__VALUE_NODE, PLIM_F32, &shape);
    PLIM_TRY(plim_graph_status(d->graph, d->error));
    d->graph->nodes.items[d->node].outputs.items[0] = y; /* there are outputs, or nothing would flow back */
    d->graph->values.items[y].producer = d->node;
    return PLIM_OK;
}

plim_status plim__gradient_lstm(plim__gradient *d);
plim_status plim__gradient_lstm(plim__gradient *d) {
    if (!is_usual(d)) return plim__gradient_unsupported(d, "with clip, peepholes, lengths, layout or other activations ");
    PLIM_TRY(need_y(d));
    plim_value inputs[10] = {plim__gradient_of_output(d, 0), plim__gradient_of_output(d, 1), plim__gradient_of_output(d, 2)};
    static const size_t from[] = {0, 1, 2, 3, 5, 6}; /* X, W, R, B, h0, c0 */
    for (size_t i = 0; i < 6; i++) inputs[3 + i] = plim__gradient_input(d, from[i]);
    inputs[9] = plim__gradient_output(d, 0);
    const char *direction = plim__node_string(plim__gradient_self(d), "direction", "forward");
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "LstmGrad", inputs, 10, 0);
    if (node >= 0) plim_graph_set_string(d->graph, node, "direction", direction);
    for (size_t i = 0; i < 6; i++) {
        bool wanted = plim__gradient_wanted(d, from[i]);
        plim_value made = wanted ? plim__graph_add_value(d->graph, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN) : PLIM_NO_VALUE;
        plim__node_add_output(d->graph, node, made);
    }
    plim__gradient_end(d, node);
    PLIM_TRY(plim_graph_status(d->graph, d->error));
    for (size_t i = 0; i < 6; i++)
        if (plim__gradient_wanted(d, from[i])) PLIM_TRY(plim__gradient_set(d, from[i], plim_graph_node_output(d->graph, node, i)));
    return PLIM_OK;
}
