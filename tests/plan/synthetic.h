/* Programs made by hand: steps whose kernels mix what they read, so that any wrong buffer shows in the bits. */
#ifndef PLIM_TESTS_SYNTHETIC_H
#define PLIM_TESTS_SYNTHETIC_H

#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "kernel/processor.h"
#include "plim_test.h"
#include "program/program.h"

struct synthetic_state {
    uint64_t seed;
    int32_t in_count, out_count;
    size_t in_words[16], out_words[16], scratch_words;
    bool random, writes;
};

/* Each output word is mixed from a word of every input (and of the tick, for a random step). */
static plim_status synthetic_run(const plim__call *call) {
    const struct synthetic_state *s = call->state;
    uint64_t *scratch = call->scratch;
    for (size_t k = 0; k < s->scratch_words; k++) scratch[k] = s->seed * 31 + k;
    for (int32_t o = 0; o < s->out_count; o++) {
        uint64_t *out = call->out[o];
        for (size_t k = 0; k < s->out_words[o]; k++) {
            uint64_t word = plim__random_mix(s->seed + (uint64_t)o * 77 + k);
            for (int32_t i = 0; i < s->in_count; i++) {
                const uint64_t *in =
                    call->in[i]; /* may be the same memory as `out`: word k is read before it is written */
                if (s->in_words[i] > 0) word ^= plim__random_mix(in[k % s->in_words[i]] + (uint64_t)i);
            }
            if (s->random) word ^= plim__random_bits(s->seed, call->tick, k);
            if (s->writes) word += out[k] * 3;
            out[k] = word;
        }
    }
    return PLIM_OK;
}

static plim__program *synthetic_create(void) {
    plim__program *p = plim__alloc_zero(1, sizeof *p);
    assert_non_null(p);
    p->target = plim__on_processor(1);
    assert_int_equal(plim__processor.open(1, &p->engine, NULL), PLIM_OK);
    return p;
}

static int32_t synthetic_buffer(plim__program *p, size_t words, plim__buffer_kind kind) {
    plim__buffer b = {.bytes = words * 8, .kind = kind, .value = -1, .persistent = kind == PLIM__BUFFER_WEIGHT};
    assert_true(plim__vec_push(&p->buffers, b));
    int32_t at = (int32_t)p->buffers.count - 1;
    if (b.persistent) assert_true(plim__vec_push(&p->loads, ((plim__load){.value = -1, .buffer = at, .shared = -1})));
    return at;
}

struct synthetic_step {
    int32_t in[16], out[16];
    int32_t in_count, out_count;
    size_t scratch;
    bool random, writes, inplace; /* inplace: output 0 over input 0, which has as many words or more */
    plim__phase phase;
};

static int32_t synthetic_add(plim__program *p, const struct synthetic_step *from) {
    struct synthetic_state *s = plim__alloc_zero(1, sizeof *s);
    plim__operand *operands = plim__alloc_array(32, sizeof *operands);
    assert_true(s && operands);
    *s = (struct synthetic_state){.seed = p->steps.count + 1,
                                  .in_count = from->in_count,
                                  .out_count = from->out_count,
                                  .scratch_words = from->scratch,
                                  .random = from->random,
                                  .writes = from->writes};
    for (int32_t i = 0; i < from->in_count; i++) {
        operands[i] = (plim__operand){from->in[i], 0};
        s->in_words[i] = p->buffers.items[from->in[i]].bytes / 8;
    }
    for (int32_t i = 0; i < from->out_count; i++) {
        operands[from->in_count + i] = (plim__operand){from->out[i], 0};
        s->out_words[i] = p->buffers.items[from->out[i]].bytes / 8;
    }
    plim__step step = {.run = synthetic_run,
                       .state = s,
                       .release = plim__free,
                       .node = -1,
                       .label = "mix",
                       .operands = operands,
                       .in_count = from->in_count,
                       .out_count = from->out_count,
                       .scratch = from->scratch ? synthetic_buffer(p, from->scratch, PLIM__BUFFER_WORKSPACE) : -1,
                       .inplace_in = from->inplace ? 0 : -1,
                       .inplace_out = from->inplace ? 0 : -1,
                       .phase = from->phase,
                       .writes = from->writes};
    assert_true(plim__vec_push(&p->steps, step));
    return (int32_t)p->steps.count - 1;
}

/* --- networks --------------------------------------------------------------------------------------------------- */

#define SYNTHETIC_MOST 64

/* A forward pass of `count` steps, each reading its weight and earlier outputs, and a backward pass over it: step i's
 * gradient step reads the gradient of its output, its output or its inputs, and makes the gradients of its inputs.
 * Sums of gradients are steps of their own. With updates, each weight is changed by its gradient. */
struct synthetic_net {
    int count;
    int inputs[SYNTHETIC_MOST][3]; /* earlier steps; -1: none; the first input of step 0 is the network's */
    size_t words[SYNTHETIC_MOST];  /* of its output */
    bool saves_output[SYNTHETIC_MOST], saves_inputs[SYNTHETIC_MOST];
    bool random[SYNTHETIC_MOST], inplace[SYNTHETIC_MOST];
    size_t scratch[SYNTHETIC_MOST];
    bool updates;
    bool apart; /* sums are not written over what they sum */
};

static plim__program *synthetic_build(const struct synthetic_net *net) {
    plim__program *p = synthetic_create();
    int32_t value[SYNTHETIC_MOST], gradient[SYNTHETIC_MOST], weight[SYNTHETIC_MOST];
    int32_t image = synthetic_buffer(p, net->words[0], PLIM__BUFFER_INPUT);
    for (int i = 0; i < net->count; i++) {
        struct synthetic_step s = {
            .out_count = 1, .random = net->random[i], .inplace = net->inplace[i], .scratch = net->scratch[i]};
        value[i] = s.out[0] = synthetic_buffer(p, net->words[i], PLIM__BUFFER_ACTIVATION);
        weight[i] = synthetic_buffer(p, 8, PLIM__BUFFER_WEIGHT);
        if (i == 0) s.in[s.in_count++] = image;
        for (int k = 0; k < 3; k++)
            if (net->inputs[i][k] >= 0 && i > 0) s.in[s.in_count++] = value[net->inputs[i][k]];
        s.in[s.in_count++] = weight[i];
        synthetic_add(p, &s);
        gradient[i] = -1;
    }
    struct synthetic_step loss = {.in = {value[net->count - 1]}, .in_count = 1, .out_count = 1};
    loss.out[0] = synthetic_buffer(p, 8, PLIM__BUFFER_ACTIVATION);
    p->buffers.items[loss.out[0]].output = true;
    synthetic_add(p, &loss);
    gradient[net->count - 1] = synthetic_buffer(p, net->words[net->count - 1], PLIM__BUFFER_ACTIVATION);
    struct synthetic_step first = {.in = {value[net->count - 1]},
                                   .out = {gradient[net->count - 1]},
                                   .in_count = 1,
                                   .out_count = 1,
                                   .phase = PLIM__BACKWARD};
    synthetic_add(p, &first);
    for (int i = net->count - 1; i >= 0; i--) {
        if (gradient[i] < 0) continue;
        struct synthetic_step s = {.phase = PLIM__BACKWARD, .scratch = net->scratch[i]};
        s.in[s.in_count++] = gradient[i];
        if (net->saves_output[i]) s.in[s.in_count++] = value[i];
        for (int k = 0; k < 3 && net->saves_inputs[i] && i > 0; k++)
            if (net->inputs[i][k] >= 0) s.in[s.in_count++] = value[net->inputs[i][k]];
        if (net->saves_inputs[i] && i == 0) s.in[s.in_count++] = image;
        s.in[s.in_count++] = weight[i];
        int32_t made[3], of[3], count = 0;
        for (int k = 0; k < 3 && i > 0; k++) {
            if (net->inputs[i][k] < 0) continue;
            of[count] = net->inputs[i][k];
            made[count] = s.out[s.out_count++] =
                synthetic_buffer(p, net->words[net->inputs[i][k]], PLIM__BUFFER_ACTIVATION);
            count++;
        }
        int32_t change = s.out[s.out_count++] = synthetic_buffer(p, 8, PLIM__BUFFER_ACTIVATION);
        if (!net->updates) p->buffers.items[change].output = true;
        synthetic_add(p, &s);
        for (int32_t k = 0; k < count; k++) {
            if (gradient[of[k]] < 0) {
                gradient[of[k]] = made[k];
                continue;
            }
            struct synthetic_step sum = {.in = {gradient[of[k]], made[k]},
                                         .in_count = 2,
                                         .out_count = 1,
                                         .phase = PLIM__BACKWARD,
                                         .inplace = !net->apart};
            gradient[of[k]] = sum.out[0] = synthetic_buffer(p, net->words[of[k]], PLIM__BUFFER_ACTIVATION);
            synthetic_add(p, &sum);
        }
        if (!net->updates) continue;
        struct synthetic_step update = {
            .in = {change}, .out = {weight[i]}, .in_count = 1, .out_count = 1, .writes = true, .phase = PLIM__UPDATE};
        synthetic_add(p, &update);
    }
    return p;
}

#endif
