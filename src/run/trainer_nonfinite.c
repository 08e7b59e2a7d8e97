/* When a loss is not finite: the first operator or input that is not. The step has not changed anything yet, so it is run
 * again up to the loss, and every number on the way is checked. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "run/recording.h"
#include "run/trainer.h"

static const char *word(float x) { return isnan(x) ? "NaN" : "Inf"; }

static plim_status check_inputs(const plim__instance *instance, int64_t from, plim_error *error) {
    const plim__variant *v = instance->variant;
    const plim_graph *g = v->training->graph;
    for (size_t i = 0; i < g->inputs.count; i++) {
        const plim__value *value = &g->values.items[g->inputs.items[i]];
        const float *x = plim__instance_at(instance, g->inputs.items[i]);
        size_t count = (size_t)plim__shape_elements(&value->shape), at;
        float found;
        if (value->dtype != PLIM_F32 || !x || !plim__training_is_data(v->training, g->inputs.items[i]) ||
            !plim__runner_find_nonfinite(instance->runner, x, count, &found, &at))
            continue;
        const char *name = g->inputs.items[i] == v->training->target ? "the target" : value->name;
        size_t sample = count / (size_t)v->samples; /* 0: an input that is the same for all of them */
        if (sample == 0) return plim__fail(error, PLIM_INVALID, "the data holds %s in '%s'", word(found), name);
        return plim__fail(error, PLIM_INVALID, "the data holds %s in '%s', sample %lld of the batch", word(found), name,
                          (long long)from + (long long)(at / sample));
    }
    return PLIM_OK;
}

static plim_status check_parameters(const plim__instance *instance, plim_error *error) {
    const plim__variant *v = instance->variant;
    for (size_t i = 0; i < v->program->loads.count; i++) {
        const plim__load *load = &v->program->loads.items[i];
        const plim__value *value = &v->program->graph->values.items[load->value];
        const float *x = plim__runner_at(instance->runner, (plim__operand){load->buffer, 0});
        size_t at;
        float found;
        if (value->dtype != PLIM_F32 || !x || value->kind == PLIM__VALUE_SUM ||
            !plim__runner_find_nonfinite(instance->runner, x, v->program->buffers.items[load->buffer].bytes / sizeof *x,
                                         &found, &at))
            continue;
        return plim__fail(error, PLIM_NUMERIC,
                          "'%s' holds %s already: the update before went too far (a smaller learning rate or "
                          "gradient clipping helps)",
                          value->name, word(found));
    }
    return PLIM_OK;
}

plim_status plim__trainer_report_nonfinite(plim_trainer *t, const plim__instance *instance, const plim_batch *batch,
                                           int64_t from, double loss, plim_error *error) {
    plim_error why = {0};
    long long update = (long long)t->progress.updates + 1;
    if (t->recording) plim__recording_broke(t); /* what is run again to find out is no part of the run */
    bool finite;
    PLIM_TRY(plim__trainer_feed(instance, batch, from, &finite, error));
    if (check_inputs(instance, from, &why) != PLIM_OK)
        return plim__fail(error, PLIM_INVALID, "update %lld: %s", update, why.message);
    plim_status status = check_parameters(instance, &why);
    if (status == PLIM_OK) {
        instance->runner->check = true;
        status = plim__runner_run_part(instance->runner, 0, instance->variant->after_loss, &why);
        instance->runner->check = false;
    }
    return plim__fail(error, PLIM_NUMERIC, "update %lld: the loss is %s%s%s", update, isnan(loss) ? "NaN" : "Inf",
                      status == PLIM_OK ? "" : ": ", status == PLIM_OK ? "" : why.message);
}
