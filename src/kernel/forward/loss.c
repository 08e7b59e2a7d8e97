/* Cross entropy of scores, and negative log likelihood of log-probabilities.
 *
 *   scores x (N, C, inner)   label t (N, inner)   class weights w (C)
 *   loss(n, i) = w[t] (log(sum_c e^x(n,c,i)) - x(n,t,i))      cross entropy
 *   loss(n, i) = -w[t] x(n,t,i)                               likelihood
 *   mean: sum of the losses / sum of their weights; an ignored label has neither loss nor weight.
 *
 * Losses of single positions go to scratch as doubles and are added in order, so that the sum does not depend on the
 * number of threads. */
#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/scalar.h"
#include "kernel/copies.h"
#include "kernel/loops.h"
#include "kernel/lowers.h"
#include "kernel/simd/reduce.h"

#define STRIP 256 /* columns at a time */

enum reduction { NONE, MEAN, SUM };

struct loss {
    plim_dtype dtype, label_type;
    enum reduction reduction;
    bool softmax, ignores;
    int64_t ignored, outer, classes, inner; /* outer = N */
};

static int64_t label_at(const struct loss *s, const void *labels, int64_t i) {
    return s->label_type == PLIM_I32 ? ((const int32_t *)labels)[i] : ((const int64_t *)labels)[i];
}

/* All labels are classes or ignored; nothing is looked up before this is known. */
static plim_status check_labels(const plim__call *call, const struct loss *s) {
    int64_t count = s->outer * s->inner;
    for (int64_t i = 0; i < count; i++) {
        int64_t label = label_at(s, call->in[1], i);
        if ((label < 0 || label >= s->classes) && !(s->ignores && label == s->ignored))
            return plim__fail(call->error, PLIM_INVALID, "label %lld (element %lld) is out of range for %lld classes",
                              (long long)label, (long long)i, (long long)s->classes);
    }
    return PLIM_OK;
}

/* --- log(sum e^x) over the classes ---------------------------------------------------------------------------- */

/* `width` neighbouring columns from `at` on; step from class to class is inner. */
static void normalizers_f32(const struct loss *s, const float *x, int64_t width, double *logs) {
    const plim__fold_loops *loops = &plim__simd_reduce_table()->f32;
    double peaks[STRIP], sums[STRIP];
    for (int64_t i = 0; i < width; i++) peaks[i] = -INFINITY, sums[i] = 0;
    if (s->inner == 1) {
        loops->row[PLIM__FOLD_MAX](peaks, NULL, (const char *)x, s->classes, sizeof *x);
    } else {
        for (int64_t c = 0; c < s->classes; c++)
            loops->column[PLIM__FOLD_MAX](peaks, NULL, (const char *)(x + c * s->inner), width, sizeof *x);
    }
    for (int64_t i = 0; i < width; i++)
        if (isinf(peaks[i])) peaks[i] = peaks[i] < 0 ? -DBL_MAX : DBL_MAX; /* infinities must not meet */
    if (s->inner == 1) {
        loops->row[PLIM__FOLD_SUM_EXP](sums, peaks, (const char *)x, s->classes, sizeof *x);
    } else {
        for (int64_t c = 0; c < s->classes; c++)
            loops->column[PLIM__FOLD_SUM_EXP](sums, peaks, (const char *)(x + c * s->inner), width, sizeof *x);
    }
    for (int64_t i = 0; i < width; i++) logs[i] = peaks[i] + log(sums[i]);
}

static void normalizers_any(const struct loss *s, const void *x, int64_t at, int64_t width, double *logs) {
    for (int64_t i = 0; i < width; i++) {
        double peak = -INFINITY, sum = 0;
        for (int64_t c = 0; c < s->classes; c++) {
            double v = plim__scalar_get(s->dtype, x, at + c * s->inner + i);
            if (v > peak || v != v) peak = v;
        }
        for (int64_t c = 0; c < s->classes; c++)
            sum += exp(plim__scalar_get(s->dtype, x, at + c * s->inner + i) - peak);
        logs[i] = peak + log(sum);
    }
}

static void write_log_prob(const struct loss *s, void *y, const void *x, int64_t at, int64_t width,
                           const double *logs) {
    for (int64_t c = 0; c < s->classes; c++)
        for (int64_t i = 0; i < width; i++) {
            int64_t k = at + c * s->inner + i;
            if (s->dtype == PLIM_F32)
                ((float *)y)[k] = (float)((double)((const float *)x)[k] - logs[i]);
            else
                plim__scalar_set(s->dtype, y, k, plim__scalar_get(s->dtype, x, k) - logs[i]);
        }
}

/* --- losses --------------------------------------------------------------------------------------------------- */

static double weight_of(const struct loss *s, const plim__call *call, int64_t label) {
    if (s->ignores && label == s->ignored) return 0;
    return call->in[2] ? plim__scalar_get(s->dtype, call->in[2], label) : 1;
}

/* Positions `first` to `first + width` of sample n. */
static void strip(const struct loss *s, const plim__call *call, int64_t n, int64_t first, int64_t width) {
    int64_t at = n * s->classes * s->inner + first;
    double logs[STRIP] = {0}, *losses = call->scratch;
    if (s->softmax && s->classes > 0) {
        if (s->dtype == PLIM_F32)
            normalizers_f32(s, (const float *)call->in[0] + at, width, logs);
        else
            normalizers_any(s, call->in[0], at, width, logs);
        if (call->out[1]) write_log_prob(s, call->out[1], call->in[0], at, width, logs);
    }
    for (int64_t i = 0; i < width; i++) {
        int64_t position = n * s->inner + first + i, label = label_at(s, call->in[1], position);
        bool ignored = s->ignores && label == s->ignored;
        double score = ignored ? 0 : plim__scalar_get(s->dtype, call->in[0], at + label * s->inner + i);
        double value = ignored ? 0 : weight_of(s, call, label) * (logs[i] - score);
        if (s->reduction == NONE)
            plim__scalar_set(s->dtype, call->out[0], position, value);
        else
            losses[position] = value;
    }
}

static plim_status run_loss(const plim__call *call) {
    const struct loss *s = call->state;
    PLIM_TRY(check_labels(call, s));
    int64_t strips = (s->inner + STRIP - 1) / STRIP, tasks = s->outer * strips;
    int threads = plim__loop_threads(s->outer * s->inner * (s->softmax ? s->classes * 4 : 1));
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t t = 0; t < tasks; t++) {
        int64_t first = t % strips * STRIP, width = s->inner - first < STRIP ? s->inner - first : STRIP;
        strip(s, call, t / strips, first, width);
    }
    if (s->reduction == NONE) return PLIM_OK;
    const double *losses = call->scratch;
    double sum = 0, weights = 0;
    for (int64_t i = 0; i < s->outer * s->inner; i++) {
        sum += losses[i];
        weights += weight_of(s, call, label_at(s, call->in[1], i));
    }
    plim__scalar_set(s->dtype, call->out[0], 0, s->reduction == MEAN ? sum / weights : sum);
    return PLIM_OK;
}

static plim_status lower_loss(plim__lower *l, bool softmax) {
    const plim__node *node = plim__lower_node(l);
    const plim__shape *x = plim__lower_input_shape(l, 0);
    const char *reduction = plim__node_string(node, "reduction", "mean");
    struct loss *s;
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < 2; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    PLIM_TRY(plim__lower_scratch(l, (size_t)plim__shape_elements(plim__lower_input_shape(l, 1)) * sizeof(double)));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct loss){.dtype = plim__lower_input_dtype(l, 0),
                       .label_type = plim__lower_input_dtype(l, 1),
                       .reduction = strcmp(reduction, "none") == 0  ? NONE
                                    : strcmp(reduction, "sum") == 0 ? SUM
                                                                    : MEAN,
                       .softmax = softmax,
                       .ignores = plim__node_attribute(node, "ignore_index") != NULL,
                       .ignored = plim__node_int(node, "ignore_index", 0),
                       .outer = x->dims[0],
                       .classes = x->dims[1],
                       .inner = plim__shape_product(x, 2, x->rank)};
    return plim__lower_emit(l, node->op->name, run_loss, s, plim__free);
}

plim_status plim__lower_softmax_loss(plim__lower *l) { return lower_loss(l, true); }
plim_status plim__lower_likelihood_loss(plim__lower *l) { return lower_loss(l, false); }
