/* identity: nodes that hand their input through unchanged. */
#include <string.h>

#include "graph/pass.h"

/* Dropout outside training; its mask output must be unused. */
static bool drops_nothing(const plim_graph *g, const plim__node *node) {
    if (strcmp(node->op_name, "Dropout") != 0 || plim__node_out(node, 1) >= 0) return false;
    plim__tensor *training = plim__graph_constant_tensor(g, plim__node_in(node, 2));
    bool off = plim__node_in(node, 2) < 0 || (training && training->data && !*(const uint8_t *)training->data);
    return node->version < 7 ? plim__node_int(node, "is_test", 0) != 0 : off;
}

plim_status plim__pass_identity(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    for (size_t n = 0; n < g->nodes.count; n++) {
        plim__node *node = &g->nodes.items[n];
        if (node->dead || *node->domain || (strcmp(node->op_name, "Identity") != 0 && !drops_nothing(g, node)))
            continue;
        plim_value in = node->inputs.items[0], out = node->outputs.items[0];
        bool output = false; /* an output must stay a value of its own when it is an input or a weight */
        for (size_t i = 0; i < g->outputs.count; i++) output |= g->outputs.items[i] == out;
        if (output && g->values.items[in].kind != PLIM__VALUE_NODE) continue;
        for (size_t i = 0; output && i < g->outputs.count; i++) output &= g->outputs.items[i] != in;
        bool both = false;
        for (size_t i = 0; i < g->outputs.count; i++) both |= g->outputs.items[i] == in;
        if (both && plim__graph_only_user(g, out) < 0) continue; /* two outputs with names of their own */
        node->dead = *changed = true;
        g->values.items[out].producer = -1;
        if (plim__graph_replace(g, out, in) != PLIM_OK) return g->failure.status;
    }
    return PLIM_OK;
}
