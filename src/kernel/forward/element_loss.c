/* The mean of a loss over all elements (bce_with_logits, mse, l1, huber), and its backward pass.
 *
 *   loss = Σ m f(x, t) / n        dx = m dloss / n · f'(x, t), over the scores where they are not needed
 *
 * m is 1, or for each row of elements the 1 or 0 that says whether it counts; n = Σ m. In the short batch of an evaluation
 * these are as many of the first elements as input 2 says.
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
    int64_t row; /* elements that count or do not together; 0: all count */
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

/* --- some count ----------------------------------------------------------------------------------------------- */

/* Rows beside each other that count are one piece of work: masks are runs, mostly. From `at` on, in elements. */
static int64_t next_run(const struct elements *s, const float *counts, int64_t *at, int64_t end) {
    int64_t row = *at / s->row, rows = end / s->row, from;
    while (row < rows && counts[row] == 0) row++;
    for (from = row; row < rows && counts[row] != 0;) row++;
    *at = from * s->row;
    return (row - from) * s->row;
}

static plim_status run_some(const plim__call *call) {
    const struct elements *s = call->state;
    const int64_t *some = call->in[2];
    int64_t end = some && *some < s->count ? *some : s->count, counted = 0;
    double sum = 0;
    for (int64_t at = 0, n; (n = next_run(s, call->in[3], &at, end)) > 0; at += n, counted += n)
        sum += plim__simd_loss_table()->element_sum[s->kind]((const float *)call->in[0] + at,
                                                             (const float *)call->in[1] + at, n, s->delta);
    *(float *)call->out[0] = counted > 0 ? (float)(sum / (double)counted) : 0;
    if (call->out[1]) *(float *)call->out[1] = (float)counted;
    return PLIM_OK;
}

static plim_status run_some_backward(const plim__call *call) {
    const struct elements *s = call->state;
    float *dx = call->out[0];
    int64_t counted = 0, done = 0;
    for (int64_t at = 0, n; (n = next_run(s, call->in[3], &at, s->count)) > 0; at += n) counted += n;
    float share = counted > 0 ? (float)((double)*(const float *)call->in[2] / (double)counted) : 0;
    for (int64_t at = 0, n; (n = next_run(s, call->in[3], &at, s->count)) > 0; at += n, done = at) {
        memset(dx + done, 0, (size_t)(at - done) * sizeof *dx);
        plim__simd_loss_table()->element_slope[s->kind](dx + at, (const float *)call->in[0] + at,
                                                        (const float *)call->in[1] + at, n, s->delta, share);
    }
    memset(dx + done, 0, (size_t)(s->count - done) * sizeof *dx);
    return PLIM_OK;
}

/* --- lowering ------------------------------------------------------------------------------------------------- */

static plim_status read_elements(plim__lower *l, struct elements **state) {
    const plim__shape *x = plim__lower_input_shape(l, 0);
    bool some = plim__lower_has_input(l, 3);
    static const char *const kinds[] = {"bce_with_logits", "mse", "l1", "huber"};
    const char *kind = plim__node_string(plim__lower_node(l), "kind", "");
    int k = 0;
    while (k < PLIM__ELEMENT_COUNT && strcmp(kinds[k], kind) != 0) k++;
    if (k == PLIM__ELEMENT_COUNT) return plim__lower_fail(l, PLIM_CORRUPT, "there is no loss '%.40s'", kind);
    PLIM_TRY(plim__lower_state(l, sizeof **state, state));
    **state = (struct elements){.kind = (plim__element_loss)k,
                                .count = plim__shape_elements(x),
                                .row = some ? plim__shape_product(x, plim__lower_input_shape(l, 3)->rank, x->rank) : 0,
                                .delta = plim__node_float(plim__lower_node(l), "delta", 1)};
    return PLIM_OK;
}

plim_status plim__lower_element_loss(plim__lower *l) {
    struct elements *s;
    size_t pieces = (size_t)(plim__shape_elements(plim__lower_input_shape(l, 0)) + PIECE - 1) / PIECE;
    for (size_t i = 0; i < 4; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < 2; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    PLIM_TRY(plim__lower_scratch(l, pieces * sizeof(double)));
    PLIM_TRY(read_elements(l, &s));
    return plim__lower_emit(l, "ElementLoss", s->row ? run_some : run_forward, s, plim__free);
}

plim_status plim__lower_element_loss_grad(plim__lower *l) {
    struct elements *s;
    for (size_t i = 0; i < 4; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    plim__lower_inplace(l, 0, 0);
    PLIM_TRY(read_elements(l, &s));
    return plim__lower_emit(l, "ElementLossGrad", s->row ? run_some_backward : run_backward, s, plim__free);
}
