/* Writing logs. */
#include "cli/train_log.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/measures_text.h"
#include "core/error.h"
#include "plimsoll/machine.h"

enum { LINE = 4096, NAME = 64 };

/* What a row may have; after these the measures of validation. */
enum {
    STEP,
    EPOCH,
    LOSS,
    ACCURACY,
    RATE,
    SECONDS,
    RESIDENT,
    EPOCH_LOSS,
    EPOCH_ACCURACY,
    VALID_LOSS,
    VALID_ACCURACY,
    PERPLEXITY,
    LOSS_SCALE,
    SKIPPED
};
static const struct column {
    const char *name, *tag; /* in files, in TensorBoard */
    bool whole;
} columns[] = {
    [STEP] = {"step", NULL, true},
    [EPOCH] = {"epoch", "train/epoch", true},
    [LOSS] = {"loss", "train/loss", false},
    [ACCURACY] = {"accuracy", "train/accuracy", false},
    [RATE] = {"rate", "train/rate", false},
    [SECONDS] = {"seconds", "train/seconds", false},
    [RESIDENT] = {"resident_bytes", "train/resident_bytes", true},
    [EPOCH_LOSS] = {"training_loss", "epoch/training_loss", false},
    [EPOCH_ACCURACY] = {"training_accuracy", "epoch/training_accuracy", false},
    [VALID_LOSS] = {"validation_loss", "validation/loss", false},
    [VALID_ACCURACY] = {"validation_accuracy", "validation/accuracy", false},
    [PERPLEXITY] = {"validation_perplexity", "validation/perplexity", false},
    [LOSS_SCALE] = {"loss_scale", "train/loss_scale", false},
    [SKIPPED] = {"skipped_updates", "train/skipped_updates", true},
};
enum { FIXED = sizeof columns / sizeof *columns, MOST = PLIM__EVENT_MOST_SCALARS };

typedef struct row {
    double values[MOST]; /* NaN: it has none */
    bool has[MOST];      /* the row has this column */
} row;

static void set(row *r, size_t column, double value) {
    r->values[column] = value;
    r->has[column] = true;
}

/* The name of a column; false past the last one. */
static bool name_of(size_t column, const char *separator, char name[NAME]) {
    const char *key;
    double unused;
    if (column < FIXED) return snprintf(name, NAME, "%s", columns[column].name), true;
    if (!plim__measures_at(NULL, column - FIXED, &key, &unused) || column >= MOST) return false;
    return snprintf(name, NAME, "validation%s%s", separator, key), true;
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

static void fill_place(row *r, const plim_fit_event *e) {
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < MOST; i++) r->values[i] = (double)NAN;
    set(r, STEP, (double)e->updates);
    set(r, EPOCH, (double)e->epoch + 1);
}

static void fill_step(row *r, const plim_fit_event *e) {
    const plim_step_result *s = &e->step;
    fill_place(r, e);
    set(r, LOSS, s->loss);
    set(r, ACCURACY, s->correct >= 0 && s->targets > 0 ? s->correct / s->targets : (double)NAN);
    set(r, RATE, s->rate);
    set(r, SECONDS, s->seconds);
    set(r, RESIDENT, (double)plim_process_resident());
    if (s->loss_scale == 1 && s->skipped_updates == 0) return; /* nothing is scaled */
    set(r, LOSS_SCALE, s->loss_scale);
    set(r, SKIPPED, (double)s->skipped_updates);
}

/* The end of an epoch: with its validation where there is one. */
static void fill_epoch(row *r, const plim__train_log *log, const plim_fit_event *e) {
    const char *key;
    double value;
    fill_place(r, e);
    set(r, EPOCH_LOSS, e->epoch_loss);
    if (!isnan(e->epoch_accuracy)) set(r, EPOCH_ACCURACY, e->epoch_accuracy);
    if (e->kind != PLIM_FIT_VALIDATED) return;
    set(r, VALID_LOSS, e->validation.loss);
    set(r, VALID_ACCURACY, e->validation.classifies ? e->validation.accuracy : (double)NAN);
    if (log->sums && log->sums->text) set(r, PERPLEXITY, exp(e->validation.loss));
    const plim_measures *measures = log->sums ? log->sums->measures : NULL;
    for (size_t i = 0; measures && FIXED + i < MOST && plim__measures_at(measures, i, &key, &value); i++)
        if (!isnan(value)) set(r, FIXED + i, value);
}

/* --- files ------------------------------------------------------------------------------------------------------ */

static plim_status cannot(const plim__train_log *log, plim_error *error) {
    return plim__fail_errno(error, errno, "cannot write the log '%s'", log->path);
}

/* A stream's buffer, and lines on the stack; for an event file its records on the stack. With both, pages of the program that
 * nothing else uses. */
uint64_t plim__train_log_bytes(const plim__args *args) {
    const uint64_t pages = (uint64_t)16 << 10;
    uint64_t bytes = plim__args_has(args, "log") ? BUFSIZ + 2 * LINE + pages : 0;
    return bytes + (plim__args_has(args, "tensorboard") ? PLIM__EVENT_FILE_BYTES + pages : 0);
}

plim_status plim__train_log_open(plim__train_log *log, const char *path, const char *folder, bool resume,
                                 plim_error *error) {
    *log = (plim__train_log){.path = path, .events = {.fd = -1}};
    if (path) {
        size_t length = strlen(path);
        log->csv = length > 4 && strcasecmp(path + length - 4, ".csv") == 0;
        if (resume) log->stream = fopen(path, "r+e");
        if (!log->stream) log->stream = fopen(path, "w+e");
        if (!log->stream) return plim__fail_errno(error, errno, "cannot write the log '%s'", path);
    }
    return folder ? plim__event_file_open(&log->events, folder, error) : PLIM_OK;
}

static void make_header(char line[LINE]) {
    char name[NAME];
    size_t length = 0;
    for (size_t i = 0; name_of(i, "_", name) && length < LINE - NAME; i++)
        length += (size_t)snprintf(line + length, LINE - length, "%s%s", i ? "," : "", name);
    snprintf(line + length, LINE - length, "\n");
}

/* Keeps whole lines of steps up to `update`. */
static plim_status cut(plim__train_log *log, int64_t update, plim_error *error) {
    char line[LINE], header[LINE];
    long end = 0;
    long long step;
    make_header(header);
    rewind(log->stream);
    if (log->csv && fgets(line, sizeof line, log->stream)) {
        if (strcmp(line, header) != 0)
            return plim__fail(error, PLIM_INVALID,
                              "the log '%s' has other columns than this run would write; choose another name",
                              log->path);
        end = ftell(log->stream);
    }
    while (fgets(line, sizeof line, log->stream) && strchr(line, '\n') &&
           sscanf(line, log->csv ? "%lld," : "{\"step\": %lld", &step) == 1 && step <= update)
        end = ftell(log->stream);
    if (fseek(log->stream, end, SEEK_SET) != 0 || ftruncate(fileno(log->stream), end) != 0) return cannot(log, error);
    if (log->csv && end == 0) fputs(header, log->stream);
    return PLIM_OK;
}

static void write_number(FILE *stream, size_t column, double value) {
    if (column < FIXED && columns[column].whole)
        fprintf(stream, "%.0f", value);
    else
        fprintf(stream, "%.9g", value);
}

static void write_json(FILE *stream, const row *r) {
    char name[NAME];
    for (size_t i = 0; name_of(i, "_", name); i++) {
        if (!r->has[i]) continue;
        fprintf(stream, "%s\"%s\": ", i ? ", " : "{", name);
        if (isfinite(r->values[i])) /* JSON knows no NaN */
            write_number(stream, i, r->values[i]);
        else
            fputs("null", stream);
    }
    fputs("}\n", stream);
}

static void write_csv(FILE *stream, const row *r) {
    char name[NAME];
    for (size_t i = 0; name_of(i, "_", name); i++) {
        if (i) fputc(',', stream);
        if (r->has[i] && isfinite(r->values[i])) write_number(stream, i, r->values[i]);
    }
    fputc('\n', stream);
}

static plim_status write_events(plim__train_log *log, const row *r, plim_error *error) {
    plim__event_scalar scalars[MOST];
    char names[MOST][NAME];
    size_t count = 0;
    for (size_t i = EPOCH; i < MOST && name_of(i, "/", names[i]); i++)
        if (r->has[i] && !isnan(r->values[i]))
            scalars[count++] = (plim__event_scalar){i < FIXED ? columns[i].tag : names[i], r->values[i]};
    return plim__event_file_add(&log->events, (int64_t)r->values[STEP], scalars, count, error);
}

static plim_status write_row(plim__train_log *log, const row *r, plim_error *error) {
    if (log->stream && log->csv)
        write_csv(log->stream, r);
    else if (log->stream)
        write_json(log->stream, r);
    if (log->stream && (fflush(log->stream) != 0 || ferror(log->stream))) return cannot(log, error);
    return log->events.fd >= 0 ? write_events(log, r, error) : PLIM_OK;
}

static plim_status begin(plim__train_log *log, int64_t updates, plim_error *error) {
    plim_status status = log->stream ? cut(log, updates, error) : PLIM_OK;
    if (status == PLIM_OK && log->events.fd >= 0 && updates > 0)
        status = plim__event_file_restart(&log->events, updates + 1, error);
    return status;
}

plim_status plim__train_log_seen(plim__train_log *log, const plim_fit_event *e, plim_error *error) {
    row r;
    plim_status status = PLIM_OK;
    if (!log->stream && log->events.fd < 0) return PLIM_OK;
    if (e->kind == PLIM_FIT_BEGIN) return begin(log, e->updates, error);
    if (e->kind == PLIM_FIT_STEP) {
        fill_step(&r, e);
        status = write_row(log, &r, error);
    }
    bool ends = e->kind == PLIM_FIT_STEP && !log->validates && plim__train_epochs_ends(e);
    if (status == PLIM_OK && (ends || e->kind == PLIM_FIT_VALIDATED)) {
        fill_epoch(&r, log, e);
        status = write_row(log, &r, error);
    }
    return status;
}

plim_status plim__train_log_close(plim__train_log *log, plim_error *error) {
    FILE *stream = log->stream;
    log->stream = NULL;
    plim_status status = !stream || fclose(stream) == 0 ? PLIM_OK : cannot(log, error);
    plim_status events = plim__event_file_close(&log->events, status == PLIM_OK ? error : NULL);
    return status != PLIM_OK ? status : events;
}
