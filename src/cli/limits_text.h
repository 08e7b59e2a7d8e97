/* What the machine allows, for people and for scripts: shared by the commands that show it. */
#ifndef PLIM_CLI_LIMITS_TEXT_H
#define PLIM_CLI_LIMITS_TEXT_H

#include <jansson.h>

#include "cli/terminal.h"
#include "plimsoll/machine.h"

/* One line a limit: memory, cgroup, ulimit, overcommit, /dev/shm; then what binds first. */
void plim__limits_text(plim__str *out, const plim__terminal *terminal, const plim_limits *limits);
json_t *plim__limits_json(const plim_limits *limits); /* NULL when memory is short; "none" is null */

/* Columns of the bars in it. */
int plim__limits_bar(const plim__terminal *terminal);

#endif
