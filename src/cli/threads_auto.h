/* --threads auto: the number of threads that pays for this job on this machine now, measured by doing a little of it. */
#ifndef PLIM_CLI_THREADS_AUTO_H
#define PLIM_CLI_THREADS_AUTO_H

#include "cli/command.h"

/* Whether the option says auto. */
bool plim__threads_are_auto(const plim__args *args);
/* The number that pays most among the cores this process may use, half of them, and so on to one. Says what it measured. All
 * of them where nothing could be measured: what prevents that is for the command itself to say. */
int plim__threads_measure(const plim__args *args);

#endif
