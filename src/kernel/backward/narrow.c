/* Tensors that wait for the backward pass in 16 bits: narrowed behind the step that makes them, widened before the step that
 * reads them. Both go over memory in the order in which the tensor lies there, padding included. */
#include "kernel/simd/narrow.h"
#include "kernel/copies.h"
#include "kernel/loops.h"
#include "kernel/lowers.h"
#include "kernel/narrow.h"
#include "kernel/onednn.h"

#define CHUNK 8192 /* elements that a thread takes at a time */

struct narrow {
    plim_dtype dtype; /* of the narrow ones */
    int64_t elements;
};

static inline int64_t chunk(const struct narrow *s, int64_t at) {
    return s->elements - at < CHUNK ? s->elements - at : CHUNK;
}

/* in: float32                     out: 16 bits */
static plim_status run_narrow(const plim__call *call) {
    const struct narrow *s = call->state;
    const plim__simd_narrow *loops = plim__narrows();
    void (*convert)(int64_t, const float *, uint16_t *) = s->dtype == PLIM_BF16 ? loops->to_bfloat : loops->to_half;
    int threads = plim__loop_threads(s->elements);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t at = 0; at < s->elements; at += CHUNK)
        convert(chunk(s, at), (const float *)call->in[0] + at, (uint16_t *)call->out[0] + at);
    return PLIM_OK;
}

/* in: 16 bits                     out: float32 */
static plim_status run_widen(const plim__call *call) {
    const struct narrow *s = call->state;
    const plim__simd_narrow *loops = plim__narrows();
    void (*convert)(int64_t, const uint16_t *, float *) = s->dtype == PLIM_BF16 ? loops->from_bfloat : loops->from_half;
    int threads = plim__loop_threads(s->elements);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t at = 0; at < s->elements; at += CHUNK)
        convert(chunk(s, at), (const uint16_t *)call->in[0] + at, (float *)call->out[0] + at);
    return PLIM_OK;
}

static plim_status emit(plim__lower *l, plim__kernel run, plim_dtype dtype, int64_t elements) {
    struct narrow *s;
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    s->dtype = dtype;
    s->elements = elements;
    return plim__lower_emit(l, plim__lower_node(l)->op->name, run, s, plim__free);
}

plim_status plim__narrow_create(plim__lower *l, plim_dtype dtype, int64_t elements, plim__rearrangement *made) {
    struct narrow *s = plim__alloc(sizeof *s);
    if (!s) return plim__lower_fail(l, PLIM_NO_MEMORY, "out of memory while planning");
    *s = (struct narrow){dtype, elements};
    *made = (plim__rearrangement){.run = run_narrow, .state = s, .release = plim__free};
    return PLIM_OK;
}

plim_status plim__lower_narrow(plim__lower *l) {
    bool done = false;
    if (plim__layout_is_whole(plim__lower_peek(l, 0))) PLIM_TRY(plim__lower_output_narrow(l, 0, &done));
    if (done) return PLIM_OK;
    plim__arrangement as = {.layout = plim__lower_saved_layout(l, 0)};
    int64_t elements = (int64_t)(plim__layout_bytes(&as.layout) / sizeof(float));
    plim_dtype dtype = plim__lower_output_dtype(l, 0);
    plim__layout flat = plim__layout_dense(dtype, &(plim__shape){.rank = 1, .dims = {elements}});
    PLIM_TRY(plim__lower_input_as(l, 0, &as));
    PLIM_TRY(plim__lower_output(l, 0, &flat));
    return emit(l, run_narrow, dtype, elements);
}

plim_status plim__lower_widen(plim__lower *l) {
    plim__layout layout = plim__lower_saved_layout(l, 1);
    PLIM_TRY(plim__lower_input(l, 0, PLIM__ANY, NULL));
    PLIM_TRY(plim__lower_output(l, 0, &layout));
    return emit(l, run_widen, plim__lower_input_dtype(l, 0), (int64_t)(plim__layout_bytes(&layout) / sizeof(float)));
}
