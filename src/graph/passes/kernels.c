/* Joins what PyTorch's exporters spell out of one kernel. */
#include "graph/passes/kernels.h"

#include "core/error.h"
#include "graph/passes/match.h"

/* x · sigmoid(x): one kernel that saves x alone; ONNX has it from opset 24. */
static plim_value swished(const plim_graph *g, const plim__node *product) {
    for (size_t i = 0; i < 2; i++) {
        plim_value gate = product->inputs.items[i], x = product->inputs.items[1 - i];
        const plim__node *sigmoid = plim__match_producer(g, gate, "Sigmoid");
        if (sigmoid && sigmoid->inputs.items[0] == x && plim__graph_only_user(g, gate) >= 0) return x;
    }
    return PLIM_NO_VALUE;
}

plim_status plim__join_swish(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        plim_value x = plim__match_op(node, "Mul") ? swished(g, node) : PLIM_NO_VALUE;
        if (x < 0) continue;
        plim_value old = node->outputs.items[0];
        int32_t made = plim__match_build(g, (plim__made){"", "Swish", 24}, node->name, &x, 1, old);
        if (plim__match_replace(g, old, made) != PLIM_OK) return g->failure.status;
        *changed = true;
    }
    return PLIM_OK;
}

plim_status plim__kernels_join(plim_graph *g, plim_error *error) {
    plim_status (*const parts[])(plim_graph *, bool *, plim_error *) = {plim__join_swish, plim__join_gelu,
                                                                        plim__join_attention};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool changed = false;
        plim__readers_index(g);
        plim_status status = parts[i](g, &changed, error);
        plim__readers_drop(g);
        PLIM_TRY(plim_graph_status(g, error));
        PLIM_TRY(status);
        PLIM_TRY(plim__graph_sort(g, error));
        PLIM_TRY(plim__graph_prune(g, error));
    }
    return PLIM_OK;
}
