/* fuse-conv: a convolution takes the addition of a residual and the activation that follow it along. */
#include <string.h>

#include "graph/pass.h"
#include "graph/passes/activation.h"

/* The addition of a value of the same shape, made by a node or an input; the other operand. */
static plim_value residual_of(const plim_graph *g, plim_value y, plim_value *sum) {
    const plim__node *add = plim__match_user(g, y, "Add");
    plim_value other = add ? plim__match_other(add, y) : PLIM_NO_VALUE;
    if (other < 0 || other == y || plim__graph_tensor(g, other)) return PLIM_NO_VALUE;
    if (!plim__shape_equal(&g->values.items[other].shape, &g->values.items[y].shape)) return PLIM_NO_VALUE;
    *sum = add->outputs.items[0];
    return other;
}

static plim_status fuse(plim_graph *g, int32_t n, bool *changed) {
    const plim__node *conv = &g->nodes.items[n];
    plim_value y = conv->outputs.items[0], last = y;
    if (g->values.items[y].dtype != PLIM_F32) return PLIM_OK;
    plim_value residual = residual_of(g, y, &last);
    plim__activation activation;
    bool activated = plim__activation_of(g, last, &activation);
    if (residual < 0 && !activated) return PLIM_OK;
    plim_value inputs[4] = {conv->inputs.items[0], conv->inputs.items[1], plim__node_in(conv, 2), residual};
    if (activated) last = activation.output;
    int32_t made = plim__match_build(g, (plim__made){PLIM__DOMAIN, "FusedConv", 1}, conv->name, inputs,
                                     residual >= 0 ? 4 : 3, last);
    if (made < 0 || plim__match_copy_window(g, n, made) != PLIM_OK) return g->failure.status;
    if (activated) plim__activation_set(g, made, &activation);
    *changed = true;
    return plim__match_replace(g, last, made);
}

/* Later convolutions first: of two that are added, the second takes the first one's result along. */
plim_status plim__pass_conv(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    for (size_t n = g->nodes.count; n-- > 0;) {
        if (!plim__match_op(&g->nodes.items[n], "Conv")) continue;
        bool fused = false;
        if (fuse(g, (int32_t)n, &fused) != PLIM_OK) return g->failure.status;
        *changed |= fused;
    }
    return PLIM_OK;
}
