/* Drawing progress. A bar is drawn at most ten times a second, for the width that the terminal has then. */
#include "cli/progress.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "core/str.h"
#include "plimsoll/bytes.h"
#include "plimsoll/machine.h"

#define REDRAW_SECONDS 0.1
#define LINE_SECONDS   10.0
#define LINE_SHARE     0.05
#define BAR_LEAST      8
#define BAR_MOST       32

void plim__progress_begin(plim__progress *p, bool json, bool quiet, int64_t epochs) {
    int fd = json ? STDERR_FILENO : STDOUT_FILENO;
    *p = (plim__progress){.terminal = plim__terminal_of(fd), .epochs = epochs};
    if (!quiet && (!json || p->terminal.is_terminal)) p->stream = json ? stderr : stdout;
}

/* A terminal that became narrower has broken the old bar into several lines. */
void plim__progress_clear(plim__progress *p) {
    if (!p->stream || p->columns == 0) return;
    size_t width = (size_t)plim__terminal_of(fileno(p->stream)).width, rows = width ? (p->columns - 1) / width : 0;
    if (rows > 0) fprintf(p->stream, "\033[%zuA", rows);
    fputs("\r\033[J", p->stream);
    p->columns = 0;
}

void plim__progress_say(plim__progress *p, const char *format, ...) {
    if (!p->stream) return;
    va_list list;
    plim__progress_clear(p);
    va_start(list, format);
    vfprintf(p->stream, format, list);
    va_end(list);
    fputc('\n', p->stream);
    fflush(p->stream);
}

/* --- figures -------------------------------------------------------------------------------------------------- */

static void note_step(plim__progress *p, const plim_fit_event *e) {
    size_t slot = (size_t)(p->steps % PLIM__PROGRESS_RECENT);
    p->loss[slot] = e->step.loss;
    p->correct[slot] = e->step.correct;
    p->targets[slot] = e->step.targets;
    int64_t from = e->epoch == p->last_epoch ? p->last_position : 0;
    p->samples += (double)(e->position - from);
    p->last_epoch = e->epoch;
    p->last_position = e->position;
    if (p->steps++ == 0) { /* the first step also pays for what happens once */
        p->begun = e->seconds;
        p->first_samples = p->samples;
    }
}

static double recent_loss(const plim__progress *p) {
    double sum = 0;
    int64_t count = p->steps < PLIM__PROGRESS_RECENT ? p->steps : PLIM__PROGRESS_RECENT;
    for (int64_t i = 0; i < count; i++) sum += p->loss[i];
    return count ? sum / (double)count : 0;
}

/* Below 0 when the model does not classify. */
static double recent_accuracy(const plim__progress *p) {
    double correct = 0, targets = 0;
    int64_t count = p->steps < PLIM__PROGRESS_RECENT ? p->steps : PLIM__PROGRESS_RECENT;
    for (int64_t i = 0; i < count; i++) {
        if (p->correct[i] < 0) return -1;
        correct += p->correct[i];
        targets += p->targets[i];
    }
    return targets > 0 ? correct / targets : -1;
}

static double share_done(const plim_fit_event *e) {
    return e->total_updates > 0 ? (double)e->updates / (double)e->total_updates : 0;
}

/* Below 0 when it is not known. */
static double seconds_left(const plim__progress *p, const plim_fit_event *e) {
    if (p->steps < 2 || e->total_updates <= 0) return -1;
    return (e->seconds - p->begun) / (double)(p->steps - 1) * (double)(e->total_updates - e->updates);
}

static double samples_per_second(const plim__progress *p, const plim_fit_event *e) {
    double seconds = e->seconds - p->begun;
    if (p->steps < 2 || seconds <= 0) return e->seconds > 0 ? p->samples / e->seconds : 0;
    return (p->samples - p->first_samples) / seconds;
}

/* --- texts ---------------------------------------------------------------------------------------------------- */

static void add_place(plim__str *out, const plim__progress *p, const plim_fit_event *e) {
    if (p->epochs > 0)
        plim__str_addf(out, "epoch %lld/%lld", (long long)e->epoch + 1, (long long)p->epochs);
    else
        plim__str_addf(out, "step %lld/%lld", (long long)e->updates, (long long)e->total_updates);
}

enum { WITH_PEAK = 1, WITH_MEMORY = 2, WITH_SPEED = 4, WITH_ALL = 7 };

static void add_figures(plim__str *out, const plim__progress *p, const plim_fit_event *e, int which) {
    char now[PLIM_BYTES_TEXT], peak[PLIM_BYTES_TEXT], left[PLIM_SECONDS_TEXT];
    double accuracy = recent_accuracy(p), seconds = seconds_left(p, e);
    plim__str_addf(out, "  loss %.4f", recent_loss(p));
    if (accuracy >= 0) plim__str_addf(out, "  accuracy %.1f %%", 100 * accuracy);
    if (which & WITH_SPEED) plim__str_addf(out, "  %.0f samples/s", samples_per_second(p, e));
    if (which & WITH_MEMORY) plim__str_addf(out, "  %s", plim_bytes_format(plim_process_resident(), now));
    if (which & WITH_PEAK) plim__str_addf(out, " (peak %s)", plim_bytes_format(plim_process_resident_peak(), peak));
    if (seconds < 0) return;
    plim__seconds_format(seconds, left, sizeof left);
    plim__str_addf(out, "  %s left", left);
}

/* What does not fit is left out: first the peak, then memory, then speed. */
static void draw_bar(plim__progress *p, const plim_fit_event *e) {
    static const int choices[] = {WITH_ALL, WITH_MEMORY | WITH_SPEED, WITH_SPEED, 0};
    plim__str place = {0}, figures = {0}, line = {0};
    p->terminal = plim__terminal_of(fileno(p->stream)); /* the window may have a new size */
    add_place(&place, p, e);
    size_t width = p->terminal.width > 1 ? (size_t)p->terminal.width - 1 : 1, bar = 0;
    for (size_t i = 0; i < sizeof choices / sizeof *choices && bar < BAR_LEAST; i++) {
        plim__str_clear(&figures);
        plim__str_addf(&figures, " %3.0f %%", 100 * share_done(e));
        add_figures(&figures, p, e, choices[i]);
        size_t taken = place.length + 1 + figures.length;
        bar = taken < width ? width - taken : 0;
    }
    plim__str_addf(&line, "%.*s", (int)width, plim__str_text(&place));
    if (place.length < width) plim__str_add(&line, " ");
    if (bar > BAR_MOST) bar = BAR_MOST;
    if (bar >= BAR_LEAST)
        plim__terminal_bar(&line, &p->terminal, &(plim__bar_part){share_done(e), PLIM_STYLE_GREEN, 0}, 1, 1, (int)bar);
    size_t room = width > place.length + 1 + bar ? width - place.length - 1 - bar : 0;
    plim__str_addf(&line, "%.*s", (int)room, plim__str_text(&figures));
    plim__progress_clear(p);
    fputs(plim__str_text(&line), p->stream);
    fflush(p->stream);
    p->columns = plim__terminal_columns(plim__str_text(&line));
    plim__str_free(&place);
    plim__str_free(&figures);
    plim__str_free(&line);
}

static void print_line(plim__progress *p, const plim_fit_event *e) {
    plim__str line = {0};
    add_place(&line, p, e);
    if (p->epochs > 0) plim__str_addf(&line, "  step %lld", (long long)e->updates);
    plim__str_addf(&line, "  %.0f %%", 100 * share_done(e));
    add_figures(&line, p, e, WITH_ALL);
    fprintf(p->stream, "%s\n", plim__str_text(&line));
    fflush(p->stream);
    plim__str_free(&line);
}

static void show_step(plim__progress *p, const plim_fit_event *e) {
    double share = share_done(e);
    bool last = e->total_updates > 0 && e->updates >= e->total_updates;
    if (p->terminal.is_terminal) {
        if (!last && p->steps > 1 && e->seconds - p->said < REDRAW_SECONDS) return;
        draw_bar(p, e);
    } else {
        if (!last && p->steps > 1 && e->seconds - p->said < LINE_SECONDS && share - p->said_share < LINE_SHARE) return;
        print_line(p, e);
    }
    p->said = e->seconds;
    p->said_share = share;
}

static void show_validation(plim__progress *p, const plim_fit_event *e) {
    char accuracy[40] = "", seconds[PLIM_SECONDS_TEXT];
    const plim_evaluation *v = &e->validation;
    if (v->classifies) snprintf(accuracy, sizeof accuracy, ", accuracy %.2f %%", 100 * v->accuracy);
    plim__seconds_format(e->seconds, seconds, sizeof seconds);
    plim__progress_say(p, "epoch %lld, step %lld: training loss %.4f, validation loss %.4f%s; %s",
                       (long long)e->epoch + 1, (long long)e->updates, recent_loss(p), v->loss, accuracy, seconds);
}

void plim__progress_seen(plim__progress *p, const plim_fit_event *e) {
    if (!p->stream) return;
    if (e->kind == PLIM_FIT_BEGIN) {
        p->last_epoch = e->epoch;
        p->last_position = e->position;
        p->said_share = share_done(e);
        if (e->updates > 0)
            plim__progress_say(p, "going on after step %lld, epoch %lld", (long long)e->updates,
                               (long long)e->epoch + 1);
    } else if (e->kind == PLIM_FIT_STEP) {
        note_step(p, e);
        show_step(p, e);
    } else if (e->kind == PLIM_FIT_VALIDATED) {
        show_validation(p, e);
    }
}
