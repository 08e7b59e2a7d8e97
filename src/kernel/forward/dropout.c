/* Dropout in training: y = x / (1 - ratio) where an element is kept, 0 where it is dropped.
 *
 * Which elements are kept follows from counters alone: the seed, the number of the node, the number of the update, the
 * sample's place in its batch and the element's in its sample. So no mask is stored: the backward pass is the same operator
 * on the gradient, a step that is computed again keeps the same elements, and so does a sample in any micro-batch. */
#include "kernel/forward/dropout.h"

#include <string.h>

#include "kernel/copies.h"
#include "kernel/loops.h"
#include "kernel/lowers.h"

struct dropout {
    plim__dropout draws;
    bool float_mask;
};

plim__dropout plim__dropout_of(const plim__node *node, int64_t count) {
    double ratio = (double)plim__node_float(node, "ratio", 0.5f);
    plim__dropout s = {.seed = (uint64_t)plim__node_int(node, "seed", 0),
                       .counter = (uint64_t)plim__node_int(node, "counter", 0),
                       .threshold = ratio < 1 ? (uint32_t)(ratio * 0x1p32) : 0,
                       .all = ratio >= 1,
                       .scale = ratio < 1 ? (float)(1 / (1 - ratio)) : 0,
                       .count = count,
                       .before = 1,
                       .samples = 1,
                       .after = count};
    size_t given;
    const int64_t *samples = plim__node_ints(node, "samples", &given); /* src/grad/training.c */
    if (samples && given == 3 && samples[0] * samples[1] * samples[2] == count) {
        s.before = samples[0];
        s.samples = samples[1];
        s.after = samples[2];
        s.batch = true;
    }
    return s;
}

plim__dropout_draw plim__dropout_key(const plim__dropout *s, const plim__call *call) {
    return (plim__dropout_draw){plim__random_bits(s->seed, s->counter, call->tick), s->threshold, s->scale};
}

static void write_mask(const struct dropout *state, uint64_t key, int64_t sample, void *mask) {
    const plim__dropout *s = &state->draws;
    int threads = plim__loop_threads(s->count);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < s->count; i++) {
        bool keeps = !s->all && plim__dropout_keeps(key, plim__dropout_number(s, i, sample), s->threshold);
        if (state->float_mask)
            ((float *)mask)[i] = keeps;
        else
            ((uint8_t *)mask)[i] = keeps;
    }
}

void plim__dropout_run(const plim__dropout_draw *draw, const float *x, float *y, int64_t first, int64_t last) {
    int64_t n = first;
    for (; n < last && n % PLIM__DROPOUT_BLOCK != 0; n++, x++, y++)
        *y = plim__dropout_keeps(draw->key, n, draw->threshold) ? *x * draw->scale : 0;
    int64_t blocks = (last - n) / PLIM__DROPOUT_BLOCK;
    plim__simd_dropout_table()->blocks(y, x, n / PLIM__DROPOUT_BLOCK, blocks, draw);
    x += blocks * PLIM__DROPOUT_BLOCK;
    y += blocks * PLIM__DROPOUT_BLOCK;
    for (n += blocks * PLIM__DROPOUT_BLOCK; n < last; n++, x++, y++)
        *y = plim__dropout_keeps(draw->key, n, draw->threshold) ? *x * draw->scale : 0;
}

/* What lies side by side and has numbers in a row: everything, or the lines of single samples. */
static void drop(const plim__dropout *s, plim__dropout_draw draw, int64_t sample, const float *x, float *y) {
    int64_t run = s->before == 1 ? s->count : s->after, runs = run ? s->count / run : 0;
    int threads = plim__loop_threads(s->count * 4);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int t = 0; t < threads; t++) {
        int64_t from = 0, to = run, first = 0, last = runs;
        if (runs == 1)
            plim__loop_part(run, t, threads, &from, &to);
        else
            plim__loop_part(runs, t, threads, &first, &last);
        for (int64_t i = first; i < last; i++) {
            int64_t number = plim__dropout_number(s, i * run, sample);
            plim__dropout_run(&draw, x + i * run + from, y + i * run + from, number + from, number + to);
        }
    }
}

static plim_status run_dropout(const plim__call *call) {
    const struct dropout *state = call->state;
    const plim__dropout *s = &state->draws;
    plim__dropout_draw draw = plim__dropout_key(s, call);
    int64_t sample = s->batch ? call->sample : 0;
    if (s->all)
        memset(call->out[0], 0, (size_t)s->count * sizeof(float));
    else
        drop(s, draw, sample, call->in[0], call->out[0]);
    if (call->out[1]) write_mask(state, draw.key, sample, call->out[1]);
    return PLIM_OK;
}

plim_status plim__lower_dropout_train(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    struct dropout *s;
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_output(l, 1, NULL));
    plim__lower_inplace(l, 0, 0);
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct dropout){.draws = plim__dropout_of(node, plim__shape_elements(plim__lower_input_shape(l, 0))),
                          .float_mask = plim__node_int(node, "float_mask", 0) != 0};
    return plim__lower_emit(l, "DropoutTrain", run_dropout, s, plim__free);
}
