/* Batches of several sizes. Declared ones are planned and reserved before training; others get their programs when they come,
 * with a budget in memory that was planned for one of them (budget/irregular.c). */
#include "budget/programs.h"
#include "core/error.h"
#include "kernel/processor.h"
#include "run/recording.h"
#include "run/session_parts.h"
#include "run/trainer.h"

/* What planning takes while it is at work: in all, and for each step of the program. Twice what was measured. */
#define PLANNING_BYTES ((size_t)4 << 20)
#define STEP_BYTES     ((size_t)20 << 10)

const plim__instance *plim__trainer_next(const plim_trainer *t, int64_t left) {
    if (left >= t->main.variant->samples) return &t->main;
    for (size_t i = 0; i < t->tails.count; i++)
        if (t->tails.items[i].variant->samples == left) return &t->tails.items[i];
    return &t->irregular;
}

bool plim__trainer_has_batch(const plim_trainer *t, int64_t count) {
    const plim__irregular *irregular = &t->plan->irregular;
    int64_t rest = count % t->plan->main->samples;
    return rest == 0 || plim__training_plan_variant(t->plan, rest) || (irregular->variant && irregular->rest == rest);
}

/* --- without a budget: in memory that no plan knows of ----------------------------------------------------------- */

/* The arena becomes as large as all programs together need, and pointers into it are found again. */
static plim_status grow_arena(plim_trainer *t, plim_error *error) {
    plim_status status = plim__arena_grow(&t->arena, t->plan->persistent_bytes, t->plan->transient_bytes, error);
    plim__runner_resolve(t->main.runner); /* on failure too: a part may have moved */
    for (size_t i = 0; i < t->tails.count; i++) plim__runner_resolve(t->tails.items[i].runner);
    if (t->evaluation) plim__runner_resolve(plim__session_runner(t->evaluation));
    return status;
}

static plim_status start_tail(plim_trainer *t, plim_error *error) {
    plim__instance tail = {0};
    PLIM_TRY(grow_arena(t, error));
    plim_status status = plim__instance_start(&tail, t->plan->tails.items[t->plan->tails.count - 1], &t->arena, error);
    if (status == PLIM_OK && plim__vec_push(&t->tails, tail)) return PLIM_OK;
    plim__instance_stop(&tail);
    return status == PLIM_OK ? plim__fail_memory(error, "a trainer", sizeof tail) : status;
}

static plim_status add_tail(plim_trainer *t, int64_t samples, plim_error *error) {
    plim__training_plan *plan = t->plan;
    size_t persistent = plan->persistent_bytes, transient = plan->transient_bytes;
    PLIM_TRY(plim__programs_add_tail(plan, samples, error));
    plim_status status = start_tail(t, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__programs_drop_tail(plan);
    plan->persistent_bytes = persistent;
    plan->transient_bytes = transient;
    return status;
}

static plim_status add_evaluation(plim_trainer *t, int64_t batch, plim_error *error) {
    plim__training_plan *plan = t->plan;
    size_t persistent = plan->persistent_bytes, transient = plan->transient_bytes;
    PLIM_TRY(plim__programs_add_evaluation(plan, batch, error));
    plim_status status = grow_arena(t, error);
    if (status == PLIM_OK) status = plim__session_start(plan->evaluation, &t->arena, &t->evaluation, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__programs_drop_evaluation(plan);
    plan->persistent_bytes = persistent;
    plan->transient_bytes = transient;
    return status;
}

/* --- with a budget: every byte is planned ------------------------------------------------------------------------ */

void plim__trainer_drop_irregular(plim_trainer *t) {
    plim__recording_drop(t, t->irregular.variant);
    plim__instance_stop(&t->irregular);
    plim__irregular_drop(t->plan);
}

/* Planning takes memory of its own: meanwhile some transient pages are released. */
static plim_status replace_irregular(plim_trainer *t, int64_t rest, plim_error *error) {
    plim__training_plan *plan = t->plan;
    plim__trainer_drop_irregular(t);
    plim__processor_trim();
    plim__arena_release_some_pages(&t->arena, PLANNING_BYTES + STEP_BYTES * plan->main->program->steps.count);
    plim_status status = plim__irregular_replace(plan, rest, error);
    plim__processor_trim();
    plim__arena_restore_pages(&t->arena);
    if (status == PLIM_OK) status = plim__instance_start(&t->irregular, plan->irregular.variant, &t->arena, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__instance_stop(&t->irregular);
    plim__irregular_drop(plan);
    return status;
}

/* What was not declared is now, and memory is planned again. */
static plim_status declare(plim_trainer *t, int64_t evaluates, bool irregular, plim_error *error) {
    plim__request wanted = t->plan->request;
    wanted.data_held_bytes = UINT64_MAX; /* all data buffers are there by now */
    if (evaluates > 0) wanted.evaluates = evaluates;
    if (irregular) wanted.irregular = true;
    return plim__trainer_plan_again(t, &wanted, t->plan->bounds.budget, error);
}

/* --- either ------------------------------------------------------------------------------------------------------ */

plim_status plim__trainer_need_batch(plim_trainer *t, int64_t count, plim_error *error) {
    if (plim__trainer_has_batch(t, count)) return PLIM_OK;
    if (!t->plan->bounds.budget) return add_tail(t, count % t->plan->main->samples, error);
    if (!t->plan->request.irregular) {
        plim_status status = declare(t, 0, true, error);
        if (status != PLIM_OK)
            return plim__fail_context(error, status, "a batch of %lld samples, which was not declared",
                                      (long long)count);
    }
    return plim__trainer_has_batch(t, count) ? PLIM_OK : replace_irregular(t, count % t->plan->main->samples, error);
}

plim_status plim__trainer_need_evaluation(plim_trainer *t, int64_t batch, plim_error *error) {
    if (t->evaluation) return PLIM_OK;
    if (!t->plan->bounds.budget) return add_evaluation(t, batch, error);
    plim_status planned = declare(t, batch, false, error);
    return planned == PLIM_OK ? PLIM_OK : plim__fail_context(error, planned, "evaluation, which was not declared");
}
