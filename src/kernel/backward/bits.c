/* Bits in place of saved tensors: packed where the tensor is made, read by the backward pass of its function. Both go over
 * memory in the order in which the tensor lies there, padding included. */
#include "kernel/copies.h"
#include "kernel/loops.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"
#include "kernel/simd/slope.h"

#define CHUNK 8192 /* elements that a thread takes at a time: whole words */

struct bits {
    plim__function function;
    float context[2];
    int64_t elements;
};

/* in: what is saved               out: bits */
static plim_status run_pack(const plim__call *call) {
    const struct bits *s = call->state;
    int threads = plim__loop_threads(s->elements);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t at = 0; at < s->elements; at += CHUNK)
        plim__slopes()->pack[s->function](s->context, s->elements - at < CHUNK ? s->elements - at : CHUNK,
                                          (const float *)call->in[0] + at, (uint32_t *)call->out[0] + at / 32);
    return PLIM_OK;
}

/* in: dy, bits                    out: dx */
static plim_status run_unpack(const plim__call *call) {
    const struct bits *s = call->state;
    int threads = plim__loop_threads(s->elements);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t at = 0; at < s->elements; at += CHUNK)
        plim__slopes()->unpack[s->function](s->context, s->elements - at < CHUNK ? s->elements - at : CHUNK,
                                            (const uint32_t *)call->in[1] + at / 32, (const float *)call->in[0] + at,
                                            (float *)call->out[0] + at);
    return PLIM_OK;
}

static plim_status emit(plim__lower *l, plim__kernel run, int64_t elements) {
    const plim__node *node = plim__lower_node(l);
    struct bits *s;
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    s->function = plim__function_of(node);
    s->elements = elements;
    plim__function_attributes(s->function, node, &s->context[0], &s->context[1]);
    return plim__lower_emit(l, node->op->name, run, s, plim__free);
}

plim_status plim__lower_bits(plim__lower *l) {
    plim__arrangement as = {.layout = plim__lower_saved_layout(l, 0)};
    int64_t elements = (int64_t)(plim__layout_bytes(&as.layout) / sizeof(float));
    plim__layout words = plim__layout_dense(PLIM_U32, &(plim__shape){.rank = 1, .dims = {(elements + 31) / 32}});
    PLIM_TRY(plim__lower_input_as(l, 0, &as));
    PLIM_TRY(plim__lower_output(l, 0, &words));
    return emit(l, run_pack, elements);
}

plim_status plim__lower_bits_grad(plim__lower *l) {
    plim__arrangement as = {.layout = plim__lower_saved_layout(l, 2)};
    PLIM_TRY(plim__lower_input_as(l, 0, &as));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__ANY, NULL));
    PLIM_TRY(plim__lower_output(l, 0, &as.layout));
    plim__lower_inplace(l, 0, 0);
    return emit(l, run_unpack, (int64_t)(plim__layout_bytes(&as.layout) / sizeof(float)));
}
