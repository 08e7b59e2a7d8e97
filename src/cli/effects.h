/* Options that would have no effect: they are refused, since who gives one expects something of it. */
#ifndef PLIM_CLI_EFFECTS_H
#define PLIM_CLI_EFFECTS_H

#include "cli/command.h"

/* Options beside (or without) others or for other kinds of data, and arguments that nothing reads. False after a usage error has been printed. */
bool plim__effects_check(const plim__args *args);

#endif
