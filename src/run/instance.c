/* Starting, stopping, finding values. */
#include "run/instance.h"

plim_status plim__instance_start(plim__instance *instance, const plim__variant *variant, plim__arena *arena,
                                 plim_error *error) {
    *instance = (plim__instance){.variant = variant};
    PLIM_TRY(plim__runner_create(variant->program, variant->plan, arena, &instance->runner, error));
    return plim__runner_load(instance->runner, error);
}

void plim__instance_stop(plim__instance *instance) {
    plim__runner_free(instance->runner);
    *instance = (plim__instance){0};
}

void *plim__instance_at(const plim__instance *instance, plim_value value) {
    return value < 0 ? NULL : plim__runner_at(instance->runner, instance->variant->program->values[value]);
}
