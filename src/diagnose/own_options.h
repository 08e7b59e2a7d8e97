/* The option that the user's own command, code or list of settings has for a lever, so that advice names it with a
 * smaller value instead of another program's flag. */
#ifndef PLIM_DIAGNOSE_OWN_OPTIONS_H
#define PLIM_DIAGNOSE_OWN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "diagnose/programs.h"
#include "diagnose/text.h"

typedef enum plim__own {
    PLIM_OWN_ABSENT, /* the log has no option for the lever */
    PLIM_OWN_OPEN,   /* it has one that can be turned further */
    PLIM_OWN_SPENT   /* it is turned as far as it goes */
} plim__own;

/* Writes "--batch-size 16 (it is 32)" or "gradient_checkpointing=True (it is off)" where an option is open. */
plim__own plim__own_option(plim__lever lever, plim__text log, char *to, size_t size);

#endif
