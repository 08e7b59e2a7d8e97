/* Weights that lie in a file, to where a step reads them. */
#include "kernel/fetch.h"

#include "graph/packed.h"
#include "mem/spill.h"
#include "program/stream.h"

#define PIECE PLIM__FETCH_ROOM

static size_t count(const plim__call *call) {
    const plim__fetched *s = call->state;
    return (s->bytes + PIECE - 1) / PIECE;
}

/* in: weight, in a file         out: copy */
static plim_status run(const plim__call *call, const void *prepared, size_t piece) {
    const plim__fetched *s = call->state;
    (void)prepared;
    size_t at = piece * PIECE, here = s->bytes - at < PIECE ? s->bytes - at : PIECE;
    char *to = (char *)call->out[0] + at;
    if (s->model)
        return plim__tensor_read_part(s->model, (int64_t)(at / sizeof(float)), (int64_t)(here / sizeof(float)),
                                      (float *)(void *)to, call->error);
    return plim__spill_read_by(call->spill, to, here, call->in_places[0] + (int64_t)at, call->window, call->error);
}

const plim__pieces plim__fetch = {.count = count, .run = run, .held = -1};
