/* Norms in training: layer norm on oneDNN, whose forward pass keeps mean and variance; the backward pass of instance and
 * group norm on loops of our own. Batch norm has a file of its own. */
#include <math.h>
#include <string.h>

#include "kernel/backward/backward.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"

static plim_status need_f32(plim__lower *l) {
    return plim__lower_input_dtype(l, 0) == PLIM_F32 ? PLIM_OK
                                                     : plim__lower_unsupported(l, "with another type than float32");
}

static plim_status finish(plim__lower *l, const char *label, const void *desc, dnnl_primitive_desc_t hint,
                          plim__argument *arguments, int count) {
    dnnl_primitive_desc_t pd;
    plim_status status = plim__backward_describe(l, label, desc, hint, &pd);
    if (hint) dnnl_primitive_desc_destroy(hint);
    PLIM_TRY(status);
    return plim__lower_primitive(l, label, pd, arguments, count);
}

static dnnl_memory_desc_t vector_md(int64_t count) {
    dnnl_memory_desc_t md;
    dnnl_memory_desc_init_by_tag(&md, 1, (dnnl_dims_t){count}, dnnl_f32, dnnl_a);
    return md;
}

/* --- layer norm ----------------------------------------------------------------------------------------------- */

struct rows {
    dnnl_memory_desc_t data, statistics, row;
    float epsilon;
};

/* x is node input i; scale input k. */
static plim_status read_rows(plim__lower *l, size_t i, size_t k, struct rows *s) {
    const plim__shape *x = plim__lower_input_shape(l, i);
    int axis = 0;
    plim__axis_normalize(plim__node_int(plim__lower_node(l), "axis", -1), x->rank, &axis);
    int64_t rows = plim__shape_product(x, 0, axis), width = plim__shape_product(x, axis, x->rank);
    PLIM_TRY(need_f32(l));
    if (plim__shape_elements(plim__lower_input_shape(l, k)) != width)
        return plim__lower_unsupported(l, "whose scale broadcasts");
    dnnl_memory_desc_init_by_tag(&s->data, 2, (dnnl_dims_t){rows, width}, dnnl_f32, dnnl_ab);
    s->statistics = vector_md(rows);
    s->row = vector_md(width);
    s->epsilon = plim__node_float(plim__lower_node(l), "epsilon", 1e-5f);
    return PLIM_OK;
}

plim_status plim__lower_layer_norm_train(plim__lower *l) {
    struct rows s = {0};
    bool bias = plim__lower_has_input(l, 2);
    PLIM_TRY(read_rows(l, 0, 1, &s));
    for (size_t i = 0; i < (bias ? 3u : 2u); i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    dnnl_layer_normalization_desc_t desc;
    unsigned flags = dnnl_use_scale | (bias ? dnnl_use_shift : 0);
    PLIM_TRY(plim__lower_dnnl(l,
                              dnnl_layer_normalization_forward_desc_init(&desc, dnnl_forward_training, &s.data,
                                                                         &s.statistics, s.epsilon, flags),
                              "layer norm"));
    plim__argument arguments[] = {{DNNL_ARG_SRC, s.data, 0},
                                  {DNNL_ARG_SCALE, s.row, 1},
                                  {DNNL_ARG_DST, s.data, PLIM__OUT(0)},
                                  {DNNL_ARG_MEAN, s.statistics, PLIM__OUT(1)},
                                  {DNNL_ARG_VARIANCE, s.statistics, PLIM__OUT(2)},
                                  {DNNL_ARG_SHIFT, s.row, 2}};
    return finish(l, "LayerNormTrain", &desc, NULL, arguments, bias ? 6 : 5);
}

plim_status plim__lower_layer_norm_grad(plim__lower *l) {
    struct rows s;
    PLIM_TRY(read_rows(l, 1, 2, &s));
    for (size_t i = 0; i < 5; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    plim__lower_inplace(l, 0, 0);
    dnnl_layer_normalization_desc_t forward, desc;
    dnnl_primitive_desc_t hint;
    unsigned flags = dnnl_use_scale | dnnl_use_shift;
    PLIM_TRY(plim__lower_dnnl(l,
                              dnnl_layer_normalization_forward_desc_init(&forward, dnnl_forward_training, &s.data,
                                                                         &s.statistics, s.epsilon, flags),
                              "layer norm"));
    PLIM_TRY(plim__lower_dnnl(l,
                              dnnl_layer_normalization_backward_desc_init(&desc, dnnl_backward, &s.data, &s.data,
                                                                          &s.statistics, s.epsilon, flags),
                              "layer norm"));
    PLIM_TRY(plim__backward_describe(l, "layer norm", &forward, NULL, &hint));
    plim__argument arguments[] = {{DNNL_ARG_DIFF_DST, s.data, 0},
                                  {DNNL_ARG_SRC, s.data, 1},
                                  {DNNL_ARG_SCALE, s.row, 2},
                                  {DNNL_ARG_MEAN, s.statistics, 3},
                                  {DNNL_ARG_VARIANCE, s.statistics, 4},
                                  {DNNL_ARG_DIFF_SRC, s.data, PLIM__OUT(0)},
                                  {DNNL_ARG_DIFF_SCALE, s.row, PLIM__OUT(1)},
                                  {DNNL_ARG_DIFF_SHIFT, s.row, PLIM__OUT(2)},
                                  {DNNL_ARG_SHIFT, s.row, 2}}; /* as above */
    return finish(l, "LayerNormGrad", &desc, hint, arguments, 9);
}

/* --- instance and group norm ---------------------------------------------------------------------------------- */

/* Each group of channels of each sample on its own. Sums for scale and bias go to scratch, two for each channel of each
 * sample, and are added over the samples in their order. */
struct groups {
    int64_t samples, groups, channels, area; /* channels in a group, cells in a channel */
    bool per_group;
    float epsilon;
};

static void one_group(const struct groups *s, const plim__call *call, int64_t unit) {
    int64_t width = s->channels * s->area, group = unit % s->groups;
    const float *dy = (const float *)call->in[0] + unit * width, *x = (const float *)call->in[1] + unit * width,
                *scale = call->in[2];
    float *dx = (float *)call->out[0] + unit * width;
    double *sums = (double *)call->scratch + unit * s->channels * 2;
    double total = 0, squares = 0, plain = 0, along = 0;
    for (int64_t i = 0; i < width; i++) total += (double)x[i];
    double mean = total / (double)width;
    for (int64_t i = 0; i < width; i++) squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    double inverse = 1 / sqrt(squares / (double)width + (double)s->epsilon);
    for (int64_t c = 0; c < s->channels; c++) {
        double a = 0, b = 0, factor = (double)scale[s->per_group ? group : group * s->channels + c];
        for (int64_t i = c * s->area; i < (c + 1) * s->area; i++) {
            a += (double)dy[i] * ((double)x[i] - mean) * inverse;
            b += (double)dy[i];
        }
        sums[2 * c] = a;
        sums[2 * c + 1] = b;
        along += a * factor;
        plain += b * factor;
    }
    along /= (double)width;
    plain /= (double)width;
    for (int64_t c = 0; c < s->channels; c++) {
        double factor = (double)scale[s->per_group ? group : group * s->channels + c];
        for (int64_t i = c * s->area; i < (c + 1) * s->area; i++)
            dx[i] = (float)(inverse * ((double)dy[i] * factor - plain - ((double)x[i] - mean) * inverse * along));
    }
}

static plim_status run_groups(const plim__call *call) {
    const struct groups *s = call->state;
    int64_t all = s->groups * s->channels, outputs = s->per_group ? s->groups : all;
#pragma omp parallel for if (s->samples * all * s->area > 32768)
    for (int64_t unit = 0; unit < s->samples * s->groups; unit++) one_group(s, call, unit);
    for (int64_t k = 0; k < outputs; k++) {
        double a = 0, b = 0;
        int64_t first = s->per_group ? k * s->channels : k, count = s->per_group ? s->channels : 1;
        for (int64_t n = 0; n < s->samples; n++)
            for (int64_t c = first; c < first + count; c++) {
                const double *sums = (const double *)call->scratch + (n * all + c) * 2;
                a += sums[0];
                b += sums[1];
            }
        if (call->out[1]) ((float *)call->out[1])[k] = (float)a;
        if (call->out[2]) ((float *)call->out[2])[k] = (float)b;
    }
    return PLIM_OK;
}

plim_status plim__lower_channel_norm_grad(plim__lower *l) {
    const plim__shape *x = plim__lower_input_shape(l, 1);
    int64_t groups = plim__node_int(plim__lower_node(l), "num_groups", x->dims[1]);
    PLIM_TRY(need_f32(l));
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    PLIM_TRY(plim__lower_scratch(l, (size_t)(x->dims[0] * x->dims[1]) * 2 * sizeof(double)));
    struct groups *s = plim__alloc(sizeof *s);
    if (s)
        *s = (struct groups){.samples = x->dims[0],
                             .groups = groups,
                             .channels = x->dims[1] / groups,
                             .area = plim__shape_product(x, 2, x->rank),
                             .per_group =
                                 groups != x->dims[1] && plim__shape_elements(plim__lower_input_shape(l, 2)) == groups,
                             .epsilon = plim__node_float(plim__lower_node(l), "epsilon", 1e-5f)};
    return plim__lower_emit(l, "ChannelNormGrad", run_groups, s, plim__free);
}
