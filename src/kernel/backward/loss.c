/* Backward of losses over classes.
 *
 *   dx(n, c, i) = g (softmax(x)(n, c, i) - [c = t])     cross entropy, written over the scores where they are not needed any more
 *   dx(n, c, i) = -g [c = t]                            likelihood
 *   g = dloss · w[t], divided by the sum of the weights for a mean; 0 for an ignored label
 *
 * Inputs: 0 dloss, 1 labels, 2 class weights (optional), 3 scores (cross entropy). The probabilities exist a sample at a
 * time, and only in the place of the result. */
#include <string.h>

#include "core/error.h"
#include "kernel/copies.h"
#include "kernel/loops.h"
#include "kernel/lowers.h"
#include "kernel/simd/reduce.h"

#define STRIP 256 /* columns at a time */

struct loss {
    plim_dtype label_type;
    bool softmax, ignores, mean, each; /* each: a dloss for every position */
    int64_t ignored, outer, classes, inner;
};

static int64_t label_at(const struct loss *s, const void *labels, int64_t i) {
    return s->label_type == PLIM_I32 ? ((const int32_t *)labels)[i] : ((const int64_t *)labels)[i];
}

static double weight_of(const struct loss *s, const plim__call *call, int64_t label) {
    if (s->ignores && label == s->ignored) return 0;
    return call->in[2] ? (double)((const float *)call->in[2])[label] : 1;
}

/* Positions first to first + width - 1 of sample n. */
static void strip(const struct loss *s, const plim__call *call, int64_t n, int64_t first, int64_t width, double share) {
    int64_t at = n * s->classes * s->inner + first;
    float *dx = (float *)call->out[0] + at, peaks[STRIP], sums[STRIP], factors[STRIP];
    const float *dloss = call->in[0];
    for (int64_t i = 0; i < width; i++) {
        int64_t position = n * s->inner + first + i;
        double weight = weight_of(s, call, label_at(s, call->in[1], position));
        factors[i] = (float)((double)dloss[s->each ? position : 0] * weight * share);
    }
    if (s->softmax && s->inner == 1)
        plim__simd_reduce_table()->softmax(dx, (const float *)call->in[3] + at, s->classes);
    else if (s->softmax)
        plim__simd_reduce_table()->softmax_columns(dx, (const float *)call->in[3] + at,
                                                   (plim__columns){s->classes, s->inner, width}, peaks, sums, 0);
    for (int64_t c = 0; c < s->classes; c++)
        for (int64_t i = 0; i < width; i++)
            dx[c * s->inner + i] = s->softmax && factors[i] != 0 ? dx[c * s->inner + i] * factors[i] : 0;
    for (int64_t i = 0; i < width; i++) {
        int64_t label = label_at(s, call->in[1], n * s->inner + first + i);
        if (!(s->ignores && label == s->ignored)) dx[label * s->inner + i] -= factors[i];
    }
}

static plim_status run_loss(const plim__call *call) {
    const struct loss *s = call->state;
    double weights = 0;
    for (int64_t i = 0; i < s->outer * s->inner; i++) {
        int64_t label = label_at(s, call->in[1], i);
        if ((label < 0 || label >= s->classes) && !(s->ignores && label == s->ignored))
            return plim__fail(call->error, PLIM_INVALID, "label %lld (element %lld) is out of range for %lld classes",
                              (long long)label, (long long)i, (long long)s->classes);
        weights += weight_of(s, call, label);
    }
    double share = s->mean && weights != 0 ? 1 / weights : 1;
    int64_t strips = (s->inner + STRIP - 1) / STRIP, tasks = s->outer * strips;
    int threads = plim__loop_threads(s->outer * s->inner * s->classes * 4);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t t = 0; t < tasks; t++) {
        int64_t first = t % strips * STRIP, width = s->inner - first < STRIP ? s->inner - first : STRIP;
        strip(s, call, t / strips, first, width, share);
    }
    return PLIM_OK;
}

static plim_status lower(plim__lower *l, const char *label, bool softmax) {
    const plim__node *node = plim__lower_node(l);
    const plim__shape *x = plim__lower_output_shape(l, 0);
    const char *reduction = plim__node_string(node, "reduction", "mean");
    struct loss *s;
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    for (size_t i = 0; i < (softmax ? 4u : 3u); i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    if (softmax) plim__lower_inplace(l, 3, 0);
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct loss){.label_type = plim__lower_input_dtype(l, 1),
                       .softmax = softmax,
                       .ignores = plim__node_attribute(node, "ignore_index") != NULL,
                       .mean = strcmp(reduction, "mean") == 0,
                       .each = strcmp(reduction, "none") == 0,
                       .ignored = plim__node_int(node, "ignore_index", 0),
                       .outer = x->dims[0],
                       .classes = x->dims[1],
                       .inner = plim__shape_product(x, 2, x->rank)};
    return plim__lower_emit(l, label, run_loss, s, plim__free);
}

plim_status plim__lower_softmax_loss_grad(plim__lower *l) { return lower(l, "SoftmaxCrossEntropyLossGrad", true); }
plim_status plim__lower_likelihood_loss_grad(plim__lower *l) {
    return lower(l, "NegativeLogLikelihoodLossGrad", false);
}
