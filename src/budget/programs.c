/* Programs besides the usual one: for what is left of a batch, for the last batch of an epoch, and for evaluation. They
 * run in the same memory, one at a time; what passes in the usual one is mostly enough for them.
 *
 *   arena:  | kept by all │ by this tail alone │ by evaluation alone |  | passing: the largest of all programs |
 *
 * Sizes that were announced are planned before memory is reserved; others are made when they come, with a budget in
 * memory that was planned for one of them (trainer_odd.c). */
#include "core/error.h"
#include "run/session_parts.h"
#include "run/trainer.h"

/* So often a tail is planned with less until it is packed within its room. */
#define MOST_TRIES 4

plim__variant *plim__trainer_variant(const plim_trainer *t, int64_t samples) {
    if (t->main->samples == samples) return t->main;
    for (size_t i = 0; i < t->tails.count; i++)
        if (t->tails.items[i]->samples == samples) return t->tails.items[i];
    return t->odd && t->odd->samples == samples ? t->odd : NULL;
}

plim__variant *plim__trainer_next(const plim_trainer *t, int64_t left) {
    if (left >= t->main->samples) return t->main;
    plim__variant *v = plim__trainer_variant(t, left);
    return v ? v : t->odd;
}

void plim__trainer_make_room(plim_trainer *t, const plim__plan *plan) {
    size_t passing = plan->arena_bytes - plan->persistent_bytes;
    t->kept_bytes = plan->persistent_bytes;
    if (passing > t->passing_bytes) t->passing_bytes = passing;
}

/* --- what is left of a batch ---------------------------------------------------------------------------------- */

/* Gradients are summed up where those of the usual size are: a tail that always runs alone needs no room for sums. */
plim__task plim__trainer_tail_task(const plim_trainer *t, int64_t samples) {
    plim__task task = plim__trainer_task(t);
    if (t->main->samples == t->options.batch) task.training.batch = samples;
    return task;
}

/* As fast as it can be where that fits; else with what the usual size has room for. */
static plim_status plan_tail(plim_trainer *t, int64_t samples, plim__variant **out, plim_error *error) {
    plim__task task = plim__trainer_tail_task(t, samples);
    plim__levers levers = t->way.levers;
    bool bound = levers.passing_limit < INT64_MAX;
    levers.micro_batch = samples;
    levers.passing_limit = INT64_MAX;
    PLIM_TRY(plim__levers_apply(&task, &levers, t->main, t->kept_bytes, out, error));
    int64_t room = (int64_t)t->passing_bytes, limit = room;
    for (int tries = 0; bound && tries < MOST_TRIES && limit > 0; tries++) {
        int64_t passing = (int64_t)plim__variant_passing_bytes(*out);
        if (passing <= room) break;
        if (tries > 0) limit -= passing - room; /* what packing adds */
        plim__variant_free(*out);
        *out = NULL;
        levers.passing_limit = limit > 0 ? limit : 1;
        PLIM_TRY(plim__levers_apply(&task, &levers, t->main, t->kept_bytes, out, error));
    }
    return PLIM_OK;
}

static plim_status add_tail(plim_trainer *t, int64_t samples, plim_error *error) {
    plim__variant *v;
    PLIM_TRY(plan_tail(t, samples, &v, error));
    if (!plim__vec_push(&t->tails, v)) {
        plim__variant_free(v);
        return plim__fail_memory(error, "a trainer", sizeof v);
    }
    plim__trainer_make_room(t, v->plan);
    return PLIM_OK;
}

/* --- evaluation ----------------------------------------------------------------------------------------------- */

/* A smaller batch for evaluation; of a model with its own loss, which knows no short batches, one that divides it. */
static int64_t smaller_batch(const plim_trainer *t, int64_t batch) {
    if (t->options.loss.kind != PLIM_LOSS_MODEL) return (batch + 1) / 2;
    for (int64_t parts = 2; parts * parts <= batch; parts++)
        if (batch % parts == 0) return batch / parts;
    return 1;
}

/* In pieces as large as fit into what training has, and no larger than its own. */
static plim_status add_evaluation(plim_trainer *t, int64_t batch, plim_error *error) {
    while (batch > t->main->samples) batch = smaller_batch(t, batch);
    plim_session_options options = {.threads = t->options.threads,
                                    .batch = batch,
                                    .sizes = t->options.sizes,
                                    .size_count = t->options.size_count,
                                    .loss = &t->options.loss};
    plim__shared shared = {t->main->program, t->main->plan, t->kept_bytes};
    for (;; options.batch = smaller_batch(t, options.batch)) {
        PLIM_TRY(plim__session_create_shared(t->model, &options, &shared, &t->evaluation, error));
        const plim__plan *plan = plim__session_plan(t->evaluation);
        if (options.batch <= 1 || plan->arena_bytes - plan->persistent_bytes <= t->passing_bytes) {
            plim__trainer_make_room(t, plan);
            return PLIM_OK;
        }
        plim_session_free(t->evaluation);
        t->evaluation = NULL;
    }
}

/* --- planned ahead -------------------------------------------------------------------------------------------- */

plim_status plim__trainer_plan_others(plim_trainer *t, plim_error *error) {
    const plim_trainer_options *o = &t->options;
    int64_t usual = t->main->samples, last = o->samples > 0 ? o->samples % o->batch : 0,
            sizes[] = {o->batch % usual, last % usual};
    t->kept_bytes = t->main->plan->persistent_bytes;
    t->passing_bytes = plim__variant_passing_bytes(t->main);
    for (int i = 0; i < 2; i++)
        if (sizes[i] > 0 && !plim__trainer_variant(t, sizes[i])) PLIM_TRY(add_tail(t, sizes[i], error));
    PLIM_TRY(plim__trainer_plan_odd(t, error));
    if (o->evaluates > 0) PLIM_TRY(add_evaluation(t, o->evaluates, error));
    return PLIM_OK;
}

plim_status plim__trainer_start_others(plim_trainer *t, plim_error *error) {
    for (size_t i = 0; i < t->tails.count; i++) PLIM_TRY(plim__variant_start(t->tails.items[i], &t->arena, error));
    if (t->odd) PLIM_TRY(plim__variant_start(t->odd, &t->arena, error));
    return t->evaluation ? plim__session_start(t->evaluation, &t->arena, error) : PLIM_OK;
}

void plim__trainer_end_others(plim_trainer *t) {
    plim_session_free(t->evaluation);
    t->evaluation = NULL;
    plim__trainer_end_odd(t);
    for (size_t i = 0; i < t->tails.count; i++) {
        plim__variant_stop(t->tails.items[i]);
        plim__variant_free(t->tails.items[i]);
    }
    t->tails.count = 0;
}

/* --- made when they come -------------------------------------------------------------------------------------- */

/* The arena becomes as large as all programs together need, and pointers into it are found again. */
static plim_status grow_arena(plim_trainer *t, plim_error *error) {
    plim_status status = plim__arena_grow(&t->arena, t->kept_bytes, t->passing_bytes, error);
    plim__runner_resolve(t->main->runner); /* on failure too: a part may have moved */
    for (size_t i = 0; i < t->tails.count; i++)
        if (t->tails.items[i]->runner) plim__runner_resolve(t->tails.items[i]->runner);
    if (t->evaluation && plim__session_runner(t->evaluation)) plim__runner_resolve(plim__session_runner(t->evaluation));
    return status;
}

/* Without a budget: in memory that no plan knows of. */
static plim_status make_tail(plim_trainer *t, int64_t samples, plim_error *error) {
    size_t kept = t->kept_bytes, passing = t->passing_bytes;
    PLIM_TRY(add_tail(t, samples, error));
    plim__variant *v = t->tails.items[t->tails.count - 1];
    plim_status status = grow_arena(t, error);
    if (status == PLIM_OK) status = plim__variant_start(v, &t->arena, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__variant_stop(v);
    plim__variant_free(v);
    t->tails.count--;
    t->kept_bytes = kept;
    t->passing_bytes = passing;
    return status;
}

/* Every byte is to be planned: what was not announced is now, and memory is planned again. */
static plim_status announce(plim_trainer *t, int64_t evaluates, bool odd, plim_error *error) {
    plim_trainer_options wanted = t->options;
    wanted.data_held_bytes = UINT64_MAX; /* all data buffers are there by now */
    if (evaluates > 0) wanted.evaluates = evaluates;
    if (odd) wanted.irregular_batches = 1;
    return plim__trainer_plan_again(t, &wanted, error);
}

bool plim__trainer_has_batch(const plim_trainer *t, int64_t count) {
    int64_t rest = count % t->main->samples;
    return rest == 0 || plim__trainer_variant(t, rest) || (t->odd && t->odd_rest == rest);
}

plim_status plim__trainer_need_batch(plim_trainer *t, int64_t count, plim_error *error) {
    if (plim__trainer_has_batch(t, count)) return PLIM_OK;
    if (!t->options.budget) return make_tail(t, count % t->main->samples, error);
    if (!t->options.irregular_batches) {
        plim_status status = announce(t, 0, true, error);
        if (status != PLIM_OK)
            return plim__fail_context(error, status, "a batch of %lld samples, which nobody announced",
                                      (long long)count);
    }
    return plim__trainer_has_batch(t, count) ? PLIM_OK : plim__trainer_need_odd(t, count % t->main->samples, error);
}

plim_status plim__trainer_need_evaluation(plim_trainer *t, int64_t batch, plim_error *error) {
    if (t->evaluation) return PLIM_OK;
    if (t->options.budget) {
        plim_status planned = announce(t, batch, false, error);
        return planned == PLIM_OK ? PLIM_OK : plim__fail_context(error, planned, "evaluation, which nobody announced");
    }
    size_t kept = t->kept_bytes, passing = t->passing_bytes;
    PLIM_TRY(add_evaluation(t, batch, error));
    plim_status status = grow_arena(t, error);
    if (status == PLIM_OK) status = plim__session_start(t->evaluation, &t->arena, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim_session_free(t->evaluation);
    t->evaluation = NULL;
    t->kept_bytes = kept;
    t->passing_bytes = passing;
    return status;
}
