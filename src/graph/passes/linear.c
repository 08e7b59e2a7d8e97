/* fuse-linear: a product with a weight matrix takes the bias, a residual and the activation that follow it
 * along:  y = activation(x·w + bias + residual). */
#include <string.h>

#include "graph/pass.h"
#include "graph/passes/activation.h"

static bool is_bias(const plim_graph *g, plim_value v, int64_t width) {
    const plim__value *value = &g->values.items[v];
    return value->shape.rank == 1 && value->shape.dims[0] == width && plim__graph_tensor(g, v);
}

/* x·w, where w is one matrix. */
static bool is_linear(const plim_graph *g, const plim__node *node) {
    if (!plim__match_op(node, "MatMul")) return false;
    const plim__value *x = &g->values.items[node->inputs.items[0]], *w = &g->values.items[node->inputs.items[1]];
    return x->dtype == PLIM_F32 && x->shape.rank >= 2 && w->shape.rank == 2 && plim__shape_elements(&x->shape) > 0 &&
           plim__shape_elements(&w->shape) > 0;
}

static plim_status fuse_product(plim_graph *g, int32_t n, bool *changed) {
    const plim__node *product = &g->nodes.items[n];
    plim_value last = product->outputs.items[0],
               inputs[4] = {product->inputs.items[0], product->inputs.items[1], PLIM_NO_VALUE, PLIM_NO_VALUE};
    int64_t width = g->values.items[inputs[1]].shape.dims[1];
    for (int round = 0; round < 2; round++) {
        const plim__node *add = plim__match_user(g, last, "Add");
        plim_value other = add ? plim__match_other(add, last) : PLIM_NO_VALUE;
        if (other < 0) break;
        if (inputs[2] < 0 && is_bias(g, other, width))
            inputs[2] = other;
        else if (inputs[3] < 0 && !plim__graph_tensor(g, other) &&
                 plim__shape_equal(&g->values.items[other].shape, &g->values.items[last].shape))
            inputs[3] = other;
        else
            break;
        last = add->outputs.items[0];
    }
    plim__activation activation;
    bool activated = plim__activation_of(g, last, &activation);
    if (inputs[2] < 0 && inputs[3] < 0 && !activated) return PLIM_OK;
    if (activated) last = activation.output;
    int32_t made = plim__match_build(g, (plim__made){PLIM__DOMAIN, "Linear", 1}, product->name, inputs, 4, last);
    if (activated) plim__activation_set(g, made, &activation);
    *changed = true;
    return plim__match_replace(g, last, made);
}

static plim_status fuse_gemm(plim_graph *g, int32_t n, bool *changed) {
    const plim__node *gemm = &g->nodes.items[n];
    plim__activation activation;
    if (g->values.items[gemm->inputs.items[0]].dtype != PLIM_F32 ||
        !plim__activation_of(g, gemm->outputs.items[0], &activation))
        return PLIM_OK;
    plim_value inputs[3] = {gemm->inputs.items[0], gemm->inputs.items[1], plim__node_in(gemm, 2)};
    int64_t ta = plim__node_int(gemm, "transA", 0), tb = plim__node_int(gemm, "transB", 0);
    float alpha = plim__node_float(gemm, "alpha", 1), beta = plim__node_float(gemm, "beta", 1);
    int32_t made = plim__match_build(g, (plim__made){PLIM__DOMAIN, "FusedGemm", 1}, gemm->name, inputs,
                                     inputs[2] >= 0 ? 3 : 2, activation.output);
    plim_graph_set_int(g, made, "transA", ta);
    plim_graph_set_int(g, made, "transB", tb);
    plim_graph_set_float(g, made, "alpha", alpha);
    plim_graph_set_float(g, made, "beta", beta);
    plim__activation_set(g, made, &activation);
    *changed = true;
    return plim__match_replace(g, activation.output, made);
}

plim_status plim__pass_linear(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    for (size_t n = g->nodes.count; n-- > 0;) {
        bool fused = false;
        plim_status status = PLIM_OK;
        if (is_linear(g, &g->nodes.items[n]))
            status = fuse_product(g, (int32_t)n, &fused);
        else if (plim__match_op(&g->nodes.items[n], "Gemm"))
            status = fuse_gemm(g, (int32_t)n, &fused);
        if (status != PLIM_OK) return status;
        *changed |= fused;
    }
    return PLIM_OK;
}
