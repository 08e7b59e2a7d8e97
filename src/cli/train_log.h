/* The logs of a training run, a row for each update and each epoch: lines of JSON or CSV, and TensorBoard's events. */
#ifndef PLIM_CLI_TRAIN_LOG_H
#define PLIM_CLI_TRAIN_LOG_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/event_file.h"
#include "cli/train_epochs.h"
#include "plimsoll/fit.h"

typedef struct plim__train_log {
    FILE *stream; /* NULL: there is none */
    const char *path;
    bool csv;
    plim__event_file events;
    const plim__train_epochs *sums; /* may be NULL */
    bool validates;                 /* an epoch ends with its validation */
} plim__train_log;

/* What the logs that the options name hold while the run goes on, for its plan. */
uint64_t plim__train_log_bytes(const plim__args *args);
/* New files; with `resume` an old one is kept until plim__train_log_seen tells where the run goes on. `path` (a name in
 * .csv is a table, others are lines of JSON) and `folder` may be NULL. */
plim_status plim__train_log_open(plim__train_log *log, const char *path, const char *folder, bool resume,
                                 plim_error *error);
/* Steps and epochs become rows; the beginning takes away rows of steps that will run again. */
plim_status plim__train_log_seen(plim__train_log *log, const plim_fit_event *event, plim_error *error);
plim_status plim__train_log_close(plim__train_log *log, plim_error *error);

#endif
