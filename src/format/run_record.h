/* What `plimsoll run --record` writes, a line of JSON a sample, as a timeline: each sample is a tick, and what the tree of
 * processes held at it is one buffer. */
#ifndef PLIM_FORMAT_RUN_RECORD_H
#define PLIM_FORMAT_RUN_RECORD_H

#include <stdbool.h>

#include "mem/timeline.h"

/* Whether a file that begins like this is such a record. */
bool plim__run_record_sniff(const unsigned char *head, size_t size);
/* Fills an initialised timeline. A line that is cut off ends the record. */
plim_status plim__run_record_read(const char *path, plim__timeline *timeline, plim_error *error);

#endif
