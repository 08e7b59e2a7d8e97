/* The option that the user's own command, code or list of settings has for a lever, so that advice names it with a
 * smaller value instead of another program's flag. */
#ifndef PLIM_DIAGNOSE_OWN_OPTIONS_H
#define PLIM_DIAGNOSE_OWN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "diagnose/programs.h"
#include "diagnose/text.h"

/* Writes "--batch-size 16 (it is 32)" for the batch, the length or the input's size; false where the log has none that can
 * shrink. */
bool plim__own_option(plim__lever lever, plim__text log, char *to, size_t size);

#endif
