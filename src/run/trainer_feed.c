/* What a model wants to be fed, and what data has to offer. */
#include <stdio.h>
#include <string.h>

#include "run/feed.h"
#include "run/trainer.h"

/* Inputs of the model; the target comes last. */
static plim__wants wants_of(const plim_trainer *t) {
    const plim__training *training = t->main->training;
    plim__wants wants = {.graph = training->graph,
                         .target = training->target,
                         .samples = t->main->samples,
                         .classes = training->classes};
    for (size_t i = 0; i < training->graph->inputs.count; i++) {
        plim_value v = training->graph->inputs.items[i];
        if (v != training->target && v != training->update && v != training->scale) plim__wants_add(&wants, v);
    }
    return wants;
}

plim_status plim_trainer_match(const plim_trainer *t, plim_data *data, plim_feed *feed, plim_error *error) {
    plim__wants wants = wants_of(t);
    return plim__feed_match(&wants, data, feed, error);
}

plim_batch plim_feed_batch(const plim_trainer *t, const plim_feed *feed, const plim_data_batch *batch) {
    plim_batch out = {.count = batch->count, .target = feed->target < 0 ? NULL : batch->fields[feed->target]};
    plim__wants wants = wants_of(t);
    for (size_t i = 0; i < wants.count && i < PLIM_MOST_INPUTS; i++) out.inputs[i] = batch->fields[feed->inputs[i]];
    return out;
}

/* --- data that fits ------------------------------------------------------------------------------------------- */

static void describe(const plim__training *training, plim_value v, bool target, plim_data_field *field) {
    const plim_graph *g = training->graph;
    const plim__value *value = &g->values.items[v];
    bool counts = value->dtype == PLIM_I64 || value->dtype == PLIM_I32;
    *field = (plim_data_field){.dtype = value->dtype, .rank = value->shape.rank - 1, .target = target};
    snprintf(field->name, sizeof field->name, "%s", target ? "target" : value->name);
    int64_t elements = 1;
    for (int i = 0; i < field->rank && i < PLIM_DATA_MAX_RANK; i++)
        elements *= field->dims[i] = value->shape.dims[i + 1];
    field->bytes = (size_t)elements * (size_t)plim_dtype_bits(value->dtype) / 8;
    if (counts) field->classes = target ? training->classes : plim__op_rows_picked(g, v);
}

int plim_trainer_fields(const plim_trainer *t, plim_data_field fields[PLIM_MOST_INPUTS + 1]) {
    const plim__training *training = t->main->training;
    plim__wants wants = wants_of(t);
    size_t count = wants.count < PLIM_MOST_INPUTS ? wants.count : PLIM_MOST_INPUTS;
    for (size_t i = 0; i < count; i++) describe(training, wants.inputs[i], false, &fields[i]);
    if (training->target >= 0) describe(training, training->target, true, &fields[count++]);
    return (int)count;
}
