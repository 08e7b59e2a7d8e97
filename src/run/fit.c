/* The training run. */
#include "plimsoll/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/vec.h"

#define RECENT 100 /* steps that the metric is taken over */

struct fit {
    plim_trainer *trainer;
    plim_data *data;
    const plim_fit_options *options;
    plim_feed feed;
    plim_fit_event event;
    PLIM_VEC(float) seconds; /* of each step */
    double recent_correct[RECENT], recent_weight[RECENT];
    double samples, start;
    int64_t first_update;
    bool stopped;
    plim_error *error;
};

static int64_t planned_updates(const plim_fit_options *options, const plim_data_info *info) {
    int64_t epochs = options->epochs > 0 ? options->epochs : options->steps > 0 ? 0 : 1;
    int64_t by_epochs = epochs * info->batches;
    if (epochs == 0 || (options->steps > 0 && options->steps < by_epochs)) return options->steps;
    return by_epochs;
}

static void tell(struct fit *f, plim_fit_event_kind kind) {
    plim_data_stats stats;
    plim_data_stats_get(f->data, &stats);
    f->event.kind = kind;
    f->event.seconds = plim__clock_seconds() - f->start;
    f->event.wait_share = stats.wait_share;
    if (f->options->seen && f->options->seen(f->options->context, &f->event) != 0) f->stopped = true;
}

static plim_status one_step(struct fit *f, const plim_data_batch *batch) {
    plim_batch feed = plim_feed_batch(f->trainer, &f->feed, batch);
    plim_status status = plim_trainer_step(f->trainer, &feed, &f->event.step, f->error);
    if (status != PLIM_OK)
        return plim__fail_context(f->error, status, "epoch %lld, batch of samples %lld to %lld",
                                  (long long)batch->epoch + 1, (long long)batch->position,
                                  (long long)(batch->position + batch->count - 1));
    size_t slot = (size_t)(f->event.step.update % RECENT);
    f->recent_correct[slot] = f->event.step.correct;
    f->recent_weight[slot] = f->event.step.weight;
    f->samples += (double)batch->count;
    f->event.epoch = batch->epoch;
    f->event.position = batch->position + batch->count;
    f->event.updates = f->event.step.update;
    return plim__vec_push(&f->seconds, (float)f->event.step.seconds)
               ? PLIM_OK
               : plim__fail_memory(f->error, "the times of steps", f->seconds.count * sizeof(float));
}

static plim_status after_epoch(struct fit *f) {
    if (!f->options->validation) return PLIM_OK;
    PLIM_TRY(plim_data_seek(f->options->validation, (plim_data_position){0, 0}, f->error));
    PLIM_TRY(plim_trainer_evaluate(f->trainer, f->options->validation, &f->event.validation, f->error));
    tell(f, PLIM_FIT_VALIDATED);
    return PLIM_OK;
}

static bool is_done(const struct fit *f) {
    return f->stopped || (f->options->steps > 0 && f->event.updates >= f->options->steps) ||
           (f->event.total_updates > 0 && f->event.updates >= f->event.total_updates);
}

static plim_status loop(struct fit *f) {
    plim_data_batch batch;
    while (!is_done(f)) {
        PLIM_TRY(plim_data_next(f->data, &batch, f->error));
        if (batch.count == 0 && !batch.last) break;
        if (batch.count > 0) {
            PLIM_TRY(one_step(f, &batch));
            tell(f, PLIM_FIT_STEP);
        }
        if (batch.last) PLIM_TRY(after_epoch(f));
    }
    return PLIM_OK;
}

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The median, without the first three steps where there are more. */
static double median_seconds(struct fit *f) {
    size_t skip = f->seconds.count > 3 ? 3 : 0, count = f->seconds.count - skip;
    if (count == 0) return 0;
    float *from = f->seconds.items + skip;
    qsort(from, count, sizeof *from, by_size);
    return count % 2 ? (double)from[count / 2] : ((double)from[count / 2 - 1] + (double)from[count / 2]) / 2;
}

static double recent_metric(const struct fit *f) {
    double correct = 0, weight = 0;
    for (int i = 0; i < RECENT; i++) {
        correct += f->recent_correct[i];
        weight += f->recent_weight[i];
    }
    return f->event.step.correct < 0 || weight <= 0 ? -1 : correct / weight;
}

static void sum_up(struct fit *f, plim_fit_result *result) {
    double seconds = plim__clock_seconds() - f->start;
    plim_data_stats stats;
    plim_data_stats_get(f->data, &stats);
    bool validated = f->event.validation.count > 0;
    *result = (plim_fit_result){
        .steps = f->event.updates,
        .loss = f->event.step.loss,
        .metric = validated && f->event.validation.classifies ? f->event.validation.accuracy : recent_metric(f),
        .best_loss = validated ? f->event.validation.loss : (double)NAN,
        .seconds_per_step = median_seconds(f),
        .samples_per_second = seconds > 0 ? f->samples / seconds : 0,
        .wait_share = stats.wait_share,
        .stopped = f->stopped,
    };
}

plim_status plim_fit(plim_trainer *trainer, plim_data *data, const plim_fit_options *options, plim_fit_result *result,
                     plim_error *error) {
    struct fit f = {.trainer = trainer, .data = data, .options = options, .error = error};
    plim_data_info info;
    plim_data_info_get(data, &info);
    f.start = plim__clock_seconds();
    f.event.epoch_samples = info.samples;
    f.event.total_updates = planned_updates(options, &info);
    f.event.updates = f.first_update = plim_trainer_progress(trainer).updates;
    plim_status status = plim_trainer_match(trainer, data, &f.feed, error);
    if (status == PLIM_OK) status = loop(&f);
    sum_up(&f, result);
    plim__vec_free(&f.seconds);
    return status;
}
