/* Trainers: making one from a plan, and the step. */
#include "run/trainer.h"

#include <math.h>
#include <string.h>

#include "budget/report.h"
#include "core/arguments.h"
#include "core/clock.h"
#include "run/recording.h"
#include "run/room.h"
#include "run/scaling.h"
#include "run/session_parts.h"

/* --- making --------------------------------------------------------------------------------------------------- */

/* Everything persistent that is not a constant or a sum: the trainable state. */
static plim_status list_tensors(plim_trainer *t, plim_error *error) {
    const plim__program *program = t->plan->main->program;
    for (size_t i = 0; i < program->loads.count; i++) {
        plim__value_kind kind = program->graph->values.items[program->loads.items[i].value].kind;
        if (kind != PLIM__VALUE_PARAMETER && kind != PLIM__VALUE_STATE) continue;
        if (program->loads.items[i].in.run && !program->loads.items[i].back.run) continue; /* no step changes it */
        if (!plim__vec_push(&t->tensors, (int32_t)i)) return plim__fail_memory(error, "a trainer", sizeof(int32_t));
    }
    return PLIM_OK;
}

static plim_status start_others(plim_trainer *t, plim_error *error) {
    const plim__training_plan *plan = t->plan;
    for (size_t i = 0; i < plan->tails.count; i++) {
        plim__instance tail = {0};
        plim_status status = plim__instance_start(&tail, plan->tails.items[i], &t->arena, error);
        if (status == PLIM_OK && !plim__vec_push(&t->tails, tail))
            status = plim__fail_memory(error, "a trainer", sizeof tail);
        if (status != PLIM_OK) plim__instance_stop(&tail);
        PLIM_TRY(status);
    }
    if (plan->irregular.variant)
        PLIM_TRY(plim__instance_start(&t->irregular, plan->irregular.variant, &t->arena, error));
    return plan->evaluation ? plim__session_start(plan->evaluation, &t->arena, &t->evaluation, error) : PLIM_OK;
}

static plim_status start_times(plim_trainer *t, plim_error *error) {
    size_t steps = t->plan->main->program->steps.count;
    t->updates = 0;
    t->times = plim__alloc_zero(steps, sizeof *t->times);
    if (!t->times) return plim__fail_memory(error, "measuring", steps * sizeof *t->times);
    return plim__runner_measure(t->main.runner, error);
}

plim_status plim__trainer_start(plim_trainer *t, plim_error *error) {
    plim__training_plan *plan = t->plan;
    plan->request.optimizer.state_bits =
        plan->choice.levers.state_bits == 8 ? 8 : 32; /* also when it is planned again */
    plan->request.precision = plan->choice.levers.precision ? plan->choice.levers.precision : PLIM_PRECISION_F32;
    PLIM_TRY(list_tensors(t, error));
    PLIM_TRY(plim__arena_reserve(&t->arena, plim__bounds_target(&plan->bounds).device->memory, plan->persistent_bytes,
                                 plan->transient_bytes, error));
    if (plan->main->plan->window >= 0)
        PLIM_TRY(plim__arena_spill(&t->arena, plim__bounds_spill_folder(&plan->bounds),
                                   plim__spill_file_bytes(plan->main->program), plan->main->program->target.threads,
                                   error));
    PLIM_TRY(plim__instance_start(&t->main, plan->main, &t->arena, error));
    PLIM_TRY(start_others(t, error));
    return plan->request.measure ? start_times(t, error) : PLIM_OK;
}

void plim__trainer_stop(plim_trainer *t) {
    plim__recording_clear(t);
    plim_session_free(t->evaluation);
    t->evaluation = NULL;
    plim__instance_stop(&t->irregular);
    for (size_t i = 0; i < t->tails.count; i++) plim__instance_stop(&t->tails.items[i]);
    t->tails.count = 0;
    plim__instance_stop(&t->main);
    plim__arena_release(&t->arena);
    t->tensors.count = 0;
    plim__free(t->times);
    t->times = NULL;
}

plim_status plim__trainer_check(const plim_trainer *t, plim_error *error) {
    if (!t) return plim__fail(error, PLIM_INVALID, "the trainer is NULL");
    return t->main.runner ? PLIM_OK : plim__fail(error, PLIM_INVALID, "this trainer has no memory to run in");
}

/* A plan with a budget has been made for what there is. */
static plim_status check_room(const plim__training_plan *plan, plim_error *error) {
    if (plan->bounds.budget) return PLIM_OK;
    uint64_t data = plim__training_plan_data_bytes(plan), held = plan->request.data_held_bytes;
    return plim__room_check(plan->persistent_bytes + plan->transient_bytes + (data > held ? data - held : 0), error);
}

plim_status plim__trainer_create(plim__training_plan *plan, plim_trainer **trainer, plim_error *error) {
    plim_trainer *t = *trainer = plim__alloc_zero(1, sizeof *t);
    if (!t) {
        plim__training_plan_free(plan);
        return plim__fail_memory(error, "a trainer", sizeof *t);
    }
    t->plan = plan;
    plim_status status = check_room(plan, error);
    if (status == PLIM_OK) status = plim__trainer_start(t, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim_trainer_free(t);
    *trainer = NULL;
    return status;
}

plim_status plim_trainer_create(const plim_graph *model, const plim_trainer_options *options, plim_trainer **trainer,
                                plim_error *error) {
    plim__request request;
    plim__bounds bounds;
    plim__training_plan *plan;
    PLIM__NEED(trainer, error);
    *trainer = NULL;
    PLIM__NEED(model, error);
    plim_trainer_options o;
    PLIM_TRY(plim__trainer_options_read(options, &o, error));
    PLIM_TRY(plim__trainable_check(model, error));
    plim__request_read(&o, &request, &bounds);
    plim_status status = plim__training_plan_create(model, &request, &bounds, &plan, error);
    if (status == PLIM_OK) return plim__trainer_create(plan, trainer, error);
    plim__training_plan_free(plan);
    return status;
}

plim_status plim_trainer_create_from_plan(plim_plan *plan, plim_trainer **trainer, plim_error *error) {
    plim__training_plan *training;
    PLIM__NEED(trainer, error);
    *trainer = NULL;
    PLIM__NEED(plan, error);
    PLIM_TRY(plim__plan_release(plan, &training, error));
    return plim__trainer_create(training, trainer, error);
}

void plim_trainer_free(plim_trainer *t) {
    if (!t) return;
    plim__recording_free(t);
    plim__trainer_stop(t);
    plim__training_plan_free(t->plan);
    plim__vec_free(&t->tails);
    plim__vec_free(&t->tensors);
    plim__free(t);
}

/* --- the step ------------------------------------------------------------------------------------------------- */

/* Sums over the micro-batches of one batch. */
struct sums {
    double loss, weight, targets, correct;
    bool classifies;
    bool sum;     /* the loss is one: its parts add up */
    bool skipped; /* gradients were not finite */
};

/* Rectifiers swallow NaN, so the loss would not always show it. */
static bool all_finite(const float *x, size_t count) {
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7f800000;
        most = bits > most ? bits : most;
    }
    return most < 0x7f800000;
}

plim_status plim__trainer_feed(const plim__instance *instance, const plim_batch *batch, int64_t from, bool *finite,
                               plim_error *error) {
    const plim__variant *v = instance->variant;
    const plim_graph *g = v->training->graph;
    *finite = true;
    for (size_t i = 0, given = 0; i < g->inputs.count; i++) {
        plim_value value = g->inputs.items[i];
        if (!plim__training_is_data(v->training, value)) continue;
        const char *source = value == v->training->target ? batch->target : batch->inputs[given++];
        const plim__value *type = &g->values.items[value];
        size_t bytes = (size_t)plim__shape_elements(&type->shape) * (size_t)plim_dtype_bits(type->dtype) / 8;
        if (!plim__instance_at(instance, value)) continue;
        source += bytes / (size_t)v->samples * (size_t)from;
        if (type->dtype == PLIM_F32) *finite &= all_finite((const float *)source, bytes / sizeof(float));
        PLIM_TRY(plim__instance_write(instance, value, source, bytes, error));
    }
    return PLIM_OK;
}

static plim_status scalar(const plim__instance *instance, plim_value value, double missing, double *scalar,
                          plim_error *error) {
    float number = (float)missing;
    PLIM_TRY(plim__instance_read(instance, value, &number, sizeof number, error));
    *scalar = (double)number;
    return PLIM_OK;
}

/* Class numbers that count. Without weights of classes, that is what their weights add up to. */
static double count_targets(const plim_trainer *t, const plim__variant *v, const plim_batch *batch, int64_t from) {
    const plim_loss *loss = &t->plan->request.loss;
    int64_t all = plim__shape_elements(&v->training->graph->values.items[v->training->target].shape), count = all;
    const int64_t *labels = (const int64_t *)batch->target + all / v->samples * from;
    for (int64_t i = 0; loss->ignores && i < all; i++) count -= labels[i] == loss->ignore_index;
    return (double)count;
}

static void add_times(plim_trainer *t, bool updated) {
    const plim__program *program = t->plan->main->program;
    for (size_t s = 0; s < program->steps.count; s++)
        if (updated || program->steps.items[s].phase != PLIM__UPDATE) t->times[s] += t->main.runner->seconds[s];
}

/* A micro-batch of an update. */
struct part {
    const plim_batch *batch;
    int64_t from; /* sample of the batch */
    bool last;
    double rate; /* of learning */
};

/* The optimizer counts the updates that it made. Halves: gradients are computed times a scale. */
static plim_status write_numbers(const plim_trainer *t, const plim__instance *instance, double rate,
                                 plim_error *error) {
    const plim__training *training = instance->variant->training;
    double update[2] = {rate, (double)(t->progress.updates - t->progress.skipped_updates + 1)};
    float scale = plim__scaling_now(&t->progress);
    PLIM_TRY(plim__instance_write(instance, training->update, update, sizeof update, error));
    return plim__instance_write(instance, training->loss_scale, &scale, sizeof scale, error);
}

/* Adds what a micro-batch has computed before its gradients. */
static plim_status add_sums(plim_trainer *t, const plim__instance *instance, const struct part *part, struct sums *sums,
                            plim_error *error) {
    const plim__training *training = instance->variant->training;
    double loss, weight, correct;
    PLIM_TRY(scalar(instance, training->loss, 0, &loss, error));
    PLIM_TRY(scalar(instance, training->weight, 1, &weight, error));
    PLIM_TRY(scalar(instance, training->correct, 0, &correct, error));
    if (!isfinite(loss) && weight > 0)
        return plim__trainer_report_nonfinite(t, instance, part->batch, part->from, loss, error);
    bool weighted = training->correct >= 0 && t->plan->request.loss.class_weights;
    sums->weight += weight;
    sums->targets += weighted ? count_targets(t, instance->variant, part->batch, part->from) : weight;
    sums->sum = training->split.combine == PLIM__COMBINE_SUM;
    sums->loss += sums->sum ? loss : weight > 0 ? loss * weight : 0;
    sums->correct += correct;
    sums->classifies = training->correct >= 0;
    return PLIM_OK;
}

/* The backward pass; then the update, if this is the last of the batch and all gradients are finite. */
static plim_status run_backward(const plim_trainer *t, const plim__instance *instance, bool last, struct sums *sums,
                                plim_error *error) {
    const plim__variant *v = instance->variant;
    size_t from = v->after_loss, end = v->program->steps.count;
    float scale = sums->sum ? 1 : sums->weight > 0 ? (float)(1 / sums->weight) : 0;
    if (v->training->loss_scale >= 0) scale /= plim__scaling_now(&t->progress);
    if (last) PLIM_TRY(plim__instance_write(instance, v->training->scale, &scale, sizeof scale, error));
    if (last && v->after_check > from) {
        float checked = 0;
        PLIM_TRY(plim__runner_run_part(instance->runner, from, v->after_check, error));
        PLIM_TRY(plim__instance_read(instance, v->training->checked, &checked, sizeof checked, error));
        instance->runner->no_update = sums->skipped = !isfinite(checked);
        from = v->after_check;
    }
    return plim__runner_run_part(instance->runner, from, end, error);
}

static plim_status run_micro(plim_trainer *t, const plim__instance *instance, const struct part *part,
                             struct sums *sums, plim_error *error) {
    plim__runner *runner = instance->runner;
    bool finite;
    runner->first = part->from == 0;
    runner->no_update = !part->last;
    runner->tick = (uint64_t)t->progress.updates;
    runner->sample = part->from;
    PLIM_TRY(plim__trainer_feed(instance, part->batch, part->from, &finite, error));
    if (!finite) return plim__trainer_report_nonfinite(t, instance, part->batch, part->from, NAN, error);
    PLIM_TRY(write_numbers(t, instance, part->rate, error));
    PLIM_TRY(plim__runner_run_part(runner, 0, instance->variant->after_loss, error));
    PLIM_TRY(add_sums(t, instance, part, sums, error));
    PLIM_TRY(run_backward(t, instance, part->last, sums, error));
    if (t->times && instance == &t->main) add_times(t, part->last && !sums->skipped);
    return PLIM_OK;
}

plim_status plim__trainer_check_batch(const plim_trainer *trainer, const plim_batch *batch, plim_error *error) {
    const plim__training *training = trainer->plan->main->training;
    int64_t most = trainer->plan->request.batch;
    PLIM__NEED(batch, error);
    if (batch->count < 1 || batch->count > most)
        return plim__fail(error, PLIM_INVALID, "a batch of %lld samples was given to a trainer of batches of %lld",
                          (long long)batch->count, (long long)most);
    for (size_t i = 0, given = 0; i < training->graph->inputs.count; i++) {
        plim_value value = training->graph->inputs.items[i];
        if (!plim__training_is_data(training, value)) continue;
        if (value == training->target ? !batch->target : !batch->inputs[given++])
            return plim__fail(error, PLIM_INVALID, "the batch has no data for '%s'",
                              training->graph->values.items[value].name);
    }
    return PLIM_OK;
}

/* Without an update the weights are the same: only another batch could have helped, and twenty have not. */
static plim_status report_stuck(plim_trainer *t, plim_error *error) {
    plim_status status = plim__fail(
        error, PLIM_NUMERIC,
        "update %lld: gradients are not finite in %d updates in a row, with a loss scale of %g at last: numbers of "
        "this model "
        "are beyond what fp16 holds (65504); bf16 or fp32 hold them. The weights are those of update %lld",
        (long long)t->progress.updates + 1, PLIM__SCALING_MOST_SKIPPED, (double)plim__scaling_now(&t->progress),
        (long long)(t->progress.updates - t->progress.skipped_in_row));
    if (t->recording) plim__recording_failed(t, error);
    return status;
}

plim_status plim_trainer_step(plim_trainer *t, const plim_batch *batch, plim_step_result *result, plim_error *error) {
    if (result) *result = (plim_step_result){0};
    PLIM_TRY(plim__trainer_check(t, error));
    PLIM_TRY(plim__trainer_check_batch(t, batch, error));
    const plim__request *request = &t->plan->request;
    double start_time = plim__clock_seconds();
    double rate = request->optimizer.rate * plim_schedule_factor(&request->schedule, t->progress.updates);
    struct sums sums = {0};
    PLIM_TRY(plim__trainer_need_batch(t, batch->count, error)); /* before anything of it runs */
    if (t->recording) PLIM_TRY(plim__recording_begin(t, batch->count, error));
    for (int64_t from = 0; from < batch->count;) {
        const plim__instance *next = plim__trainer_next(t, batch->count - from);
        struct part part = {batch, from, next->variant->samples == batch->count - from, rate};
        plim_status status = run_micro(t, next, &part, &sums, error);
        if (status != PLIM_OK && t->recording) plim__recording_failed(t, error);
        PLIM_TRY(status);
        from += next->variant->samples;
    }
    bool half = t->plan->main->training->loss_scale >= 0;
    float scale = half ? plim__scaling_now(&t->progress) : 1;
    if (sums.skipped && plim__scaling_is_stuck(&t->progress)) return report_stuck(t, error);
    t->progress.updates++;
    t->updates++;
    if (half) plim__scaling_count(&t->progress, !sums.skipped);
    plim_step_result done = {.loss = sums.sum          ? sums.loss
                                     : sums.weight > 0 ? sums.loss / sums.weight
                                                       : 0,
                             .weight = sums.weight,
                             .targets = sums.targets,
                             .correct = sums.classifies ? sums.correct : -1,
                             .rate = rate,
                             .update = t->progress.updates,
                             .seconds = plim__clock_seconds() - start_time,
                             .loss_scale = (double)scale,
                             .skipped = sums.skipped,
                             .skipped_updates = t->progress.skipped_updates};
    if (t->recording) plim__recording_updated(t, &done);
    if (result) *result = done;
    return PLIM_OK;
}

plim_progress plim_trainer_progress(const plim_trainer *t) { return t ? t->progress : (plim_progress){0}; }
void plim_trainer_set_progress(plim_trainer *t, plim_progress progress) {
    if (t) t->progress = progress;
}
