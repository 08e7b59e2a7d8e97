/* Training plans: making and freeing them, and what they come to. */
#include "budget/training_plan.h"

#include "budget/programs.h"
#include "core/error.h"
#include "kernel/processor.h"
#include "plan/file_time.h"
#include "plan/peak.h"

/* --- making --------------------------------------------------------------------------------------------------- */

plim_status plim__training_plan_renew(plim__training_plan *plan, plim_error *error) {
    plim_status status = plim__training_plan_choose(plan, error);
    plan->room = (plim__room){0};
    PLIM_TRY(status);
    if (plan->process.planned_bytes) plim__process_count_planning(plan);
    plan->planned_persistent = plan->persistent_bytes;
    plan->planned_arena = plan->persistent_bytes + plan->transient_bytes;
    return PLIM_OK;
}

static plim_status make(plim__training_plan *plan, plim_error *error) {
    PLIM_TRY(plim__request_own(&plan->request, &plan->bounds, error));
    plan->process.base_bytes = plan->bounds.base_bytes;
    plan->process.packed_bytes = plan->bounds.packed_bytes;
    if (plan->request.accumulate > plan->request.batch)
        return plim__fail(error, PLIM_INVALID, "a batch of %lld cannot be split into %lld micro-batches",
                          (long long)plan->request.batch, (long long)plan->request.accumulate);
    return plim__training_plan_renew(plan, error);
}

plim_status plim__training_plan_create(const plim_graph *model, const plim__request *request,
                                       const plim__bounds *bounds, plim__training_plan **plan, plim_error *error) {
    plim__training_plan *p = *plan = plim__alloc_zero(1, sizeof *p);
    if (!p) return plim__fail_memory(error, "a plan", sizeof *p);
    p->model = model;
    p->request = *request;
    p->bounds = *bounds;
    plim_status status = make(p, error);
    if (status == PLIM_OK || status == PLIM_BUDGET) return status;
    plim__training_plan_free(p);
    *plan = NULL;
    return status;
}

void plim__training_plan_clear(plim__training_plan *plan) {
    plim__programs_free(plan);
    plim__variant_free(plan->main);
    plan->main = NULL;
    plan->process.base_bytes = plan->process.corrected_bytes = 0;
    plim__process_unplug(plan);
    plim__free(plan->costs);
    plan->costs = NULL;
}

void plim__training_plan_free(plim__training_plan *plan) {
    if (!plan) return;
    plim__training_plan_clear(plan);
    plim__vec_free(&plan->tails);
    plim__vec_free(&plan->alternatives);
    plim__request_free(&plan->request, &plan->bounds);
    plim__free(plan);
}

/* The part of a budget that a search may fill with programs that it may want again: rebuilding them takes time, and a
 * deep network of thin layers has programs that are larger than its arena. */
#define SEARCH_SHARE 16

plim__task plim__training_plan_task(const plim__training_plan *plan) {
    const plim__request *r = &plan->request;
    plim__target target = plim__bounds_target(&plan->bounds);
    if (plan->room.bytes) target.room = (plim__room *)&plan->room; /* the plan is not const where it is made */
    return (plim__task){.model = plan->model,
                        .training = plim__request_training(r, r->batch, false),
                        .target = target,
                        .costs = plan->costs,
                        .allow = r->allow,
                        .effort = r->purpose == PLIM__PLAN_TO_TRY ? -1 : 0,
                        .spill_room = plan->spill_room,
                        .search_bytes = plan->bounds.budget ? plan->bounds.budget / SEARCH_SHARE : SIZE_MAX,
                        .planning_room = SIZE_MAX,
                        .last_samples = plim__request_last(r),
                        .irregular = r->irregular && plan->bounds.budget,
                        .most_samples = (r->batch + r->accumulate - 1) / r->accumulate};
}

/* --- what it comes to ----------------------------------------------------------------------------------------- */

static void add_bytes(const plim__buffer *buffer, const plim_graph *g, plim_trainer_stats *stats) {
    bool gradient = buffer->value >= 0 && g->values.items[buffer->value].is_gradient;
    size_t bytes = (buffer->bytes + PLIM__ALIGNMENT - 1) / PLIM__ALIGNMENT * PLIM__ALIGNMENT; /* in the arena */
    switch (gradient ? PLIM__BUFFER_GRADIENT : buffer->kind) {
    case PLIM__BUFFER_WEIGHT: stats->weight_bytes += bytes; break;
    case PLIM__BUFFER_STATE: stats->optimizer_bytes += bytes; break;
    case PLIM__BUFFER_INPUT: stats->data_bytes += bytes; break;
    case PLIM__BUFFER_ACTIVATION: stats->activation_bytes += bytes; break;
    case PLIM__BUFFER_GRADIENT: stats->gradient_bytes += bytes; break;
    case PLIM__BUFFER_WORKSPACE: stats->workspace_bytes += bytes; break;
    }
}

static void add_program(const plim__variant *v, plim_trainer_stats *stats) {
    const plim_graph *g = v->training->graph;
    for (size_t b = 0; b < v->program->buffers.count; b++)
        if (plim__peak_holds(v->program, v->plan, b)) add_bytes(&v->program->buffers.items[b], g, stats);
    if (v->plan->window >= 0) stats->workspace_bytes += plim__spill_window_bytes(v->program);
    for (size_t i = 0; i < v->training->parameter_count; i++)
        stats->parameters += (size_t)plim__shape_elements(&g->values.items[v->training->parameters[i]].shape);
    for (size_t s = 0; s < v->program->steps.count; s++) {
        const plim__step *step = &v->program->steps.items[s];
        stats->flops += step->cost.flops * (step->phase == PLIM__UPDATE ? 1 : (double)stats->accumulate);
    }
}

/* Where memory is short these are missing: they only inform. */
static void add_file(const plim__training_plan *plan, plim_trainer_stats *stats) {
    plim__file_time time = {0};
    if (!plan->costs || plim__file_time_of(plan->main->program, plan->main->plan, plan->costs, &time, NULL) != PLIM_OK)
        return;
    stats->file_seconds = time.moving;
    stats->file_waits = time.waiting;
}

void plim__training_plan_stats(const plim__training_plan *plan, plim_trainer_stats *stats) {
    const plim__variant *v = plan->main;
    *stats = (plim_trainer_stats){0};
    if (!v) return;
    *stats = (plim_trainer_stats){
        .batch = plan->request.batch,
        .micro_batch = v->samples,
        .accumulate = (plan->request.batch + v->samples - 1) / v->samples,
        .arena_bytes = plan->planned_arena,
        .frozen = v->training->frozen_count,
        .steps = v->program->steps.count,
        .prevents_split = *v->training->split.why ? v->training->split.why : NULL,
        .planned_arena_bytes = plan->planned_arena,
        .data_buffer_bytes = plim__training_plan_data_bytes(plan),
        .process_bytes = plan->process.planned_bytes,
        .seconds = plan->choice.seconds,
        .class_ = plan->choice.class,
        .repeated = v->repeated,
        .spilled_bytes = plim__spilled_bytes(v->program),
        .precision = plan->choice.levers.precision ? plan->choice.levers.precision : PLIM_PRECISION_F32,
        .base = plan->request.base ? plan->request.base : PLIM_BASE_F32,
        .base_saved = v->training->base_saved,
        .streamed_bytes = plim__streamed_bytes(v->program),
        .in_model_bytes = plim__in_model_bytes(v->program),
    };
    add_program(v, stats);
    add_file(plan, stats);
}

plim_plan_candidate plim__training_plan_summary(const plim__training_plan *plan) {
    plim_trainer_stats stats;
    plim__training_plan_stats(plan, &stats);
    size_t recording = plim__training_plan_recording_bytes(plan), process = stats.process_bytes;
    return (plim_plan_candidate){.budget_bytes = plim__process_least_budget(process),
                                 .arena_bytes = stats.arena_bytes,
                                 .process_bytes = process,
                                 .micro_batch = stats.micro_batch,
                                 .accumulate = stats.accumulate,
                                 .recomputed = stats.repeated,
                                 .spilled = stats.spilled_bytes,
                                 .seconds = stats.seconds,
                                 .class_ = stats.class_,
                                 .weights = stats.weight_bytes,
                                 .gradients = stats.gradient_bytes,
                                 .optimizer = stats.optimizer_bytes,
                                 .activations = stats.activation_bytes,
                                 .workspace = stats.workspace_bytes,
                                 .data = stats.data_bytes + stats.data_buffer_bytes,
                                 .recording = recording,
                                 .state_saved = plan->main ? plan->main->training->state_saved : 0,
                                 .bits_saved = plan->main ? plan->main->training->bits_saved : 0,
                                 .narrow_saved = plan->main ? plan->main->training->narrow_saved : 0,
                                 .precision = stats.precision,
                                 .base_saved = stats.base_saved,
                                 .base = stats.base,
                                 .streamed = stats.streamed_bytes,
                                 .in_model = stats.in_model_bytes,
                                 .file_seconds = stats.file_seconds,
                                 .file_waits = stats.file_waits,
                                 .opening = plan->process.opening_excess,
                                 .logs = plan->request.log_bytes,
                                 .program = process - stats.arena_bytes - stats.data_buffer_bytes - recording -
                                            plan->request.log_bytes - plan->process.opening_excess};
}
