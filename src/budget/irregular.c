/* Batches of undeclared sizes. Data whose damaged samples are left out brings 29 of 32, then 31: a program for each would be
 * memory that no plan knows of, more with every size. With a budget there is one at a time.
 *
 *   planned    the largest size that may come, as if it had been declared: what any of them needs, of the arena and of
 *              the program's memory (code, primitives), which hardly depends on the size
 *   running    another size replaces the one before it, in the arena that is there. Where it does not fit it repeats
 *              steps, as the main program does or more; and if it still does not, it goes in equal pieces. */
#include "budget/programs.h"
#include "core/error.h"

/* It is planned with less at most this often until it is packed within its room. */
#define MOST_TRIES 6

static bool fits(const plim__training_plan *plan, const plim__variant *v) {
    return plim__variant_transient_bytes(v) <= plan->transient_bytes && v->plan->persistent_bytes <= plan->irregular.to;
}

/* With fewer and fewer bytes, until it is packed within the transient bytes or nothing lower is found. */
static plim_status search(const plim__training_plan *plan, const plim__task *task, plim__levers *levers,
                          plim__variant *v, plim_error *error) {
    int64_t room = (int64_t)plan->transient_bytes, limit = room;
    plim__base base = {plan->main, plan->irregular.from};
    for (int tries = 0; tries < MOST_TRIES && limit > 0 && !fits(plan, v); tries++) {
        levers->transient_limit = limit;
        PLIM_TRY(plim__levers_pack(task, levers, &base, v, error));
        int64_t least = (int64_t)(v->plan->lower_bound_bytes - v->plan->persistent_bytes);
        if (least > limit) break;                                  /* the lowest that there is */
        limit -= (int64_t)plim__variant_transient_bytes(v) - room; /* what packing adds */
    }
    return PLIM_OK;
}

/* As fast as it can be where that fits; else with the schedule of the main program, which needs less where samples are
 * fewer; else with one of its own. */
static plim_status plan_one(const plim__training_plan *plan, int64_t samples, plim__variant **out, plim_error *error) {
    plim__task task = plim__programs_tail_task(plan, samples);
    plim__levers levers = plan->choice.levers;
    plim__base base = {plan->main, plan->irregular.from};
    levers.micro_batch = samples;
    levers.transient_limit = INT64_MAX;
    PLIM_TRY(plim__levers_apply(&task, &levers, &base, out, error));
    bool same;
    plim_status status = PLIM_OK;
    if (!fits(plan, *out)) status = plim__levers_pack_alike(&task, &levers, &base, *out, &same, error);
    if (status == PLIM_OK && !fits(plan, *out)) status = search(plan, &task, &levers, *out, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__variant_free(*out);
    *out = NULL;
    return status;
}

plim_status plim__irregular_add(plim__training_plan *plan, plim_error *error) {
    plim__irregular *irregular = &plan->irregular;
    int64_t samples = plan->main->samples - 1;
    if (!plan->request.irregular || !plan->bounds.budget) return PLIM_OK;
    while (samples > 0 && plim__training_plan_variant(plan, samples)) samples--;
    if (samples == 0) return PLIM_OK; /* all that may come are declared */
    irregular->from = plan->persistent_bytes;
    irregular->to = SIZE_MAX; /* its persistent bytes are what there will be room for */
    PLIM_TRY(plan_one(plan, samples, &irregular->variant, error));
    irregular->rest = samples;
    plim__programs_make_room(plan, irregular->variant->plan);
    irregular->to = plan->persistent_bytes;
    return PLIM_OK;
}

void plim__irregular_drop(plim__training_plan *plan) {
    plim__variant_free(plan->irregular.variant);
    plan->irregular.variant = NULL;
}

/* Gradients of pieces are summed up where those of micro-batches are; and no sample may depend on others of its piece. */
static bool may_split(const plim__training_plan *plan) {
    return plim__variant_run_class(plan->main, plan->request.batch) == PLIM_REORDERED;
}

/* In one piece, or in as few equal ones as fit. */
plim_status plim__irregular_replace(plim__training_plan *plan, int64_t rest, plim_error *error) {
    int64_t most = may_split(plan) ? rest : 1;
    plim__irregular *irregular = &plan->irregular;
    for (int64_t pieces = 1; pieces <= most; pieces++) {
        if (rest % pieces != 0) continue;
        plim__variant *v;
        PLIM_TRY(plan_one(plan, rest / pieces, &v, error));
        if (fits(plan, v)) {
            irregular->variant = v;
            irregular->rest = rest;
            return PLIM_OK;
        }
        plim__variant_free(v);
    }
    return plim__fail(error, PLIM_BUDGET,
                      "the last %lld samples of a batch do not fit the memory that was planned for such: a larger "
                      "budget or smaller batches would do",
                      (long long)rest);
}
