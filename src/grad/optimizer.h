/* What the files about optimizers share. */
#ifndef PLIM_GRAD_OPTIMIZER_H
#define PLIM_GRAD_OPTIMIZER_H

#include "grad/training.h"

/* PLIM_INVALID names the first setting that makes no sense; settings that the optimizer does not know are not read. */
plim_status plim__optimizer_check(const plim_optimizer *optimizer, plim_error *error);

/* Whether it has state that can be in 8 bits; for SGD that takes momentum. */
bool plim__optimizer_quantizes(const plim_optimizer *optimizer);

/* What a caller gave, made whole: one of which only the kind is set becomes that kind's default. What comes out gives
 * itself. A setting that most likely was forgotten, an unknown kind and fields of later versions are refused. */
plim_status plim__optimizer_resolve(const plim_optimizer *given, plim_optimizer *optimizer, plim_error *error);
/* "GLOB=FACTOR": the length of the glob and the factor, which is not negative. Either may be NULL. */
plim_status plim__rate_parse(const char *text, size_t *glob, double *factor, plim_error *error);
plim_status plim__schedule_check(const plim_schedule *schedule, plim_error *error);

#endif
