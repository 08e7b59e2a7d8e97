/* Rates of this machine in the user's cache folder: measured once (src/run/measure.h), then read from there. */
#ifndef PLIM_BUDGET_COSTS_FILE_H
#define PLIM_BUDGET_COSTS_FILE_H

#include "plan/costs.h"

/* From $XDG_CACHE_HOME/plimsoll (or ~/.cache/plimsoll). False, and rates of an average machine, when there are none of this
 * processor, version and number of threads that can be read, or when others had the processors while they were measured
 * (costs->others says so): such rates could be worse than none. And planning for few bytes must not take many for measuring. With
 * PLIMSOLL_COSTS=default in the environment these rates are the known ones. */
bool plim__costs_known(int threads, plim__costs *costs);
/* Whether what is measured could be read there the next time. */
bool plim__costs_storable(int threads);
/* Writes them there, unless there are some that were measured with less disturbance; a folder that cannot be written is no
 * failure. */
void plim__costs_store(int threads, const plim__costs *costs);
/* The processor, as the kernel calls it: rates and plans of one are no good for another. */
void plim__processor_name(char *name, size_t size);

#endif
