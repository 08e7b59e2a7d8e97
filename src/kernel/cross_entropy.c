/* Cross entropy of scores and class numbers, as PyTorch defines it, and its backward pass.
 *
 *   scores x (outer, C, inner)   target t and everything else (outer, inner)   class weights w (C)
 *   lse = log Σ_c e^x_c     W = Σ_c w_c     e: label smoothing
 *   value  = (1 - e) w_t (lse - x_t) + e/C (W lse - Σ_c w_c x_c)        0 for a target that is ignored
 *   weight = Σ w_t      loss = Σ value / weight, 0 when nothing counts      correct = how often x_t is the first peak
 *   dx_c   = dloss / weight · ( ((1 - e) w_t + e/C W) e^(x_c - lse) - (1 - e) w_t [c = t] - e/C w_c )
 *
 * Forward keeps the peak and the sum of e^(x - peak) of each position; with these the backward pass goes over the scores
 * once and writes the gradient in their place: the probabilities of all classes never exist beside the scores.
 * Values of single positions go to scratch as doubles and are added in order, so that the sum does not depend on the
 * number of threads. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "kernel/copies.h"
#include "kernel/loops.h"
#include "kernel/simd/loss.h"

#define STRIP 256 /* columns at a time */

struct entropy {
    plim_dtype label_type;
    bool ignores;
    int64_t ignored, outer, classes, inner;
    double smoothing;
};

/* Operands of the forward and the backward step. */
struct parts {
    const plim__simd_loss *loops;
    const float *x, *w;
    const void *labels;
    double all_weights; /* W */
    double *values;     /* forward: of each position, 0 where it is ignored */
    uint8_t *right;
    float *peaks, *sums; /* of each position */
    float *dx;
    double share; /* backward: dloss / weight */
};

static int64_t label_at(const struct entropy *s, const struct parts *p, int64_t i) {
    return s->label_type == PLIM_I32 ? ((const int32_t *)p->labels)[i] : ((const int64_t *)p->labels)[i];
}

static bool is_ignored(const struct entropy *s, int64_t label) { return s->ignores && label == s->ignored; }
static double weight_of(const struct parts *p, int64_t label) { return p->w ? (double)p->w[label] : 1; }

/* All labels are classes or ignored; nothing is looked up before this is known. */
static plim_status check_labels(const plim__call *call, const struct entropy *s, const struct parts *p) {
    for (int64_t i = 0; i < s->outer * s->inner; i++) {
        int64_t label = label_at(s, p, i);
        if ((label < 0 || label >= s->classes) && !is_ignored(s, label))
            return plim__fail(call->error, PLIM_INVALID, "label %lld at position %lld is out of range for %lld classes",
                              (long long)label, (long long)i, (long long)s->classes);
    }
    return PLIM_OK;
}

static double sum_weights(const struct entropy *s, const float *w) {
    double sum = 0;
    for (int64_t c = 0; w && c < s->classes; c++) sum += (double)w[c];
    return w ? sum : (double)s->classes;
}

/* --- forward -------------------------------------------------------------------------------------------------- */

/* dot: Σ w x, read only when labels are smoothed. */
static double value_of(const struct entropy *s, const struct parts *p, int64_t label, double score, double peak,
                       double sum, double dot) {
    double rest = log(sum), e = s->smoothing;
    double value = (1 - e) * weight_of(p, label) * (rest + (peak - score));
    return e > 0 ? value + e / (double)s->classes * (p->all_weights * (rest + peak) - dot) : value;
}

static void forward_row(const struct entropy *s, const struct parts *p, int64_t i) {
    const plim__simd_loss *loops = p->loops;
    const float *x = p->x + i * s->classes;
    int64_t label = label_at(s, p, i);
    float peak;
    p->values[i] = 0;
    p->right[i] = 0;
    p->peaks[i] = 0;
    p->sums[i] = 1;
    if (is_ignored(s, label)) return;
    double sum = loops->normalizer(x, s->classes, &peak);
    p->peaks[i] = peak;
    p->sums[i] = (float)sum;
    double dot = s->smoothing > 0 ? loops->dot(x, p->w, s->classes) : 0;
    p->values[i] = value_of(s, p, label, (double)x[label], (double)peak, sum, dot);
    p->right[i] = x[label] == peak && !loops->holds(x, label, peak);
}

static void forward_strip(const struct entropy *s, const struct parts *p, int64_t n, int64_t first, int64_t width) {
    const plim__simd_loss *loops = p->loops;
    const float *x = p->x + n * s->classes * s->inner + first;
    int64_t at = n * s->inner + first;
    float dots[STRIP];
    int32_t best[STRIP];
    loops->normalizers(x, s->classes, s->inner, width, p->peaks + at, p->sums + at, best);
    if (s->smoothing > 0) loops->dots(x, p->w, s->classes, s->inner, width, dots);
    for (int64_t j = 0; j < width; j++) {
        int64_t label = label_at(s, p, at + j);
        bool ignored = is_ignored(s, label);
        p->right[at + j] = !ignored && best[j] == label;
        p->values[at + j] =
            ignored ? 0
                    : value_of(s, p, label, (double)x[label * s->inner + j], (double)p->peaks[at + j],
                               (double)p->sums[at + j], s->smoothing > 0 ? (double)dots[j] : 0);
    }
}

static void finish(const plim__call *call, const struct entropy *s, const struct parts *p) {
    double sum = 0, weight = 0;
    int64_t right = 0;
    for (int64_t i = 0; i < s->outer * s->inner; i++) {
        int64_t label = label_at(s, p, i);
        sum += p->values[i];
        weight += is_ignored(s, label) ? 0 : weight_of(p, label);
        right += p->right[i];
    }
    *(float *)call->out[0] = weight != 0 ? (float)(sum / weight) : 0;
    if (call->out[1]) *(float *)call->out[1] = (float)weight;
    if (call->out[2]) *(float *)call->out[2] = (float)right;
}

static plim_status run_forward(const plim__call *call) {
    const struct entropy *s = call->state;
    int64_t count = s->outer * s->inner, strips = (s->inner + STRIP - 1) / STRIP;
    double *values = call->scratch;
    float *kept = call->out[3] ? call->out[3] : (float *)(values + count);
    struct parts p = {.loops = plim__simd_loss_table(),
                      .x = call->in[0],
                      .labels = call->in[1],
                      .w = call->in[2],
                      .values = values,
                      .right = (uint8_t *)(values + 2 * count),
                      .peaks = kept,
                      .sums = kept + count};
    PLIM_TRY(check_labels(call, s, &p));
    p.all_weights = sum_weights(s, p.w);
    int threads = plim__loop_threads(count * s->classes * 4);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t t = 0; t < s->outer * strips; t++) {
        int64_t first = t % strips * STRIP, width = s->inner - first < STRIP ? s->inner - first : STRIP;
        if (s->inner == 1)
            forward_row(s, &p, t);
        else
            forward_strip(s, &p, t / strips, first, width);
    }
    finish(call, s, &p);
    return PLIM_OK;
}

/* --- backward ------------------------------------------------------------------------------------------------- */

static void backward_row(const struct entropy *s, const struct parts *p, int64_t i) {
    int64_t label = label_at(s, p, i);
    float *dx = p->dx + i * s->classes;
    if (is_ignored(s, label)) {
        memset(dx, 0, (size_t)s->classes * sizeof *dx);
        return;
    }
    double mine = (1 - s->smoothing) * weight_of(p, label), all = s->smoothing / (double)s->classes;
    double factor = p->share * (mine + all * p->all_weights) / (double)p->sums[i];
    p->loops->slope(dx, p->x + i * s->classes, all > 0 ? p->w : NULL, s->classes, p->peaks[i], (float)factor,
                    (float)(p->share * all));
    dx[label] -= (float)(p->share * mine);
}

static void backward_strip(const struct entropy *s, const struct parts *p, int64_t n, int64_t first, int64_t width) {
    int64_t at = n * s->inner + first, from = n * s->classes * s->inner + first;
    float factors[STRIP] = {0}, bases[STRIP] = {0};
    double all = s->smoothing / (double)s->classes;
    for (int64_t j = 0; j < width; j++) {
        int64_t label = label_at(s, p, at + j);
        bool ignored = is_ignored(s, label);
        double mine = ignored ? 0 : (1 - s->smoothing) * weight_of(p, label) + all * p->all_weights;
        factors[j] = (float)(p->share * mine / (double)p->sums[at + j]);
        bases[j] = ignored ? 0 : (float)(p->share * all);
    }
    p->loops->slopes(p->dx + from, p->x + from, all > 0 ? p->w : NULL, s->classes, s->inner, width, p->peaks + at,
                     factors, bases);
    for (int64_t j = 0; j < width; j++) {
        int64_t label = label_at(s, p, at + j);
        if (!is_ignored(s, label))
            p->dx[from + label * s->inner + j] -= (float)(p->share * (1 - s->smoothing) * weight_of(p, label));
    }
}

static plim_status run_backward(const plim__call *call) {
    const struct entropy *s = call->state;
    int64_t count = s->outer * s->inner, strips = (s->inner + STRIP - 1) / STRIP;
    double weight = (double)*(const float *)call->in[3], dloss = (double)*(const float *)call->in[4];
    struct parts p = {.loops = plim__simd_loss_table(),
                      .x = call->in[0],
                      .labels = call->in[1],
                      .w = call->in[5],
                      .peaks = call->in[2],
                      .sums = (float *)call->in[2] + count,
                      .dx = call->out[0],
                      .share = weight != 0 ? dloss / weight : 0};
    PLIM_TRY(check_labels(call, s, &p));
    p.all_weights = sum_weights(s, p.w);
    int threads = plim__loop_threads(count * s->classes * 4);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t t = 0; t < s->outer * strips; t++) {
        int64_t first = t % strips * STRIP, width = s->inner - first < STRIP ? s->inner - first : STRIP;
        if (s->inner == 1)
            backward_row(s, &p, t);
        else
            backward_strip(s, &p, t / strips, first, width);
    }
    return PLIM_OK;
}

/* --- lowering ------------------------------------------------------------------------------------------------- */

static plim_status read_entropy(plim__lower *l, struct entropy **state) {
    const plim__node *node = plim__lower_node(l);
    const plim__shape *x = plim__lower_input_shape(l, 0);
    int axis = (int)plim__node_int(node, "axis", 1);
    PLIM_TRY(plim__lower_state(l, sizeof **state, state));
    **state = (struct entropy){.label_type = plim__lower_input_dtype(l, 1),
                               .ignores = plim__node_attribute(node, "ignore_index") != NULL,
                               .ignored = plim__node_int(node, "ignore_index", 0),
                               .smoothing = (double)plim__node_float(node, "label_smoothing", 0),
                               .outer = plim__shape_product(x, 0, axis),
                               .classes = x->dims[axis],
                               .inner = plim__shape_product(x, axis + 1, x->rank)};
    return PLIM_OK;
}

plim_status plim__lower_cross_entropy(plim__lower *l);
plim_status plim__lower_cross_entropy(plim__lower *l) {
    struct entropy *s;
    size_t count = (size_t)plim__shape_elements(plim__lower_input_shape(l, 1));
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < 4; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    PLIM_TRY(plim__lower_scratch(l, count * (2 * sizeof(double) + 1)));
    PLIM_TRY(read_entropy(l, &s));
    return plim__lower_emit(l, "CrossEntropy", run_forward, s, plim__free);
}

plim_status plim__lower_cross_entropy_grad(plim__lower *l);
plim_status plim__lower_cross_entropy_grad(plim__lower *l) {
    struct entropy *s;
    for (size_t i = 0; i < 6; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    plim__lower_inplace(l, 0, 0);
    PLIM_TRY(read_entropy(l, &s));
    return plim__lower_emit(l, "CrossEntropyGrad", run_backward, s, plim__free);
}
