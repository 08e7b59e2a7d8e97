/* Backward of recurrent networks through time: what the three cells share.
 *
 * The forward pass saves Y and the gates as they were activated (forward/recurrent.h). A walk backward in time turns the
 * gates into their gradients, where they are, and large products over all steps give those of X, W and R. The walk is
 * one parallel region, as forward: each thread owns some samples, or some hidden units, with all their gates and their dh.
 *
 *   scratch of one direction:
 *     h before each step (T, B, H), where Y has it in another order  |  dh (B, H)  |  other (B, H)  |  R packed by columns (G H, H)  |
 *     sums of gates, double  |  zeros (4 H)  |
 *     gates (T, B, H) of an RNN, where Y is what its activation gave and nothing else is saved
 *
 * Of a table (ops/recurrent.c) the gradients of the gates are added up by row of the table instead, and its product with W
 * has a backward pass of its own.
 *
 * part, the last H of a row of gates, is c of an LSTM or the hidden part of a GRU; other is dc, or the gradient of what a
 * GRU resets. Layout is always time first: the gradient functions turn what comes in another order. Slopes are taken from
 * what the activations gave, so that nothing but their results is needed. */
#ifndef PLIM_KERNEL_BACKWARD_RECURRENT_H
#define PLIM_KERNEL_BACKWARD_RECURRENT_H

#include <math.h>

#include "kernel/forward/recurrent.h"
#include "kernel/onednn.h"

/* In and out operands, for every cell; what a cell does not have is NULL. */
enum plim__recurrent_in {
    PLIM__DY,
    PLIM__DYH,
    PLIM__DYC,
    PLIM__X,
    PLIM__W,
    PLIM__R,
    PLIM__BIAS,
    PLIM__LENGTHS,
    PLIM__H0,
    PLIM__C0,
    PLIM__PEEPHOLES,
    PLIM__Y,
    PLIM__GATES,
    PLIM__RECURRENT_IN
};
enum plim__recurrent_out {
    PLIM__DX,
    PLIM__DW,
    PLIM__DR,
    PLIM__DB,
    PLIM__DH0,
    PLIM__DC0,
    PLIM__DPEEPHOLES,
    PLIM__DGATES,
    PLIM__RECURRENT_OUT
};

typedef struct plim__backward_pass plim__backward_pass;

/* Hidden units [from, to) of samples [first, last), in columns of `height` units: several make the product of a step faster. */
struct plim__units {
    int64_t from, to, first, last;
    int columns;
    int64_t height;
};

typedef struct plim__cell_backward {
    /* Step k of the walk, for some units: gates become their gradients, dh that of h before it. All threads call it, with
     * barriers inside. */
    void (*step)(const plim__backward_pass *p, int64_t k, struct plim__units units);
    /* What the large products over all gates do not cover; may be NULL. */
    dnnl_status_t (*finish)(const plim__backward_pass *p, float *dr, float *db, float *dpeepholes);
    bool saved; /* the forward pass saved the gates */
} plim__cell_backward;

typedef struct plim__recurrent_grad {
    plim__recurrent forward;
    const plim__cell_backward *cell;
    bool shifted;        /* h before a step is Y of the step before: one direction, all samples of full length */
    float ends[2][3][2]; /* of each function, at -clip and clip; NaN where nothing is clipped */
} plim__recurrent_grad;

/* One direction. */
struct plim__backward_pass {
    const plim__recurrent_grad *s;
    int direction;
    float *gates, *part, *before, *dh, *other; /* gates and part have forward.row floats from sample to sample */
    float *packed, *zeros;
    double *sums; /* of each gate and part over all steps and samples */
    bool wants_dh0, wants_db;
    const void *taken; /* which row of the table, where there is one; w and x are NULL then */
    const float *x, *y, *dy, *w, *r, *bias, *h0, *c0, *peepholes; /* y and dy with all directions, dy may be NULL */
    const int32_t *lengths;
};

/* Step k of the walk in time. */
static inline int64_t plim__backward_time(const plim__backward_pass *p, int64_t k) {
    const plim__recurrent *f = &p->s->forward;
    return f->reverse[p->direction] ? f->steps - 1 - k : k;
}
/* Sample b of time t of Y or dY, (T, D, B, H). */
static inline int64_t plim__backward_row(const plim__backward_pass *p, int64_t t, int64_t b) {
    const plim__recurrent *f = &p->s->forward;
    return ((t * f->directions + p->direction) * f->batch + b) * f->hidden;
}
/* h of sample b before time t. */
static inline const float *plim__backward_before(const plim__backward_pass *p, int64_t t, int64_t b) {
    const plim__recurrent *f = &p->s->forward;
    if (!p->s->shifted) return p->before + (t * f->batch + b) * f->hidden;
    int64_t last = f->reverse[p->direction] ? t + 1 : t - 1;
    if (last >= 0 && last < f->steps) return p->y + plim__backward_row(p, last, b);
    return p->h0 ? p->h0 + b * f->hidden : p->zeros;
}
/* dY of a sample from unit `from` on, or zeros. */
static inline const float *plim__backward_dy(const plim__backward_pass *p, int64_t t, int64_t b, int64_t from) {
    return p->dy ? p->dy + plim__backward_row(p, t, b) + from : p->zeros;
}
/* Whether sample b is not over at time t: where it is, its state goes on as it was. */
static inline bool plim__backward_runs(const plim__backward_pass *p, int64_t t, int64_t b) {
    return !p->lengths || t < p->lengths[b];
}

/* The slope of activation i where it gave y. */
static inline float plim__cell_slope(const plim__backward_pass *p, int i, float y) {
    const plim__cell_function *f = &p->s->forward.functions[p->direction][i];
    const float *ends = p->s->ends[p->direction][i];
    if (y == ends[0] || y == ends[1]) return 0; /* the input was clipped */
    const float a = f->alpha, b = f->beta, g = 1;
    (void)b;
    switch (f->kind) {
#define SLOPE(name, saved, expression) PLIM__SLOPE_FROM_##saved(name, expression)
#define PLIM__SLOPE_FROM_INPUT(name, expression)
#define PLIM__SLOPE_FROM_OUTPUT(name, expression)                                                                      \
    case PLIM__FUNCTION_##name:                                                                                        \
        return expression;
#define CELL_SLOPE(name, expression) PLIM__SLOPE_FROM_OUTPUT(name, expression)
#include "ops/activation.def"
#undef PLIM__SLOPE_FROM_INPUT
#undef PLIM__SLOPE_FROM_OUTPUT
    default: return 0; /* no cell has the others */
    }
}
/* n neighbours through activation i. */
static inline void plim__backward_activate(const plim__backward_pass *p, int i, float *x, int64_t n) {
    plim__simd_recurrent_table()->activate(&p->s->forward.functions[p->direction][i], x, n);
}

/* c (m, n) = a·b + beta · c, a (m, k) and b (k, n) transposed ('T') or not; any of m, n, k may be 0. */
typedef struct plim__gemm {
    char ta, tb;
    int64_t m, n, k;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
    float beta;
    float *c;
    int64_t ldc;
} plim__gemm;
dnnl_status_t plim__backward_product(const plim__gemm *p);
/* Rows of R, all units of the gates from `gate` on, times what stands in x for them: gradients of all samples at one step. */
struct plim__recurrence {
    const float *x; /* (batch, gates · hidden) */
    int64_t x_step;
    int gate, gates;
    float *y; /* (batch, hidden) */
    bool add;
};
/* y (+)= x·R for some columns. */
void plim__backward_recur(const plim__backward_pass *p, const struct plim__recurrence *r, struct plim__units units);
/* to = sum over all steps of (some of their gates)ᵀ · (h before them): the gradient of such rows of R. */
dnnl_status_t plim__backward_product_before(const plim__backward_pass *p, const float *gates, int64_t units, float *to);
/* Lowers the backward node of a cell. */
plim_status plim__lower_recurrent_grad(plim__lower *l, plim__cell kind, const plim__cell_backward *cell);

#endif
