/* Checkpoints of training runs: where the run stands, beside the state of the trainer, and whether a file continues it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "data/source.h"
#include "run/fit.h"
#include "run/trainer.h"
#include "run/trainer_save.h"

#define TEXT 256

enum {
    LOSS,
    SCHEDULE,
    BATCHES,
    READING,
    PRECISION,
    BASE,
    CHANGES,
    UNVALIDATED,
    LAST_LOSS,
    LAST_METRIC,
    LAST_COUNT,
    SUMS,
    SCALING,
    EXTRAS
};
enum { COMPARED = UNVALIDATED }; /* the extras before it must be the same in a run that goes on */

static const struct {
    const char *key, *words;
} extras[EXTRAS] = {
    [LOSS] = {"loss", "loss"},
    [SCHEDULE] = {"schedule", "schedule"},
    [BATCHES] = {"batches", "batches in an epoch"},
    [READING] = {"reading", "preprocessing of data"},
    [PRECISION] = {"precision", "precision"},
    [BASE] = {"base", "form of frozen layers"},
    [CHANGES] = {"changes", "augmentation"},
    [UNVALIDATED] = {"unvalidated", NULL},
    [LAST_LOSS] = {"last.loss", NULL},
    [LAST_METRIC] = {"last.accuracy", NULL},
    [LAST_COUNT] = {"last.count", NULL},
    [SUMS] = {"epoch.sums", NULL},
    [SCALING] = {"scaling", NULL},
};

typedef struct notes {
    char text[EXTRAS][TEXT];
    plim__safetensors_note list[EXTRAS];
} notes;

/* Only what this kind of loss reads. */
static void describe_loss(const plim_loss *loss, char text[TEXT]) {
    uint64_t weights = 0;
    const uint8_t *bytes = (const uint8_t *)loss->class_weights;
    if (bytes)
        for (size_t i = 0; i < loss->class_count * sizeof *loss->class_weights; i++)
            weights = (weights ^ bytes[i]) * 1099511628211u;
    const char *name = plim_loss_name(loss->kind), *output = loss->output ? loss->output : "";
    const char *where = loss->counts ? " where " : "", *counts = loss->counts ? loss->counts : "";
    if (loss->kind == PLIM_LOSS_CROSS_ENTROPY)
        snprintf(text, TEXT, "%s smoothing=%g ignored=%" PRId64 " weights=%" PRIx64 " of %.60s%s%.60s", name,
                 loss->label_smoothing, loss->ignores ? loss->ignore_index : INT64_MIN, weights, output, where, counts);
    else
        snprintf(text, TEXT, "%s delta=%g of %.60s%s%.60s", name, loss->kind == PLIM_LOSS_HUBER ? loss->delta : 0,
                 output, where, counts);
    size_t used = strlen(text);
    if (loss->sample_weights) snprintf(text + used, TEXT - used, " weighed by samples");
}

/* How its data was read, as far as the model remembers it: the same file with another mean is other data. */
static void describe_reading(const plim__fit *f, const char *kind, char text[TEXT]) {
    static const char *const keys[] = {"plimsoll.job", "plimsoll.classes"};
    uint64_t hash = 1469598103934665603u;
    for (int i = 0; i < 2; i++)
        for (const char *c = plim_graph_get_note(f->trainer->plan->model, keys[i]); c && *c; c++)
            hash = (hash ^ (uint8_t)*c) * 1099511628211u;
    snprintf(text, TEXT, "%s %016" PRIx64, kind, hash);
}

/* The total of a schedule is left out: a run may be made longer. */
static void describe(const plim__fit *f, notes *n) {
    const plim__request *o = &f->trainer->plan->request;
    plim_data_info info;
    plim_data_get_info(f->data, &info);
    describe_loss(&o->loss, n->text[LOSS]);
    snprintf(n->text[SCHEDULE], TEXT, "%d warmup=%" PRId64 " every=%" PRId64 " gamma=%g least=%g",
             (int)o->schedule.kind, o->schedule.warmup, o->schedule.every, o->schedule.gamma, o->schedule.least);
    snprintf(n->text[BATCHES], TEXT, "%" PRId64, info.batches);
    describe_reading(f, info.kind, n->text[READING]);
    snprintf(n->text[PRECISION], TEXT, "%s", plim_precision_name(o->precision));
    snprintf(n->text[BASE], TEXT, "%s", plim_base_name(o->base));
    plim__data_describe_changes(f->data, n->text[CHANGES], TEXT);
    snprintf(n->text[UNVALIDATED], TEXT, "%d", f->unvalidated);
    snprintf(n->text[LAST_LOSS], TEXT, "%.17g", f->event.step.loss);
    snprintf(n->text[LAST_METRIC], TEXT, "%.17g", f->event.validation.accuracy);
    snprintf(n->text[LAST_COUNT], TEXT, "%" PRId64, f->event.validation.classifies ? f->event.validation.count : 0);
    snprintf(n->text[SUMS], TEXT, "%" PRId64 " %.17g %.17g %.17g %.17g", f->sums.epoch, f->sums.loss, f->sums.weight,
             f->sums.correct, f->sums.targets);
    plim_progress p = plim_trainer_progress(f->trainer);
    snprintf(n->text[SCALING], TEXT, "%.9g %" PRId64 " %" PRId64 " %" PRId64, p.loss_scale, p.good_in_row,
             p.skipped_updates, p.skipped_in_row);
    for (int i = 0; i < EXTRAS; i++) n->list[i] = (plim__safetensors_note){extras[i].key, n->text[i]};
}

static plim__checkpoint meta_of(const plim__fit *f, const notes *n) {
    plim_data_info info;
    plim_data_get_info(f->data, &info);
    return (plim__checkpoint){.epoch = f->position.epoch,
                              .sample = f->position.sample,
                              .data = info.kind,
                              .data_samples = info.samples,
                              .data_bytes = (int64_t)info.file_bytes,
                              .best = f->best_update > 0 ? f->best : 0,
                              .best_update = f->best_update,
                              .stale = f->stale,
                              .extra = n->list,
                              .extra_count = EXTRAS};
}

plim_status plim__fit_save(plim__fit *f) {
    notes n;
    describe(f, &n);
    return plim__trainer_write_checkpoint(f->trainer, f->options->checkpoint, meta_of(f, &n), f->error);
}

/* --- back ----------------------------------------------------------------------------------------------------- */

/* "rate=0.1 momentum=0": the first word that differs. How many micro-batches make a batch is free to change. */
static plim_status compare_settings(const plim__fit *f, const plim__checkpoint_file *file) {
    char here[PLIM__SETTINGS_TEXT], there[PLIM__SETTINGS_TEXT], *a, *b;
    const char *optimizer = plim_optimizer_name(f->trainer->plan->request.optimizer.kind);
    if (strcmp(file->meta.optimizer, optimizer) != 0)
        return plim__fail(f->error, PLIM_INVALID, "'%s' is a checkpoint of a run with %.60s, not with %s", file->path,
                          file->meta.optimizer, optimizer);
    plim__trainer_settings(f->trainer, here);
    snprintf(there, sizeof there, "%s", file->meta.settings);
    char *x = strtok_r(here, " ", &a), *y = strtok_r(there, " ", &b);
    for (; x && y; x = strtok_r(NULL, " ", &a), y = strtok_r(NULL, " ", &b))
        if (strcmp(x, y) != 0 && strncmp(x, "accumulate=", 11) != 0 &&
            !(f->options->new_rate && strncmp(x, "rate=", 5) == 0))
            return plim__fail(f->error, PLIM_INVALID, "'%s' is a checkpoint of a run with %.60s; here it is %.60s",
                              file->path, y, x);
    return x || y ? plim__fail(f->error, PLIM_CORRUPT, "the checkpoint '%s' has strange settings", file->path)
                  : PLIM_OK;
}

static plim_status compare_extras(const plim__fit *f, const plim__checkpoint_file *file) {
    notes here;
    describe(f, &here);
    for (int i = 0; i < COMPARED; i++) {
        const char *there = plim__checkpoint_extra(file, extras[i].key);
        if (!there && (i == PRECISION || i == BASE)) there = "fp32"; /* before there was any other */
        if (!there && i == CHANGES) there = "none";                  /* written before there were any */
        if (!there || strcmp(there, here.text[i]) != 0)
            return plim__fail(f->error, PLIM_INVALID, "'%s' is a checkpoint of a run with the %s %.80s; here: %s",
                              file->path, extras[i].words, there ? there : "unknown", here.text[i]);
    }
    return PLIM_OK;
}

static const char *extra_text(const plim__checkpoint_file *file, int which) {
    const char *text = plim__checkpoint_extra(file, extras[which].key);
    return text ? text : "0";
}

static void take_sums(plim__fit *f, const char *text) {
    char *at;
    f->sums.epoch = strtoll(text, &at, 10);
    double *const sums[] = {&f->sums.loss, &f->sums.weight, &f->sums.correct, &f->sums.targets};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) *sums[i] = strtod(at, &at);
}

/* A file from before there was any says 0: the scale to begin with. */
static void take_scaling(plim__fit *f, const char *text) {
    plim_progress p = plim_trainer_progress(f->trainer);
    char *at;
    p.loss_scale = strtod(text, &at);
    int64_t *const counts[] = {&p.good_in_row, &p.skipped_updates, &p.skipped_in_row};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) *counts[i] = strtoll(at, &at, 10);
    plim_trainer_set_progress(f->trainer, p);
}

static plim_status take_over(plim__fit *f, const plim__checkpoint_file *file) {
    notes here;
    describe(f, &here);
    plim__checkpoint run = meta_of(f, &here);
    uint64_t fingerprint;
    PLIM_TRY(plim__graph_fingerprint(f->trainer->plan->model, &fingerprint, f->error));
    if (fingerprint == file->meta.model) { /* else reading it names what is different in the model */
        PLIM_TRY(compare_settings(f, file));
        PLIM_TRY(plim__checkpoint_match_data(file, &run, f->error));
        PLIM_TRY(compare_extras(f, file));
    }
    PLIM_TRY(plim__trainer_read_checkpoint(f->trainer, file, f->error));
    f->position = (plim_data_position){file->meta.epoch, file->meta.sample};
    f->best = file->meta.best;
    f->best_update = file->meta.best_update;
    f->stale = file->meta.stale;
    f->saved = file->meta.update;
    f->unvalidated = strcmp(extra_text(file, UNVALIDATED), "1") == 0;
    f->event.step.loss = strtod(extra_text(file, LAST_LOSS), NULL);
    f->event.validation.accuracy = strtod(extra_text(file, LAST_METRIC), NULL);
    f->event.validation.count = strtoll(extra_text(file, LAST_COUNT), NULL, 10);
    f->event.validation.classifies = f->event.validation.count > 0;
    take_sums(f, extra_text(file, SUMS));
    take_scaling(f, extra_text(file, SCALING));
    return plim_data_seek(f->data, f->position, f->error);
}

plim_status plim__fit_resume(plim__fit *f) {
    plim__checkpoint_file file;
    if (access(f->options->checkpoint, F_OK) != 0 && errno == ENOENT) return PLIM_OK;
    PLIM_TRY(plim__checkpoint_open(&file, f->options->checkpoint, f->error));
    plim_status status = take_over(f, &file);
    plim__checkpoint_close(&file);
    return status;
}
