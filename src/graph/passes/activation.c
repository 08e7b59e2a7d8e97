/* Recognising activations. */
#include "graph/passes/activation.h"

#include <math.h>

#include "ops/activation.h"

static bool clip_bounds(const plim_graph *g, const plim__node *node, plim__activation *a) {
    double low = -INFINITY, high = INFINITY;
    if (plim__node_in(node, 1) >= 0 && !plim__match_scalar(g, plim__node_in(node, 1), &low)) return false;
    if (plim__node_in(node, 2) >= 0 && !plim__match_scalar(g, plim__node_in(node, 2), &high)) return false;
    if (plim__node_attribute(node, "min")) low = (double)plim__node_float(node, "min", 0);
    if (plim__node_attribute(node, "max")) high = (double)plim__node_float(node, "max", 0);
    a->name = plim__functions[PLIM__FUNCTION_Clip].fused;
    a->alpha = (float)low;
    a->beta = (float)high;
    return isfinite(low) && isfinite(high) && low <= high; /* crossed bounds: oneDNN has none */
}

/* x · sigmoid(x): two users of x, the sigmoid and the product. */
static bool swish(const plim_graph *g, plim_value value, plim__activation *a) {
    int32_t readers[3];
    if (plim__graph_is_output(g, value) || plim__graph_readers(g, value, readers, 3) != 2) return false;
    for (int i = 0; i < 2; i++) {
        const plim__node *sigmoid = &g->nodes.items[readers[i]];
        if (!plim__match_op(sigmoid, "Sigmoid")) continue;
        const plim__node *product = plim__match_user(g, sigmoid->outputs.items[0], "Mul");
        if (!product || plim__match_other(product, sigmoid->outputs.items[0]) != value) return false;
        *a = (plim__activation){
            .name = plim__functions[PLIM__FUNCTION_Swish].fused, .alpha = 1, .output = product->outputs.items[0]};
        return true;
    }
    return false;
}

bool plim__activation_of(const plim_graph *g, plim_value value, plim__activation *a) {
    int32_t user = plim__graph_only_user(g, value);
    *a = (plim__activation){0};
    if (user < 0) return swish(g, value, a);
    const plim__node *node = &g->nodes.items[user];
    if (node->dead || *node->domain || node->inputs.items[0] != value) return false;
    a->output = node->outputs.items[0];
    /* Tanh and the tanh form of GELU are not in the list: our own loops are three times as fast as oneDNN's epilogue */
    plim__function f = plim__function_of(node);
    if (f == PLIM__FUNCTION_COUNT) return false;
    if (f == PLIM__FUNCTION_Clip) return clip_bounds(g, node, a);
    plim__function_attributes(f, node, &a->alpha, &a->beta);
    a->name = plim__functions[plim__function_fused_as(f, &a->alpha)].fused;
    return a->name != NULL;
}

void plim__activation_set(plim_graph *g, int32_t node, const plim__activation *a) {
    plim_graph_set_string(g, node, "activation", a->name);
    plim_graph_set_float(g, node, "activation_alpha", a->alpha);
    plim_graph_set_float(g, node, "activation_beta", a->beta);
}
