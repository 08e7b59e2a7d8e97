/* Trainers: making one, and the step. */
#include "run/trainer.h"

#include <math.h>
#include <string.h>

#include "core/arguments.h"
#include "core/clock.h"
#include "mem/heap.h"
#include "run/recording.h"

plim__training_options plim__trainer_training_options(const plim_trainer *t, int64_t samples, bool sums) {
    const plim_trainer_options *o = &t->options;
    return (plim__training_options){.loss = &o->loss,
                                    .optimizer = &o->optimizer,
                                    .batch = samples,
                                    .sizes = o->sizes,
                                    .size_count = o->size_count,
                                    .freeze = o->freeze,
                                    .freeze_count = o->freeze_count,
                                    .seed = o->seed,
                                    .sums = sums};
}

/* --- making --------------------------------------------------------------------------------------------------- */

static bool copy_texts(char ***to, const char *const *from, size_t count) {
    *to = plim__alloc_zero(count, sizeof **to);
    bool ok = *to != NULL;
    for (size_t i = 0; ok && i < count; i++) ok = ((*to)[i] = plim__strdup(from[i])) != NULL;
    return ok;
}

/* The trainer outlives what its options point to. */
static plim_status keep_options(plim_trainer *t, const plim_trainer_options *given, plim_error *error) {
    t->options = *given;
    plim_trainer_options *o = &t->options;
    if (o->batch < 1) o->batch = 1;
    if (o->accumulate < 1) o->accumulate = 1;
    if (o->threads < 1) o->threads = 1;
    bool ok = copy_texts(&t->freeze, given->freeze, given->freeze_count);
    t->sizes = plim__alloc_array(given->size_count, sizeof *t->sizes);
    t->size_names = plim__alloc_zero(given->size_count, sizeof *t->size_names);
    ok = ok && t->sizes && t->size_names;
    for (size_t i = 0; ok && i < given->size_count; i++) {
        ok = (t->size_names[i] = plim__strdup(given->sizes[i].symbol)) != NULL;
        t->sizes[i] = (plim_size){t->size_names[i], given->sizes[i].size};
    }
    if (ok && given->loss.output) ok = (t->loss_output = plim__strdup(given->loss.output)) != NULL;
    if (ok && given->plan) ok = (t->plan_path = plim__strdup(given->plan)) != NULL;
    if (ok && given->spill) ok = (t->spill_folder = plim__strdup(given->spill)) != NULL;
    if (ok && given->loss.class_weights) {
        t->class_weights = plim__alloc_array(given->loss.class_count, sizeof *t->class_weights);
        ok = t->class_weights != NULL;
        if (ok && given->loss.class_count)
            memcpy(t->class_weights, given->loss.class_weights, given->loss.class_count * sizeof *t->class_weights);
    }
    if (!ok) return plim__fail_memory(error, "the options of a trainer", sizeof *o);
    o->freeze = (const char *const *)t->freeze;
    o->sizes = t->sizes;
    o->loss.output = t->loss_output;
    o->plan = t->plan_path;
    o->spill = t->spill_folder;
    o->loss.class_weights = t->class_weights;
    return PLIM_OK;
}

/* Everything that is kept and is not a constant or a sum: what is learned. */
static plim_status list_tensors(plim_trainer *t, plim_error *error) {
    const plim__program *program = t->main->program;
    for (size_t i = 0; i < program->loads.count; i++) {
        plim__value_kind kind = program->graph->values.items[program->loads.items[i].value].kind;
        if (kind != PLIM__VALUE_PARAMETER && kind != PLIM__VALUE_STATE) continue;
        if (program->loads.items[i].in.run && !program->loads.items[i].back.run) continue; /* no step changes it */
        if (!plim__vec_push(&t->tensors, (int32_t)i)) return plim__fail_memory(error, "a trainer", sizeof(int32_t));
    }
    return PLIM_OK;
}

static plim_status start(plim_trainer *t, plim_error *error) {
    PLIM_TRY(plim__arena_reserve(&t->arena, t->kept_bytes, t->passing_bytes, error));
    if (t->main->plan->window >= 0)
        PLIM_TRY(plim__arena_spill(&t->arena, plim__trainer_spill_folder(t), plim__spill_file_bytes(t->main->program),
                                   error));
    PLIM_TRY(plim__variant_start(t->main, &t->arena, error));
    PLIM_TRY(plim__trainer_start_others(t, error));
    if (!t->options.measure) return PLIM_OK;
    size_t steps = t->main->program->steps.count;
    t->updates = 0;
    t->times = plim__alloc_zero(steps, sizeof *t->times);
    if (!t->times) return plim__fail_memory(error, "measuring", steps * sizeof *t->times);
    return plim__runner_measure(t->main->runner, error);
}

plim_status plim__trainer_make(plim_trainer *t, const plim_graph *model, const plim_trainer_options *options,
                               plim_error *error) {
    t->model = model;
    PLIM_TRY(keep_options(t, options, error));
    if (t->options.alternatives) t->explore = true;
    if (t->options.accumulate > t->options.batch)
        return plim__fail(error, PLIM_INVALID, "a batch of %lld cannot be split into %lld micro-batches",
                          (long long)t->options.batch, (long long)t->options.accumulate);
    return plim__trainer_begin(t, error);
}

plim_status plim__trainer_begin(plim_trainer *t, plim_error *error) {
    PLIM_TRY(plim__trainer_plan(t, error));
    return plim__trainer_start(t, error);
}

plim_status plim__trainer_start(plim_trainer *t, plim_error *error) {
    PLIM_TRY(list_tensors(t, error));
    return t->options.plan_only ? PLIM_OK : start(t, error);
}

void plim__trainer_end(plim_trainer *t) {
    plim__recording_forget(t);
    plim__trainer_end_others(t);
    plim__variant_stop(t->main);
    plim__variant_free(t->main);
    t->main = NULL;
    plim__arena_release(&t->arena);
    t->tensors.count = 0;
    t->base_bytes = 0;
    plim__heap_unplug(t->plugs);
    t->plugs = NULL;
    plim__free(t->times);
    t->times = NULL;
    plim__free(t->costs);
    t->costs = NULL;
}

plim_status plim_trainer_create(const plim_graph *model, const plim_trainer_options *options, plim_trainer **trainer,
                                plim_error *error) {
    PLIM__NEED(trainer, error);
    *trainer = NULL;
    PLIM__NEED(model, error);
    plim_trainer_options o;
    PLIM_TRY(plim__trainer_options_read(options, &o, error));
    *trainer = plim__alloc_zero(1, sizeof **trainer);
    if (!*trainer) return plim__fail_memory(error, "a trainer", sizeof **trainer);
    plim_status status = plim__trainer_make(*trainer, model, &o, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim_trainer_free(*trainer);
    *trainer = NULL;
    return status;
}

void plim_trainer_free(plim_trainer *t) {
    if (!t) return;
    plim__recording_free(t);
    plim__trainer_end(t);
    plim__vec_free(&t->tails);
    for (size_t i = 0; t->freeze && i < t->options.freeze_count; i++) plim__free(t->freeze[i]);
    for (size_t i = 0; t->size_names && i < t->options.size_count; i++) plim__free(t->size_names[i]);
    plim__free(t->freeze);
    plim__free(t->size_names);
    plim__free(t->sizes);
    plim__free(t->class_weights);
    plim__free(t->loss_output);
    plim__free(t->plan_path);
    plim__free(t->spill_folder);
    plim__vec_free(&t->tensors);
    plim__vec_free(&t->rows);
    plim__free(t);
}

/* --- the step ------------------------------------------------------------------------------------------------- */

/* Sums over the micro-batches of one batch. */
struct sums {
    double loss, weight, targets, correct;
    bool classifies;
    bool sum; /* the loss is one, and adds up */
};

/* Copies floats and tells whether all were finite. Rectifiers swallow NaN, so the loss would not always show it. */
static bool copy_finite(float *to, const float *from, size_t count) {
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, from + i, sizeof bits);
        bits &= 0x7f800000;
        most = bits > most ? bits : most;
        to[i] = from[i];
    }
    return most < 0x7f800000;
}

bool plim__trainer_feed(plim__variant *v, const plim_batch *batch, int64_t from) {
    const plim_graph *g = v->training->graph;
    bool finite = true;
    for (size_t i = 0, given = 0; i < g->inputs.count; i++) {
        plim_value value = g->inputs.items[i];
        if (value == v->training->update || value == v->training->scale) continue;
        const char *source = value == v->training->target ? batch->target : batch->inputs[given++];
        void *target = plim__variant_at(v, value);
        const plim__value *type = &g->values.items[value];
        size_t bytes = (size_t)plim__shape_elements(&type->shape) * (size_t)plim_dtype_bits(type->dtype) / 8;
        source += bytes / (size_t)v->samples * (size_t)from;
        if (target && type->dtype == PLIM_F32)
            finite &= copy_finite(target, (const float *)source, bytes / sizeof(float));
        else if (target)
            memcpy(target, source, bytes);
    }
    return finite;
}

static double scalar(const plim__variant *v, plim_value value, double missing) {
    const float *at = plim__variant_at(v, value);
    return at ? (double)*at : missing;
}

/* Class numbers that count. Without weights of classes, that is what their weights add up to. */
static double count_targets(const plim_trainer *t, const plim__variant *v, const plim_batch *batch, int64_t from) {
    const plim_loss *loss = &t->options.loss;
    int64_t all = plim__shape_elements(&v->training->graph->values.items[v->training->target].shape), count = all;
    const int64_t *labels = (const int64_t *)batch->target + all / v->samples * from;
    for (int64_t i = 0; loss->ignores && i < all; i++) count -= labels[i] == loss->ignore_index;
    return (double)count;
}

static void add_times(plim_trainer *t, bool updated) {
    const plim__program *program = t->main->program;
    for (size_t s = 0; s < program->steps.count; s++)
        if (updated || program->steps.items[s].phase != PLIM__UPDATE) t->times[s] += t->main->runner->seconds[s];
}

static plim_status run_micro(plim_trainer *t, plim__variant *v, const plim_batch *batch, int64_t from, bool last,
                             double rate, struct sums *sums, plim_error *error) {
    plim__runner *runner = v->runner;
    runner->first = from == 0;
    runner->no_update = !last;
    runner->tick = (uint64_t)t->progress.updates;
    runner->sample = from;
    if (!plim__trainer_feed(v, batch, from)) return plim__trainer_blame(t, v, batch, from, NAN, error);
    double *update = plim__variant_at(v, v->training->update);
    if (update) {
        update[0] = rate;
        update[1] = (double)(t->progress.updates + 1);
    }
    PLIM_TRY(plim__runner_run_part(runner, 0, v->after_loss, error));
    double loss = scalar(v, v->training->loss, 0), weight = scalar(v, v->training->weight, 1);
    if (!isfinite(loss) && weight > 0) return plim__trainer_blame(t, v, batch, from, loss, error);
    sums->weight += weight;
    sums->targets +=
        v->training->correct >= 0 && t->options.loss.class_weights ? count_targets(t, v, batch, from) : weight;
    sums->sum = v->training->split.combine == PLIM__COMBINE_SUM && v->samples < batch->count;
    sums->loss += sums->sum ? loss : weight > 0 ? loss * weight : 0;
    sums->correct += scalar(v, v->training->correct, 0);
    sums->classifies = v->training->correct >= 0;
    float *scale = last ? plim__variant_at(v, v->training->scale) : NULL;
    if (scale && v->training->split.combine == PLIM__COMBINE_SUM)
        *scale = 1;
    else if (scale)
        *scale = sums->weight > 0 ? (float)(1 / sums->weight) : 0;
    PLIM_TRY(plim__runner_run_part(runner, v->after_loss, v->program->steps.count, error));
    if (t->times && v == t->main) add_times(t, last);
    return PLIM_OK;
}

plim_status plim_trainer_step(plim_trainer *t, const plim_batch *batch, plim_step_result *result, plim_error *error) {
    if (!t->main || !t->main->runner) return plim__fail(error, PLIM_INVALID, "this trainer has no memory to run in");
    if (batch->count < 1 || batch->count > t->options.batch)
        return plim__fail(error, PLIM_INVALID, "a batch of %lld samples was given to a trainer of batches of %lld",
                          (long long)batch->count, (long long)t->options.batch);
    double start_time = plim__clock_seconds();
    double rate = t->options.optimizer.rate * plim_schedule_factor(&t->options.schedule, t->progress.updates);
    struct sums sums = {0};
    PLIM_TRY(plim__trainer_need_batch(t, batch->count, error)); /* before anything of it runs */
    if (t->recording) PLIM_TRY(plim__recording_begin(t, batch->count, error));
    for (int64_t from = 0; from < batch->count;) {
        int64_t left = batch->count - from;
        plim__variant *v = plim__trainer_next(t, left);
        plim_status status = run_micro(t, v, batch, from, v->samples == left, rate, &sums, error);
        if (status != PLIM_OK && t->recording) plim__recording_failed(t, error);
        PLIM_TRY(status);
        from += v->samples;
    }
    t->progress.updates++;
    t->updates++;
    plim_step_result done = {.loss = sums.sum          ? sums.loss
                                     : sums.weight > 0 ? sums.loss / sums.weight
                                                       : 0,
                             .weight = sums.weight,
                             .targets = sums.targets,
                             .correct = sums.classifies ? sums.correct : -1,
                             .rate = rate,
                             .update = t->progress.updates,
                             .seconds = plim__clock_seconds() - start_time};
    if (t->recording) plim__recording_updated(t, &done);
    if (result) *result = done;
    return PLIM_OK;
}

plim_progress plim_trainer_progress(const plim_trainer *t) { return t->progress; }
void plim_trainer_set_progress(plim_trainer *t, plim_progress progress) { t->progress = progress; }
