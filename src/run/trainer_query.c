/* Looking at a trainer: sizes, tensors, gradients, how well it does. */
#include <string.h>

#include "core/error.h"
#include "plan/peak.h"
#include "run/trainer.h"

/* --- sizes ---------------------------------------------------------------------------------------------------- */

static void add_bytes(const plim__buffer *buffer, const plim_graph *g, plim_trainer_stats *stats) {
    bool gradient = buffer->value >= 0 && g->values.items[buffer->value].is_gradient;
    size_t bytes = (buffer->bytes + PLIM__ALIGNMENT - 1) / PLIM__ALIGNMENT * PLIM__ALIGNMENT; /* in the arena */
    switch (gradient ? PLIM__BUFFER_GRADIENT : buffer->kind) {
    case PLIM__BUFFER_WEIGHT: stats->weight_bytes += bytes; break;
    case PLIM__BUFFER_STATE: stats->optimizer_bytes += bytes; break;
    case PLIM__BUFFER_INPUT: stats->data_bytes += bytes; break;
    case PLIM__BUFFER_ACTIVATION: stats->activation_bytes += bytes; break;
    case PLIM__BUFFER_GRADIENT: stats->gradient_bytes += bytes; break;
    case PLIM__BUFFER_WORKSPACE: stats->workspace_bytes += bytes; break;
    }
}

void plim_trainer_get_stats(const plim_trainer *t, plim_trainer_stats *stats) {
    const plim__variant *v = t->main;
    *stats = (plim_trainer_stats){
        .batch = t->options.batch,
        .micro_batch = v->samples,
        .accumulate = (t->options.batch + v->samples - 1) / v->samples,
        .arena_bytes = v->runner ? t->arena.persistent_bytes + t->arena.transient_bytes : t->planned_arena,
        .frozen = v->training->frozen_count,
        .steps = v->program->steps.count,
        .prevents_split = *v->training->split.why ? v->training->split.why : NULL,
        .planned_arena_bytes = t->planned_arena,
        .data_buffer_bytes = plim__trainer_data_bytes(t),
        .process_bytes = t->planned_process,
        .seconds = t->way.seconds,
        .class_ = t->way.class,
        .repeated = v->repeated,
        .spilled_bytes = plim__spilled_bytes(v->program),
        .replans = t->replans,
    };
    for (size_t b = 0; b < v->program->buffers.count; b++)
        if (plim__peak_holds(v->program, v->plan, b))
            add_bytes(&v->program->buffers.items[b], v->training->graph, stats);
    if (v->plan->window >= 0) stats->workspace_bytes += plim__spill_window_bytes(v->program);
    for (size_t i = 0; i < v->training->parameter_count; i++)
        stats->parameters +=
            (size_t)plim__shape_elements(&v->training->graph->values.items[v->training->parameters[i]].shape);
    for (size_t s = 0; s < v->program->steps.count; s++) {
        const plim__step *step = &v->program->steps.items[s];
        stats->flops += step->cost.flops * (step->phase == PLIM__UPDATE ? 1 : (double)stats->accumulate);
    }
}

size_t plim_trainer_step_count(const plim_trainer *t) { return t->main ? t->main->program->steps.count : 0; }

void plim_trainer_get_step(const plim_trainer *t, size_t index, plim_session_step *out) {
    const plim__step *step = &t->main->program->steps.items[index];
    double repeats = step->phase == PLIM__UPDATE ? 1 : (double)t->options.batch / (double)t->main->samples;
    *out = (plim_session_step){.label = step->label,
                               .node = step->node < 0 ? "" : t->main->training->graph->nodes.items[step->node].name,
                               .seconds = t->times && t->updates ? t->times[index] / (double)t->updates : 0,
                               .flops = step->cost.flops * repeats,
                               .bytes = step->cost.bytes * repeats};
}

/* --- tensors -------------------------------------------------------------------------------------------------- */

static const plim__load *load_at(const plim_trainer *t, size_t index) {
    return &t->main->program->loads.items[t->tensors.items[index]];
}

size_t plim_trainer_tensor_count(const plim_trainer *t) { return t->tensors.count; }

void plim_trainer_get_tensor(const plim_trainer *t, size_t index, plim_trainer_tensor *tensor) {
    const plim__value *value = &t->main->training->graph->values.items[load_at(t, index)->value];
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

static plim_status need_memory(const plim_trainer *t, plim_error *error) {
    return t->main && t->main->runner ? PLIM_OK
                                      : plim__fail(error, PLIM_INVALID, "this trainer has no memory to run in");
}

plim_status plim_trainer_read(plim_trainer *t, size_t index, void *values, plim_error *error) {
    PLIM_TRY(need_memory(t, error));
    return plim__runner_read_kept(t->main->runner, load_at(t, index), values, error);
}

plim_status plim_trainer_write(plim_trainer *t, size_t index, const void *values, plim_error *error) {
    PLIM_TRY(need_memory(t, error));
    return plim__runner_write_kept(t->main->runner, load_at(t, index), values, error);
}

/* --- gradients ------------------------------------------------------------------------------------------------ */

/* Weights and statistics as they are now, for a variant in an arena of its own. */
static plim_status copy_tensors(plim_trainer *t, plim__variant *v, plim_error *error) {
    for (size_t i = 0; i < v->program->loads.count; i++) {
        const plim__load *to = &v->program->loads.items[i];
        const char *name = v->training->graph->values.items[to->value].name;
        for (size_t k = 0; k < t->tensors.count; k++) {
            plim_trainer_tensor tensor;
            plim_trainer_get_tensor(t, k, &tensor);
            if (strcmp(tensor.name, name) != 0) continue;
            void *dense = plim__alloc(tensor.bytes);
            plim_status status = dense ? plim_trainer_read(t, k, dense, error)
                                       : plim__fail_memory(error, "looking at gradients", tensor.bytes);
            if (status == PLIM_OK) status = plim__runner_write_kept(v->runner, to, dense, error);
            plim__free(dense);
            PLIM_TRY(status);
        }
    }
    return PLIM_OK;
}

static plim_status show_gradients(plim__variant *v,
                                  void (*show)(void *, const char *, int, const int64_t *, const float *),
                                  void *context, plim_error *error) {
    const float *weight = plim__variant_at(v, v->training->weight);
    float scale = weight && *weight > 0 ? 1 / *weight : 0;
    if (v->training->split.combine == PLIM__COMBINE_SUM) scale = 1;
    for (size_t i = 0; i < v->program->loads.count; i++) {
        const plim__load *load = &v->program->loads.items[i];
        const plim__value *sum = &v->training->graph->values.items[load->value];
        if (sum->kind != PLIM__VALUE_SUM) continue;
        size_t count = (size_t)plim__shape_elements(&sum->shape), parameter = 0;
        while (v->training->gradients[parameter] != load->value) parameter++;
        float *dense = plim__alloc_array(count, sizeof *dense);
        plim_status status = dense ? plim__runner_read_kept(v->runner, load, dense, error)
                                   : plim__fail_memory(error, "looking at gradients", count * sizeof *dense);
        for (size_t k = 0; status == PLIM_OK && k < count; k++) dense[k] *= scale;
        if (status == PLIM_OK)
            show(context, v->training->graph->values.items[v->training->parameters[parameter]].name, sum->shape.rank,
                 sum->shape.dims, dense);
        plim__free(dense);
        PLIM_TRY(status);
    }
    return PLIM_OK;
}

static plim_status run_without_update(plim_trainer *t, plim__variant *v, const plim_batch *batch, plim_error *error) {
    PLIM_TRY(copy_tensors(t, v, error));
    v->runner->no_update = true;
    v->runner->tick = (uint64_t)t->progress.updates;
    v->runner->sample = 0;
    plim__trainer_feed(v, batch, 0);
    return plim__runner_run(v->runner, error);
}

plim_status plim_trainer_gradients(plim_trainer *t, const plim_batch *batch,
                                   void (*show)(void *context, const char *name, int rank, const int64_t *dims,
                                                const float *values),
                                   void *context, plim_error *error) {
    PLIM_TRY(need_memory(t, error));
    plim__training_options training = plim__trainer_training_options(t, batch->count, true);
    plim__variant *v;
    plim__arena arena = {0};
    PLIM_TRY(plim__variant_create(t->model, &training, t->options.threads, NULL, &v, error));
    plim_status status = plim__variant_pack(v, NULL, 0, NULL, 0, error);
    if (status == PLIM_OK)
        status = plim__arena_reserve(&arena, v->plan->persistent_bytes, plim__variant_passing_bytes(v), error);
    if (status == PLIM_OK) status = plim__variant_start(v, &arena, error);
    if (status == PLIM_OK) status = run_without_update(t, v, batch, error);
    if (status == PLIM_OK) status = show_gradients(v, show, context, error);
    plim__variant_stop(v);
    plim__variant_free(v);
    plim__arena_release(&arena);
    return status;
}

/* --- evaluation ----------------------------------------------------------------------------------------------- */

plim_status plim_trainer_evaluate(plim_trainer *t, plim_data *data, plim_evaluation *result, plim_error *error) {
    PLIM_TRY(need_memory(t, error));
    PLIM_TRY(plim__trainer_need_evaluation(t, plim_evaluation_batch(&t->options.loss, data), error));
    return plim_evaluate(t->evaluation, data, result, error);
}
