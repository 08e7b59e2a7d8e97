/* Epilogues. */
#include "kernel/forward/epilogue.h"
#include "kernel/onednn.h"

#include <string.h>

static const struct {
    const char *name;
    dnnl_alg_kind_t algorithm;
} activations[] = {
    {"relu", dnnl_eltwise_relu}, /* alpha is the slope below zero */
    {"elu", dnnl_eltwise_elu},
    {"clip", dnnl_eltwise_clip}, /* from alpha to beta */
    {"sigmoid", dnnl_eltwise_logistic},
    {"gelu_erf", dnnl_eltwise_gelu_erf},
    {"swish", dnnl_eltwise_swish}, /* x * sigmoid(alpha * x) */
    {"hardswish", dnnl_eltwise_hardswish},
};

dnnl_alg_kind_t plim__activation_algorithm(const char *name) {
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strcmp(activations[i].name, name) == 0) return activations[i].algorithm;
    return dnnl_alg_kind_undef;
}

plim_status plim__epilogue_activation(plim__lower *l, dnnl_post_ops_t ops) {
    const plim__node *node = plim__lower_node(l);
    const char *name = plim__node_string(node, "activation", NULL);
    if (!name) return PLIM_OK;
    float alpha = plim__node_float(node, "activation_alpha", 0), beta = plim__node_float(node, "activation_beta", 0);
    return plim__lower_dnnl(l, dnnl_post_ops_append_eltwise(ops, 1, plim__activation_algorithm(name), alpha, beta),
                            "activation");
}
