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
/* Where a value of the graph is while the runner's memory holds it, an address of the device; NULL for PLIM_NO_VALUE. */
void *plim__instance_at(const plim__instance *instance, plim_value value);
/* From the host's memory to a value, and back; nothing for a value that the program does not hold. */
plim_status plim__instance_write(const plim__instance *instance, plim_value value, const void *data, size_t bytes,
                                 plim_error *error);
plim_status plim__instance_read(const plim__instance *instance, plim_value value, void *data, size_t bytes,
                                plim_error *error);

#endif
