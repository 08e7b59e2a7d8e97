/* What a training run consists of; private to src/run. */
#ifndef PLIM_RUN_FIT_H
#define PLIM_RUN_FIT_H

#include <stdbool.h>

#include "plimsoll/fit.h"
#include "run/placement.h"

#define PLIM__FIT_RECENT 100  /* steps that the metric is taken over */
#define PLIM__FIT_TIMES  4096 /* of which the median is taken */

typedef struct plim__fit {
    plim_trainer *trainer;
    plim_data *data;
    const plim_fit_options *options;
    plim_error *error;
    plim_feed feed;
    plim_fit_event event;
    plim_data_position position; /* the first sample that was not learned from */
    int64_t epochs;              /* to make; 0: .steps bounds the run alone */
    float *seconds;              /* of every stride-th step: PLIM__FIT_TIMES at most, so that steps allocate nothing */
    size_t second_count;
    int64_t stride, steps; /* steps: of this run */
    double recent_correct[PLIM__FIT_RECENT], recent_targets[PLIM__FIT_RECENT];
    double samples, start, validating; /* validating: seconds of it */
    bool stopped;
    plim__placement placement;
    /* in checkpoints */
    double best;         /* validation loss; read only where best_update > 0 */
    int64_t best_update; /* when it was; 0: no validation yet */
    int64_t stale;       /* validations since then */
    bool unvalidated;    /* updates were made since the last validation */
    int64_t saved;       /* updates in the last checkpoint; -1: there is none */
    struct {
        int64_t epoch;
        double loss, weight, correct, targets; /* over its steps */
    } sums;
} plim__fit;

/* Fills in the means of the event. */
void plim__fit_average(plim__fit *fit);
/* Writes the checkpoint. */
plim_status plim__fit_save(plim__fit *fit);
/* Goes on from the checkpoint, if it is there. */
plim_status plim__fit_resume(plim__fit *fit);

#endif
