/* Normalisations: batch, layer and local response on oneDNN; instance and group on loops of our own. */
#include <math.h>
#include <string.h>

#include "kernel/forward/epilogue.h"
#include "kernel/forward/norm.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"

static plim_status finish(plim__lower *l, const char *label, const void *desc, plim__argument *arguments, int count) {
    dnnl_primitive_attr_t attr;
    PLIM_TRY(plim__lower_attr(l, &attr));
    dnnl_primitive_desc_t pd;
    dnnl_status_t status = dnnl_primitive_desc_create(&pd, desc, attr, plim__lower_dnnl_engine(l), NULL);
    dnnl_primitive_attr_destroy(attr);
    PLIM_TRY(plim__lower_dnnl(l, status, label));
    return plim__lower_primitive(l, label, pd, arguments, count);
}

/* --- batch norm ----------------------------------------------------------------------------------------------- */

/* Inference: y = activation(scale (x - mean) / sqrt(variance + epsilon) + bias); x keeps its layout. */
plim_status plim__lower_batch_norm(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    const plim__shape *shape = plim__lower_input_shape(l, 0);
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    if (plim__node_int(node, "training_mode", 0)) return plim__lower_batch_norm_training(l);
    if (plim__lower_has_output(l, 1) || plim__lower_has_output(l, 2))
        return plim__lower_unsupported(l, "in training mode before opset 14");
    if (plim__node_int(node, "spatial", 1) == 0) return plim__lower_unsupported(l, "with spatial=0");
    plim__layout x = *plim__lower_peek(l, 0);
    PLIM_TRY(plim__lower_input(l, 0, x.blocked ? PLIM__ANY : PLIM__DENSE, &x));
    dnnl_memory_desc_t md, channel;
    if (!x.blocked &&
        (shape->rank < 2 || shape->rank > 5)) { /* oneDNN wants a channel axis, and at most three behind it */
        plim__shape few = {.rank = 2, .dims = {plim__shape_elements(shape), 1}};
        if (shape->rank > 5)
            few = (plim__shape){3, {shape->dims[0], shape->dims[1], plim__shape_product(shape, 2, shape->rank)}};
        x = plim__layout_dense(x.dtype, &few);
    }
    plim__layout_md(&x, &md);
    dnnl_memory_desc_init_by_tag(&channel, 1, (dnnl_dims_t){md.dims[1]}, dnnl_f32, dnnl_a);
    for (size_t i = 1; i < 5; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    plim__layout out = x;
    PLIM_TRY(plim__lower_output(l, 0, out.blocked ? &out : NULL));
    plim__lower_inplace(l, 0, 0);
    const char *activation = plim__node_string(node, "activation", NULL);
    unsigned flags = dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift | (activation ? dnnl_fuse_norm_relu : 0);
    dnnl_batch_normalization_desc_t desc;
    PLIM_TRY(plim__lower_dnnl(l,
                              dnnl_batch_normalization_forward_desc_init(
                                  &desc, dnnl_forward_inference, &md, plim__node_float(node, "epsilon", 1e-5f), flags),
                              "batch norm"));
    plim__argument arguments[] = {{DNNL_ARG_SRC, md, 0},           {DNNL_ARG_SCALE, channel, 1},
                                  {DNNL_ARG_SHIFT, channel, 2},    {DNNL_ARG_MEAN, channel, 3},
                                  {DNNL_ARG_VARIANCE, channel, 4}, {DNNL_ARG_DST, md, PLIM__OUT(0)}};
    return finish(l, "BatchNormalization", &desc, arguments, 6);
}

/* --- layer norm ----------------------------------------------------------------------------------------------- */

/* Rows of any type of scale and bias, with the statistics as outputs. */
struct rows {
    int64_t rows, width;
    float epsilon;
};

static plim_status run_rows(const plim__call *call) {
    const struct rows *s = call->state;
    const float *scale = call->in[1], *bias = call->in[2];
    float *means = call->out[1], *inverses = call->out[2];
#pragma omp parallel for if (s->rows * s->width > 32768)
    for (int64_t r = 0; r < s->rows; r++) {
        const float *x = (const float *)call->in[0] + r * s->width;
        float *y = (float *)call->out[0] + r * s->width;
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < s->width; i++) sum += (double)x[i];
        double mean = sum / (double)s->width;
        for (int64_t i = 0; i < s->width; i++) squares += ((double)x[i] - mean) * ((double)x[i] - mean);
        double inverse = 1 / sqrt(squares / (double)s->width + (double)s->epsilon);
        for (int64_t i = 0; i < s->width; i++)
            y[i] = (float)(((double)x[i] - mean) * inverse) * scale[i] + (bias ? bias[i] : 0);
        if (means) means[r] = (float)mean;
        if (inverses) inverses[r] = (float)inverse;
    }
    return PLIM_OK;
}

static plim_status lower_rows(plim__lower *l, int64_t rows, int64_t width, float epsilon) {
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    struct rows *s = plim__alloc(sizeof *s);
    if (s) *s = (struct rows){rows, width, epsilon};
    return plim__lower_emit(l, "LayerNormalization", run_rows, s, plim__free);
}

plim_status plim__lower_layer_norm(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    const plim__shape *x = plim__lower_input_shape(l, 0);
    int axis = 0;
    plim__axis_normalize(plim__node_int(node, "axis", -1), x->rank, &axis);
    int64_t rows = plim__shape_product(x, 0, axis), width = plim__shape_product(x, axis, x->rank);
    float epsilon = plim__node_float(node, "epsilon", 1e-5f);
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    bool bias = plim__lower_has_input(l, 2),
         full = plim__shape_elements(plim__lower_input_shape(l, 1)) == width &&
                (!bias || plim__shape_elements(plim__lower_input_shape(l, 2)) == width);
    if (!full) return plim__lower_unsupported(l, "whose scale or bias broadcasts");
    if (plim__lower_has_output(l, 1) || plim__lower_has_output(l, 2) || rows * width == 0)
        return lower_rows(l, rows, width, epsilon);
    dnnl_memory_desc_t md, row;
    dnnl_memory_desc_init_by_tag(&md, 2, (dnnl_dims_t){rows, width}, dnnl_f32, dnnl_ab);
    dnnl_memory_desc_init_by_tag(&row, 1, (dnnl_dims_t){width}, dnnl_f32, dnnl_a);
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    if (bias) PLIM_TRY(plim__lower_input(l, 2, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    plim__lower_inplace(l, 0, 0);
    dnnl_layer_normalization_desc_t desc;
    unsigned flags = dnnl_use_scale | (bias ? dnnl_use_shift : 0);
    PLIM_TRY(plim__lower_dnnl(
        l, dnnl_layer_normalization_forward_desc_init(&desc, dnnl_forward_inference, &md, NULL, epsilon, flags),
        "layer norm"));
    plim__argument arguments[] = {
        {DNNL_ARG_SRC, md, 0}, {DNNL_ARG_SCALE, row, 1}, {DNNL_ARG_DST, md, PLIM__OUT(0)}, {DNNL_ARG_SHIFT, row, 2}};
    return finish(l, "LayerNormalization", &desc, arguments, bias ? 4 : 3);
}

/* --- instance and group norm ---------------------------------------------------------------------------------- */

/* Each group of channels of each sample on its own; scale and bias per channel (or per group). */
struct groups {
    int64_t samples, groups, channels, area; /* channels in a group, cells in a channel */
    bool per_group;
    float epsilon;
};

static plim_status run_groups(const plim__call *call) {
    const struct groups *s = call->state;
    const float *scale = call->in[1], *bias = call->in[2];
    int64_t width = s->channels * s->area;
#pragma omp parallel for if (s->samples * s->groups * width > 32768)
    for (int64_t unit = 0; unit < s->samples * s->groups; unit++) {
        const float *x = (const float *)call->in[0] + unit * width;
        float *y = (float *)call->out[0] + unit * width;
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < width; i++) sum += (double)x[i];
        double mean = sum / (double)width;
        for (int64_t i = 0; i < width; i++) squares += ((double)x[i] - mean) * ((double)x[i] - mean);
        double inverse = 1 / sqrt(squares / (double)width + (double)s->epsilon);
        for (int64_t c = 0; c < s->channels; c++) {
            int64_t group = unit % s->groups, k = s->per_group ? group : group * s->channels + c;
            float a = (float)inverse * scale[k], b = bias[k] - (float)mean * a;
            for (int64_t i = c * s->area; i < (c + 1) * s->area; i++) y[i] = x[i] * a + b;
        }
    }
    return PLIM_OK;
}

plim_status plim__lower_channel_norm(plim__lower *l) {
    const plim__shape *x = plim__lower_input_shape(l, 0);
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    plim__lower_inplace(l, 0, 0);
    struct groups *s = plim__alloc(sizeof *s);
    int64_t groups = plim__node_int(plim__lower_node(l), "num_groups", x->dims[1]);
    if (s)
        *s = (struct groups){.samples = x->dims[0],
                             .groups = groups,
                             .channels = x->dims[1] / groups,
                             .area = plim__shape_product(x, 2, x->rank),
                             .per_group =
                                 groups != x->dims[1] && plim__shape_elements(plim__lower_input_shape(l, 1)) == groups,
                             .epsilon = plim__node_float(plim__lower_node(l), "epsilon", 1e-5f)};
    return plim__lower_emit(l, plim__lower_node(l)->op_name, run_groups, s, plim__free);
}

/* --- local response ------------------------------------------------------------------------------------------- */

/* oneDNN's windows have a middle. ONNX puts the odd one of an even window behind it. */
struct lrn {
    int64_t samples, channels, area, before, after;
    float scale, beta, bias;
};

static plim_status run_lrn(const plim__call *call) {
    const struct lrn *s = call->state;
#pragma omp parallel for
    for (int64_t i = 0; i < s->samples * s->channels; i++) {
        int64_t c = i % s->channels, from = c < s->before ? -c : -s->before,
                to = c + s->after >= s->channels ? s->channels - 1 - c : s->after;
        const float *x = (const float *)call->in[0] + i * s->area;
        for (int64_t k = 0; k < s->area; k++) {
            float sum = 0;
            for (int64_t w = from; w <= to; w++) sum += x[w * s->area + k] * x[w * s->area + k];
            ((float *)call->out[0])[i * s->area + k] = x[k] * powf(s->bias + s->scale * sum, -s->beta);
        }
    }
    return PLIM_OK;
}

static plim_status lower_even_lrn(plim__lower *l, int64_t size) {
    const plim__node *node = plim__lower_node(l);
    const plim__shape *x = plim__lower_input_shape(l, 0);
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    struct lrn *s = plim__alloc(sizeof *s);
    if (s)
        *s = (struct lrn){x->dims[0],
                          x->dims[1],
                          plim__shape_product(x, 2, x->rank),
                          (size - 1) / 2,
                          size - 1 - (size - 1) / 2,
                          plim__node_float(node, "alpha", 1e-4f) / (float)size,
                          plim__node_float(node, "beta", 0.75f),
                          plim__node_float(node, "bias", 1)};
    return plim__lower_emit(l, "LRN", run_lrn, s, plim__free);
}

plim_status plim__lower_lrn(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    int64_t size = plim__node_int(node, "size", 5);
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    if (size < 1) return plim__lower_fail(l, PLIM_CORRUPT, "size is %lld", (long long)size);
    if (plim__lower_input_shape(l, 0)->rank < 2)
        return plim__lower_fail(l, PLIM_SHAPE, "the input needs a batch axis and a channel axis");
    if (size % 2 == 0) return lower_even_lrn(l, size);
    plim__layout x = *plim__lower_peek(l, 0);
    PLIM_TRY(plim__lower_input(l, 0, x.blocked ? PLIM__ANY : PLIM__DENSE, &x));
    PLIM_TRY(plim__lower_output(l, 0, x.blocked ? &x : NULL));
    dnnl_memory_desc_t md;
    plim__layout_md(&x, &md);
    dnnl_lrn_desc_t desc;
    PLIM_TRY(plim__lower_dnnl(l,
                              dnnl_lrn_forward_desc_init(&desc, dnnl_forward_inference, dnnl_lrn_across_channels, &md,
                                                         size, plim__node_float(node, "alpha", 1e-4f),
                                                         plim__node_float(node, "beta", 0.75f),
                                                         plim__node_float(node, "bias", 1)),
                              "LRN"));
    plim__argument arguments[] = {{DNNL_ARG_SRC, md, 0}, {DNNL_ARG_DST, md, PLIM__OUT(0)}};
    return finish(l, "LRN", &desc, arguments, 2);
}

/* --- p-norms along one axis ----------------------------------------------------------------------------------- */

struct lp {
    int64_t outer, size, inner, p;
};

static plim_status run_lp(const plim__call *call) {
    const struct lp *s = call->state;
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0; i < s->inner; i++) {
            const float *x = (const float *)call->in[0] + o * s->size * s->inner + i;
            float *y = (float *)call->out[0] + o * s->size * s->inner + i;
            double sum = 0;
            for (int64_t k = 0; k < s->size; k++)
                sum += s->p == 1 ? fabs((double)x[k * s->inner]) : (double)x[k * s->inner] * (double)x[k * s->inner];
            double norm = s->p == 1 ? sum : sqrt(sum);
            if (norm == 0) norm = 1; /* zeros stay zeros */
            for (int64_t k = 0; k < s->size; k++) y[k * s->inner] = (float)((double)x[k * s->inner] / norm);
        }
    return PLIM_OK;
}

plim_status plim__lower_lp_normalization(plim__lower *l) {
    const plim__shape *x = plim__lower_input_shape(l, 0);
    int axis;
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    if (!plim__axis_normalize(plim__node_int(plim__lower_node(l), "axis", -1), x->rank, &axis))
        return plim__lower_fail(l, PLIM_SHAPE, "the axis is out of range");
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    struct lp *s = plim__alloc(sizeof *s);
    if (s)
        *s = (struct lp){plim__shape_product(x, 0, axis), x->dims[axis], plim__shape_product(x, axis + 1, x->rank),
                         plim__node_int(plim__lower_node(l), "p", 2)};
    return plim__lower_emit(l, "LpNormalization", run_lp, s, plim__free);
}

/* --- dropout that drops nothing ------------------------------------------------------------------------------- */

struct dropout {
    size_t bytes;
    int64_t elements;
    bool float_mask;
};

static plim_status run_dropout(const plim__call *call) {
    const struct dropout *s = call->state;
    if (call->out[0] != call->in[0]) memcpy(call->out[0], call->in[0], s->bytes);
    if (call->out[1] && s->float_mask)
        for (int64_t i = 0; i < s->elements; i++) ((float *)call->out[1])[i] = 1;
    else if (call->out[1])
        memset(call->out[1], 1, (size_t)s->elements);
    return PLIM_OK;
}

plim_status plim__lower_dropout(plim__lower *l) {
    if (plim__lower_node(l)->version >= 12 && plim__lower_has_input(l, 2)) {
        plim__tensor *training = plim__lower_constant(l, 2), *ratio = plim__lower_constant(l, 1);
        bool drops = !training || *(const uint8_t *)training->data;
        if (drops && !(ratio && plim__tensor_at(ratio, 0) == 0)) return plim__lower_unsupported(l, "in training mode");
    }
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_output(l, 1, NULL));
    plim__lower_inplace(l, 0, 0);
    struct dropout *s = plim__alloc(sizeof *s);
    if (s) {
        s->elements = plim__shape_elements(plim__lower_input_shape(l, 0));
        plim_dtype_bytes(plim__lower_input_dtype(l, 0), s->elements, &s->bytes);
        s->float_mask = plim__lower_has_output(l, 1) && plim__lower_output_dtype(l, 1) == PLIM_F32;
    }
    return plim__lower_emit(l, "Dropout", run_dropout, s, plim__free);
}
