/* Drawing progress. A bar is drawn at most ten times a second, for the width that the terminal has then. */
#include "cli/progress.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "cli/measures_text.h"
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
    plim__str text = {0};
    va_list list;
    plim__progress_clear(p);
    va_start(list, format);
    plim__str_vaddf(&text, format, list);
    va_end(list);
    plim__terminal_line(p->stream, "%s", plim__str_text(&text));
    fflush(p->stream);
    plim__str_free(&text);
}

/* --- figures -------------------------------------------------------------------------------------------------- */

static void note_step(plim__progress *p, const plim_fit_event *e) {
    if (e->epoch != p->last_epoch) p->recent = 0;
    size_t slot = (size_t)(p->recent++ % PLIM__PROGRESS_RECENT);
    p->loss[slot] = e->step.loss;
    p->correct[slot] = e->step.correct;
    p->targets[slot] = e->step.targets;
    int64_t from = e->epoch == p->last_epoch ? p->last_position : 0;
    p->samples += (double)(e->position - from);
    p->last_epoch = e->epoch;
    p->last_position = e->position;
    if (p->steps++ == 0) /* the first step also pays for what happens once */
        p->first_samples = p->samples;
    else
        p->training += e->seconds - p->seen;
}

static double recent_loss(const plim__progress *p) {
    double sum = 0;
    int64_t count = p->recent < PLIM__PROGRESS_RECENT ? p->recent : PLIM__PROGRESS_RECENT;
    for (int64_t i = 0; i < count; i++) sum += p->loss[i];
    return count ? sum / (double)count : 0;
}

/* Below 0 when the model does not classify. */
static double recent_accuracy(const plim__progress *p) {
    double correct = 0, targets = 0;
    int64_t count = p->recent < PLIM__PROGRESS_RECENT ? p->recent : PLIM__PROGRESS_RECENT;
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

/* Below 0 when it is not known. Validations to come take as long as the ones before. */
static double seconds_left(const plim__progress *p, const plim_fit_event *e) {
    if (p->steps < 2 || e->total_updates <= 0) return -1;
    double steps = p->training / (double)(p->steps - 1) * (double)(e->total_updates - e->updates);
    if (p->validations == 0 || p->epochs == 0) return steps;
    return steps + p->validating / (double)p->validations * (double)(p->epochs - e->epoch);
}

static double samples_per_second(const plim__progress *p, const plim_fit_event *e) {
    if (p->steps < 2 || p->training <= 0) return e->seconds > 0 ? p->samples / e->seconds : 0;
    return (p->samples - p->first_samples) / p->training;
}

/* --- texts ---------------------------------------------------------------------------------------------------- */

static void add_place(plim__str *out, const plim__progress *p, const plim_fit_event *e) {
    if (p->epochs > 0)
        plim__str_addf(out, "epoch %lld/%lld", (long long)e->epoch + 1, (long long)p->epochs);
    else
        plim__str_addf(out, "step %lld/%lld", (long long)e->updates, (long long)e->total_updates);
}

enum { LOSS = 1, LEFT = 2, ACCURACY = 4, SPEED = 8, MEMORY = 16, PEAK = 32, SHARE = 64, ALL = 127 };

uint64_t plim__progress_peak(void) {
    static uint64_t most;
    uint64_t now = plim_process_resident_peak();
    if (now > most) most = now;
    return most;
}

static void add_figures(plim__str *out, const plim__progress *p, const plim_fit_event *e, int which) {
    char now[PLIM_BYTES_TEXT], peak[PLIM_BYTES_TEXT], left[PLIM_SECONDS_TEXT];
    double accuracy = recent_accuracy(p), seconds = seconds_left(p, e);
    if (which & SHARE) plim__str_addf(out, " %3.0f %%", 100 * share_done(e));
    if (which & LOSS) plim__str_addf(out, "  loss %.4f", recent_loss(p));
    if (which & LOSS && e->step.skipped_updates > 0)
        plim__str_addf(out, "  %lld skipped", (long long)e->step.skipped_updates);
    if (which & ACCURACY && accuracy >= 0) plim__str_addf(out, "  accuracy %.1f %%", 100 * accuracy);
    if (which & SPEED) plim__str_addf(out, "  %.0f samples/s", samples_per_second(p, e));
    if (which & MEMORY) plim__str_addf(out, "  %s", plim_bytes_format(plim_process_resident(), now));
    if (which & PEAK) plim__str_addf(out, " (peak %s)", plim_bytes_format(plim__progress_peak(), peak));
    if (!(which & LEFT) || seconds < 0) return;
    plim__seconds_format(seconds, left, sizeof left);
    plim__str_addf(out, "  %s left", left);
}

/* What does not fit is left out as a whole, the least important first; with most of the rest there is a bar. Returns its
 * columns. */
static size_t choose_figures(plim__str *figures, const plim__progress *p, const plim_fit_event *e, size_t room) {
    static const int choices[] = {ALL,
                                  ALL & ~PEAK,
                                  SHARE | LOSS | LEFT | ACCURACY | SPEED,
                                  SHARE | LOSS | LEFT | ACCURACY,
                                  SHARE | LOSS | LEFT,
                                  SHARE | LOSS,
                                  LOSS,
                                  SHARE};
    for (int bar = BAR_LEAST; bar >= 0; bar -= BAR_LEAST)
        for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
            plim__str_clear(figures);
            add_figures(figures, p, e, choices[i]);
            size_t left = figures->length <= room ? room - figures->length : 0;
            if (bar && choices[i] & LOSS && left >= BAR_LEAST) return left < BAR_MOST ? left : BAR_MOST;
            if (!bar && figures->length <= room) return 0;
        }
    plim__str_clear(figures);
    return 0;
}

static void draw_bar(plim__progress *p, const plim_fit_event *e) {
    plim__str figures = {0}, line = {0};
    p->terminal = plim__terminal_of(fileno(p->stream)); /* the window may have a new size */
    int width = p->terminal.width > 1 ? p->terminal.width - 1 : 1;
    add_place(&line, p, e);
    plim__terminal_cut(&line, width);
    if (line.length < (size_t)width) plim__str_add(&line, " ");
    size_t bar = choose_figures(&figures, p, e, (size_t)width - line.length);
    if (bar)
        plim__terminal_bar(&line, &p->terminal, &(plim__bar_part){share_done(e), PLIM_STYLE_GREEN, 0}, 1, 1, (int)bar);
    plim__str_add(&line, plim__str_text(&figures));
    plim__progress_clear(p);
    fputs(plim__str_text(&line), p->stream);
    fflush(p->stream);
    p->columns = plim__terminal_columns(plim__str_text(&line));
    plim__str_free(&figures);
    plim__str_free(&line);
}

static void print_line(plim__progress *p, const plim_fit_event *e) {
    plim__str line = {0};
    add_place(&line, p, e);
    if (p->epochs > 0) plim__str_addf(&line, "  step %lld", (long long)e->updates);
    plim__str_addf(&line, "  %.0f %%", 100 * share_done(e));
    add_figures(&line, p, e, ALL & ~SHARE);
    plim__terminal_line(p->stream, "%s", plim__str_text(&line));
    fflush(p->stream);
    plim__str_free(&line);
}

static void show_step(plim__progress *p, const plim_fit_event *e) {
    double share = share_done(e);
    bool last = e->total_updates > 0 && e->updates >= e->total_updates;
    if (p->terminal.moves) {
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
    char accuracy[40] = "", perplexity[40] = "", measures[256] = "", seconds[PLIM_SECONDS_TEXT];
    const plim_evaluation *v = &e->validation;
    if (p->sums && p->sums->measures) plim__measures_line(p->sums->measures, measures, sizeof measures);
    if (v->classifies) snprintf(accuracy, sizeof accuracy, ", accuracy %.2f %%", 100 * v->accuracy);
    if (p->sums && p->sums->text) snprintf(perplexity, sizeof perplexity, ", perplexity %.4g", exp(v->loss));
    plim__seconds_format(e->seconds, seconds, sizeof seconds);
    plim__progress_say(p, "epoch %lld, step %lld: training loss %.4f, validation loss %.4f%s%s%s%s; %s",
                       (long long)e->epoch + 1, (long long)e->updates, e->epoch_loss, v->loss, perplexity, accuracy,
                       *measures ? ", " : "", measures, seconds);
}

static void show_epoch(plim__progress *p, const plim_fit_event *e) {
    char seconds[PLIM_SECONDS_TEXT];
    plim__seconds_format(e->seconds, seconds, sizeof seconds);
    plim__progress_say(p, "epoch %lld, step %lld: training loss %.4f; %s", (long long)e->epoch + 1,
                       (long long)e->updates, e->epoch_loss, seconds);
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
        if (!p->validates && p->epochs > 1 && plim__train_epochs_ends(e)) show_epoch(p, e);
    } else if (e->kind == PLIM_FIT_VALIDATED) {
        p->validating += e->seconds - p->seen;
        p->validations++;
        show_validation(p, e);
    }
    p->seen = e->seconds;
}
