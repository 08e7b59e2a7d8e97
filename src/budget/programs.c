/* Planning programs that share the arena with the main one. */
#include "budget/programs.h"

#include "core/error.h"
#include "kernel/processor.h"

/* A tail is planned with less at most this often until it is packed within its room. */
#define MOST_TRIES 4

plim__variant *plim__training_plan_variant(const plim__training_plan *plan, int64_t samples) {
    if (plan->main->samples == samples) return plan->main;
    for (size_t i = 0; i < plan->tails.count; i++)
        if (plan->tails.items[i]->samples == samples) return plan->tails.items[i];
    plim__variant *irregular = plan->irregular.variant;
    return irregular && irregular->samples == samples ? irregular : NULL;
}

void plim__programs_make_room(plim__training_plan *plan, const plim__plan *layout) {
    size_t transient = layout->arena_bytes - layout->persistent_bytes;
    plan->persistent_bytes = layout->persistent_bytes;
    if (transient > plan->transient_bytes) plan->transient_bytes = transient;
}

/* --- what is left of a batch ---------------------------------------------------------------------------------- */

/* Gradients are summed up where those of the main program are: a tail that always runs alone needs no room for sums. */
plim__task plim__programs_tail_task(const plim__training_plan *plan, int64_t samples) {
    plim__task task = plim__training_plan_task(plan);
    if (plan->main->samples == plan->request.batch) task.training.batch = samples;
    return task;
}

/* As fast as it can be where that fits; else within the room of the main program. */
static plim_status plan_tail(plim__training_plan *plan, int64_t samples, plim__variant **out, plim_error *error) {
    plim__task task = plim__programs_tail_task(plan, samples);
    plim__levers levers = plan->choice.levers;
    plim__base base = {plan->main, plan->persistent_bytes};
    bool bound = levers.transient_limit < INT64_MAX;
    levers.micro_batch = samples;
    levers.transient_limit = INT64_MAX;
    PLIM_TRY(plim__levers_apply(&task, &levers, &base, out, error));
    int64_t room = (int64_t)plan->transient_bytes, limit = room;
    for (int tries = 0; bound && tries < MOST_TRIES && limit > 0; tries++) {
        int64_t transient = (int64_t)plim__variant_transient_bytes(*out);
        if (transient <= room) break;
        if (tries > 0) limit -= transient - room; /* what packing adds */
        plim__variant_free(*out);
        *out = NULL;
        levers.transient_limit = limit > 0 ? limit : 1;
        PLIM_TRY(plim__levers_apply(&task, &levers, &base, out, error));
    }
    return PLIM_OK;
}

plim_status plim__programs_add_tail(plim__training_plan *plan, int64_t samples, plim_error *error) {
    plim__variant *v;
    PLIM_TRY(plan_tail(plan, samples, &v, error));
    if (!plim__vec_push(&plan->tails, v)) {
        plim__variant_free(v);
        return plim__fail_memory(error, "a plan", sizeof v);
    }
    plim__programs_make_room(plan, v->plan);
    return PLIM_OK;
}

void plim__programs_drop_tail(plim__training_plan *plan) { plim__variant_free(plan->tails.items[--plan->tails.count]); }

/* --- evaluation ----------------------------------------------------------------------------------------------- */

/* A smaller batch for evaluation; of a model with its own loss, which knows no short batches, one that divides it. */
static int64_t smaller_batch(const plim__training_plan *plan, int64_t batch) {
    if (plan->request.loss.kind != PLIM_LOSS_MODEL) return (batch + 1) / 2;
    for (int64_t parts = 2; parts * parts <= batch; parts++)
        if (batch % parts == 0) return batch / parts;
    return 1;
}

/* In pieces as large as fit into what training has, and no larger than its own. */
plim_status plim__programs_add_evaluation(plim__training_plan *plan, int64_t batch, plim_error *error) {
    const plim__request *r = &plan->request;
    while (batch > plan->main->samples) batch = smaller_batch(plan, batch);
    plim_session_options options = {.threads = plan->bounds.threads,
                                    .batch = batch,
                                    .sizes = r->sizes,
                                    .size_count = r->size_count,
                                    .loss = &r->loss,
                                    .scores = r->scores};
    plim__shared shared = {plan->main->program, plan->main->plan, plan->persistent_bytes};
    for (;; options.batch = smaller_batch(plan, options.batch)) {
        PLIM_TRY(plim__inference_create(plan->model, &options, plim__bounds_target(&plan->bounds), &shared,
                                        &plan->evaluation, error));
        const plim__plan *layout = plan->evaluation->plan;
        if (options.batch <= 1 || layout->arena_bytes - layout->persistent_bytes <= plan->transient_bytes) {
            plim__programs_make_room(plan, layout);
            return PLIM_OK;
        }
        plim__programs_drop_evaluation(plan);
    }
}

void plim__programs_drop_evaluation(plim__training_plan *plan) {
    plim__inference_free(plan->evaluation);
    plan->evaluation = NULL;
}

/* --- all ------------------------------------------------------------------------------------------------------ */

/* The end of an epoch for which the model cannot be built, or which cannot be split like other batches: what to do about it. */
static plim_status add_last(plim__training_plan *plan, int64_t last, int64_t rest, plim_error *error) {
    plim_error why = {0};
    plim_status status = plim__programs_add_tail(plan, rest, &why);
    if (status == PLIM_OK) return PLIM_OK;
    if (status == PLIM_NO_MEMORY || status == PLIM_INTERNAL || status == PLIM_BUDGET)
        return plim__fail(error, status, "%s", why.message);
    return plim__fail(error, status,
                      "the last batch of an epoch has %lld of %lld samples, which does not work (%s): leave it out "
                      "(--drop-last), or choose a batch that divides the %lld samples of an epoch",
                      (long long)last, (long long)plan->request.batch, why.message, (long long)plan->request.samples);
}

/* The step's memory serves when a checkpoint is written or read: tensors of the file whose order is not plain are held twice then. */
static void make_room_for_moving(plim__training_plan *plan) {
    size_t bytes = plim__spill_moving_bytes(plan->main->program);
    if (bytes > plan->transient_bytes) plan->transient_bytes = bytes;
}

plim_status plim__programs_plan(plim__training_plan *plan, plim_error *error) {
    const plim__request *r = &plan->request;
    int64_t usual = plan->main->samples, last = plim__request_last(r);
    plan->persistent_bytes = plan->main->plan->persistent_bytes;
    plan->transient_bytes = plim__variant_transient_bytes(plan->main);
    make_room_for_moving(plan);
    if (r->batch % usual > 0) PLIM_TRY(plim__programs_add_tail(plan, r->batch % usual, error));
    if (last % usual > 0 && !plim__training_plan_variant(plan, last % usual))
        PLIM_TRY(add_last(plan, last, last % usual, error));
    PLIM_TRY(plim__irregular_add(plan, error));
    if (r->evaluates > 0) PLIM_TRY(plim__programs_add_evaluation(plan, r->evaluates, error));
    return PLIM_OK;
}

void plim__programs_free(plim__training_plan *plan) {
    plim__programs_drop_evaluation(plan);
    plim__irregular_drop(plan);
    for (size_t i = 0; i < plan->tails.count; i++) plim__variant_free(plan->tails.items[i]);
    plan->tails.count = 0;
}
