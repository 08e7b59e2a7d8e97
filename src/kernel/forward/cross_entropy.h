/* Cross entropy, a position at a time: what the loss on scores and the loss on a linear layer share. The formulas stand
 * in cross_entropy.c. */
#ifndef PLIM_KERNEL_FORWARD_CROSS_ENTROPY_H
#define PLIM_KERNEL_FORWARD_CROSS_ENTROPY_H

#include "kernel/simd/loss.h"
#include "program/lower.h"

typedef struct plim__entropy {
    plim_dtype label_type;
    bool ignores;
    int64_t ignored, count, classes; /* count of positions */
    double smoothing;
} plim__entropy;

/* What a step works on; all but the first three have an element for each position. */
typedef struct plim__entropy_parts {
    const plim__simd_loss *loops;
    const float *w;     /* class weights, or NULL */
    double all_weights; /* their sum; the number of classes without */
    const void *labels;
    float *peaks, *sums; /* saved by forward for backward */
    double *values;      /* forward: 0 where a target is ignored */
    uint8_t *right;
    double share;         /* backward: dloss / weight */
    const float *samples; /* weights of samples, or NULL */
    int64_t each;         /* positions that have the same one */
} plim__entropy_parts;

/* From the attributes of the node; `labels` is the input with the targets. */
plim__entropy plim__entropy_read(const plim__lower *l, size_t labels, int64_t classes);
/* Bytes of scratch for values, right and, where they are not saved, peaks and sums. */
size_t plim__entropy_scratch(size_t count);

/* Checks all labels before anything is looked up: PLIM_INVALID names the first that is no class. The caller has set
 * labels and w; `saved` (peaks and sums for backward) may be NULL. */
plim_status plim__entropy_begin(const plim__call *call, const plim__entropy *s, void *scratch, float *saved,
                                plim__entropy_parts *parts);
/* The loss of position i, whose scores are x. */
void plim__entropy_row(const plim__entropy *s, const plim__entropy_parts *p, int64_t i, const float *x);
/* Loss, weight and the number of right predictions, from the values of all positions; each may be NULL. */
void plim__entropy_finish(const plim__entropy *s, const plim__entropy_parts *p, float *loss, float *weight,
                          float *correct);

/* The same for backward: dx may be x. */
plim_status plim__entropy_begin_backward(const plim__call *call, const plim__entropy *s, float *saved, float weight,
                                         float dloss, plim__entropy_parts *parts);
void plim__entropy_row_backward(const plim__entropy *s, const plim__entropy_parts *p, int64_t i, const float *x,
                                float *dx);

static inline int64_t plim__entropy_label(const plim__entropy *s, const plim__entropy_parts *p, int64_t i) {
    return s->label_type == PLIM_I32 ? ((const int32_t *)p->labels)[i] : ((const int64_t *)p->labels)[i];
}
static inline bool plim__entropy_ignores(const plim__entropy *s, int64_t label) {
    return s->ignores && label == s->ignored;
}
static inline double plim__entropy_weight(const plim__entropy_parts *p, int64_t label) {
    return p->w ? (double)p->w[label] : 1;
}
/* By what a position's loss is multiplied; the mean is not one of these. */
static inline double plim__entropy_sample(const plim__entropy_parts *p, int64_t i) {
    return p->samples ? (double)p->samples[i / p->each] : 1;
}
/* The scores of one position. */
typedef struct plim__entropy_scores {
    double target, peak, sum; /* the score of the label; Σ e^(x - peak) */
    double dot;               /* Σ w x, read only when labels are smoothed */
} plim__entropy_scores;
double plim__entropy_value(const plim__entropy *s, const plim__entropy_parts *p, int64_t label, plim__entropy_scores x);

#endif
