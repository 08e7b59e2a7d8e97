/* Batches of sizes that nobody announced. Data whose damaged samples are left out brings 29 of 32, then 31: a program for
 * each would be memory that no plan knows of, more with every size. With a budget there is one at a time.
 *
 *   planned    the largest size that may come, as if it had been announced: what any of them needs, of the arena and of
 *              the program's memory (code, primitives), which hardly depends on the size
 *   running    another size takes the place of the one before it, in the arena that is there. Where it does not fit it
 *              repeats steps, as the usual size does or more; and if it still does not, it goes in equal pieces.
 *
 *   arena:  | kept by all │ by announced tails │ by the odd one: odd_from..odd_to │ by evaluation |  | passing | */
#include "core/error.h"
#include "kernel/machine.h"
#include "run/recording.h"
#include "run/trainer.h"

/* So often it is planned with less until it is packed within its room. */
#define MOST_TRIES 6
/* What planning takes while it is at work: so much, and so much for each step of the program. Twice what was measured. */
#define PLANNING_BYTES ((size_t)4 << 20)
#define STEP_BYTES     ((size_t)20 << 10)

/* --- planning one --------------------------------------------------------------------------------------------- */

static bool fits(const plim_trainer *t, const plim__variant *v) {
    return plim__variant_passing_bytes(v) <= t->passing_bytes && v->plan->persistent_bytes <= t->odd_to;
}

/* With fewer and fewer bytes, until it is packed within what passes or nothing lower is found. */
static plim_status search(const plim_trainer *t, const plim__task *task, plim__levers *levers, plim__variant *v,
                          plim_error *error) {
    int64_t room = (int64_t)t->passing_bytes, limit = room;
    for (int tries = 0; tries < MOST_TRIES && limit > 0 && !fits(t, v); tries++) {
        levers->passing_limit = limit;
        PLIM_TRY(plim__levers_pack(task, levers, t->main, t->odd_from, v, error));
        int64_t least = (int64_t)(v->plan->lower_bound_bytes - v->plan->persistent_bytes);
        if (least > limit) break;                                /* the lowest that there is */
        limit -= (int64_t)plim__variant_passing_bytes(v) - room; /* what packing adds */
    }
    return PLIM_OK;
}

/* As fast as it can be where that fits; else with the schedule of the usual size, which needs less where samples are
 * fewer; else with one of its own. */
static plim_status plan_one(const plim_trainer *t, int64_t samples, plim__variant **out, plim_error *error) {
    plim__task task = plim__trainer_tail_task(t, samples);
    plim__levers levers = t->way.levers;
    levers.micro_batch = samples;
    levers.passing_limit = INT64_MAX;
    PLIM_TRY(plim__levers_apply(&task, &levers, t->main, t->odd_from, out, error));
    bool same;
    plim_status status = PLIM_OK;
    if (!fits(t, *out)) status = plim__levers_pack_alike(&task, &levers, t->main, t->odd_from, *out, &same, error);
    if (status == PLIM_OK && !fits(t, *out)) status = search(t, &task, &levers, *out, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__variant_free(*out);
    *out = NULL;
    return status;
}

plim_status plim__trainer_plan_odd(plim_trainer *t, plim_error *error) {
    int64_t samples = t->main->samples - 1;
    if (!t->options.irregular_batches || !t->options.budget) return PLIM_OK;
    while (samples > 0 && plim__trainer_variant(t, samples)) samples--;
    if (samples == 0) return PLIM_OK; /* all that may come are announced */
    t->odd_from = t->kept_bytes;
    t->odd_to = SIZE_MAX; /* what it keeps is what there will be room for */
    PLIM_TRY(plan_one(t, samples, &t->odd, error));
    t->odd_rest = samples;
    plim__trainer_make_room(t, t->odd->plan);
    t->odd_to = t->kept_bytes;
    return PLIM_OK;
}

void plim__trainer_end_odd(plim_trainer *t) {
    if (t->odd) plim__recording_drop(t, t->odd);
    plim__variant_stop(t->odd);
    plim__variant_free(t->odd);
    t->odd = NULL;
}

/* --- another one ---------------------------------------------------------------------------------------------- */

/* Gradients of pieces are summed up where those of micro-batches are; and nothing may depend on who is in a piece. */
static bool may_split(const plim_trainer *t) {
    return plim__variant_class(t->main, t->options.batch) == PLIM_REORDERED;
}

/* In one piece, or in as few equal ones as fit. */
static plim_status plan_rest(const plim_trainer *t, int64_t rest, plim__variant **out, plim_error *error) {
    int64_t most = may_split(t) ? rest : 1;
    for (int64_t pieces = 1; pieces <= most; pieces++) {
        if (rest % pieces != 0) continue;
        PLIM_TRY(plan_one(t, rest / pieces, out, error));
        if (fits(t, *out)) return PLIM_OK;
        plim__variant_free(*out);
        *out = NULL;
    }
    return plim__fail(error, PLIM_NO_MEMORY,
                      "the last %lld samples of a batch do not fit the memory that was planned for such: a larger "
                      "budget or smaller batches would do",
                      (long long)rest);
}

/* Planning takes memory of its own: meanwhile so much of what passes is given back. */
plim_status plim__trainer_need_odd(plim_trainer *t, int64_t rest, plim_error *error) {
    plim__variant *made = NULL;
    plim__trainer_end_odd(t);
    plim__machine_forget();
    plim__arena_release_some_pages(&t->arena, PLANNING_BYTES + STEP_BYTES * t->main->program->steps.count);
    plim_status status = plan_rest(t, rest, &made, error);
    plim__machine_forget();
    plim__arena_restore_pages(&t->arena);
    if (status == PLIM_OK) status = plim__variant_start(made, &t->arena, error);
    if (status == PLIM_OK) {
        t->odd = made;
        t->odd_rest = rest;
        return PLIM_OK;
    }
    plim__variant_stop(made);
    plim__variant_free(made);
    return status;
}
