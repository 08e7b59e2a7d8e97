/* Starting, stopping, finding values. */
#include "run/instance.h"

#include "core/error.h"

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

static plim_status copied(const plim__instance *instance, plim_value value, plim_status status, plim_error *error) {
    if (status == PLIM_OK) return PLIM_OK;
    const plim__program *program = instance->variant->program;
    return plim__fail(error, status, "%s cannot copy '%s'", program->target.device->name,
                      program->graph->values.items[value].name);
}

plim_status plim__instance_write(const plim__instance *instance, plim_value value, const void *data, size_t bytes,
                                 plim_error *error) {
    const plim__program *program = instance->variant->program;
    void *at = plim__instance_at(instance, value);
    if (!at) return PLIM_OK;
    return copied(instance, value, program->target.device->write(program->engine, at, data, bytes), error);
}

plim_status plim__instance_read(const plim__instance *instance, plim_value value, void *data, size_t bytes,
                                plim_error *error) {
    const plim__program *program = instance->variant->program;
    const void *at = plim__instance_at(instance, value);
    if (!at) return PLIM_OK;
    return copied(instance, value, program->target.device->read(program->engine, data, at, bytes), error);
}
