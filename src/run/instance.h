/* A variant in an arena: what a trainer runs. */
#ifndef PLIM_RUN_INSTANCE_H
#define PLIM_RUN_INSTANCE_H

#include "plan/variant.h"
#include "run/runner.h"

typedef struct plim__instance {
    const plim__variant *variant; /* not owned; NULL: there is none */
    plim__runner *runner;
} plim__instance;

/* Ready to run in this arena, which is large enough; loads the persistent buffers of this variant alone. Stop it after a
 * failure, too. */
plim_status plim__instance_start(plim__instance *instance, const plim__variant *variant, plim__arena *arena,
                                 plim_error *error);
void plim__instance_stop(plim__instance *instance);
/* A value of the graph while the runner's memory holds it; NULL for PLIM_NO_VALUE. */
void *plim__instance_at(const plim__instance *instance, plim_value value);

#endif
