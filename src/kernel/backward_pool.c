/* Backward of pools on oneDNN. The max pool of training keeps where each maximum was, in oneDNN's own form: an index
 * into the window, laid out like the output. */
#include "kernel/backward.h"
#include "ops/window.h"

struct window {
    dnnl_dims_t kernel, stride, dilation, before, after;
};

static plim_status read_window(plim__lower *l, const plim__shape *x, struct window *to) {
    plim__window w;
    if (plim__node_int(plim__lower_node(l), "global", 0)) {
        w = (plim__window){.axes = x->rank - 2};
        for (int i = 0; i < w.axes; i++) {
            w.kernel[i] = w.in[i] = x->dims[i + 2];
            w.stride[i] = w.dilation[i] = w.out[i] = 1;
        }
    } else {
        PLIM_TRY(plim__window_read(plim__lower_node(l), x, NULL, &w, NULL));
    }
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    if (w.axes > 3) return plim__lower_unsupported(l, "with more than three spatial axes");
    for (int i = 0; i < w.axes; i++) {
        int64_t extent = (w.kernel[i] - 1) * w.dilation[i] + 1;
        if (w.before[i] >= extent) return plim__lower_unsupported(l, "with windows that lie in the padding");
        to->kernel[i] = w.kernel[i];
        to->stride[i] = w.stride[i];
        to->dilation[i] = w.dilation[i] - 1;
        to->before[i] = w.before[i];
        to->after[i] = (w.out[i] - 1) * w.stride[i] + extent - w.in[i] - w.before[i];
        bool padded = plim__node_int(plim__lower_node(l), "count_include_pad", 0) != 0;
        if (padded && (w.out[i] - 1) * w.stride[i] + extent > w.in[i] + w.before[i] + w.after[i])
            return plim__lower_unsupported(l, "with windows that reach past a counted padding");
    }
    return PLIM_OK;
}

static plim_status forward_pd(plim__lower *l, dnnl_alg_kind_t algorithm, const struct window *w,
                              const dnnl_memory_desc_t *x, const dnnl_memory_desc_t *y, dnnl_primitive_desc_t *pd) {
    dnnl_pooling_v2_desc_t desc;
    PLIM_TRY(plim__lower_dnnl(l,
                              dnnl_pooling_v2_forward_desc_init(&desc, dnnl_forward_training, algorithm, x, y,
                                                                w->stride, w->kernel, w->dilation, w->before, w->after),
                              "pool"));
    return plim__backward_describe(l, "pool", &desc, NULL, pd);
}

plim_status plim__lower_max_pool_train(plim__lower *l);
plim_status plim__lower_max_pool_train(plim__lower *l) {
    struct window w;
    plim__layout x = *plim__lower_peek(l, 0);
    const plim__shape *out = plim__lower_output_shape(l, 0);
    dnnl_memory_desc_t source, target;
    dnnl_primitive_desc_t pd;
    PLIM_TRY(read_window(l, plim__lower_input_shape(l, 0), &w));
    bool usual = plim__backward_layout_like(&x, dnnl_f32, out, &target);
    PLIM_TRY(plim__lower_input(l, 0, usual ? PLIM__ANY : PLIM__DENSE, &x));
    if (!plim__layout_md(&x, &source) || !plim__backward_layout_like(&x, dnnl_f32, out, &target))
        return plim__lower_fail(l, PLIM_INTERNAL, "its layout is not known");
    PLIM_TRY(forward_pd(l, dnnl_pooling_max, &w, &source, &target, &pd));
    plim__argument arguments[] = {
        {DNNL_ARG_SRC, source, 0},
        {DNNL_ARG_DST, target, PLIM__OUT(0)},
        {DNNL_ARG_WORKSPACE, *dnnl_primitive_desc_query_md(pd, dnnl_query_workspace_md, 0), PLIM__OUT(1)}};
    plim_status status = plim__lower_output_md(l, 0, &target);
    if (status == PLIM_OK) status = plim__lower_output_md(l, 1, &arguments[2].md);
    if (status == PLIM_OK) return plim__lower_primitive(l, "MaxPool", pd, arguments, 3);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* dx in the layout that `like` has; in operand 0 is dy, in operand 1 the workspace. */
static plim_status lower_grad(plim__lower *l, const char *label, dnnl_alg_kind_t algorithm, const plim__layout *like,
                              bool workspace) {
    struct window w;
    dnnl_memory_desc_t dx, dy;
    dnnl_primitive_desc_t hint, pd = NULL;
    dnnl_pooling_v2_desc_t desc;
    PLIM_TRY(read_window(l, plim__lower_output_shape(l, 0), &w));
    if (!plim__backward_layout_like(like, dnnl_f32, plim__lower_output_shape(l, 0), &dx) ||
        !plim__backward_layout_like(like, dnnl_f32, plim__lower_input_shape(l, 0), &dy))
        return plim__lower_fail(l, PLIM_INTERNAL, "its layout is not known");
    PLIM_TRY(forward_pd(l, algorithm, &w, &dx, &dy, &hint));
    plim_status status = plim__lower_dnnl(l,
                                          dnnl_pooling_v2_backward_desc_init(&desc, algorithm, &dx, &dy, w.stride,
                                                                             w.kernel, w.dilation, w.before, w.after),
                                          "pool");
    if (status == PLIM_OK) status = plim__backward_describe(l, "pool", &desc, hint, &pd);
    dnnl_primitive_desc_destroy(hint);
    PLIM_TRY(status);
    plim__argument arguments[] = {
        {DNNL_ARG_DIFF_DST, dy, 0}, {DNNL_ARG_DIFF_SRC, dx, PLIM__OUT(0)}, {.id = DNNL_ARG_WORKSPACE, .operand = 1}};
    status = plim__lower_input_md(l, 0, &dy);
    if (status == PLIM_OK && workspace) {
        arguments[2].md = *dnnl_primitive_desc_query_md(pd, dnnl_query_workspace_md, 0);
        status = plim__lower_input_md(l, 1, &arguments[2].md);
    }
    if (status == PLIM_OK) status = plim__lower_output_md(l, 0, &dx);
    if (status == PLIM_OK) return plim__lower_primitive(l, label, pd, arguments, workspace ? 3 : 2);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

plim_status plim__lower_max_pool_grad(plim__lower *l);
plim_status plim__lower_max_pool_grad(plim__lower *l) {
    plim__layout kept = *plim__lower_peek(l, 1);
    return lower_grad(l, "MaxPoolGrad", dnnl_pooling_max, &kept, true);
}

plim_status plim__lower_average_pool_grad(plim__lower *l);
plim_status plim__lower_average_pool_grad(plim__lower *l) {
    plim__layout dy = *plim__lower_peek(l, 0), dense = plim__layout_dense(PLIM_F32, plim__lower_input_shape(l, 0));
    dnnl_memory_desc_t md;
    bool padded = plim__node_int(plim__lower_node(l), "count_include_pad", 0) != 0;
    bool usual = plim__backward_layout_like(&dy, dnnl_f32, plim__lower_input_shape(l, 0), &md);
    return lower_grad(l, "AveragePoolGrad",
                      padded ? dnnl_pooling_avg_include_padding : dnnl_pooling_avg_exclude_padding,
                      usual ? &dy : &dense, false);
}
