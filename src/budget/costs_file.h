/* Rates of this machine in the user's cache folder: measured once (src/run/measure.h), then read from there. */
#ifndef PLIM_BUDGET_COSTS_FILE_H
#define PLIM_BUDGET_COSTS_FILE_H

#include "plan/costs.h"

/* From $XDG_CACHE_HOME/plimsoll (or ~/.cache/plimsoll). False, and rates of an average machine, when there are none of this
 * processor, version and number of threads: planning for few bytes must not take many for measuring. With
 * PLIMSOLL_COSTS=default in the environment these rates are the known ones. */
bool plim__costs_known(int threads, plim__costs *costs);
/* Writes them there; a folder that cannot be written is no failure. */
void plim__costs_store(int threads, const plim__costs *costs);
/* The processor, as the kernel calls it: rates and plans of one are no good for another. */
void plim__processor_name(char *name, size_t size);

#endif
