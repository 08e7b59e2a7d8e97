/* The mean of a loss over all elements (bce_with_logits, mse, l1, huber), and its backward pass.
 *
 *   loss = Σ v m f(x, t) / n        dx = v m dloss / n · f'(x, t), over the scores where they are not needed
 *
 * m is 1, or for each row of elements the 1 or 0 that says whether it counts; n = Σ m. v is 1, or the weight of a sample. In the
 * short batch of an evaluation these are as many of the first elements as input 2 says.
 *
 * The sums of pieces of fixed length go to scratch and are added in order: the loss does not depend on the number of
 * threads. */
#include <string.h>

#include "kernel/copies.h"
#include "kernel/loops.h"
#include "kernel/lowers.h"
#include "kernel/simd/loss.h"

#define PIECE 4096

struct elements {
    plim__element_loss kind;
    int64_t count;
    int64_t row;    /* elements that count or do not together; 0: all count */
    int64_t weighs; /* elements of one weight; 0: all weigh the same */
    float delta;
};

/* --- all count ------------------------------------------------------------------------------------------------ */

static plim_status run_forward(const plim__call *call) {
    const struct elements *s = call->state;
    const int64_t *some = call->in[2];
    int64_t count = some && *some < s->count ? *some : s->count, pieces = (count + PIECE - 1) / PIECE;
    double *sums = call->scratch, sum = 0;
    int threads = plim__loop_threads(count);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < pieces; i++) {
        int64_t at = i * PIECE, n = count - at < PIECE ? count - at : PIECE;
        sums[i] = plim__simd_loss_table()->element_sum[s->kind]((const float *)call->in[0] + at,
                                                                (const float *)call->in[1] + at, n, s->delta);
    }
    for (int64_t i = 0; i < pieces; i++) sum += sums[i];
    *(float *)call->out[0] = count > 0 ? (float)(sum / (double)count) : 0;
    return PLIM_OK;
}

static plim_status run_backward(const plim__call *call) {
    const struct elements *s = call->state;
    int64_t pieces = (s->count + PIECE - 1) / PIECE;
    float share = (float)((double)*(const float *)call->in[2] / (double)s->count);
    int threads = plim__loop_threads(s->count);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < pieces; i++) {
        int64_t at = i * PIECE, n = s->count - at < PIECE ? s->count - at : PIECE;
        plim__simd_loss_table()->element_slope[s->kind]((float *)call->out[0] + at, (const float *)call->in[0] + at,
                                                        (const float *)call->in[1] + at, n, s->delta, share);
    }
    return PLIM_OK;
}

/* --- some count, or not all weigh the same ---------------------------------------------------------------------- */

/* Elements beside each other that count, with one weight, are one piece of work: masks are runs, mostly. */
struct piece {
    int64_t at, count;
    double weight;
};

struct rows {
    const float *counts, *weights;
};

static bool counts_at(const struct elements *s, const struct rows *r, int64_t at) {
    return !s->row || r->counts[at / s->row] != 0;
}

static double weight_at(const struct elements *s, const struct rows *r, int64_t at) {
    return s->weighs ? (double)r->weights[at / s->weighs] : 1;
}

/* The next piece after *p, of none at the end. Both kinds of rows are made of whole ones of the shorter kind. */
static bool next_piece(const struct elements *s, const struct rows *r, int64_t end, struct piece *p) {
    int64_t step = s->row && (!s->weighs || s->row < s->weighs) ? s->row : s->weighs, at = p->at + p->count;
    while (at < end && !counts_at(s, r, at)) at += step;
    *p = (struct piece){.at = at, .weight = at < end ? weight_at(s, r, at) : 0};
    if (at < end) at += step; /* one at least: a weight that is NaN is not even equal to itself */
    while (at < end && counts_at(s, r, at) && weight_at(s, r, at) == p->weight) at += step;
    p->count = (at < end ? at : end) - p->at;
    return p->count > 0;
}

static plim_status run_some(const plim__call *call) {
    const struct elements *s = call->state;
    const int64_t *some = call->in[2];
    struct rows rows = {call->in[3], call->in[4]};
    int64_t end = some && *some < s->count ? *some : s->count, counted = 0;
    double sum = 0;
    for (struct piece p = {0}; next_piece(s, &rows, end, &p); counted += p.count)
        sum += p.weight * plim__simd_loss_table()->element_sum[s->kind](
                              (const float *)call->in[0] + p.at, (const float *)call->in[1] + p.at, p.count, s->delta);
    *(float *)call->out[0] = counted > 0 ? (float)(sum / (double)counted) : 0;
    if (call->out[1]) *(float *)call->out[1] = (float)counted;
    return PLIM_OK;
}

static plim_status run_some_backward(const plim__call *call) {
    const struct elements *s = call->state;
    struct rows rows = {call->in[3], call->in[4]};
    float *dx = call->out[0];
    int64_t counted = 0, done = 0;
    for (struct piece p = {0}; next_piece(s, &rows, s->count, &p);) counted += p.count;
    double share = counted > 0 ? (double)*(const float *)call->in[2] / (double)counted : 0;
    for (struct piece p = {0}; next_piece(s, &rows, s->count, &p); done = p.at + p.count) {
        memset(dx + done, 0, (size_t)(p.at - done) * sizeof *dx);
        plim__simd_loss_table()->element_slope[s->kind](dx + p.at, (const float *)call->in[0] + p.at,
                                                        (const float *)call->in[1] + p.at, p.count, s->delta,
                                                        (float)(share * p.weight));
    }
    memset(dx + done, 0, (size_t)(s->count - done) * sizeof *dx);
    return PLIM_OK;
}

/* --- lowering ------------------------------------------------------------------------------------------------- */

/* Elements of one row of an optional input. */
static int64_t row_of(const plim__lower *l, size_t input) {
    const plim__shape *x = plim__lower_input_shape(l, 0);
    return plim__lower_has_input(l, input) ? plim__shape_product(x, plim__lower_input_shape(l, input)->rank, x->rank)
                                           : 0;
}

static plim_status read_elements(plim__lower *l, struct elements **state) {
    const plim__shape *x = plim__lower_input_shape(l, 0);
    static const char *const kinds[] = {"bce_with_logits", "mse", "l1", "huber"};
    const char *kind = plim__node_string(plim__lower_node(l), "kind", "");
    int k = 0;
    while (k < PLIM__ELEMENT_COUNT && strcmp(kinds[k], kind) != 0) k++;
    if (k == PLIM__ELEMENT_COUNT) return plim__lower_fail(l, PLIM_CORRUPT, "there is no loss '%.40s'", kind);
    PLIM_TRY(plim__lower_state(l, sizeof **state, state));
    **state = (struct elements){.kind = (plim__element_loss)k,
                                .count = plim__shape_elements(x),
                                .row = row_of(l, 3),
                                .weighs = row_of(l, 4),
                                .delta = plim__node_float(plim__lower_node(l), "delta", 1)};
    return PLIM_OK;
}

plim_status plim__lower_element_loss(plim__lower *l) {
    struct elements *s;
    size_t pieces = (size_t)(plim__shape_elements(plim__lower_input_shape(l, 0)) + PIECE - 1) / PIECE;
    for (size_t i = 0; i < 5; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < 2; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    PLIM_TRY(plim__lower_scratch(l, pieces * sizeof(double)));
    PLIM_TRY(read_elements(l, &s));
    return plim__lower_emit(l, "ElementLoss", s->row || s->weighs ? run_some : run_forward, s, plim__free);
}

plim_status plim__lower_element_loss_grad(plim__lower *l) {
    struct elements *s;
    for (size_t i = 0; i < 5; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    plim__lower_inplace(l, 0, 0);
    PLIM_TRY(read_elements(l, &s));
    return plim__lower_emit(l, "ElementLossGrad", s->row || s->weighs ? run_some_backward : run_backward, s,
                            plim__free);
}
