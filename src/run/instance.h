/* Running variants. */
#ifndef PLIM_RUN_INSTANCE_H
#define PLIM_RUN_INSTANCE_H

#include "plan/variant.h"
#include "run/runner.h"

/* Ready to run in this arena, which is large enough. Loads what only this variant keeps. */
plim_status plim__variant_start(plim__variant *variant, plim__arena *arena, plim_error *error);
/* Frees the runner. */
void plim__variant_stop(plim__variant *variant);
/* A value of the graph while the runner's memory holds it; NULL for PLIM_NO_VALUE. */
void *plim__variant_at(const plim__variant *variant, plim_value value);

#endif
