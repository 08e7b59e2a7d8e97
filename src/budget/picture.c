/* Timelines of plans for training. */
#include "budget/picture.h"

#include <stdio.h>

#include "core/error.h"
#include "core/str.h"
#include "plimsoll/bytes.h"
#include "report/plan_timeline.h"
#include "run/trainer.h"

/* --- the step ------------------------------------------------------------------------------------------------- */

static plim_status add_always(plim__timeline *timeline, const char *name, plim__memory_kind kind, uint64_t bytes,
                              plim_error *error) {
    plim__timeline_buffer buffer = {
        .name = name, .kind = kind, .bytes = bytes, .offset = PLIM__NO_OFFSET, .died = PLIM__NEVER};
    return bytes ? plim__timeline_add(timeline, &buffer, error) : PLIM_OK;
}

/* What the process holds besides the buffers of the arena. */
static plim_status add_process(const plim_trainer *t, plim__timeline *timeline, plim_error *error) {
    if (!t->planned_process) return PLIM_OK;
    plim_plan_candidate way = plim__trainer_way(t);
    PLIM_TRY(add_always(timeline, "program, libraries and stacks", PLIM__KIND_PROCESS, way.program, error));
    PLIM_TRY(add_always(timeline, "data buffers", PLIM__KIND_DATA, plim__trainer_data_bytes(t), error));
    if (way.recording) PLIM_TRY(add_always(timeline, "recording", PLIM__KIND_PROCESS, way.recording, error));
    if (t->main->plan->window >= 0)
        PLIM_TRY(add_always(timeline, "window to what is spilled", PLIM__KIND_WORKSPACE,
                            plim__spill_window_bytes(t->main->program), error));
    return add_always(timeline, "room that packing and other batches leave", PLIM__KIND_OTHER,
                      t->planned_arena - t->main->plan->lower_bound_bytes, error);
}

static plim_status add_fact(plim__timeline *timeline, const char *name, plim_error *error, const char *format, ...)
    PLIM_PRINTF(4, 5);
static plim_status add_fact(plim__timeline *timeline, const char *name, plim_error *error, const char *format, ...) {
    char text[128];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return plim__timeline_add_fact(timeline, name, text, error);
}

static plim_status add_facts(const plim_trainer *t, plim__timeline *timeline, plim_error *error) {
    plim_plan_candidate way = plim__trainer_way(t);
    PLIM_TRY(add_fact(timeline, "batch", error, "%lld", (long long)t->options.batch));
    if (way.accumulate > 1)
        PLIM_TRY(add_fact(timeline, "micro-batches", error, "%lld of %lld", (long long)way.accumulate,
                          (long long)way.micro_batch));
    PLIM_TRY(plim__timeline_add_fact(timeline, "optimizer", plim_optimizer_name(t->options.optimizer.kind), error));
    PLIM_TRY(add_fact(timeline, "recomputed steps", error, "%llu", (unsigned long long)way.recomputed));
    char bytes[PLIM_BYTES_TEXT];
    if (way.spilled)
        PLIM_TRY(add_fact(timeline, "spilled", error, "%s of optimizer state", plim_bytes_format(way.spilled, bytes)));
    PLIM_TRY(plim__timeline_add_fact(timeline, "class", plim_class_name(way.class_), error));
    return add_fact(timeline, "expected", error, "%.3g s an update", way.seconds);
}

/* A budget without end is none. */
#define ENDLESS ((uint64_t)1 << 60)

plim_status plim__trainer_picture_head(const plim_trainer *t, const char *title, plim__timeline *timeline,
                                       plim_error *error) {
    PLIM_TRY(plim__timeline_set_title(timeline, title, error));
    if (t->options.budget < ENDLESS) timeline->budget = t->options.budget;
    return add_facts(t, timeline, error);
}

/* When each step is expected to begin. A timeline without times would still be right, so none is lost for this. */
static void add_times(const plim_trainer *t, plim__timeline *timeline) {
    const plim__program *program = t->main->program;
    double *costs = t->costs ? plim__costs_of(t->costs, program) : NULL, at = 0;
    for (uint32_t tick = 0; costs && tick < timeline->ticks; tick++) {
        if (!plim__vec_push(&timeline->seconds, at)) {
            timeline->seconds.count = 0;
            break;
        }
        if (tick < program->steps.count) at += costs[tick];
    }
    plim__free(costs);
}

plim_status plim__trainer_picture(const plim_trainer *t, const char *title, plim__timeline *timeline,
                                  plim_error *error) {
    const plim__variant *v = t->main;
    PLIM_TRY(plim__trainer_picture_head(t, title, timeline, error));
    PLIM_TRY(add_process(t, timeline, error));
    PLIM_TRY(plim__plan_timeline(v->training->graph, v->program, v->plan, timeline, error));
    add_times(t, timeline);
    return PLIM_OK;
}

/* --- with the alternatives ------------------------------------------------------------------------------------ */

static plim_status add_way(plim__timeline *timeline, const plim_plan_candidate *way, uint64_t budget,
                           const char *command, bool chosen, plim_error *error) {
    plim__str label = {0}, ask = {0};
    if (way->accumulate > 1)
        plim__str_addf(&label, "%lld micro-batches of %lld, ", (long long)way->accumulate, (long long)way->micro_batch);
    if (way->recomputed)
        plim__str_addf(&label, "%llu steps recomputed, ", (unsigned long long)way->recomputed);
    else
        plim__str_add(&label, "nothing recomputed, ");
    char bytes[PLIM_BYTES_TEXT];
    if (way->spilled) plim__str_addf(&label, "%s spilled, ", plim_bytes_format(way->spilled, bytes));
    plim__str_addf(&label, "%s", plim_class_name(way->class_));
    plim__str_addf(&ask, "%s %lluMiB", command, (unsigned long long)((budget + (1 << 20) - 1) >> 20));
    plim_status status = label.failed || ask.failed
                             ? plim__fail_memory(error, "a plan", label.length + ask.length)
                             : plim__timeline_add_frontier(timeline,
                                                           &(plim__timeline_point){.budget = budget,
                                                                                   .peak = way->process_bytes,
                                                                                   .seconds = way->seconds,
                                                                                   .label = plim__str_text(&label),
                                                                                   .command = plim__str_text(&ask),
                                                                                   .chosen = chosen},
                                                           error);
    plim__str_free(&label);
    plim__str_free(&ask);
    return status;
}

/* The chosen one first; `chosen` is NULL where nothing fits. */
static plim_status add_ways(plim__timeline *timeline, const plim_plan_candidate *chosen, uint64_t budget,
                            const plim_plan_candidate *others, size_t count, const char *command, plim_error *error) {
    if (chosen) PLIM_TRY(add_way(timeline, chosen, budget, command, true, error));
    for (size_t i = 0; i < count; i++) {
        if (chosen && others[i].arena_bytes == chosen->arena_bytes) continue;
        PLIM_TRY(add_way(timeline, &others[i], others[i].budget_bytes, command, false, error));
    }
    return PLIM_OK;
}

plim_status plim__trainer_picture_ways(const plim_trainer *t, const char *command, plim__timeline *timeline,
                                       plim_error *error) {
    if (t->rows.count == 0) return PLIM_OK;
    plim_plan_candidate chosen = plim__trainer_way(t);
    return add_ways(timeline, &chosen, t->options.budget < ENDLESS ? t->options.budget : chosen.budget_bytes,
                    t->rows.items, t->rows.count, command, error);
}

plim_status plim__plan_picture(const plim_plan *plan, const char *title, const char *command, plim__timeline *timeline,
                               plim_error *error) {
    const plim_plan_report *r = plim_plan_get_report(plan);
    PLIM_TRY(plim__trainer_picture(plim__plan_trainer(plan), title, timeline, error));
    timeline->budget = r->budget_bytes;
    PLIM_TRY(add_ways(timeline, r->fits ? &r->chosen : NULL, r->budget_bytes ? r->budget_bytes : r->chosen.budget_bytes,
                      r->frontier, (size_t)r->frontier_count, command, error));
    return r->fits ? PLIM_OK : plim__timeline_add_fact(timeline, "fits", "no", error);
}
