/* Summing up epochs. */
#include "cli/train_epochs.h"

#include <math.h>
#include <string.h>

#include "cli/measures_text.h"

enum { TRAINING, VALIDATION, MEASURE, NAME = 16, LEAST_EPOCHS = 3, LEAST_WIDTH = 4, MOST_WIDTH = 40, NARROW = 60 };

static void add_point(plim__train_epochs *e, const double point[PLIM__EPOCH_CURVES]) {
    if (e->stride == 0) e->stride = 1;
    if (e->seen++ % e->stride != 0) return;
    if (e->count == PLIM__EPOCHS_SHOWN) {
        for (size_t k = 0; k < PLIM__EPOCH_CURVES; k++)
            for (size_t i = 0; i < PLIM__EPOCHS_SHOWN / 2; i++) e->curves[k][i] = e->curves[k][2 * i];
        e->count = PLIM__EPOCHS_SHOWN / 2;
        e->stride *= 2;
    }
    for (size_t k = 0; k < PLIM__EPOCH_CURVES; k++) e->curves[k][e->count] = point[k];
    e->count++;
}

/* Accuracy where the model classifies; else what regression is judged by. */
static double find_measure(plim__train_epochs *e, const plim_evaluation *v) {
    plim_measures_summary s;
    if (e->text) {
        e->measure = "perplexity";
        return exp(v->loss);
    }
    if (v->classifies) {
        e->measure = "accuracy";
        return v->accuracy;
    }
    if (!e->measures) return (double)NAN;
    plim_measures_get(e->measures, &s);
    if (!isnan(s.r2)) e->measure = "R2";
    return s.r2;
}

bool plim__train_epochs_ends(const plim_fit_event *event) {
    return event->kind == PLIM_FIT_STEP && event->position >= event->epoch_samples;
}

void plim__train_epochs_seen(plim__train_epochs *e, const plim_fit_event *event, bool validates) {
    e->loss = event->epoch_loss;
    double point[PLIM__EPOCH_CURVES] = {event->epoch_loss, (double)NAN, (double)NAN};
    if (event->kind == PLIM_FIT_VALIDATED) {
        point[VALIDATION] = event->validation.loss;
        point[MEASURE] = find_measure(e, &event->validation);
        add_point(e, point);
    } else if (!validates && plim__train_epochs_ends(event)) {
        point[MEASURE] = event->epoch_accuracy;
        if (!isnan(point[MEASURE])) e->measure = "accuracy";
        add_point(e, point);
    }
}

/* From its least value to its largest, so that the end of a long run is not flat. */
static void draw(const plim__train_epochs *e, int which, const char *name, const plim__terminal *terminal,
                 plim__str *out) {
    double values[PLIM__EPOCHS_SHOWN], least = INFINITY;
    char range[64];
    bool share = which == MEASURE && strcmp(name, "accuracy") == 0;
    for (size_t i = 0; i < e->count; i++) {
        values[i] = e->curves[which][i];
        if (!isfinite(values[i])) return;
        least = fmin(least, values[i]);
    }
    for (size_t i = 0; i < e->count; i++) values[i] -= least;
    double first = e->curves[which][0], last = e->curves[which][e->count - 1];
    double scale = share ? 100 : 1;
    if (terminal->width < NARROW)
        snprintf(range, sizeof range, share ? "  %.1f %%" : "  %.4g", scale * last);
    else
        snprintf(range, sizeof range, share ? "  %.1f %% to %.1f %%" : "  %.4g to %.4g", scale * first, scale * last);
    int width = terminal->width - 2 - NAME - (int)strlen(range) - 1;
    if (width > MOST_WIDTH) width = MOST_WIDTH;
    if (width < LEAST_WIDTH) return;
    plim__str_addf(out, "  %-*s", NAME, name);
    plim__terminal_spark(out, terminal, values, e->count, width);
    plim__str_addf(out, "%s\n", range);
}

void plim__train_epochs_draw(const plim__train_epochs *e, const plim__terminal *terminal, plim__str *out) {
    if (e->count < LEAST_EPOCHS) return;
    draw(e, TRAINING, "training loss", terminal, out);
    draw(e, VALIDATION, "validation loss", terminal, out);
    if (e->measure) draw(e, MEASURE, e->measure, terminal, out);
}
