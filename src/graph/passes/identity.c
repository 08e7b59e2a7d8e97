/* identity: nodes that hand their input through unchanged. no-dropout: Dropout becomes one of them. */
#include <string.h>

#include "graph/pass.h"

/* Dropout outside training; its mask output must be unused. */
static bool drops_nothing(const plim_graph *g, const plim__node *node) {
    if (strcmp(node->op_name, "Dropout") != 0 || plim__node_out(node, 1) >= 0) return false;
    plim__tensor *training = plim__graph_constant_tensor(g, plim__node_in(node, 2));
    bool off = plim__node_in(node, 2) < 0 || (training && training->data && !*(const uint8_t *)training->data);
    return node->version < 7 ? plim__node_int(node, "is_test", 0) != 0 : off;
}

/* Models that were exported for training, and those that were trained here, are asked for predictions too. */
plim_status plim__pass_dropout(plim_graph *g, bool *changed, plim_error *error) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        plim__node *node = &g->nodes.items[n];
        if (node->dead || *node->domain || strcmp(node->op_name, "Dropout") != 0 ||
            plim__graph_is_used(g, plim__node_out(node, 1)))
            continue;
        bool old = node->version < 7;
        if ((old ? plim__node_int(node, "is_test", 0) != 0 : plim__node_in(node, 2) < 0) && node->outputs.count == 1)
            continue;
        node->outputs.count = 1;
        if (node->inputs.count > 1) node->inputs.count = 1;
        if (old) plim_graph_set_int(g, (int32_t)n, "is_test", 1);
        *changed = true;
    }
    return plim_graph_status(g, error);
}

plim_status plim__pass_identity(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    for (size_t n = 0; n < g->nodes.count; n++) {
        plim__node *node = &g->nodes.items[n];
        if (node->dead || *node->domain || (strcmp(node->op_name, "Identity") != 0 && !drops_nothing(g, node)))
            continue;
        if (plim__node_attribute(node, PLIM__DETACHED)) continue;
        plim_value in = node->inputs.items[0], out = node->outputs.items[0];
        /* an output must stay a value of its own when it is an input or a weight */
        if (plim__graph_is_output(g, out) && g->values.items[in].kind != PLIM__VALUE_NODE) continue;
        bool both = plim__graph_is_output(g, in);
        if (both && plim__graph_only_user(g, out) < 0) continue; /* two outputs with names of their own */
        node->dead = *changed = true;
        g->values.items[out].producer = -1;
        if (plim__graph_replace(g, out, in) != PLIM_OK) return g->failure.status;
    }
    return PLIM_OK;
}
