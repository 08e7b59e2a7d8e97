/* Gradients of gathers, scatters and selections. */
#include <string.h>

#include "grad/gradient.h"

/* What several indices took comes back added up, in the order of the indices. */
plim_status plim__gradient_gather(plim__gradient *d);
plim_status plim__gradient_gather(plim__gradient *d) {
    plim__shape shape = plim__gradient_shape(d, plim__gradient_input(d, 0));
    plim_value inputs[] = {plim__gradient_of_output(d, 0), plim__gradient_input(d, 1)};
    int64_t axis = plim__node_int(plim__gradient_self(d), "axis", 0);
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "GatherGrad", inputs, 2, 1);
    plim_graph_set_ints(d->graph, node, "shape", shape.dims, (size_t)shape.rank);
    plim_graph_set_int(d->graph, node, "axis", axis);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

/* Zeros like input 0, and dy added where indices point. */
static plim_value scatter_added(plim__gradient *d, const char *op, plim_value indices, int64_t axis) {
    plim_value inputs[] = {plim__gradient_zeros(d, plim__gradient_input(d, 0)), indices,
                           plim__gradient_of_output(d, 0)};
    if (inputs[0] < 0) return PLIM_NO_VALUE;
    int32_t node = plim__gradient_begin(d, "", op, inputs, 3, 1);
    if (strcmp(op, "ScatterElements") == 0) plim_graph_set_int(d->graph, node, "axis", axis);
    plim_graph_set_string(d->graph, node, "reduction", "add");
    return plim__gradient_end(d, node);
}

plim_status plim__gradient_gather_elements(plim__gradient *d);
plim_status plim__gradient_gather_elements(plim__gradient *d) {
    return plim__gradient_set(d, 0,
                              scatter_added(d, "ScatterElements", plim__gradient_input(d, 1),
                                            plim__node_int(plim__gradient_self(d), "axis", 0)));
}

plim_status plim__gradient_gather_nd(plim__gradient *d);
plim_status plim__gradient_gather_nd(plim__gradient *d) {
    if (plim__node_int(plim__gradient_self(d), "batch_dims", 0) != 0)
        return plim__gradient_unsupported(d, "with batch_dims ");
    return plim__gradient_set(d, 0, scatter_added(d, "ScatterND", plim__gradient_input(d, 1), 0));
}

/* The values come from where the indices say. */
plim_status plim__gradient_top_k(plim__gradient *d);
plim_status plim__gradient_top_k(plim__gradient *d) {
    if (plim__gradient_of_output(d, 0) < 0) return PLIM_OK;
    if (plim__gradient_output(d, 1) < 0) return plim__gradient_unsupported(d, "without its indices ");
    return plim__gradient_set(d, 0,
                              scatter_added(d, "ScatterElements", plim__gradient_output(d, 1),
                                            plim__node_int(plim__gradient_self(d), "axis", -1)));
}

/* Updates get what arrived at their place; data keeps the rest. With "add" both share it. */
static plim_status scatter(plim__gradient *d, const char *scatter_op, const char *gather_op) {
    const char *reduction = plim__node_string(plim__gradient_self(d), "reduction", "none");
    bool adds = strcmp(reduction, "add") == 0, replaces = strcmp(reduction, "none") == 0;
    if (!adds && !replaces) return plim__gradient_unsupported(d, "with this reduction ");
    plim_value dy = plim__gradient_of_output(d, 0), indices = plim__gradient_input(d, 1),
               updates = plim__gradient_input(d, 2);
    int64_t axis = plim__node_int(plim__gradient_self(d), "axis", 0);
    bool by_element = strcmp(scatter_op, "ScatterElements") == 0;
    if (plim__gradient_wanted(d, 0) && adds) PLIM_TRY(plim__gradient_set(d, 0, dy));
    if (plim__gradient_wanted(d, 0) && replaces) {
        plim_value inputs[] = {dy, indices, plim__gradient_zeros(d, updates)};
        int32_t node = plim__gradient_begin(d, "", scatter_op, inputs, 3, 1);
        if (by_element) plim_graph_set_int(d->graph, node, "axis", axis);
        PLIM_TRY(plim__gradient_set(d, 0, plim__gradient_end(d, node)));
    }
    if (!plim__gradient_wanted(d, 2)) return PLIM_OK;
    int32_t node = plim__gradient_begin(d, "", gather_op, (plim_value[]){dy, indices}, 2, 1);
    if (by_element) plim_graph_set_int(d->graph, node, "axis", axis);
    return plim__gradient_set(d, 2, plim__gradient_end(d, node));
}

plim_status plim__gradient_scatter_elements(plim__gradient *d);
plim_status plim__gradient_scatter_elements(plim__gradient *d) {
    return scatter(d, "ScatterElements", "GatherElements");
}
plim_status plim__gradient_scatter_nd(plim__gradient *d);
plim_status plim__gradient_scatter_nd(plim__gradient *d) { return scatter(d, "ScatterND", "GatherND"); }
