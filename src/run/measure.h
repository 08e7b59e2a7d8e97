/* Measuring what steps cost on this machine: once, then from a file in the user's cache folder. */
#ifndef PLIM_RUN_MEASURE_H
#define PLIM_RUN_MEASURE_H

#include "plan/costs.h"

#define PLIM__MEASURING_BYTES ((size_t)256 << 20) /* that measuring needs for a few seconds */

/* From $XDG_CACHE_HOME/plimsoll (or ~/.cache/plimsoll). False, and rates of a machine that nobody has measured, when there
 * are none of this processor, version and number of threads: planning for few bytes must not take many for measuring.
 * With PLIMSOLL_COSTS=default in the environment these rates are the known ones. */
bool plim__costs_known(int threads, plim__costs *costs);
/* Measures anew and writes them there; a folder that cannot be written is no failure. */
plim_status plim__costs_renew(int threads, plim__costs *costs, plim_error *error);
/* Trains small networks of several kinds for a few steps. */
plim_status plim__costs_measure(int threads, plim__costs *costs, plim_error *error);
/* The processor, as the kernel calls it: rates and plans of one are no good for another. */
void plim__processor_name(char *name, size_t size);

#endif
