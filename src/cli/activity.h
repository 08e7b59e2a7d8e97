/* What the program is doing while there is nothing else to see: on a terminal a line of standard error that goes away. */
#ifndef PLIM_CLI_ACTIVITY_H
#define PLIM_CLI_ACTIVITY_H

#include "cli/command.h"

/* "planning": in place of the line before. Nothing where standard error is no terminal, or with --quiet. */
void plim__activity_say(const plim__args *args, const char *format, ...) PLIM_PRINTF(2, 3);
/* Takes the line away: before anything else is printed. */
void plim__activity_end(void);

#endif
