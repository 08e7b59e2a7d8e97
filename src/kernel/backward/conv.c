/* Backward of convolutions on oneDNN, in the layouts it likes best.
 *
 *   ConvGradInput:   dy (N, O, ...), w (O, C/group, ...)  →  dx (N, C, ...)
 *   ConvGradWeight:  dy (N, O, ...), x (N, C, ...)        →  dw (O, C/group, ...), dbias (O)
 *
 * Where the target multiplies 16 bits, inputs are read so, and gradients stay float32. */
#include "kernel/forward/conv.h"
#include "kernel/backward/backward.h"
#include "kernel/channels_last.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"
#include "kernel/winograd.h"

struct mds {
    dnnl_memory_desc_t x, w, y, bias;
};

static plim_status read_layouts(plim__lower *l, const plim__conv_geometry *s, bool channels_last, struct mds *m) {
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(&m->bias, 1, (dnnl_dims_t){s->y[1]}, dnnl_f32, dnnl_a);
    PLIM_TRY(plim__lower_dnnl(l, status, "convolution"));
    return plim__conv_layouts(l, s, channels_last, &m->x, &m->w, &m->y);
}

/* The forward pass, which oneDNN takes as a hint. */
static plim_status forward_hint(plim__lower *l, const plim__conv_geometry *s, const struct mds *m,
                                dnnl_primitive_desc_t *hint) {
    dnnl_convolution_desc_t desc;
    dnnl_status_t status =
        dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_training, dnnl_convolution_direct, &m->x, &m->w,
                                                   NULL, &m->y, s->stride, s->dilation, s->before, s->after);
    PLIM_TRY(plim__lower_dnnl(l, status, "convolution"));
    return plim__backward_describe(l, "convolution", &desc, NULL, hint);
}

static plim_status check(plim__lower *l) {
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    if (plim__lower_input_shape(l, 0)->rank > 5) return plim__lower_unsupported(l, "with more than three spatial axes");
    return PLIM_OK;
}

/* Which gradient, in a form of the convolution. */
typedef dnnl_status_t (*begin)(const plim__conv_geometry *s, struct mds *m, bool bias, dnnl_alg_kind_t form,
                               dnnl_convolution_desc_t *desc);

static dnnl_status_t begin_input(const plim__conv_geometry *s, struct mds *m, bool bias, dnnl_alg_kind_t form,
                                 dnnl_convolution_desc_t *desc) {
    (void)bias;
    m->x.data_type = dnnl_f32;
    return dnnl_dilated_convolution_backward_data_desc_init(desc, form, &m->x, &m->w, &m->y, s->stride, s->dilation,
                                                            s->before, s->after);
}

static dnnl_status_t begin_weight(const plim__conv_geometry *s, struct mds *m, bool bias, dnnl_alg_kind_t form,
                                  dnnl_convolution_desc_t *desc) {
    m->w.data_type = dnnl_f32;
    return dnnl_dilated_convolution_backward_weights_desc_init(desc, form, &m->x, &m->w, bias ? &m->bias : NULL, &m->y,
                                                               s->stride, s->dilation, s->before, s->after);
}

static plim_status describe_direct(plim__lower *l, const plim__conv_geometry *s, begin gradient, bool bias,
                                   dnnl_primitive_desc_t *pd) {
    struct mds m;
    dnnl_primitive_desc_t hint;
    dnnl_convolution_desc_t desc;
    PLIM_TRY(read_layouts(l, s, plim__channels_last_suits(l, s), &m));
    PLIM_TRY(forward_hint(l, s, &m, &hint));
    plim_status status = plim__lower_dnnl(l, gradient(s, &m, bias, dnnl_convolution_direct, &desc), "convolution");
    if (status == PLIM_OK) status = plim__backward_describe(l, "convolution", &desc, hint, pd);
    dnnl_primitive_desc_destroy(hint);
    return status;
}

/* Winograd's form where it suits and fits; else *pd is NULL. */
static plim_status describe_winograd(plim__lower *l, const plim__conv_geometry *s, begin gradient, bool bias,
                                     dnnl_primitive_desc_t *pd) {
    struct mds m;
    dnnl_primitive_desc_t hint;
    dnnl_convolution_desc_t desc;
    dnnl_primitive_attr_t attr;
    *pd = NULL;
    if (!plim__winograd_suits(l, s)) return PLIM_OK;
    PLIM_TRY(read_layouts(l, s, false, &m));
    PLIM_TRY(forward_hint(l, s, &m, &hint));
    plim_status status = plim__lower_dnnl(l, gradient(s, &m, bias, dnnl_convolution_winograd, &desc), "convolution");
    if (status == PLIM_OK) status = plim__lower_attr(l, &attr);
    if (status == PLIM_OK) {
        status = plim__winograd_describe(l, s, &desc, attr, hint, pd);
        dnnl_primitive_attr_destroy(attr);
    }
    dnnl_primitive_desc_destroy(hint);
    return status;
}

static plim_status describe(plim__lower *l, const plim__conv_geometry *s, begin gradient, bool bias,
                            dnnl_primitive_desc_t *pd, bool *winograd) {
    PLIM_TRY(describe_winograd(l, s, gradient, bias, pd));
    *winograd = *pd != NULL;
    return *winograd ? PLIM_OK : describe_direct(l, s, gradient, bias, pd);
}

plim_status plim__lower_conv_grad_input(plim__lower *l) {
    plim__conv_geometry s;
    dnnl_primitive_desc_t pd;
    bool winograd;
    PLIM_TRY(check(l));
    PLIM_TRY(plim__conv_read(plim__lower_node(l), plim__lower_output_shape(l, 0), plim__lower_input_shape(l, 1),
                             plim__lower_input_shape(l, 0), false, &s));
    PLIM_TRY(describe(l, &s, begin_input, false, &pd, &winograd));
    plim__argument arguments[] = {
        {DNNL_ARG_DIFF_DST, *dnnl_primitive_desc_query_md(pd, dnnl_query_diff_dst_md, 0), 0},
        {DNNL_ARG_WEIGHTS, *dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0), 1},
        {DNNL_ARG_DIFF_SRC, *dnnl_primitive_desc_query_md(pd, dnnl_query_diff_src_md, 0), PLIM__OUT(0)}};
    dnnl_memory_desc_t seen;
    dnnl_memory_desc_init_by_strides(&seen, s.weight_rank, s.w, dnnl_f32, s.w_strides);
    plim_status status = plim__lower_input_md(l, 0, &arguments[0].md);
    if (status == PLIM_OK) status = plim__lower_input_seen(l, 1, &seen, &arguments[1].md);
    if (status == PLIM_OK) status = plim__lower_output_md(l, 0, &arguments[2].md);
    const char *label = winograd                              ? "ConvGradInputWinograd"
                        : plim__lower_factors(l) == PLIM_BF16 ? "ConvGradInputBf16"
                                                              : "ConvGradInput";
    if (status == PLIM_OK) return plim__lower_primitive(l, label, pd, arguments, 3);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

plim_status plim__lower_conv_grad_weight(plim__lower *l) {
    plim__conv_geometry s;
    dnnl_primitive_desc_t pd;
    bool bias = plim__lower_has_output(l, 1), winograd, done;
    PLIM_TRY(check(l));
    PLIM_TRY(plim__conv_read(plim__lower_node(l), plim__lower_input_shape(l, 1), plim__lower_output_shape(l, 0),
                             plim__lower_input_shape(l, 0), false, &s));
    PLIM_TRY(describe(l, &s, begin_weight, bias, &pd, &winograd));
    bool narrow = plim__lower_factors(l) == PLIM_BF16;
    plim_status status = PLIM_OK;
    done = false;
    if (!narrow)
        status = plim__lower_few_channels(l, &s, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0),
                                          dnnl_primitive_desc_query_md(pd, dnnl_query_diff_dst_md, 0), &done);
    if (status != PLIM_OK || done) {
        dnnl_primitive_desc_destroy(pd);
        return status;
    }
    plim__argument arguments[] = {
        {DNNL_ARG_DIFF_DST, *dnnl_primitive_desc_query_md(pd, dnnl_query_diff_dst_md, 0), 0},
        {DNNL_ARG_SRC, *dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0), 1},
        {DNNL_ARG_DIFF_WEIGHTS, *dnnl_primitive_desc_query_md(pd, dnnl_query_diff_weights_md, 0), PLIM__OUT(0)},
        {.id = DNNL_ARG_DIFF_BIAS, .operand = PLIM__OUT(1)}};
    if (bias) arguments[3].md = *dnnl_primitive_desc_query_md(pd, dnnl_query_diff_weights_md, 1);
    status = plim__lower_input_md(l, 0, &arguments[0].md);
    if (status == PLIM_OK) status = plim__lower_input_md(l, 1, &arguments[1].md);
    if (status == PLIM_OK) status = plim__lower_output_md(l, 0, &arguments[2].md);
    if (status == PLIM_OK && bias) status = plim__lower_output(l, 1, NULL);
    const char *label = winograd ? "ConvGradWeightWinograd" : narrow ? "ConvGradWeightBf16" : "ConvGradWeight";
    if (status == PLIM_OK) return plim__lower_primitive(l, label, pd, arguments, bias ? 4 : 3);
    dnnl_primitive_desc_destroy(pd);
    return status;
}
