/* Schedules, and the programs they make. */
#include "plan/schedule.h"

#include <string.h>

#include "core/error.h"

plim_status plim__schedule_copy(const int32_t *steps, size_t count, plim__schedule *copy, plim_error *error) {
    *copy = (plim__schedule){plim__alloc_array(count + 1, sizeof *steps), count};
    if (!copy->steps) return plim__fail_memory(error, "a schedule", count * sizeof *steps);
    if (count) memcpy(copy->steps, steps, count * sizeof *steps);
    return PLIM_OK;
}

void plim__schedule_free(plim__schedule *schedule) {
    plim__free(schedule->steps);
    *schedule = (plim__schedule){0};
}

plim_status plim__schedule_create(const plim__depend *depend, plim__schedule *schedule, plim_error *error) {
    *schedule = (plim__schedule){plim__alloc_array(depend->step_count + 1, sizeof *schedule->steps), 0};
    if (!schedule->steps) return plim__fail_memory(error, "a schedule", depend->step_count * sizeof *schedule->steps);
    for (int last = 0; last < 2; last++)
        for (size_t s = 0; s < depend->step_count; s++)
            if (depend->last[s] == (last != 0)) schedule->steps[schedule->count++] = (int32_t)s;
    return PLIM_OK;
}

double plim__schedule_extra(const plim__depend *depend, const int32_t *steps, size_t count, const double *seconds) {
    double all = 0, once = 0;
    for (size_t i = 0; i < count; i++) all += seconds[steps[i]];
    for (size_t s = 0; s < depend->step_count; s++) once += seconds[s];
    return count == depend->step_count ? 0 : all - once;
}

/* --- validity --------------------------------------------------------------------------------------------------- */

static plim_status check_one(const plim__depend *d, const bool *done, int32_t s, bool any_last, plim_error *error) {
    if (s < 0 || (size_t)s >= d->step_count)
        return plim__fail(error, PLIM_INTERNAL, "the schedule names step %d of %zu", (int)s, d->step_count);
    if (done[s] && !d->repeatable[s]) return plim__fail(error, PLIM_INTERNAL, "step %d must not be done again", (int)s);
    if (any_last && !d->last[s]) return plim__fail(error, PLIM_INTERNAL, "step %d stands behind the updates", (int)s);
    for (int32_t i = d->before.start[s]; i < d->before.start[s + 1]; i++)
        if (!done[d->before.items[i]])
            return plim__fail(error, PLIM_INTERNAL, "step %d comes before step %d, which it needs", (int)s,
                              (int)d->before.items[i]);
    for (int32_t i = d->closed.start[s]; i < d->closed.start[s + 1]; i++)
        if (done[d->closed.items[i]])
            return plim__fail(error, PLIM_INTERNAL, "step %d reads what step %d has changed", (int)s,
                              (int)d->closed.items[i]);
    return PLIM_OK;
}

bool plim__schedule_is_valid(const plim__depend *d, const plim__schedule *schedule, plim_error *error) {
    bool *done = plim__alloc_zero(d->step_count + 1, sizeof *done), any_last = false;
    plim_status status = done ? PLIM_OK : plim__fail_memory(error, "a schedule", d->step_count);
    for (size_t i = 0; status == PLIM_OK && i < schedule->count; i++) {
        int32_t s = schedule->steps[i];
        status = check_one(d, done, s, any_last, error);
        if (status != PLIM_OK) break;
        done[s] = true;
        any_last |= d->last[s];
    }
    for (size_t s = 0; status == PLIM_OK && s < d->step_count; s++)
        if (!done[s]) status = plim__fail(error, PLIM_INTERNAL, "step %zu is missing from the schedule", s);
    plim__free(done);
    return status == PLIM_OK;
}

/* --- the program of a schedule ---------------------------------------------------------------------------------- */

static plim_status add_buffer(plim__program *out, int32_t like, int32_t *added, plim_error *error) {
    plim__buffer fresh = out->buffers.items[like]; /* a copy: pushing may move them */
    if (!plim__vec_push(&out->buffers, fresh)) return plim__fail_memory(error, "a schedule", sizeof fresh);
    *added = (int32_t)out->buffers.count - 1;
    return PLIM_OK;
}

/* Where the outputs of a step go: to the buffers of the original, or to new ones when it is done again. */
static plim_status place_outputs(plim__program *out, const plim__step *from, plim__operand *operands, bool again,
                                 int32_t *where, plim_error *error) {
    for (int32_t i = from->in_count; i < from->in_count + from->out_count; i++) {
        int32_t b = from->operands[i].buffer, same = i;
        if (b < 0) continue;
        for (int32_t k = i; k-- > from->in_count;) /* two outputs in one buffer stay in one */
            if (from->operands[k].buffer == b) same = k;
        if (!again)
            where[b] = b;
        else if (same == i)
            PLIM_TRY(add_buffer(out, b, &where[b], error));
        operands[i].buffer = where[b];
    }
    return PLIM_OK;
}

static plim_status add_step(plim__program *out, const plim__step *from, bool again, int32_t *where, plim_error *error) {
    size_t count = (size_t)(from->in_count + from->out_count);
    plim__step step = *from;
    step.release = NULL; /* the state is the original's */
    step.operands = plim__alloc_array(count + 1, sizeof *step.operands);
    if (!step.operands || !plim__vec_push(&out->steps, step)) {
        plim__free(step.operands);
        return plim__fail_memory(error, "a schedule", sizeof step + count * sizeof *step.operands);
    }
    for (size_t i = 0; i < count; i++) {
        step.operands[i] = from->operands[i];
        if (i < (size_t)from->in_count && from->operands[i].buffer >= 0)
            step.operands[i].buffer = where[from->operands[i].buffer];
    }
    PLIM_TRY(place_outputs(out, from, step.operands, again, where, error));
    if (!again || from->scratch < 0) return PLIM_OK;
    return add_buffer(out, from->scratch, &out->steps.items[out->steps.count - 1].scratch, error);
}

static plim_status borrow(const plim__program *original, plim__program *out, plim_error *error) {
    size_t values = original->value_count;
    out->original = original;
    out->graph = original->graph;
    out->target = original->target;
    out->engine = original->engine;
    out->room_bytes = original->room_bytes;
    out->value_count = values;
    out->values = plim__alloc_array(values + 1, sizeof *out->values);
    if (!out->values || !plim__vec_reserve(&out->buffers, original->buffers.count + 1) ||
        !plim__vec_reserve(&out->loads, original->loads.count + 1))
        return plim__fail_memory(error, "a schedule", values * sizeof *out->values);
    if (values) memcpy(out->values, original->values, values * sizeof *out->values);
    for (size_t b = 0; b < original->buffers.count; b++) out->buffers.items[b] = original->buffers.items[b];
    out->buffers.count = original->buffers.count;
    for (size_t i = 0; i < original->loads.count; i++) out->loads.items[i] = original->loads.items[i];
    out->loads.count = original->loads.count;
    return PLIM_OK;
}

static plim_status apply(const plim__program *original, const plim__schedule *schedule, plim__program *out,
                         plim_error *error) {
    PLIM_TRY(borrow(original, out, error));
    int32_t *where = plim__alloc_array(original->buffers.count + 1, sizeof *where); /* the newest of each buffer */
    bool *done = plim__alloc_zero(original->steps.count + 1, sizeof *done);
    plim_status status = where && done ? PLIM_OK : plim__fail_memory(error, "a schedule", original->buffers.count);
    for (size_t b = 0; status == PLIM_OK && b < original->buffers.count; b++) where[b] = (int32_t)b;
    for (size_t i = 0; status == PLIM_OK && i < schedule->count; i++) {
        int32_t s = schedule->steps[i];
        if (s < 0 || (size_t)s >= original->steps.count) {
            status =
                plim__fail(error, PLIM_INTERNAL, "the schedule names step %d of %zu", (int)s, original->steps.count);
            break;
        }
        status = add_step(out, &original->steps.items[s], done[s], where, error);
        done[s] = true;
    }
    plim__free(where);
    plim__free(done);
    return status;
}

plim_status plim__schedule_apply(const plim__program *original, const plim__schedule *schedule, plim__program **out,
                                 plim_error *error) {
    *out = plim__alloc_zero(1, sizeof **out);
    if (!*out) return plim__fail_memory(error, "a schedule", sizeof **out);
    plim_status status = apply(original, schedule, *out, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__program_free(*out);
    *out = NULL;
    return status;
}
