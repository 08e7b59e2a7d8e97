/* Timelines of plans for training. */
#include "budget/picture.h"

#include <stdio.h>

#include "budget/report.h"
#include "core/error.h"
#include "core/str.h"
#include "plimsoll/bytes.h"
#include "report/plan_timeline.h"

/* --- the step ------------------------------------------------------------------------------------------------- */

static plim_status add_always(plim__timeline *timeline, const char *name, plim__memory_kind kind, uint64_t bytes,
                              plim_error *error) {
    plim__timeline_buffer buffer = {
        .name = name, .kind = kind, .bytes = bytes, .offset = PLIM__NO_OFFSET, .died = PLIM__NEVER};
    return bytes ? plim__timeline_add(timeline, &buffer, error) : PLIM_OK;
}

/* What the process holds beside the buffers of the arena. */
static plim_status add_process(const plim__training_plan *plan, plim__timeline *timeline, plim_error *error) {
    if (!plan->process.planned_bytes) return PLIM_OK;
    plim_plan_candidate chosen = plim__training_plan_summary(plan);
    PLIM_TRY(add_always(timeline, "program, libraries and stacks", PLIM__KIND_PROCESS, chosen.program, error));
    PLIM_TRY(add_always(timeline, "data buffers", PLIM__KIND_DATA, plim__training_plan_data_bytes(plan), error));
    if (chosen.recording) PLIM_TRY(add_always(timeline, "recording", PLIM__KIND_PROCESS, chosen.recording, error));
    if (chosen.logs) PLIM_TRY(add_always(timeline, "logs", PLIM__KIND_PROCESS, chosen.logs, error));
    if (plan->main->plan->window >= 0)
        PLIM_TRY(add_always(timeline, "window to what is spilled", PLIM__KIND_WORKSPACE,
                            plim__spill_window_bytes(plan->main->program), error));
    return add_always(timeline, "room that packing and other batches leave", PLIM__KIND_OTHER,
                      plan->planned_arena - plan->main->plan->lower_bound_bytes, error);
}

PLIM_PRINTF(4, 5)
static plim_status add_fact(plim__timeline *timeline, const char *name, plim_error *error, const char *format, ...) {
    char text[128];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return plim__timeline_add_fact(timeline, name, text, error);
}

static plim_status add_facts(const plim__training_plan *plan, plim__timeline *timeline, plim_error *error) {
    plim_plan_candidate chosen = plim__training_plan_summary(plan);
    PLIM_TRY(add_fact(timeline, "batch", error, "%lld", (long long)plan->request.batch));
    if (chosen.accumulate > 1)
        PLIM_TRY(add_fact(timeline, "micro-batches", error, "%lld of %lld", (long long)chosen.accumulate,
                          (long long)chosen.micro_batch));
    PLIM_TRY(plim__timeline_add_fact(timeline, "optimizer", plim_optimizer_name(plan->request.optimizer.kind), error));
    PLIM_TRY(add_fact(timeline, "recomputed steps", error, "%llu", (unsigned long long)chosen.recomputed));
    char bytes[PLIM_BYTES_TEXT];
    if (chosen.streamed)
        PLIM_TRY(add_fact(timeline, "weights in a file", error, "%s", plim_bytes_format(chosen.streamed, bytes)));
    if (chosen.spilled > chosen.streamed)
        PLIM_TRY(add_fact(timeline, "spilled", error, "%s of optimizer state",
                          plim_bytes_format(chosen.spilled - chosen.streamed, bytes)));
    PLIM_TRY(plim__timeline_add_fact(timeline, "class", plim_class_name(chosen.class_), error));
    bool brief = chosen.seconds < 1;
    return add_fact(timeline, "expected", error, "%.3g %s an update", chosen.seconds * (brief ? 1e3 : 1),
                    brief ? "ms" : "s");
}

plim_status plim__training_plan_picture_head(const plim__training_plan *plan, const char *title,
                                             plim__timeline *timeline, plim_error *error) {
    PLIM_TRY(plim__timeline_set_title(timeline, title, error));
    if (plan->bounds.budget < PLIM__ENDLESS) timeline->budget = plan->bounds.budget;
    return add_facts(plan, timeline, error);
}

/* When each step is expected to begin. A timeline without times would still be right, so none is lost for this. */
static void add_times(const plim__training_plan *plan, plim__timeline *timeline) {
    const plim__program *program = plan->main->program;
    double *costs = plan->costs ? plim__costs_of(plan->costs, program) : NULL, at = 0;
    for (uint32_t tick = 0; costs && tick < timeline->ticks; tick++) {
        if (!plim__vec_push(&timeline->seconds, at)) {
            timeline->seconds.count = 0;
            break;
        }
        if (tick < program->steps.count) at += costs[tick];
    }
    plim__free(costs);
}

plim_status plim__training_plan_picture(const plim__training_plan *plan, const char *title, plim__timeline *timeline,
                                        plim_error *error) {
    const plim__variant *v = plan->main;
    PLIM_TRY(plim__training_plan_picture_head(plan, title, timeline, error));
    PLIM_TRY(add_process(plan, timeline, error));
    PLIM_TRY(plim__plan_timeline(v->training->graph, v->program, v->plan, timeline, error));
    add_times(plan, timeline);
    return PLIM_OK;
}

/* --- with the alternatives ------------------------------------------------------------------------------------ */

static plim_status add_candidate(plim__timeline *timeline, const plim_plan_candidate *candidate, uint64_t budget,
                                 const char *command, bool chosen, plim_error *error) {
    plim__str label = {0}, ask = {0};
    if (candidate->accumulate > 1)
        plim__str_addf(&label, "%lld micro-batches of %lld, ", (long long)candidate->accumulate,
                       (long long)candidate->micro_batch);
    if (candidate->recomputed)
        plim__str_addf(&label, "%llu steps recomputed, ", (unsigned long long)candidate->recomputed);
    else
        plim__str_add(&label, "nothing recomputed, ");
    char bytes[PLIM_BYTES_TEXT];
    if (candidate->spilled) plim__str_addf(&label, "%s spilled, ", plim_bytes_format(candidate->spilled, bytes));
    plim__str_addf(&label, "%s", plim_class_name(candidate->class_));
    plim__str_addf(&ask, "%s %lluMiB", command, (unsigned long long)((budget + (1 << 20) - 1) >> 20));
    plim_status status = label.failed || ask.failed
                             ? plim__fail_memory(error, "a plan", label.length + ask.length)
                             : plim__timeline_add_frontier(timeline,
                                                           &(plim__timeline_point){.budget = budget,
                                                                                   .peak = candidate->process_bytes,
                                                                                   .seconds = candidate->seconds,
                                                                                   .label = plim__str_text(&label),
                                                                                   .command = plim__str_text(&ask),
                                                                                   .chosen = chosen},
                                                           error);
    plim__str_free(&label);
    plim__str_free(&ask);
    return status;
}

/* Whether it would only raise questions beside the chosen one within `budget`: the same, or no less memory for nothing better. */
static bool is_idle(const plim_plan_candidate *other, const plim_plan_candidate *chosen, uint64_t budget) {
    if (other->arena_bytes == chosen->arena_bytes) return true;
    return other->budget_bytes >= budget && other->seconds >= chosen->seconds && other->class_ >= chosen->class_;
}

plim_status plim__training_plan_picture_alternatives(const plim__training_plan *plan, const char *command,
                                                     plim__timeline *timeline, plim_error *error) {
    if (plan->alternatives.count == 0) return PLIM_OK;
    plim_plan_candidate chosen = plim__training_plan_summary(plan);
    uint64_t budget = plan->bounds.budget < PLIM__ENDLESS ? plan->bounds.budget : chosen.budget_bytes;
    PLIM_TRY(add_candidate(timeline, &chosen, budget, command, true, error));
    for (size_t i = 0; i < plan->alternatives.count; i++) {
        const plim_plan_candidate *other = &plan->alternatives.items[i];
        if (!is_idle(other, &chosen, budget))
            PLIM_TRY(add_candidate(timeline, other, other->budget_bytes, command, false, error));
    }
    return PLIM_OK;
}

plim_status plim__plan_picture(const plim_plan *plan, const char *title, const char *command, plim__timeline *timeline,
                               plim_error *error) {
    const plim_plan_report *r = plim_plan_get_report(plan);
    PLIM_TRY(plim__training_plan_picture(plan->training, title, timeline, error));
    timeline->budget = r->budget_bytes;
    const plim_plan_candidate *chosen = r->fits ? &r->chosen : NULL;
    uint64_t budget = r->budget_bytes ? r->budget_bytes : r->chosen.budget_bytes;
    if (chosen) PLIM_TRY(add_candidate(timeline, chosen, budget, command, true, error));
    for (int i = 0; i < r->frontier_count; i++) {
        const plim_plan_candidate *other = &r->frontier[i];
        if (!chosen || !is_idle(other, chosen, budget))
            PLIM_TRY(add_candidate(timeline, other, other->budget_bytes, command, false, error));
    }
    return r->fits ? PLIM_OK : plim__timeline_add_fact(timeline, "fits", "no", error);
}
