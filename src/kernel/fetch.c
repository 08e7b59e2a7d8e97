/* Weights that lie in a file, to where a step reads them. */
#include "kernel/fetch.h"

#include "mem/spill.h"

#define PIECE PLIM__FETCH_ROOM

static size_t count(const plim__call *call) {
    const size_t *bytes = call->state;
    return (*bytes + PIECE - 1) / PIECE;
}

/* in: weight, in the file         out: copy */
static plim_status run(const plim__call *call, const void *prepared, size_t piece) {
    const size_t *bytes = call->state;
    (void)prepared;
    size_t at = piece * PIECE, here = *bytes - at < PIECE ? *bytes - at : PIECE;
    return plim__spill_read_by(call->spill, (char *)call->out[0] + at, here, call->in_places[0] + (int64_t)at,
                               call->window, call->error);
}

const plim__pieces plim__fetch = {.count = count, .run = run, .held = -1};
