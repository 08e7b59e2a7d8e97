/* Starting, stopping, finding values. */
#include "run/instance.h"

plim_status plim__variant_start(plim__variant *v, plim__arena *arena, plim_error *error) {
    PLIM_TRY(plim__runner_create(v->program, v->plan, arena, &v->runner, error));
    return plim__runner_load(v->runner, error);
}

void plim__variant_stop(plim__variant *v) {
    if (!v) return;
    plim__runner_free(v->runner);
    v->runner = NULL;
}

void *plim__variant_at(const plim__variant *v, plim_value value) {
    return value < 0 ? NULL : plim__runner_at(v->runner, v->program->values[value]);
}
