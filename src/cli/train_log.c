/* Writing logs. */
#include "cli/train_log.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "core/error.h"
#include "plimsoll/machine.h"

#define LINE 512

plim_status plim__train_log_open(plim__train_log *log, const char *path, bool resume, plim_error *error) {
    *log = (plim__train_log){.path = path};
    if (!path) return PLIM_OK;
    if (resume) log->stream = fopen(path, "r+e");
    if (!log->stream) log->stream = fopen(path, "w+e");
    if (!log->stream) return plim__fail_errno(error, errno, "cannot write the log '%s'", path);
    return PLIM_OK;
}

static plim_status cannot(const plim__train_log *log, plim_error *error) {
    return plim__fail_errno(error, errno, "cannot write the log '%s'", log->path);
}

/* Keeps whole lines of steps up to `update`. */
static plim_status cut(plim__train_log *log, int64_t update, plim_error *error) {
    char line[LINE];
    long end = 0;
    long long step;
    rewind(log->stream);
    while (fgets(line, sizeof line, log->stream) && sscanf(line, "{\"step\": %lld", &step) == 1 && step <= update)
        end = ftell(log->stream);
    if (fseek(log->stream, end, SEEK_SET) != 0 || ftruncate(fileno(log->stream), end) != 0) return cannot(log, error);
    return PLIM_OK;
}

static void write_step(const plim__train_log *log, const plim_fit_event *e) {
    const plim_step_result *s = &e->step;
    char accuracy[40] = "null";
    if (s->correct >= 0 && s->targets > 0) snprintf(accuracy, sizeof accuracy, "%.9g", s->correct / s->targets);
    fprintf(log->stream,
            "{\"step\": %lld, \"epoch\": %lld, \"loss\": %.9g, \"accuracy\": %s, \"rate\": %.9g, \"seconds\": %.6g, "
            "\"resident_bytes\": %llu}\n",
            (long long)e->updates, (long long)e->epoch + 1, s->loss, accuracy, s->rate, s->seconds,
            (unsigned long long)plim_process_resident());
}

static void write_validation(const plim__train_log *log, const plim_fit_event *e) {
    const plim_evaluation *v = &e->validation;
    char accuracy[40] = "null", loss[40] = "null"; /* JSON knows no NaN */
    if (v->classifies) snprintf(accuracy, sizeof accuracy, "%.9g", v->accuracy);
    if (isfinite(v->loss)) snprintf(loss, sizeof loss, "%.9g", v->loss);
    fprintf(log->stream, "{\"step\": %lld, \"epoch\": %lld, \"validation_loss\": %s, \"validation_accuracy\": %s}\n",
            (long long)e->updates, (long long)e->epoch + 1, loss, accuracy);
}

plim_status plim__train_log_seen(plim__train_log *log, const plim_fit_event *e, plim_error *error) {
    if (!log->stream) return PLIM_OK;
    if (e->kind == PLIM_FIT_BEGIN) return cut(log, e->updates, error);
    if (e->kind == PLIM_FIT_STEP) write_step(log, e);
    if (e->kind == PLIM_FIT_VALIDATED) write_validation(log, e);
    return fflush(log->stream) == 0 && !ferror(log->stream) ? PLIM_OK : cannot(log, error);
}

plim_status plim__train_log_close(plim__train_log *log, plim_error *error) {
    FILE *stream = log->stream;
    log->stream = NULL;
    return !stream || fclose(stream) == 0 ? PLIM_OK : cannot(log, error);
}
