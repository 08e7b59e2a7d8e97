/* Measuring what steps cost on this machine: by training small networks. */
#ifndef PLIM_RUN_MEASURE_H
#define PLIM_RUN_MEASURE_H

#include "budget/costs_file.h"

#define PLIM__MEASURING_BYTES ((size_t)256 << 20) /* that measuring needs for a few seconds */

/* Measures and stores the rates (budget/costs_file.h). */
plim_status plim__costs_renew(int threads, plim__costs *costs, plim_error *error);
/* Trains small networks of several kinds for a few steps. */
plim_status plim__costs_measure(int threads, plim__costs *costs, plim_error *error);

#endif
