/* What a log says is set already, so that nothing of it is recommended again. */
#ifndef PLIM_DIAGNOSE_SETTINGS_H
#define PLIM_DIAGNOSE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "diagnose/text.h"

/* Takes the options out of `setting` that stand in the log with the same value ("--zero_stage 3", "fp16=True",
 * "--gradient_checkpointing"); false when it consisted of nothing else. */
bool plim__settings_left(char *setting, plim__text log);

/* Cards of a table that nvidia-smi printed into the log. */
typedef struct plim__cards {
    int count, full, empty; /* nearly all of it used; next to nothing used */
    int first_empty;        /* its number; -1 for none */
} plim__cards;
plim__cards plim__cards_read(plim__text log);

#endif
