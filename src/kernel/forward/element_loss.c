/* The mean of a loss over all elements (bce_with_logits, mse, l1, huber), and its backward pass.
 *
 *   loss = Σ f(x, t) / n        dx = dloss / n · f'(x, t), over the scores where they are not needed
 *
 * n are all elements or, in the short batch of an evaluation, as many of the first ones as input 2 says.
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
    float delta;
};

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

static plim_status read_elements(plim__lower *l, struct elements **state) {
    static const char *const kinds[] = {"bce_with_logits", "mse", "l1", "huber"};
    const char *kind = plim__node_string(plim__lower_node(l), "kind", "");
    int k = 0;
    while (k < PLIM__ELEMENT_COUNT && strcmp(kinds[k], kind) != 0) k++;
    if (k == PLIM__ELEMENT_COUNT) return plim__lower_fail(l, PLIM_CORRUPT, "there is no loss '%.40s'", kind);
    PLIM_TRY(plim__lower_state(l, sizeof **state, state));
    **state = (struct elements){.kind = (plim__element_loss)k,
                                .count = plim__shape_elements(plim__lower_input_shape(l, 0)),
                                .delta = plim__node_float(plim__lower_node(l), "delta", 1)};
    return PLIM_OK;
}

plim_status plim__lower_element_loss(plim__lower *l) {
    struct elements *s;
    size_t pieces = (size_t)(plim__shape_elements(plim__lower_input_shape(l, 0)) + PIECE - 1) / PIECE;
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_scratch(l, pieces * sizeof(double)));
    PLIM_TRY(read_elements(l, &s));
    return plim__lower_emit(l, "ElementLoss", run_forward, s, plim__free);
}

plim_status plim__lower_element_loss_grad(plim__lower *l) {
    struct elements *s;
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    plim__lower_inplace(l, 0, 0);
    PLIM_TRY(read_elements(l, &s));
    return plim__lower_emit(l, "ElementLossGrad", run_backward, s, plim__free);
}
