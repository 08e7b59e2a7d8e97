/* Convolutions on oneDNN, in the layouts it likes best. Fused: bias, a residual that is added, an activation.
 *
 *   x (N, C, ...)   w (O, C/group, ...)   bias (O)   residual like y   ->   y (N, O, ...)
 *
 * Node inputs: 0 x, 1 w, 2 bias, 3 residual (the last only from the fusing pass). Where the target multiplies 16 bits, x and w
 * are read so; everything else stays float32. */
#include <string.h>

#include "kernel/channels_last.h"
#include "kernel/forward/conv.h"
#include "kernel/forward/epilogue.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"
#include "kernel/winograd.h"
#include "ops/window.h"

/* Weights get an axis for the groups: (g, O/g, C/g, ...). Transposed ones are stored (C, O/g, ...) and seen
 * with input and output channels exchanged. */
static void weight_axes(plim__conv_geometry *s, const plim__shape *w, int64_t group, bool transposed) {
    int k = 0, spatial = w->rank - 2;
    int64_t area = plim__shape_product(w, 2, w->rank), second = w->dims[1];
    int64_t first = w->dims[0] / group;
    if (group > 1) {
        s->w[k] = group;
        s->w_strides[k++] = first * second * area;
    }
    s->w[k] = transposed ? second : first;
    s->w_strides[k++] = transposed ? area : second * area;
    s->w[k] = transposed ? first : second;
    s->w_strides[k++] = transposed ? second * area : area;
    for (int i = 0; i < spatial; i++) {
        s->w[k] = w->dims[i + 2];
        s->w_strides[k++] = plim__shape_product(w, i + 3, w->rank);
    }
    s->weight_rank = k;
}

plim_status plim__conv_read(const plim__node *node, const plim__shape *x, const plim__shape *w, const plim__shape *y,
                            bool transposed, plim__conv_geometry *s) {
    plim__window window;
    PLIM_TRY(transposed ? plim__window_read_transposed(node, x, w->dims + 2, &window, NULL)
                        : plim__window_read(node, x, w->dims + 2, &window, NULL));
    *s = (plim__conv_geometry){.rank = x->rank};
    memcpy(s->x, x->dims, (size_t)x->rank * sizeof *s->x);
    memcpy(s->y, y->dims, (size_t)y->rank * sizeof *s->y);
    weight_axes(s, w, plim__node_int(node, "group", 1), transposed);
    for (int i = 0; i < window.axes; i++) {
        int64_t reach = (window.kernel[i] - 1) * window.dilation[i] + 1;
        s->stride[i] = window.stride[i];
        s->dilation[i] = window.dilation[i] - 1; /* oneDNN counts the holes */
        s->before[i] = window.before[i];
        /* oneDNN wants the padding that makes its own size formula exact */
        s->after[i] = transposed ? (window.in[i] - 1) * window.stride[i] + reach - window.before[i] - window.out[i]
                                 : (window.out[i] - 1) * window.stride[i] + reach - window.in[i] - window.before[i];
    }
    return PLIM_OK;
}

plim_status plim__conv_layouts(plim__lower *l, const plim__conv_geometry *s, bool channels_last, dnnl_memory_desc_t *x,
                               dnnl_memory_desc_t *w, dnnl_memory_desc_t *y) {
    dnnl_format_tag_t tag = channels_last ? dnnl_nhwc : dnnl_format_tag_any;
    dnnl_data_type_t type = plim__lower_factors(l) == PLIM_BF16 ? dnnl_bf16 : dnnl_f32;
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(x, s->rank, s->x, type, tag);
    if (status == dnnl_success)
        status = dnnl_memory_desc_init_by_tag(w, s->weight_rank, s->w, type, dnnl_format_tag_any);
    if (status == dnnl_success) status = dnnl_memory_desc_init_by_tag(y, s->rank, s->y, type, tag);
    return plim__lower_dnnl(l, status, "convolution");
}

static plim_status make_attributes(plim__lower *l, bool residual, dnnl_primitive_attr_t *attr) {
    PLIM_TRY(plim__lower_attr(l, attr));
    dnnl_post_ops_t ops;
    plim_status status = plim__lower_dnnl(l, dnnl_post_ops_create(&ops), "epilogue");
    if (status == PLIM_OK) {
        if (residual) status = plim__lower_dnnl(l, dnnl_post_ops_append_sum(ops, 1), "residual");
        if (status == PLIM_OK) status = plim__epilogue_activation(l, ops);
        if (status == PLIM_OK) status = plim__lower_dnnl(l, dnnl_primitive_attr_set_post_ops(*attr, ops), "epilogue");
        dnnl_post_ops_destroy(ops);
    }
    if (status != PLIM_OK) dnnl_primitive_attr_destroy(*attr);
    return status;
}

struct mds {
    dnnl_memory_desc_t x, w, y, bias;
    const dnnl_memory_desc_t *has_bias; /* NULL: none */
};

/* Rows up to it are short: what their columns take is small beside everything else. */
#define SHORT_ROW 512
/* In longer ones it may take this part of what a sample's output takes. */
#define ROW_SHARE 32

/* The convolutions that oneDNN prefers for inference are a little faster, but want their tensors in another order than any of its
 * gradients: in a training step the copies between the two cost far more. And they keep memory for each column of the output
 * (PLIM__COLUMN_BYTES), already in their description: on long signals that is more than the signal. Those that it takes for
 * training do neither. The choice does not depend on the batch, so that micro-batches compute alike. */
static dnnl_prop_kind_t kind_of(const plim__lower *l, const plim__conv_geometry *s) {
    int64_t node = plim__lower_node(l) - plim__lower_graph(l)->nodes.items;
    if (node >= plim__lower_facts(l)->trained_from) return dnnl_forward_training;
    double rows = sizeof(float);
    for (int i = 1; i < s->rank - 1; i++) rows *= (double)s->y[i];
    bool keeps_little = s->y[s->rank - 1] <= SHORT_ROW || PLIM__COLUMN_BYTES * ROW_SHARE <= rows;
    return keeps_little ? dnnl_forward_inference : dnnl_forward_training;
}

static plim_status describe_direct(plim__lower *l, const plim__conv_geometry *s, bool transposed, const struct mds *m,
                                   dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *pd) {
    union {
        dnnl_convolution_desc_t forward;
        dnnl_deconvolution_desc_t transposed;
    } desc;
    dnnl_status_t status =
        transposed ? dnnl_dilated_deconvolution_forward_desc_init(&desc.transposed, dnnl_forward_inference,
                                                                  dnnl_deconvolution_direct, &m->x, &m->w, m->has_bias,
                                                                  &m->y, s->stride, s->dilation, s->before, s->after)
                   : dnnl_dilated_convolution_forward_desc_init(&desc.forward, kind_of(l, s), dnnl_convolution_direct,
                                                                &m->x, &m->w, m->has_bias, &m->y, s->stride,
                                                                s->dilation, s->before, s->after);
    if (status == dnnl_success && m->x.format_kind != dnnl_format_kind_any)
        return plim__channels_last_describe(l, &desc, attr, NULL, pd);
    if (status == dnnl_success) status = dnnl_primitive_desc_create(pd, &desc, attr, plim__lower_dnnl_engine(l), NULL);
    return plim__lower_dnnl(l, status, "convolution");
}

/* As for training: else oneDNN wants weights that were transformed before, which updates could not change. */
static plim_status describe_winograd(plim__lower *l, const plim__conv_geometry *s, const struct mds *m,
                                     dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *pd) {
    dnnl_convolution_desc_t desc;
    dnnl_status_t status =
        dnnl_convolution_forward_desc_init(&desc, dnnl_forward_training, dnnl_convolution_winograd, &m->x, &m->w,
                                           m->has_bias, &m->y, s->stride, s->before, s->after);
    PLIM_TRY(plim__lower_dnnl(l, status, "convolution"));
    return plim__winograd_describe(l, s, &desc, attr, NULL, pd);
}

static plim_status describe(plim__lower *l, const plim__conv_geometry *s, bool transposed, dnnl_primitive_desc_t *pd,
                            const char **label) {
    struct mds m;
    bool narrow = plim__lower_factors(l) == PLIM_BF16;
    PLIM_TRY(plim__conv_layouts(l, s, false, &m.x, &m.w, &m.y));
    m.y.data_type = dnnl_f32;
    dnnl_memory_desc_init_by_tag(&m.bias, 1, (dnnl_dims_t){s->y[1]}, dnnl_f32, dnnl_a);
    m.has_bias = plim__lower_has_input(l, 2) ? &m.bias : NULL;
    dnnl_primitive_attr_t attr;
    PLIM_TRY(make_attributes(l, plim__lower_has_input(l, 3), &attr));
    plim_status status = PLIM_OK;
    *pd = NULL;
    *label = "ConvWinograd";
    if (!transposed && plim__winograd_suits(l, s)) status = describe_winograd(l, s, &m, attr, pd);
    if (status == PLIM_OK && !*pd) {
        *label = transposed ? "ConvTranspose" : narrow ? "ConvBf16" : "Conv";
        if (!transposed && plim__channels_last_suits(l, s)) status = plim__conv_layouts(l, s, true, &m.x, &m.w, &m.y);
        if (status == PLIM_OK) status = describe_direct(l, s, transposed, &m, attr, pd);
    }
    dnnl_primitive_attr_destroy(attr);
    return status;
}

static plim_status lower(plim__lower *l, bool transposed) {
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    if (plim__lower_input_shape(l, 0)->rank > 5) return plim__lower_unsupported(l, "with more than three spatial axes");
    bool bias = plim__lower_has_input(l, 2), residual = plim__lower_has_input(l, 3);
    plim__conv_geometry s;
    PLIM_TRY(plim__conv_read(plim__lower_node(l), plim__lower_input_shape(l, 0), plim__lower_input_shape(l, 1),
                             plim__lower_output_shape(l, 0), transposed, &s));
    for (int i = 0; transposed && i < s.rank - 2; i++)
        if (-s.after[i] >= s.stride[i])
            return plim__lower_unsupported(l, "with output_padding that is not less than the stride");
    bool done = false;
    if (transposed) PLIM_TRY(plim__lower_upsample(l, &s, &done));
    if (done) return PLIM_OK;
    dnnl_primitive_desc_t pd = NULL;
    const char *label;
    PLIM_TRY(describe(l, &s, transposed, &pd, &label));
    plim__argument arguments[4] = {
        {DNNL_ARG_SRC, *dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0), 0},
        {DNNL_ARG_WEIGHTS, *dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0), 1},
        {DNNL_ARG_DST, *dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0), PLIM__OUT(0)}};
    int count = 3;
    dnnl_memory_desc_t seen;
    dnnl_memory_desc_init_by_strides(&seen, s.weight_rank, s.w, dnnl_f32, s.w_strides);
    plim_status status = plim__lower_input_md(l, 0, &arguments[0].md);
    if (status == PLIM_OK) status = plim__lower_input_seen(l, 1, &seen, &arguments[1].md);
    if (status == PLIM_OK && bias) {
        status = plim__lower_input(l, 2, PLIM__DENSE, NULL);
        arguments[count++] =
            (plim__argument){DNNL_ARG_BIAS, *dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 1), 2};
    }
    if (status == PLIM_OK && residual) status = plim__lower_input_md(l, 3, &arguments[2].md);
    if (status == PLIM_OK) status = plim__lower_output_md(l, 0, &arguments[2].md);
    if (status != PLIM_OK) {
        dnnl_primitive_desc_destroy(pd);
        return status;
    }
    if (!residual) return plim__lower_primitive(l, label, pd, arguments, count);
    return plim__lower_primitive_onto(l, label, pd, arguments, count, bias ? 3 : 2);
}

plim_status plim__lower_conv(plim__lower *l) { return lower(l, false); }
plim_status plim__lower_conv_transpose(plim__lower *l) { return lower(l, true); }
