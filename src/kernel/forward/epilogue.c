/* Epilogues. */
#include "kernel/forward/epilogue.h"
#include "kernel/onednn.h"

#include "ops/activation.h"

static const dnnl_alg_kind_t algorithms[PLIM__FUNCTION_COUNT] = {
#define FUSED(name, text, kind) [PLIM__FUNCTION_##name] = dnnl_eltwise_##kind,
#include "ops/activation.def"
};

plim_status plim__epilogue_activation(plim__lower *l, dnnl_post_ops_t ops) {
    const plim__node *node = plim__lower_node(l);
    const char *name = plim__node_string(node, "activation", NULL);
    if (!name) return PLIM_OK;
    float alpha = plim__node_float(node, "activation_alpha", 0), beta = plim__node_float(node, "activation_beta", 0);
    plim__function f = plim__function_of_fused(name);
    if (f == PLIM__FUNCTION_COUNT) return plim__lower_unsupported(l, "with this activation");
    return plim__lower_dnnl(l, dnnl_post_ops_append_eltwise(ops, 1, algorithms[f], alpha, beta), "activation");
}
