/* What a model wants to be fed, and what data has to offer. */
#include "budget/fields.h"
#include "core/arguments.h"
#include "run/feed.h"
#include "run/trainer.h"

/* Inputs of the model; the target comes last. */
static plim__wants wants_of(const plim_trainer *t) {
    const plim__training *training = t->plan->main->training;
    plim__wants wants = {.graph = training->graph,
                         .target = training->target,
                         .samples = t->plan->main->samples,
                         .classes = training->classes};
    for (size_t i = 0; i < training->graph->inputs.count; i++) {
        plim_value v = training->graph->inputs.items[i];
        if (v != training->target && plim__training_is_data(training, v)) plim__wants_add(&wants, v);
    }
    return wants;
}

plim_status plim_trainer_match(const plim_trainer *trainer, plim_data *data, plim_feed *feed, plim_error *error) {
    PLIM__NEED(feed, error);
    *feed = (plim_feed){.target = -1};
    PLIM__NEED(trainer, error);
    PLIM__NEED(data, error);
    plim__wants wants = wants_of(trainer);
    return plim__feed_match(&wants, data, feed, error);
}

static const void *field_of(const plim_data_batch *batch, int field) {
    return field >= 0 && field < PLIM_DATA_MAX_FIELDS ? batch->fields[field] : NULL;
}

plim_batch plim_feed_batch(const plim_trainer *t, const plim_feed *feed, const plim_data_batch *batch) {
    if (!t || !feed || !batch) return (plim_batch){0};
    plim_batch out = {.count = batch->count, .target = field_of(batch, feed->target)};
    plim__wants wants = wants_of(t);
    for (size_t i = 0; i < wants.count && i < PLIM_MOST_INPUTS; i++) out.inputs[i] = field_of(batch, feed->inputs[i]);
    return out;
}

int plim_trainer_fields(const plim_trainer *t, plim_data_field fields[PLIM_MOST_INPUTS + 1]) {
    return !t || !fields ? 0 : plim__training_fields(t->plan->main->training, fields);
}
