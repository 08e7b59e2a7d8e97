/* Biases of zeros that an exporter computes for layers that have none:
 *
 *   Conv(x, w, Expand(0, Concat(channels of w, 2)))   → Conv(x, w)
 *
 * PyTorch writes that for a convolution of three axes without a bias, with one axis more than a bias has. Zeros add
 * nothing, whatever their shape. */
#include "graph/passes/export/restore.h"
#include "graph/passes/match.h"

/* Whether the value is one number 0, spread over a shape. */
static bool is_spread_zero(const plim_graph *g, plim_value value) {
    const plim__node *spread = plim__match_producer(g, value, "Expand");
    if (!spread) return false;
    value = plim__node_in(spread, 0);
    const plim__node *cast = plim__match_producer(g, value, "CastLike");
    if (!cast) cast = plim__match_producer(g, value, "Cast");
    plim__tensor *told = plim__graph_told(g, cast ? plim__node_in(cast, 0) : value);
    return told && plim__shape_elements(&told->shape) == 1 && plim__match_load(g, told) &&
           plim__tensor_at(told, 0) == 0.0;
}

plim_status plim__export_drop_zero_biases(plim_graph *g, plim_error *error) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (!plim__match_op(node, "Conv") && !plim__match_op(node, "ConvTranspose")) continue;
        if (plim__node_in(node, 2) >= 0 && is_spread_zero(g, plim__node_in(node, 2)))
            plim__node_set_input(g, (int32_t)n, 2, PLIM_NO_VALUE);
    }
    return plim_graph_status(g, error);
}
