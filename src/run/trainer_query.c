/* Questions to a trainer: sizes, tensors, gradients, how well it does. */
#include <string.h>

#include "core/arguments.h"
#include "kernel/processor.h"
#include "mem/resident.h"
#include "plimsoll/bytes.h"
#include "plimsoll/measures.h"
#include "run/trainer.h"

/* --- sizes ---------------------------------------------------------------------------------------------------- */

void plim_trainer_get_stats(const plim_trainer *t, plim_trainer_stats *stats) {
    if (!stats) return;
    *stats = (plim_trainer_stats){0};
    if (!t || !t->plan->main) return;
    plim__training_plan_stats(t->plan, stats);
    if (t->main.runner) stats->arena_bytes = t->arena.persistent_bytes + t->arena.transient_bytes;
    stats->replans = t->replans;
}

size_t plim_trainer_step_count(const plim_trainer *t) {
    return t && t->plan->main ? t->plan->main->program->steps.count : 0;
}

void plim_trainer_get_step(const plim_trainer *t, size_t index, plim_session_step *out) {
    if (!out) return;
    *out = (plim_session_step){.label = "", .node = ""};
    if (index >= plim_trainer_step_count(t)) return;
    const plim__step *step = &t->plan->main->program->steps.items[index];
    double repeats = step->phase == PLIM__UPDATE ? 1 : (double)t->plan->request.batch / (double)t->plan->main->samples;
    *out =
        (plim_session_step){.label = step->label,
                            .node = step->node < 0 ? "" : t->plan->main->training->graph->nodes.items[step->node].name,
                            .seconds = t->times && t->updates ? t->times[index] / (double)t->updates : 0,
                            .flops = step->cost.flops * repeats,
                            .bytes = step->cost.bytes * repeats,
                            .product = step->product};
}

/* --- tensors -------------------------------------------------------------------------------------------------- */

static const plim__load *load_at(const plim_trainer *t, size_t index) {
    return &t->plan->main->program->loads.items[t->tensors.items[index]];
}

size_t plim_trainer_tensor_count(const plim_trainer *t) { return t ? t->tensors.count : 0; }

void plim_trainer_get_tensor(const plim_trainer *t, size_t index, plim_trainer_tensor *tensor) {
    if (!tensor) return;
    *tensor = (plim_trainer_tensor){.name = ""};
    if (index >= plim_trainer_tensor_count(t)) return;
    const plim__value *value = &t->plan->main->training->graph->values.items[load_at(t, index)->value];
    *tensor = (plim_trainer_tensor){
        .name = value->name,
        .role = value->kind == PLIM__VALUE_PARAMETER ? PLIM_ROLE_PARAMETER
                : value->tensor                      ? PLIM_ROLE_STATISTIC /* it began as an initializer of the model */
                                                     : PLIM_ROLE_OPTIMIZER,
        .dtype = value->dtype,
        .rank = value->shape.rank,
        .bytes = (size_t)plim__shape_elements(&value->shape) * (size_t)plim_dtype_bits(value->dtype) / 8,
    };
    memcpy(tensor->dims, value->shape.dims, sizeof tensor->dims);
}

static plim_status check_tensor(const plim_trainer *t, size_t index, const void *values, plim_error *error) {
    PLIM_TRY(plim__trainer_check(t, error));
    if (index >= t->tensors.count)
        return plim__fail(error, PLIM_INVALID, "there is no tensor %zu, the trainer has %zu", index, t->tensors.count);
    return values ? PLIM_OK : plim__fail(error, PLIM_INVALID, "the values of tensor %zu are NULL", index);
}

plim_status plim_trainer_read(plim_trainer *t, size_t index, void *values, plim_error *error) {
    PLIM_TRY(check_tensor(t, index, values, error));
    return plim__runner_read_tensor(t->main.runner, load_at(t, index), values, error);
}

plim_status plim_trainer_write(plim_trainer *t, size_t index, const void *values, plim_error *error) {
    PLIM_TRY(check_tensor(t, index, values, error));
    return plim__runner_write_tensor(t->main.runner, load_at(t, index), values, error);
}

/* --- gradients ------------------------------------------------------------------------------------------------ */

/* Weights and statistics as they are now, for a variant in an arena of its own. */
static plim_status copy_tensors(plim_trainer *t, const plim__instance *instance, plim_error *error) {
    const plim__variant *v = instance->variant;
    for (size_t i = 0; i < v->program->loads.count; i++) {
        const plim__load *to = &v->program->loads.items[i];
        const char *name = v->training->graph->values.items[to->value].name;
        for (size_t k = 0; k < t->tensors.count; k++) {
            plim_trainer_tensor tensor;
            plim_trainer_get_tensor(t, k, &tensor);
            if (strcmp(tensor.name, name) != 0) continue;
            void *dense = plim__alloc(tensor.bytes);
            plim_status status = dense ? plim_trainer_read(t, k, dense, error)
                                       : plim__fail_memory(error, "reading gradients", tensor.bytes);
            if (status == PLIM_OK) status = plim__runner_write_tensor(instance->runner, to, dense, error);
            plim__free(dense);
            PLIM_TRY(status);
        }
    }
    return PLIM_OK;
}

/* `weight`: of all samples that went into the sums. */
static plim_status show_gradients(const plim__instance *instance, float weight,
                                  void (*show)(void *, const char *, int, const int64_t *, const float *),
                                  void *context, plim_error *error) {
    const plim__variant *v = instance->variant;
    float scale = weight > 0 ? 1 / weight : 0;
    if (v->training->split.combine == PLIM__COMBINE_SUM) scale = 1;
    for (size_t i = 0; i < v->program->loads.count; i++) {
        const plim__load *load = &v->program->loads.items[i];
        const plim__value *sum = &v->training->graph->values.items[load->value];
        if (sum->kind != PLIM__VALUE_SUM) continue;
        size_t count = (size_t)plim__shape_elements(&sum->shape), parameter = 0;
        while (v->training->gradients[parameter] != load->value) parameter++;
        float *dense = plim__alloc_array(count, sizeof *dense);
        plim_status status = dense ? plim__runner_read_tensor(instance->runner, load, dense, error)
                                   : plim__fail_memory(error, "reading gradients", count * sizeof *dense);
        for (size_t k = 0; status == PLIM_OK && k < count; k++) dense[k] *= scale;
        if (status == PLIM_OK)
            show(context, v->training->graph->values.items[v->training->parameters[parameter]].name, sum->shape.rank,
                 sum->shape.dims, dense);
        plim__free(dense);
        PLIM_TRY(status);
    }
    return PLIM_OK;
}

/* Runs all samples, as many at once as the instance takes; *weight is that of all of them. */
static plim_status run_without_update(plim_trainer *t, const plim__instance *instance, const plim_batch *batch,
                                      float *weight, plim_error *error) {
    PLIM_TRY(copy_tensors(t, instance, error));
    instance->runner->no_update = true;
    *weight = 0;
    for (int64_t from = 0; from < batch->count; from += instance->variant->samples) {
        float part = 0;
        bool finite; /* gradients of other numbers are shown, too */
        instance->runner->first = from == 0;
        instance->runner->tick = (uint64_t)t->progress.updates; /* a run counts it on: parts of a batch draw alike */
        instance->runner->sample = from;
        PLIM_TRY(plim__trainer_feed(instance, batch, from, &finite, error));
        PLIM_TRY(
            plim__instance_write(instance, instance->variant->training->loss_scale, &(float){1}, sizeof(float), error));
        PLIM_TRY(plim__runner_run(instance->runner, error));
        PLIM_TRY(plim__instance_read(instance, instance->variant->training->weight, &part, sizeof part, error));
        *weight += part;
    }
    return PLIM_OK;
}

/* The whole batch at once, unless parts of it were asked for: a file may be for the samples of one part only. */
static int64_t samples_at_once(const plim_trainer *t, const plim_batch *batch) {
    int64_t runs = t->plan->request.accumulate;
    return runs > 1 && batch->count % runs == 0 ? batch->count / runs : batch->count;
}

/* Before they are taken: whether a budget has room for these bytes beside what is there. */
static plim_status check_room(const plim_trainer *t, size_t bytes, plim_error *error) {
    uint64_t budget = t->plan->bounds.budget, now = plim__resident_now();
    char needed[PLIM_BYTES_TEXT], text[PLIM_BYTES_TEXT];
    if (!budget || now + bytes <= budget) return PLIM_OK;
    return plim__fail(
        error, PLIM_BUDGET,
        "gradients of a whole batch take memory of their own: %s in all, more than the budget of %s; read "
        "them without a budget",
        plim_bytes_format(now + bytes, needed), plim_bytes_format(budget, text));
}

/* One gradient as it is shown, and a copy of all that whoever asked may hold; *weights: of all parameters. */
static size_t shown_bytes(const plim__variant *v, size_t *weights) {
    size_t all = 0, most = 0;
    for (size_t i = 0; i < v->training->parameter_count; i++) {
        const plim__value *value = &v->training->graph->values.items[v->training->parameters[i]];
        size_t bytes = (size_t)plim__shape_elements(&value->shape) * sizeof(float);
        all += bytes;
        if (bytes > most) most = bytes;
    }
    *weights = all;
    return all + most;
}

/* The step as it comes, in an arena of its own, without its update. */
static plim_status compute_gradients(plim_trainer *t, const plim_batch *batch,
                                     void (*show)(void *, const char *, int, const int64_t *, const float *),
                                     void *context, plim_error *error) {
    const plim__training_plan *plan = t->plan;
    plim__training_options training = plim__request_training(&plan->request, samples_at_once(t, batch), true);
    float weight = 0;
    plim__variant *v;
    plim__instance instance = {0};
    plim__arena arena = {0};
    plim__target target = plim__bounds_target(&plan->bounds);
    /* making it takes memory too: not where its weights and sums alone are too much */
    size_t weights, shown = shown_bytes(plan->main, &weights);
    PLIM_TRY(check_room(t, plim__process_second_program(plan) + shown + 2 * weights, error));
    PLIM_TRY(plim__variant_create(plan->model, &training, target, NULL, &v, error));
    plim_status status = plim__variant_pack(v, NULL, 0, NULL, error);
    if (status == PLIM_OK) status = check_room(t, v->plan->arena_bytes + shown, error);
    if (status == PLIM_OK)
        status = plim__arena_reserve(&arena, target.device->memory, v->plan->persistent_bytes,
                                     plim__variant_transient_bytes(v), error);
    if (status == PLIM_OK) status = plim__instance_start(&instance, v, &arena, error);
    if (status == PLIM_OK) status = run_without_update(t, &instance, batch, &weight, error);
    if (status == PLIM_OK) status = show_gradients(&instance, weight, show, context, error);
    plim__instance_stop(&instance);
    plim__variant_free(v);
    plim__arena_release(&arena);
    return status;
}

plim_status plim_trainer_gradients(plim_trainer *t, const plim_batch *batch,
                                   void (*show)(void *context, const char *name, int rank, const int64_t *dims,
                                                const float *values),
                                   void *context, plim_error *error) {
    PLIM_TRY(plim__trainer_check(t, error));
    PLIM_TRY(plim__trainer_check_batch(t, batch, error));
    PLIM__NEED(show, error);
    bool bounded = t->plan->bounds.budget > 0; /* then they get what the step does not need meanwhile */
    if (bounded) plim__arena_release_pages(&t->arena);
    plim_status status = compute_gradients(t, batch, show, context, error);
    if (bounded) plim__arena_restore_pages(&t->arena);
    return status;
}

/* --- evaluation ----------------------------------------------------------------------------------------------- */

plim_status plim_trainer_evaluate_measured(plim_trainer *t, plim_data *data, plim_measures *measures,
                                           plim_evaluation *result, plim_error *error) {
    PLIM__NEED(result, error);
    *result = (plim_evaluation){0};
    PLIM_TRY(plim__trainer_check(t, error));
    PLIM__NEED(data, error);
    PLIM_TRY(plim__trainer_need_evaluation(t, plim_evaluation_batch(&t->plan->request.loss, data), error));
    return measures ? plim_evaluate_measured(t->evaluation, data, measures, result, error)
                    : plim_evaluate(t->evaluation, data, result, error);
}

plim_status plim_trainer_evaluate(plim_trainer *t, plim_data *data, plim_evaluation *result, plim_error *error) {
    return plim_trainer_evaluate_measured(t, data, NULL, result, error);
}
