/* Weights that lie in a file, to where a step reads them. */
#include "kernel/fetch.h"

#include "mem/spill.h"

/* in: weight, in the file         out: copy */
plim_status plim__fetch(const plim__call *call) {
    const size_t *bytes = call->state;
    return plim__spill_read(call->spill, call->out[0], *bytes, call->in_places[0], call->error);
}
