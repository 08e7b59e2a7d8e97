/* The training run.
 *
 *   step, step, ... last step of the epoch → validation → best weights → checkpoint → step, ...
 *
 * A checkpoint is written after everything that belongs to its update, so a run that goes on from it repeats nothing and
 * leaves nothing out. */
#include "run/fit.h"
#include "run/recording.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arguments.h"
#include "core/clock.h"
#include "data/targets.h"
#include "run/scaling.h"
#include "run/trainer.h"

static int64_t planned_updates(const plim__fit *f, const plim_data_info *info) {
    int64_t steps = f->options->steps, by_epochs = f->epochs * info->batches;
    return f->epochs == 0 || (steps > 0 && steps < by_epochs) ? steps : by_epochs;
}

static void tell(plim__fit *f, plim_fit_event_kind kind) {
    plim_data_stats stats;
    plim_data_get_stats(f->data, &stats);
    f->event.kind = kind;
    f->event.seconds = plim__clock_seconds() - f->start;
    f->event.wait_share = stats.wait_share;
    if (f->options->on_event && f->options->on_event(f->options->context, &f->event) != 0) f->stopped = true;
}

/* "sample 7 of the batch" becomes what that sample is called in its files: its place in a shuffled epoch helps no one. */
static void name_sample(const plim__fit *f, const plim_data_batch *batch) {
    static const char end[] = " of the batch";
    char name[512], rest[512], *from = strstr(f->error->message, "sample "), *to;
    long long number = from ? strtoll(from + 7, &to, 10) : -1;
    if (number < 0 || strncmp(to, end, strlen(end)) != 0) return;
    plim_data_batch_sample_name(f->data, batch, number, name, sizeof name);
    snprintf(rest, sizeof rest, "%s", to + strlen(end));
    size_t room = sizeof f->error->message - (size_t)(from - f->error->message);
    snprintf(from, room, "%s%s", name, rest);
    plim__error_clean(f->error->message);
}

/* The first sample of a batch whose class the model has not; -1 for none. */
static int64_t find_bad_label(const plim__fit *f, const plim_data_batch *batch, int64_t classes) {
    const plim_data_field *field;
    const plim_loss *loss = &f->trainer->plan->request.loss;
    for (int i = 0; (field = plim_data_field_at(f->data, i)); i++) {
        const int64_t *labels = batch->fields[i];
        if (!field->target || field->dtype != PLIM_I64 || !labels) continue;
        int64_t each = (int64_t)(field->bytes / sizeof *labels);
        for (int64_t k = 0; k < batch->count * each; k++)
            if ((labels[k] < 0 || labels[k] >= classes) && !(loss->ignores && labels[k] == loss->ignore_index))
                return k / each;
    }
    return -1;
}

/* "label 7 at position 3 is out of range": the position is that of a piece of a batch; the sample is called as in its files. */
static void name_label(const plim__fit *f, const plim_data_batch *batch) {
    char name[512], rest[512], *from = strstr(f->error->message, " at position "), *to;
    static const char range[] = "is out of range for ";
    to = from ? strstr(from, range) : NULL;
    int64_t sample = to ? find_bad_label(f, batch, strtoll(to + strlen(range), NULL, 10)) : -1;
    if (sample < 0) return;
    plim_data_batch_sample_name(f->data, batch, sample, name, sizeof name);
    snprintf(rest, sizeof rest, "%s", to);
    snprintf(from, sizeof f->error->message - (size_t)(from - f->error->message), " of %s %s", name, rest);
    plim__error_clean(f->error->message);
}

/* Which step it was, of what; losses that are not finite come with the number of their update. */
static plim_status name_batch(const plim__fit *f, const plim_data_batch *batch, plim_status status) {
    name_sample(f, batch);
    name_label(f, batch);
    if (strncmp(f->error->message, "update ", 7) != 0)
        plim__fail_context(f->error, status, "update %lld", (long long)f->event.updates + 1);
    return plim__fail_context(f->error, status, "epoch %lld, batch of samples %lld to %lld",
                              (long long)batch->epoch + 1, (long long)batch->position,
                              (long long)(batch->position + batch->count - 1));
}

/* When there is no room for more, every second one goes. */
static void note_seconds(plim__fit *f, float seconds) {
    if (f->steps++ % f->stride != 0) return;
    if (f->second_count == PLIM__FIT_TIMES) {
        for (size_t i = 0; i < PLIM__FIT_TIMES / 2; i++) f->seconds[i] = f->seconds[2 * i];
        f->second_count = PLIM__FIT_TIMES / 2;
        f->stride *= 2;
    }
    f->seconds[f->second_count++] = seconds;
}

void plim__fit_average(plim__fit *f) {
    f->event.epoch_loss = f->sums.weight > 0 ? f->sums.loss / f->sums.weight : (double)NAN;
    f->event.epoch_accuracy = f->sums.targets > 0 ? f->sums.correct / f->sums.targets : (double)NAN;
}

static void add_to_epoch(plim__fit *f) {
    const plim_step_result *step = &f->event.step;
    if (f->sums.epoch != f->event.epoch) {
        memset(&f->sums, 0, sizeof f->sums);
        f->sums.epoch = f->event.epoch;
    }
    double weight = step->weight > 0 ? step->weight : 1;
    f->sums.loss += step->loss * weight;
    f->sums.weight += weight;
    if (step->correct >= 0) {
        f->sums.correct += step->correct;
        f->sums.targets += step->targets;
    }
    plim__fit_average(f);
}

static plim_status one_step(plim__fit *f, const plim_data_batch *batch) {
    plim_batch feed = plim_feed_batch(f->trainer, &f->feed, batch);
    plim_status status = plim_trainer_step(f->trainer, &feed, &f->event.step, f->error);
    if (status != PLIM_OK) return name_batch(f, batch, status);
    size_t slot = (size_t)(f->event.step.update % PLIM__FIT_RECENT);
    f->recent_correct[slot] = f->event.step.correct;
    f->recent_targets[slot] = f->event.step.targets;
    f->samples += (double)batch->count;
    f->event.epoch = batch->epoch;
    f->event.position = batch->position + batch->count;
    f->event.updates = f->event.step.update;
    add_to_epoch(f);
    f->unvalidated = true;
    note_seconds(f, (float)f->event.step.seconds);
    if (batch->count == f->trainer->plan->request.batch) plim__placement_step(&f->placement, f->event.step.seconds);
    return PLIM_OK;
}

/* --- validation ----------------------------------------------------------------------------------------------- */

static bool is_early(const plim__fit *f) { return f->options->patience > 0 && f->stale >= f->options->patience; }

static plim_status validate(plim__fit *f) {
    const plim_fit_options *o = f->options;
    f->unvalidated = false;
    if (!o->validation) return PLIM_OK;
    PLIM_TRY(plim_data_seek(o->validation, (plim_data_position){0, 0}, f->error));
    double start = plim__clock_seconds();
    plim_status status =
        plim_trainer_evaluate_measured(f->trainer, o->validation, o->measures, &f->event.validation, f->error);
    f->validating += plim__clock_seconds() - start;
    if (status != PLIM_OK) return plim__fail_context(f->error, status, "validation");
    double loss = f->event.validation.loss;
    bool better = isfinite(loss) && (f->best_update == 0 || loss < f->best);
    plim_data_info info;
    plim_data_get_info(o->validation, &info);
    bool text = strcmp(info.kind, "text") == 0 || strcmp(info.kind, "tokens") == 0;
    plim__recording_validated(f->trainer, &f->event.validation, o->measures, text);
    tell(f, PLIM_FIT_VALIDATED);
    if (!better) {
        f->stale++;
        return PLIM_OK;
    }
    f->best = loss;
    f->best_update = f->event.updates;
    f->stale = 0;
    if (!o->best) return PLIM_OK;
    PLIM_TRY(plim_trainer_save(f->trainer, o->best, f->error));
    tell(f, PLIM_FIT_BEST);
    return PLIM_OK;
}

/* --- the loop ------------------------------------------------------------------------------------------------- */

static plim_status checkpoint(plim__fit *f) {
    if (!f->options->checkpoint || f->saved == f->event.updates) return PLIM_OK;
    PLIM_TRY(plim__fit_save(f));
    f->saved = f->event.updates;
    tell(f, PLIM_FIT_CHECKPOINT);
    return PLIM_OK;
}

static bool is_done(const plim__fit *f) {
    const plim_fit_options *o = f->options;
    return f->stopped || is_early(f) || (o->steps > 0 && f->event.updates >= o->steps) ||
           (f->epochs > 0 && f->position.epoch >= f->epochs);
}

static bool is_checkpoint_due(const plim__fit *f, bool epoch_ends) {
    int64_t every = f->options->checkpoint_every;
    return epoch_ends || (every > 0 && f->event.updates % every == 0);
}

/* The run cannot go on; the trainable state stays. */
static void save_at_failure(plim__fit *f) {
    if (!f->options->checkpoint || f->saved == f->event.updates || f->event.updates == 0) return;
    plim_error first = *f->error;
    if (plim__fit_save(f) == PLIM_OK) f->saved = f->event.updates;
    *f->error = first;
}

static plim_status next_batch(plim__fit *f, plim_data_batch *batch) {
    plim_status status = plim_data_next(f->data, batch, f->error);
    if (status != PLIM_OK) save_at_failure(f);
    return status;
}

/* Halves that always overflow have left the weights alone. */
static plim_status step_on(plim__fit *f, const plim_data_batch *batch) {
    plim_status status = one_step(f, batch);
    plim_progress progress = plim_trainer_progress(f->trainer);
    if (status == PLIM_NUMERIC && plim__scaling_is_stuck(&progress)) save_at_failure(f);
    return status;
}

static plim_status loop(plim__fit *f) {
    plim_data_batch batch;
    if (f->unvalidated && f->position.sample == 0) PLIM_TRY(validate(f)); /* the run was stopped just before */
    while (!is_done(f)) {
        PLIM_TRY(next_batch(f, &batch));
        if (batch.count == 0 && !batch.last) break;
        if (batch.count > 0) {
            PLIM_TRY(step_on(f, &batch));
            f->position = plim_data_tell(f->data);
            tell(f, PLIM_FIT_STEP);
        }
        f->position = plim_data_tell(f->data);
        if (f->stopped) break;
        if (batch.last) PLIM_TRY(validate(f));
        if (is_checkpoint_due(f, batch.last)) PLIM_TRY(checkpoint(f));
    }
    if (!f->stopped && f->unvalidated) PLIM_TRY(validate(f));
    return checkpoint(f);
}

/* --- figures -------------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The median, without the first three steps where there are more. */
static double median_seconds(plim__fit *f) {
    size_t skip = f->second_count > 3 ? 3 : 0, count = f->second_count - skip;
    if (count == 0) return 0;
    float *from = f->seconds + skip;
    qsort(from, count, sizeof *from, by_size);
    return count % 2 ? (double)from[count / 2] : ((double)from[count / 2 - 1] + (double)from[count / 2]) / 2;
}

static double recent_metric(const plim__fit *f) {
    double correct = 0, targets = 0;
    for (int i = 0; i < PLIM__FIT_RECENT; i++) {
        correct += f->recent_correct[i];
        targets += f->recent_targets[i];
    }
    return f->event.step.correct < 0 || targets <= 0 ? -1 : correct / targets;
}

static void sum_up(plim__fit *f, plim_fit_result *result) {
    double seconds = plim__clock_seconds() - f->start - f->validating;
    plim_data_stats stats;
    plim_data_get_stats(f->data, &stats);
    bool validated = f->event.validation.count > 0;
    *result = (plim_fit_result){
        .steps = f->event.updates,
        .loss = f->event.step.loss,
        .metric = validated && f->event.validation.classifies ? f->event.validation.accuracy : recent_metric(f),
        .best_loss = f->best_update > 0 ? f->best : (double)NAN,
        .best_update = f->best_update,
        .seconds_per_step = median_seconds(f),
        .samples_per_second = seconds > 0 ? f->samples / seconds : 0,
        .wait_share = stats.wait_share,
        .validation = f->event.validation,
        .epochs = f->position.epoch,
        .stopped = f->stopped,
        .early = is_early(f),
    };
}

/* What the data will bring, for a trainer that was not told of it. Whether that is news. */
static bool declare(const plim__fit *f, const plim_data_info *info, plim__request *o) {
    int64_t last = info->samples - (info->batches - 1) * info->batch;
    bool reaches = f->event.total_updates == 0 || f->event.total_updates >= info->batches, news = false;
    if (last > info->batch) last = info->batch; /* short ones are left out */
    if (reaches && last < o->batch) {
        news = !plim__trainer_has_batch(f->trainer, last);
        o->samples = last;
        o->updates = 0;
    }
    if ((info->skips_bad || !plim__trainer_has_batch(f->trainer, info->batch)) && !o->irregular) {
        news = true;
        o->irregular = true;
    }
    if (f->options->validation && o->evaluates == 0) {
        news = true;
        o->evaluates = plim_evaluation_batch(&o->loss, f->options->validation);
    }
    return news;
}

/* Programs for short batches and for validation are there before the first step. Those that the trainer was not made
 * for are made now; with a budget the plan is. */
static plim_status prepare_trainer(plim__fit *f, const plim_data_info *info) {
    plim__request wanted = f->trainer->plan->request;
    uint64_t budget = f->trainer->plan->bounds.budget;
    bool news = declare(f, info, &wanted);
    if (news && budget) PLIM_TRY(plim__trainer_plan_again(f->trainer, &wanted, budget, f->error));
    plim__request *request = &f->trainer->plan->request;
    request->samples = wanted.samples;
    request->updates = wanted.updates;
    request->irregular = wanted.irregular;
    request->evaluates = wanted.evaluates;
    PLIM_TRY(plim__trainer_need_batch(f->trainer, info->batch, f->error));
    if (wanted.samples > 0) PLIM_TRY(plim__trainer_need_batch(f->trainer, plim__request_last(&wanted), f->error));
    if (!f->options->validation) return PLIM_OK;
    plim_data_batch unused; /* its threads start now, and take what they need; each validation begins again */
    (void)plim_data_next(f->options->validation, &unused, NULL);
    return plim__trainer_need_evaluation(f->trainer, wanted.evaluates, f->error);
}

/* All of them before the first step. The model's own loss decides by itself what it takes. */
static plim_status check_targets(const plim__fit *f) {
    const plim_loss *loss = &f->trainer->plan->request.loss;
    plim__target_rules rules = {.classes = f->trainer->plan->main->training->classes,
                                .ignores = loss->ignores,
                                .ignore_index = loss->ignore_index,
                                .several = true};
    if (loss->kind == PLIM_LOSS_MODEL) return PLIM_OK;
    PLIM_TRY(plim__data_check_targets(f->data, &rules, f->error));
    rules.several = false;
    if (!f->options->validation) return PLIM_OK;
    plim_status status = plim__data_check_targets(f->options->validation, &rules, f->error);
    return status == PLIM_OK ? status : plim__fail_context(f->error, status, "validation");
}

static plim_status prepare(plim__fit *f) {
    plim_data_info info;
    plim_data_get_info(f->data, &info);
    f->seconds = plim__alloc_array(PLIM__FIT_TIMES, sizeof *f->seconds);
    if (!f->seconds) return plim__fail_memory(f->error, "the times of steps", PLIM__FIT_TIMES * sizeof *f->seconds);
    f->event.epoch_samples = info.samples;
    f->event.total_updates = planned_updates(f, &info);
    plim_schedule *schedule = &f->trainer->plan->request.schedule;
    if (schedule->total == 0) schedule->total = f->event.total_updates;
    PLIM_TRY(plim_trainer_match(f->trainer, f->data, &f->feed, f->error));
    PLIM_TRY(check_targets(f));
    PLIM_TRY(prepare_trainer(f, &info));
    if (f->options->resume && f->options->checkpoint) PLIM_TRY(plim__fit_resume(f));
    f->event.updates = plim_trainer_progress(f->trainer).updates;
    f->event.epoch = f->position.epoch;
    f->event.position = f->position.sample;
    plim__fit_average(f);
    tell(f, PLIM_FIT_BEGIN);
    return PLIM_OK;
}

static plim_status check_options(const plim_fit_options *o, plim_error *error) {
    if (o->epochs < 0 || o->steps < 0 || o->patience < 0 || o->checkpoint_every < 0)
        return plim__fail(error, PLIM_INVALID, "epochs, steps, patience and checkpoint_every must not be negative");
    if ((o->resume || o->checkpoint_every) && !o->checkpoint)
        return plim__fail(error, PLIM_INVALID, "resume and checkpoint_every need a checkpoint");
    if ((o->best || o->patience) && !o->validation)
        return plim__fail(error, PLIM_INVALID, "best and patience need data for validation");
    if (!o->checkpoint || o->resume) return PLIM_OK; /* resuming reads it, and refuses what is not a checkpoint */
    if (plim_output_find(o->checkpoint) == PLIM_OUTPUT_CHECKPOINT && !o->continues)
        return plim__fail(error, PLIM_INVALID,
                          "'%s' is a checkpoint already: resume goes on from it; another name starts a new run",
                          o->checkpoint);
    return plim_output_check(o->checkpoint, PLIM_OUTPUT_CHECKPOINT, error);
}

plim_status plim_fit(plim_trainer *trainer, plim_data *data, const plim_fit_options *options, plim_fit_result *result,
                     plim_error *error) {
    plim_error unused;
    plim_fit_options o;
    PLIM__NEED(trainer, error);
    PLIM__NEED(data, error);
    PLIM__OPTIONS(plim_fit_options, o, options, error);
    PLIM_TRY(check_options(&o, error));
    plim__fit f = {.trainer = trainer,
                   .data = data,
                   .options = &o,
                   .error = error ? error : &unused,
                   .epochs = o.epochs > 0  ? o.epochs
                             : o.steps > 0 ? 0
                                           : 1,
                   .position = plim_data_tell(data),
                   .start = plim__clock_seconds(),
                   .stride = 1,
                   .saved = -1};
    plim_status status = prepare(&f);
    if (status == PLIM_OK) {
        plim__placement_begin(&f.placement, trainer->plan->bounds.threads);
        status = loop(&f);
        plim__placement_end(&f.placement);
    }
    plim_fit_result ignored;
    sum_up(&f, result ? result : &ignored);
    plim__free(f.seconds);
    if (status == PLIM_OK && f.stopped)
        return plim__fail(error, PLIM_INTERRUPTED, "on_event ended the run after update %lld",
                          (long long)f.event.updates);
    return status;
}
