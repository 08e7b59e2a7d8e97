/* The display of a training run: a bar on a terminal, lines elsewhere.
 *
 *   epoch 2/5 ━━━━━━━━╌╌╌╌╌╌╌╌ 48 %  loss 0.3121  accuracy 88.9 %  5321/s  61.0 MiB (peak 66.3 MiB)  12 s left
 */
#ifndef PLIM_CLI_PROGRESS_H
#define PLIM_CLI_PROGRESS_H

#include <stdio.h>

#include "cli/terminal.h"
#include "cli/train_epochs.h"
#include "plimsoll/fit.h"

#define PLIM__PROGRESS_RECENT 50 /* steps that loss and accuracy are means of, of the epoch that goes on */

typedef struct plim__progress {
    FILE *stream; /* NULL: says nothing */
    plim__terminal terminal;
    int64_t epochs; /* in all; 0 when steps bound the run */
    double loss[PLIM__PROGRESS_RECENT], correct[PLIM__PROGRESS_RECENT], targets[PLIM__PROGRESS_RECENT];
    int64_t recent;                /* steps seen in this epoch */
    int64_t steps;                 /* seen */
    double samples, first_samples; /* seen; until the first was drawn */
    double seen;                   /* seconds at the last event */
    double training, validating;   /* seconds of steps since then, of all validations */
    int64_t validations;
    double said, said_share; /* the last line: when, and how far the run was */
    int64_t last_epoch, last_position;
    size_t columns;                 /* of the bar that stands there now; 0 for none */
    const plim__train_epochs *sums; /* may be NULL */
    bool validates;
} plim__progress;

/* With --json the bar goes to standard error, and only to a terminal. */
void plim__progress_begin(plim__progress *progress, bool json, bool quiet, int64_t epochs);
void plim__progress_seen(plim__progress *progress, const plim_fit_event *event);
/* A line of its own, above the bar. */
void plim__progress_say(plim__progress *progress, const char *format, ...) PLIM_PRINTF(2, 3);
/* The most memory that was read so far. The kernel's own figure may fall by some pages: it is rounded each time it is read. */
uint64_t plim__progress_peak(void);
/* Takes the bar away. */
void plim__progress_clear(plim__progress *progress);

#endif
