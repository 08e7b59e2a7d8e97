/* Dropout in training: y = x / (1 - ratio) where an element is kept, 0 where it is dropped.
 *
 * Which elements are kept follows from counters alone: the seed, the number of the node, the number of the run and the
 * element's index. So no mask is stored: the backward pass is the same operator on the gradient, and a step that is
 * computed again keeps the same elements. */
#include <string.h>

#include "kernel/copies.h"
#include "kernel/loops.h"
#include "kernel/lowers.h"
#include "kernel/simd/dropout.h"

struct dropout {
    uint64_t seed, counter;
    uint32_t threshold; /* an element is dropped with probability threshold / 2^32 */
    bool all;           /* are dropped */
    float scale;
    int64_t count;
    bool float_mask;
};

static void write_mask(const struct dropout *s, uint64_t key, void *mask) {
    int threads = plim__loop_threads(s->count);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < s->count; i++) {
        bool keeps = !s->all && plim__dropout_keeps(key, i, s->threshold);
        if (s->float_mask)
            ((float *)mask)[i] = keeps;
        else
            ((uint8_t *)mask)[i] = keeps;
    }
}

static void drop(const struct dropout *s, uint64_t key, const float *x, float *y) {
    int64_t whole = s->count / PLIM__DROPOUT_BLOCK;
    int threads = plim__loop_threads(s->count * 4);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int t = 0; t < threads; t++) {
        int64_t from, to;
        plim__loop_part(whole, t, threads, &from, &to);
        plim__simd_dropout_table()->blocks(y, x, from, to, key, s->threshold, s->scale);
    }
    for (int64_t i = whole * PLIM__DROPOUT_BLOCK; i < s->count; i++)
        y[i] = plim__dropout_keeps(key, i, s->threshold) ? x[i] * s->scale : 0;
}

static plim_status run_dropout(const plim__call *call) {
    const struct dropout *s = call->state;
    uint64_t key = plim__random_bits(s->seed, s->counter, call->tick);
    if (s->all)
        memset(call->out[0], 0, (size_t)s->count * sizeof(float));
    else
        drop(s, key, call->in[0], call->out[0]);
    if (call->out[1]) write_mask(s, key, call->out[1]);
    return PLIM_OK;
}

plim_status plim__lower_dropout_train(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    double ratio = (double)plim__node_float(node, "ratio", 0.5f);
    struct dropout *s;
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_output(l, 1, NULL));
    plim__lower_inplace(l, 0, 0);
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct dropout){.seed = (uint64_t)plim__node_int(node, "seed", 0),
                          .counter = (uint64_t)plim__node_int(node, "counter", 0),
                          .threshold = ratio < 1 ? (uint32_t)(ratio * 0x1p32) : 0,
                          .all = ratio >= 1,
                          .scale = ratio < 1 ? (float)(1 / (1 - ratio)) : 0,
                          .count = plim__shape_elements(plim__lower_input_shape(l, 0)),
                          .float_mask = plim__node_int(node, "float_mask", 0) != 0};
    return plim__lower_emit(l, "DropoutTrain", run_dropout, s, plim__free);
}
