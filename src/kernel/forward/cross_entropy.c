/* Cross entropy of scores and class numbers, as PyTorch defines it, and its backward pass.
 *
 *   scores x (outer, C, inner)   target t and everything else (outer, inner)   class weights w (C)   weights of samples v
 *   lse = log Σ_c e^x_c     W = Σ_c w_c     e: label smoothing
 *   value  = v ((1 - e) w_t (lse - x_t) + e/C (W lse - Σ_c w_c x_c))    0 for a target that is ignored
 *   weight = Σ w_t      loss = Σ value / weight, 0 when nothing counts      correct = how often x_t is the first peak
 *   dx_c   = v dloss / weight · ( ((1 - e) w_t + e/C W) e^(x_c - lse) - (1 - e) w_t [c = t] - e/C w_c )
 *
 * Forward keeps the peak and the sum of e^(x - peak) of each position; with these the backward pass goes over the scores
 * once and writes the gradient in their place: the probabilities of all classes never exist beside the scores.
 * Values of single positions go to scratch as doubles and are added in order, so that the sum does not depend on the
 * number of threads. */
#include "kernel/forward/cross_entropy.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "kernel/copies.h"
#include "kernel/loops.h"
#include "kernel/lowers.h"

#define STRIP 256 /* columns at a time */

struct scores {
    plim__entropy entropy;
    int64_t outer, inner;
    int64_t each; /* positions of a weight of the samples */
};

/* --- one position --------------------------------------------------------------------------------------------- */

plim__entropy plim__entropy_read(const plim__lower *l, size_t labels, int64_t classes) {
    const plim__node *node = plim__lower_node(l);
    return (plim__entropy){.label_type = plim__lower_input_dtype(l, labels),
                           .ignores = plim__node_attribute(node, "ignore_index") != NULL,
                           .ignored = plim__node_int(node, "ignore_index", 0),
                           .smoothing = (double)plim__node_float(node, "label_smoothing", 0),
                           .count = plim__shape_elements(plim__lower_input_shape(l, labels)),
                           .classes = classes};
}

/*  | values, a double each | peaks, sums: a float each | right, a byte each | */
size_t plim__entropy_scratch(size_t count) { return count * (sizeof(double) + 2 * sizeof(float) + 1); }

static plim_status check_labels(const plim__call *call, const plim__entropy *s, const plim__entropy_parts *p) {
    for (int64_t i = 0; i < s->count; i++) {
        int64_t label = plim__entropy_label(s, p, i);
        if ((label < 0 || label >= s->classes) && !plim__entropy_ignores(s, label))
            return plim__fail(call->error, PLIM_INVALID, "label %lld at position %lld is out of range for %lld classes",
                              (long long)label, (long long)i, (long long)s->classes);
    }
    return PLIM_OK;
}

static plim_status begin(const plim__call *call, const plim__entropy *s, plim__entropy_parts *p) {
    PLIM_TRY(check_labels(call, s, p));
    p->loops = plim__simd_loss_table();
    p->all_weights = p->w ? 0 : (double)s->classes;
    for (int64_t c = 0; p->w && c < s->classes; c++) p->all_weights += (double)p->w[c];
    return PLIM_OK;
}

plim_status plim__entropy_begin(const plim__call *call, const plim__entropy *s, void *scratch, float *saved,
                                plim__entropy_parts *p) {
    p->values = scratch;
    p->right = (uint8_t *)(p->values + 2 * s->count);
    p->peaks = saved ? saved : (float *)(p->values + s->count);
    p->sums = p->peaks + s->count;
    return begin(call, s, p);
}

plim_status plim__entropy_begin_backward(const plim__call *call, const plim__entropy *s, float *saved, float weight,
                                         float dloss, plim__entropy_parts *p) {
    p->peaks = saved;
    p->sums = saved + s->count;
    p->share = weight != 0 ? (double)dloss / (double)weight : 0;
    return begin(call, s, p);
}

double plim__entropy_value(const plim__entropy *s, const plim__entropy_parts *p, int64_t label,
                           plim__entropy_scores x) {
    double rest = log(x.sum), e = s->smoothing;
    double value = (1 - e) * plim__entropy_weight(p, label) * (rest + (x.peak - x.target));
    return e > 0 ? value + e / (double)s->classes * (p->all_weights * (rest + x.peak) - x.dot) : value;
}

void plim__entropy_row(const plim__entropy *s, const plim__entropy_parts *p, int64_t i, const float *x) {
    int64_t label = plim__entropy_label(s, p, i);
    float peak;
    p->values[i] = 0;
    p->right[i] = 0;
    p->peaks[i] = 0;
    p->sums[i] = 1;
    if (plim__entropy_ignores(s, label)) return;
    double sum = p->loops->normalizer(x, s->classes, &peak);
    p->peaks[i] = peak;
    p->sums[i] = (float)sum;
    double dot = s->smoothing > 0 ? p->loops->dot(x, p->w, s->classes) : 0;
    p->values[i] = plim__entropy_sample(p, i) *
                   plim__entropy_value(s, p, label, (plim__entropy_scores){(double)x[label], (double)peak, sum, dot});
    p->right[i] = x[label] == peak && !p->loops->holds(x, label, peak);
}

void plim__entropy_finish(const plim__entropy *s, const plim__entropy_parts *p, float *loss, float *weight,
                          float *correct) {
    double sum = 0, weights = 0;
    int64_t right = 0;
    for (int64_t i = 0; i < s->count; i++) {
        int64_t label = plim__entropy_label(s, p, i);
        sum += p->values[i];
        weights += plim__entropy_ignores(s, label) ? 0 : plim__entropy_weight(p, label);
        right += p->right[i];
    }
    if (loss) *loss = weights != 0 ? (float)(sum / weights) : 0;
    if (weight) *weight = (float)weights;
    if (correct) *correct = (float)right;
}

void plim__entropy_row_backward(const plim__entropy *s, const plim__entropy_parts *p, int64_t i, const float *x,
                                float *dx) {
    int64_t label = plim__entropy_label(s, p, i);
    if (plim__entropy_ignores(s, label)) {
        memset(dx, 0, (size_t)s->classes * sizeof *dx);
        return;
    }
    double mine = (1 - s->smoothing) * plim__entropy_weight(p, label), all = s->smoothing / (double)s->classes;
    double share = p->share * plim__entropy_sample(p, i);
    double factor = share * (mine + all * p->all_weights) / (double)p->sums[i];
    plim__loss_slope slope = {p->peaks[i], (float)factor, (float)(share * all)};
    p->loops->slope(dx, x, all > 0 ? p->w : NULL, s->classes, slope);
    dx[label] -= (float)(share * mine);
}

/* --- positions side by side ----------------------------------------------------------------------------------- */

/* `width` positions from `at` on, neighbours in one sample, whose scores start at x. */
static void forward_strip(const struct scores *k, const plim__entropy_parts *p, int64_t at, int64_t width,
                          const float *x) {
    const plim__entropy *s = &k->entropy;
    plim__columns columns = {s->classes, k->inner, width};
    float dots[STRIP] = {0};
    int32_t best[STRIP];
    p->loops->normalizers(x, columns, p->peaks + at, p->sums + at, best);
    if (s->smoothing > 0) p->loops->dots(x, p->w, columns, dots);
    for (int64_t j = 0; j < width; j++) {
        int64_t label = plim__entropy_label(s, p, at + j);
        bool ignored = plim__entropy_ignores(s, label);
        p->right[at + j] = !ignored && best[j] == label;
        p->values[at + j] = 0;
        if (ignored) continue;
        plim__entropy_scores scores = {(double)x[label * k->inner + j], (double)p->peaks[at + j],
                                       (double)p->sums[at + j], s->smoothing > 0 ? (double)dots[j] : 0};
        p->values[at + j] = plim__entropy_sample(p, at + j) * plim__entropy_value(s, p, label, scores);
    }
}

static void backward_strip(const struct scores *k, const plim__entropy_parts *p, int64_t at, int64_t width,
                           const float *x, float *dx) {
    const plim__entropy *s = &k->entropy;
    float factors[STRIP] = {0}, bases[STRIP] = {0};
    double all = s->smoothing / (double)s->classes;
    for (int64_t j = 0; j < width; j++) {
        int64_t label = plim__entropy_label(s, p, at + j);
        bool ignored = plim__entropy_ignores(s, label);
        double mine = ignored ? 0 : (1 - s->smoothing) * plim__entropy_weight(p, label) + all * p->all_weights;
        double share = p->share * plim__entropy_sample(p, at + j);
        factors[j] = (float)(share * mine / (double)p->sums[at + j]);
        bases[j] = ignored ? 0 : (float)(share * all);
    }
    p->loops->slopes(dx, x, all > 0 ? p->w : NULL, (plim__columns){s->classes, k->inner, width},
                     (plim__loss_slopes){p->peaks + at, factors, bases});
    for (int64_t j = 0; j < width; j++) {
        int64_t label = plim__entropy_label(s, p, at + j);
        if (!plim__entropy_ignores(s, label))
            dx[label * k->inner + j] -= (float)(p->share * plim__entropy_sample(p, at + j) * (1 - s->smoothing) *
                                                plim__entropy_weight(p, label));
    }
}

/* --- the steps ------------------------------------------------------------------------------------------------ */

/* Only the forward pass has values; dx is NULL there. */
static void run(const struct scores *k, const plim__entropy_parts *p, const float *x, float *dx) {
    int64_t strips = (k->inner + STRIP - 1) / STRIP, classes = k->entropy.classes;
    int threads = plim__loop_threads(k->entropy.count * classes * 4);
    bool forward = p->values != NULL;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t t = 0; t < k->outer * strips; t++) {
        int64_t n = t / strips, first = t % strips * STRIP, at = n * classes * k->inner + first;
        int64_t width = k->inner - first < STRIP ? k->inner - first : STRIP;
        if (k->inner == 1 && !forward)
            plim__entropy_row_backward(&k->entropy, p, t, x + at, dx + at);
        else if (k->inner == 1)
            plim__entropy_row(&k->entropy, p, t, x + at);
        else if (!forward)
            backward_strip(k, p, n * k->inner + first, width, x + at, dx + at);
        else
            forward_strip(k, p, n * k->inner + first, width, x + at);
    }
}

static plim_status run_forward(const plim__call *call) {
    const struct scores *k = call->state;
    plim__entropy_parts p = {.labels = call->in[1], .w = call->in[2], .samples = call->in[3], .each = k->each};
    PLIM_TRY(plim__entropy_begin(call, &k->entropy, call->scratch, call->out[3], &p));
    run(k, &p, call->in[0], NULL);
    plim__entropy_finish(&k->entropy, &p, call->out[0], call->out[1], call->out[2]);
    return PLIM_OK;
}

static plim_status run_backward(const plim__call *call) {
    const struct scores *k = call->state;
    float weight = *(const float *)call->in[3], dloss = *(const float *)call->in[4];
    plim__entropy_parts p = {.labels = call->in[1], .w = call->in[5], .samples = call->in[6], .each = k->each};
    PLIM_TRY(plim__entropy_begin_backward(call, &k->entropy, call->in[2], weight, dloss, &p));
    run(k, &p, call->in[0], call->out[0]);
    return PLIM_OK;
}

/* `weights`: the input that weighs samples, where it is given. */
static plim_status read_scores(plim__lower *l, size_t weights, struct scores **state) {
    const plim__shape *x = plim__lower_input_shape(l, 0);
    int axis = (int)plim__node_int(plim__lower_node(l), "axis", 1);
    PLIM_TRY(plim__lower_state(l, sizeof **state, state));
    **state = (struct scores){.entropy = plim__entropy_read(l, 1, x->dims[axis]),
                              .outer = plim__shape_product(x, 0, axis),
                              .inner = plim__shape_product(x, axis + 1, x->rank)};
    if (plim__lower_has_input(l, weights) && (*state)->entropy.count > 0)
        (*state)->each = (*state)->entropy.count / plim__shape_elements(plim__lower_input_shape(l, weights));
    return PLIM_OK;
}

plim_status plim__lower_cross_entropy(plim__lower *l) {
    struct scores *k;
    for (size_t i = 0; i < 4; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < 4; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    PLIM_TRY(
        plim__lower_scratch(l, plim__entropy_scratch((size_t)plim__shape_elements(plim__lower_input_shape(l, 1)))));
    PLIM_TRY(read_scores(l, 3, &k));
    return plim__lower_emit(l, "CrossEntropy", run_forward, k, plim__free);
}

plim_status plim__lower_cross_entropy_grad(plim__lower *l) {
    struct scores *k;
    for (size_t i = 0; i < 7; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    plim__lower_inplace(l, 0, 0);
    PLIM_TRY(read_scores(l, 6, &k));
    return plim__lower_emit(l, "CrossEntropyGrad", run_backward, k, plim__free);
}
