/* Samples of a data set as the inputs of a session. */
#include <string.h>

#include "core/arguments.h"
#include "plimsoll/evaluate.h"
#include "run/feed.h"

static plim_status match(const plim_session *session, plim_data *data, plim__wants *wants, plim_feed *feed,
                         plim_error *error) {
    const plim_graph *g = plim_session_graph(session);
    *wants = (plim__wants){.graph = g, .target = PLIM_NO_VALUE};
    for (size_t i = 0; i < g->inputs.count; i++) plim__wants_add(wants, g->inputs.items[i]);
    if (wants->count == 0) return plim__fail(error, PLIM_INVALID, "the model has no inputs");
    const plim__shape *first = &g->values.items[wants->inputs[0]].shape;
    wants->samples = first->rank > 0 ? first->dims[0] : 0;
    if (wants->samples < 1) return plim__fail(error, PLIM_SHAPE, "the model's inputs are not batches of samples");
    return plim__feed_match(wants, data, feed, error);
}

plim_status plim_session_feed(plim_session *session, plim_data *data, const plim_data_batch *batch, int64_t from,
                              int64_t *count, plim_error *error) {
    plim__wants wants;
    plim_feed feed;
    PLIM__NEED(count, error);
    *count = 0;
    PLIM__NEED(session, error);
    PLIM__NEED(data, error);
    PLIM__NEED(batch, error);
    if (from < 0 || from > batch->count)
        return plim__fail(error, PLIM_INVALID, "sample %lld of a batch of %lld", (long long)from,
                          (long long)batch->count);
    PLIM_TRY(match(session, data, &wants, &feed, error));
    *count = batch->count - from < wants.samples ? batch->count - from : wants.samples;
    for (size_t i = 0; i < wants.count; i++) {
        const plim_data_field *field = plim_data_field_at(data, feed.inputs[i]);
        char *memory = plim_session_input(session, wants.graph->values.items[wants.inputs[i]].name);
        if (!memory) continue; /* no step reads it */
        const char *samples = batch->fields[feed.inputs[i]];
        memcpy(memory, samples + (size_t)from * field->bytes, (size_t)*count * field->bytes);
        memset(memory + (size_t)*count * field->bytes, 0, (size_t)(wants.samples - *count) * field->bytes);
    }
    return PLIM_OK;
}
