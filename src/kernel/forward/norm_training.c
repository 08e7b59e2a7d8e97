/* Batch norm by the statistics of the batch itself, as models that were exported for training have it:
 *
 *   y = scale (x - mean(x)) / sqrt(variance(x) + epsilon) + bias                       over all but the channel axis
 *   running' = momentum · running + (1 - momentum) · statistic                         of mean and variance
 *
 * The variance is the one of the population, as ONNX says. Training itself uses operators of its own (src/grad). */
#include <math.h>

#include "kernel/forward/norm.h"
#include "kernel/lowers.h"

struct training {
    int64_t samples, channels, area; /* x (samples, channels, area) */
    double epsilon, momentum;
};

/* in: x, scale, bias, mean, variance; out: y, running mean, running variance (the last two may be NULL) */
static plim_status run_training(const plim__call *call) {
    const struct training *s = call->state;
    const float *x = call->in[0], *scale = call->in[1], *bias = call->in[2], *old_mean = call->in[3],
                *old_variance = call->in[4];
    float *y = call->out[0], *new_mean = call->out[1], *new_variance = call->out[2];
    double count = (double)(s->samples * s->area);
#pragma omp parallel for if (s->samples * s->channels * s->area > 32768)
    for (int64_t c = 0; c < s->channels; c++) {
        double sum = 0, squares = 0;
        for (int64_t n = 0; n < s->samples; n++)
            for (int64_t i = 0; i < s->area; i++) sum += (double)x[(n * s->channels + c) * s->area + i];
        double mean = sum / count;
        for (int64_t n = 0; n < s->samples; n++)
            for (int64_t i = 0; i < s->area; i++) {
                double d = (double)x[(n * s->channels + c) * s->area + i] - mean;
                squares += d * d;
            }
        double variance = squares / count, factor = (double)scale[c] / sqrt(variance + s->epsilon);
        for (int64_t n = 0; n < s->samples; n++)
            for (int64_t i = 0; i < s->area; i++) {
                int64_t at = (n * s->channels + c) * s->area + i;
                y[at] = (float)(((double)x[at] - mean) * factor + (double)bias[c]);
            }
        if (new_mean) new_mean[c] = (float)(s->momentum * (double)old_mean[c] + (1 - s->momentum) * mean);
        if (new_variance)
            new_variance[c] = (float)(s->momentum * (double)old_variance[c] + (1 - s->momentum) * variance);
    }
    return PLIM_OK;
}

plim_status plim__lower_batch_norm_training(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    const plim__shape *x = plim__lower_input_shape(l, 0);
    if (node->version < 14 || x->rank < 2)
        return plim__lower_unsupported(l, "in training mode without a channel axis, or before opset 14");
    for (size_t i = 0; i < 5; i++) {
        if (plim__lower_input_dtype(l, i) != PLIM_F32)
            return plim__lower_unsupported(l, "with another type than float32");
        PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    }
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    plim__lower_inplace(l, 0, 0); /* a channel's elements are read before they are written */
    struct training *s = plim__alloc(sizeof *s);
    if (s)
        *s = (struct training){.samples = x->dims[0],
                               .channels = x->dims[1],
                               .area = plim__shape_product(x, 2, x->rank),
                               .epsilon = (double)plim__node_float(node, "epsilon", 1e-5f),
                               .momentum = (double)plim__node_float(node, "momentum", 0.9f)};
    return plim__lower_emit(l, "BatchNormalization", run_training, s, plim__free);
}
