/* Backward of Softmax and LogSoftmax on oneDNN, the data seen as [outer, n, inner]. */
#include "kernel/backward/backward.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"

static plim_status run_nothing(const plim__call *call) {
    (void)call;
    return PLIM_OK;
}

static plim_status lower(plim__lower *l, const char *label, dnnl_alg_kind_t algorithm) {
    const plim__node *node = plim__lower_node(l);
    const plim__shape *x = plim__lower_input_shape(l, 0);
    bool flattened = plim__node_int(node, "flattened", 0) != 0;
    int axis = 0;
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    if (x->rank > 0 && !plim__axis_normalize(plim__node_int(node, "axis", -1), x->rank, &axis)) axis = x->rank;
    int end = flattened || x->rank == 0 ? x->rank : axis + 1;
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    plim__lower_inplace(l, 0, 0);
    if (plim__shape_elements(x) == 0) {
        int *state = plim__alloc(sizeof *state);
        return plim__lower_emit(l, label, run_nothing, state, plim__free);
    }
    dnnl_memory_desc_t md;
    dnnl_dims_t dims = {plim__shape_product(x, 0, axis), plim__shape_product(x, axis, end),
                        plim__shape_product(x, end, x->rank)};
    dnnl_memory_desc_init_by_tag(&md, 3, dims, dnnl_f32, dnnl_abc);
    dnnl_softmax_v2_desc_t forward, backward;
    dnnl_primitive_desc_t hint, pd;
    PLIM_TRY(plim__lower_dnnl(
        l, dnnl_softmax_v2_forward_desc_init(&forward, dnnl_forward_training, algorithm, &md, &md, 1), label));
    PLIM_TRY(plim__backward_describe(l, label, &forward, NULL, &hint));
    plim_status status =
        plim__lower_dnnl(l, dnnl_softmax_v2_backward_desc_init(&backward, algorithm, &md, &md, &md, 1), label);
    if (status == PLIM_OK) status = plim__backward_describe(l, label, &backward, hint, &pd);
    dnnl_primitive_desc_destroy(hint);
    PLIM_TRY(status);
    plim__argument arguments[] = {
        {DNNL_ARG_DIFF_DST, md, 0}, {DNNL_ARG_DST, md, 1}, {DNNL_ARG_DIFF_SRC, md, PLIM__OUT(0)}};
    return plim__lower_primitive(l, label, pd, arguments, 3);
}

plim_status plim__lower_softmax_grad(plim__lower *l) { return lower(l, "SoftmaxGrad", dnnl_softmax_accurate); }
plim_status plim__lower_log_softmax_grad(plim__lower *l) { return lower(l, "LogSoftmaxGrad", dnnl_softmax_log); }
