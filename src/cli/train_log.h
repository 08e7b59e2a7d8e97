/* The log of a training run: one JSON object a line, one line a step. */
#ifndef PLIM_CLI_TRAIN_LOG_H
#define PLIM_CLI_TRAIN_LOG_H

#include <stdbool.h>
#include <stdio.h>

#include "plimsoll/fit.h"

typedef struct plim__train_log {
    FILE *stream; /* NULL: there is none */
    const char *path;
} plim__train_log;

/* A new file; with `resume` the old one is kept until plim__train_log_seen tells where the run goes on. `path` may be
 * NULL. */
plim_status plim__train_log_open(plim__train_log *log, const char *path, bool resume, plim_error *error);
/* Steps and validations become lines; the beginning takes away lines of steps that will run again. */
plim_status plim__train_log_seen(plim__train_log *log, const plim_fit_event *event, plim_error *error);
plim_status plim__train_log_close(plim__train_log *log, plim_error *error);

#endif
