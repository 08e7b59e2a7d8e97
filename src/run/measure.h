/* Measuring what steps cost on this machine: once, then from a file in the user's cache folder. */
#ifndef PLIM_RUN_MEASURE_H
#define PLIM_RUN_MEASURE_H

#include "plan/costs.h"

/* From $XDG_CACHE_HOME/plimsoll (or ~/.cache/plimsoll); measured and written there when it is missing or of another
 * machine, version or number of threads. A folder that cannot be written is no failure. With PLIMSOLL_COSTS=default in
 * the environment nothing is measured. */
plim_status plim__costs_get(int threads, plim__costs *costs, plim_error *error);
bool plim__costs_are_known(int threads);
/* Measures anew. */
plim_status plim__costs_renew(int threads, plim__costs *costs, plim_error *error);
/* Trains small networks of several kinds for a few steps. */
plim_status plim__costs_measure(int threads, plim__costs *costs, plim_error *error);
/* The processor, as the kernel calls it: rates and plans of one are no good for another. */
void plim__processor_name(char *name, size_t size);

#endif
