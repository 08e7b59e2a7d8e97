/* TensorBoard's event files: numbers with a step and a name, in records that TensorBoard and its readers take. Nothing is
 * allocated, and what is held on the stack is a row of the plan. */
#ifndef PLIM_CLI_EVENT_FILE_H
#define PLIM_CLI_EVENT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

typedef struct plim__event_file {
    int fd;          /* -1: there is none */
    char path[4096]; /* of the file in the folder */
} plim__event_file;

typedef struct plim__event_scalar {
    const char *tag; /* "train/loss": at most 63 letters count */
    double value;
} plim__event_scalar;

enum { PLIM__EVENT_MOST_SCALARS = 32 };
/* What writing one holds: a record, its event, its summary and a value, each as large as it may be. */
enum { PLIM__EVENT_FILE_BYTES = 4 * (PLIM__EVENT_MOST_SCALARS * 80 + 64) };

/* A new file in `folder`, which is made where it is not there. */
plim_status plim__event_file_open(plim__event_file *file, const char *folder, plim_error *error);
/* The run goes on: what earlier files have of this step and later ones does not count any more. */
plim_status plim__event_file_restart(plim__event_file *file, int64_t step, plim_error *error);
/* At most PLIM__EVENT_MOST_SCALARS, as one event. */
plim_status plim__event_file_add(plim__event_file *file, int64_t step, const plim__event_scalar *scalars, size_t count,
                                 plim_error *error);
plim_status plim__event_file_close(plim__event_file *file, plim_error *error);

#endif
