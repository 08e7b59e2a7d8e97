/* Backward of recurrent networks through time: what the three cells share.
 *
 * Only Y is saved by the forward pass. With every h known, the gates of all time steps are large products again; a
 * walk backward in time turns them into their gradients, and large products over all steps give those of X, W and R.
 *
 *   scratch of one direction:
 *     gates (T, B, G H)  |  part (T, B, H)  |  h before each step (T, B, H)  |  dh (B, H)  |  other (B, H)
 *
 * part is c of an LSTM or the hidden part of a GRU; other is dc, or the gradient of what a GRU resets. Layout is always
 * time first: the gradient functions turn what comes in another order. Slopes are taken from what the activations gave,
 * so that nothing but their results is needed. */
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
    PLIM__RECURRENT_OUT
};

typedef struct plim__backward_pass plim__backward_pass;

typedef struct plim__cell_backward {
    /* The gates and the part as the forward pass had them. */
    dnnl_status_t (*again)(const plim__backward_pass *p);
    /* Time step t, the k-th of the walk: its gates become their gradients, dh that of h before it. */
    dnnl_status_t (*step)(const plim__backward_pass *p, int64_t k);
    /* What the large products over all gates do not cover; may be NULL. */
    dnnl_status_t (*finish)(const plim__backward_pass *p, float *dr, float *db, float *dpeepholes);
    bool has_part;
} plim__cell_backward;

typedef struct plim__recurrent_grad {
    plim__recurrent forward;
    const plim__cell_backward *cell;
    float ends[2][3][2]; /* of each function, at -clip and clip; NaN where nothing is clipped */
} plim__recurrent_grad;

/* One direction. */
struct plim__backward_pass {
    const plim__recurrent_grad *s;
    int direction;
    float *gates, *part, *before, *dh, *other;
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
/* to[u] = sum over rows of from[row · step + u]. */
void plim__backward_sum_columns(const float *from, int64_t rows, int64_t step, int64_t columns, float *to);
/* gates = bias + X·Wᵀ; `both` adds the recurrent half of the bias too, for the first `both` units of each row. */
dnnl_status_t plim__backward_input_gates(const plim__backward_pass *p, int64_t both);
/* Lowers the backward node of a cell. */
plim_status plim__lower_recurrent_grad(plim__lower *l, plim__cell kind, const plim__cell_backward *cell);

#endif
