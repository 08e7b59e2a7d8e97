/* What the files about optimizers share. */
#ifndef PLIM_GRAD_OPTIMIZER_H
#define PLIM_GRAD_OPTIMIZER_H

#include "grad/training.h"

/* PLIM_INVALID names the first setting that makes no sense; settings that the optimizer does not know are not read. */
plim_status plim__optimizer_check(const plim_optimizer *optimizer, plim_error *error);

#endif
