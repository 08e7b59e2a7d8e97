/* Choosing a plan: without a budget the step as it comes; with one, the fastest candidate that fits. */
#include <stdio.h>

#include "budget/costs_file.h"
#include "budget/lever_table.h"
#include "budget/programs.h"
#include "budget/saved_plan.h"
#include "core/error.h"
#include "core/str.h"
#include "mem/limits.h"
#include "mem/spill.h"
#include "plan/peak.h"
#include "plimsoll/bytes.h"

/* A candidate is chosen at most this often; and bytes that a plan must need less for another search to use them. */
#define MOST_ROUNDS 4
/* Settings that are added up to find the smallest. */
#define MOST_SMALLEST 2
#define CLEARLY       ((size_t)4 << 20)
/* What is measured may be this much more than the estimate before that is corrected: pages of libraries come and go, and plans
 * would differ from run to run. A budget has room for it. */
#define A_TRIFLE ((size_t)160 << 10)

/* One search for a plan within a budget. */
struct search {
    plim__training_plan *plan;
    plim__task task;
    plim__candidates candidates;
    size_t held;   /* bytes of the process while it plans, without program and search */
    size_t coming; /* bytes that it takes after planning, beside the arena */
    bool smallest; /* the main program is the smallest candidate: nothing else fits */
    bool beyond;   /* the search went beyond the budget, and left holes in the heap that no run would have */
};

#define MEBIBYTE ((double)((size_t)1 << 20))

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

/* A folder that was asked for must do; the default one is used where it can be. */
static plim_status find_spill_room(plim__training_plan *plan, plim_error *error) {
    plan->spill_room = 0;
    /* what is spilled goes through the file in the host's memory */
    if (plan->bounds.no_spill || !plim__bounds_target(&plan->bounds).device->host) return PLIM_OK;
    plim_status status = plim__spill_check(plim__bounds_spill_folder(&plan->bounds), &plan->spill_room, error);
    return plan->bounds.spill_folder ? status : PLIM_OK;
}

static bool wants_alternatives(const plim__training_plan *plan) {
    return plan->request.purpose == PLIM__PLAN_TO_SHOW || plan->request.alternatives;
}

static bool only_tries(const plim__training_plan *plan) {
    return plan->request.purpose == PLIM__PLAN_TO_TRY || plan->request.purpose == PLIM__PLAN_TO_TELL;
}

/* --- without a budget ----------------------------------------------------------------------------------------- */

static plim_status plan_freely(plim__training_plan *plan, plim_error *error) {
    plim__task task = plim__training_plan_task(plan);
    if (plan->bounds.budget) /* whatever the plan is for: `plan` and `train` must find the same */
        task.useful_bytes = plim__process_arena_limit(plan->bounds.budget, plim__process_held(plan));
    plim__levers levers = {.micro_batch = task.most_samples,
                           .state_bits = plim__request_state_bits(&plan->request),
                           .precision = plim__precision_lever(plan->request.precision),
                           .transient_limit = INT64_MAX};
    PLIM_TRY(plim__levers_apply(&task, &levers, NULL, &plan->main, error));
    plan->choice = (plim__candidate){.levers = levers,
                                     .class = plim__variant_class(plan->main, plan->request.batch),
                                     .program_bytes = plim__task_programs(&task, task.most_samples) *
                                                      plim__program_bytes(plan->main->lowered),
                                     .persistent_bytes = plan->main->plan->persistent_bytes,
                                     .transient_bytes = plim__variant_transient_bytes(plan->main),
                                     .seconds = plim__variant_seconds(plan->main, &task)};
    plan->persistent_bytes = plan->choice.persistent_bytes;
    plan->transient_bytes = plan->choice.transient_bytes;
    return PLIM_OK;
}

/* --- room for programs ---------------------------------------------------------------------------------------- */

/* Planning never holds more than this, whatever the machine has: a larger program is refused. */
#define MOST_PLANNING ((size_t)1 << 30)
/* What a process that trains may hold, where it is there, to name the least budget after all: less than that is hardly any. */
#define LEAST_PLANNING ((size_t)64 << 20)
/* ... and more than that, where it holds other things already: an interpreter, arrays. */
#define MORE_PLANNING ((size_t)32 << 20)

/* Bytes of the process while it plans. One that will train stays within its budget; one that shows, within the machine. */
static size_t planning_bytes(const plim__training_plan *plan, bool beyond_budget) {
    const plim__bounds *bounds = &plan->bounds;
    size_t machine = bounds->planning_bytes ? bounds->planning_bytes : plim__limits_allowed_now(),
           most = bounds->budget, enough = larger(LEAST_PLANNING, plim__process_held(plan) + MORE_PLANNING);
    bool shows = wants_alternatives(plan) || only_tries(plan) || bounds->budget == PLIM__ENDLESS;
    if (shows)
        most = larger(most < PLIM__ENDLESS ? most : 0, machine);
    else if (beyond_budget)
        most = larger(most, machine < enough ? machine : enough);
    return most < MOST_PLANNING ? most : MOST_PLANNING;
}

/* What lowering adds until it looks again at what is resident, at most. */
#define LOWERED_BETWEEN ((size_t)512 << 10)

/* What lowering may take. */
static void set_room(plim__training_plan *plan) {
    size_t held = plim__process_held(plan), most = planning_bytes(plan, true);
    plan->room = (plim__room){.bytes = most > held ? most - held : 1,
                              .resident = most > LOWERED_BETWEEN ? most - LOWERED_BETWEEN : 1};
}

/* Not even the programs have room: one was not made to its end. */
static plim_status refuse_program(plim__training_plan *plan, plim_error *error) {
    char why[sizeof error->message];
    snprintf(why, sizeof why, "%s", error ? error->message : "");
    plan->least_budget = plim__process_least_budget(plim__process_held(plan) + plan->room.needed);
    if (plan->least_budget > MOST_PLANNING)
        return plim__fail(error, PLIM_BUDGET, "planning takes more than %zu MiB, which no model may (%s)",
                          MOST_PLANNING / (size_t)MEBIBYTE, why);
    if (plan->bounds.budget < PLIM__ENDLESS)
        plan->least_budget = larger(plan->least_budget, plim__process_least_budget(plan->bounds.budget));
    return plim__fail(error, PLIM_BUDGET,
                      "planning alone takes more memory than there is: a budget of less than %g MiB does not work (%s)",
                      (double)plan->least_budget / MEBIBYTE, why);
}

/* --- refusing ------------------------------------------------------------------------------------------------- */

/* "'conv1.weight' 12 MiB, ..." */
static void name_largest(const plim__variant *v, plim__str *text) {
    int32_t buffers[3];
    size_t count = plim__peak_largest(v->program, v->plan, buffers, 3);
    for (size_t i = 0; i < count; i++) {
        const plim__buffer *buffer = &v->program->buffers.items[buffers[i]];
        char bytes[PLIM_BYTES_TEXT];
        plim__str_addf(text, "%s'%s' %s", i ? ", " : "",
                       buffer->value < 0 ? "workspace" : v->training->graph->values.items[buffer->value].name,
                       plim_bytes_format(buffer->bytes, bytes));
    }
}

/* The main program is the smallest candidate. `measured` says whether what is resident now is what a run would hold. */
static plim_status refuse(plim__training_plan *plan, bool measured, plim_error *error) {
    char budget[PLIM_BYTES_TEXT], persistent[PLIM_BYTES_TEXT], transient[PLIM_BYTES_TEXT], rest[PLIM_BYTES_TEXT];
    char file[PLIM_BYTES_TEXT];
    plim__str names = {0}, spilled = {0};
    name_largest(plan->main, &names);
    size_t in_file = plim__spilled_bytes(plan->main->program);
    if (in_file) plim__str_addf(&spilled, " (and %s that can go to a file)", plim_bytes_format(in_file, file));
    size_t arena = plan->persistent_bytes + plan->transient_bytes, planned = plan->process.planned_bytes,
           estimated = plim__process_estimated(plan), freely = plan->process.free_bytes;
    if (freely && freely < estimated) estimated = freely;
    if (measured && !plim__process_fits_as_measured(plan)) estimated = larger(planned, estimated);
    if (!measured) planned = estimated;
    plan->least_budget = plim__process_least_budget(estimated);
    plim_status status = plim__fail(
        error, PLIM_BUDGET,
        "nothing fits a budget of %s: weights and state take %s%s, the step at least %s, the program and data %s "
        "(largest: %s). The smallest budget that works is %g MiB",
        plim_bytes_format(plan->bounds.budget, budget), plim_bytes_format(plan->persistent_bytes, persistent),
        plim__str_text(&spilled), plim_bytes_format(plan->transient_bytes, transient),
        plim_bytes_format(planned - arena, rest), plim__str_text(&names), (double)plan->least_budget / MEBIBYTE);
    plim__str_free(&names);
    plim__str_free(&spilled);
    return status;
}

/* --- alternatives --------------------------------------------------------------------------------------------- */

static plim_status add_alternative(struct search *s, const plim__candidate *candidate, size_t overhead,
                                   plim_error *error) {
    plim__training_plan *plan = s->plan;
    int64_t micro = candidate->levers.micro_batch;
    size_t streamed = s->candidates.settings.items[candidate->setting]->streamed_bytes;
    size_t process = larger(plim__candidates_total(&s->candidates, candidate) + overhead, plim__process_opening(plan));
    plim_plan_candidate row = {.budget_bytes = plim__process_least_budget(process),
                               .arena_bytes = candidate->arena_bytes,
                               .process_bytes = process,
                               .micro_batch = micro,
                               .accumulate = (plan->request.batch + micro - 1) / micro,
                               .recomputed = candidate->repeated,
                               .spilled = candidate->levers.spill + streamed,
                               .streamed = streamed,
                               .seconds = candidate->seconds,
                               .class_ = candidate->class};
    /* rows become slower: a budget that a faster one needs already, in whole MiB, is no alternative */
    size_t count = plan->alternatives.count;
    bool useless = count > 0 && plan->alternatives.items[count - 1].budget_bytes <= row.budget_bytes;
    if (!useless && !plim__vec_push(&plan->alternatives, row)) return plim__fail_memory(error, "a plan", sizeof row);
    if (!plan->least_budget || row.budget_bytes < plan->least_budget) plan->least_budget = row.budget_bytes;
    return PLIM_OK;
}

/* What other budgets would cost: from the fastest to the smallest, evenly spread over bytes. `overhead` is without programs. */
static plim_status list_alternatives(struct search *s, size_t overhead, plim_error *error) {
    plim__candidate fastest = {0}, smallest = {0}, candidate;
    bool found;
    s->plan->alternatives.count = 0;
    s->plan->least_budget = 0;
    PLIM_TRY(plim__candidates_fastest(&s->candidates, &found, &fastest, error));
    PLIM_TRY(plim__candidates_smallest(&s->candidates, 0, &found, &smallest, error));
    size_t least = found ? plim__candidates_total(&s->candidates, &smallest) : 0, last = SIZE_MAX,
           most = found ? plim__candidates_total(&s->candidates, &fastest) : 0,
           spread = most > least ? most - least : 0;
    for (size_t k = PLIM_PLAN_POINTS; found && k-- > 0;) {
        size_t limit = least + (size_t)((double)spread * (double)k / (PLIM_PLAN_POINTS - 1));
        PLIM_TRY(plim__candidates_best(&s->candidates, limit, &found, &candidate, error));
        if (!found || candidate.arena_bytes == last) continue;
        last = candidate.arena_bytes;
        PLIM_TRY(add_alternative(s, &candidate, overhead, error));
    }
    return PLIM_OK;
}

/* --- with a budget -------------------------------------------------------------------------------------------- */

/* Bytes of the process beside the main program's arena and all that a candidate counts itself. */
static size_t rest_of(const plim__training_plan *plan) {
    size_t overhead = plim__process_overhead(plan), programs = plan->choice.program_bytes;
    return overhead > programs ? overhead - programs : 0;
}

/* The search itself stays within the budget; where only others are asked about, within what the machine allows, or the run that
 * is under way. */
static void set_planning_room(struct search *s, bool beyond_budget) {
    s->candidates.task.planning_room = plim__process_arena_limit(planning_bytes(s->plan, beyond_budget), s->held);
}

/* The fastest candidate within `limit` as the main program; none when there is none. */
static plim_status take_best(struct search *s, size_t limit, plim_error *error) {
    plim__candidate best;
    bool found;
    PLIM_TRY(plim__candidates_best(&s->candidates, limit, &found, &best, error));
    if (!found) return PLIM_OK;
    s->plan->choice = best;
    return plim__candidates_take(&s->candidates, &best, &s->plan->main, error);
}

/* The overhead may have been estimated for a larger candidate: the smallest is tried before all is refused. */
static plim_status take_smallest(struct search *s, plim_error *error) {
    bool found;
    PLIM_TRY(plim__candidates_smallest(&s->candidates, 0, &found, &s->plan->choice, error));
    s->smallest = true;
    if (found) return plim__candidates_take(&s->candidates, &s->plan->choice, &s->plan->main, error);
    s->plan->least_budget = plim__process_least_budget(s->held + s->coming + s->candidates.left_out);
    return plim__fail(error, PLIM_BUDGET,
                      "planning alone takes more memory than there is: a budget of less than %g MiB does not work",
                      (double)s->plan->least_budget / MEBIBYTE);
}

static plim_status choose(struct search *s, size_t limit, plim_error *error) {
    PLIM_TRY(take_best(s, limit, error));
    if (s->plan->main) return PLIM_OK;
    if (only_tries(s->plan)) return plim__fail(error, PLIM_BUDGET, "nothing fits");
    if (!s->candidates.complete || s->candidates.left_out) { /* the search stopped somewhere: how low does it go? */
        set_planning_room(s, true);
        s->beyond = true;
        PLIM_TRY(plim__candidates_find(&s->candidates, SIZE_MAX, error));
        PLIM_TRY(take_best(s, limit, error));
    }
    return s->plan->main ? PLIM_OK : take_smallest(s, error);
}

static void drop_programs(plim__training_plan *plan) {
    plim__programs_free(plan);
    plim__variant_free(plan->main);
    plan->main = NULL;
    plim__process_leave(plan);
}

/* The main program is there: all others, and what the process will hold. */
static plim_status add_up(plim__training_plan *plan, plim_error *error) {
    PLIM_TRY(plim__programs_plan(plan, error));
    return plim__process_measure(plan, error);
}

/* Takes the fastest candidate within what the budget leaves; again when the plan itself turned out larger, or, once,
 * clearly smaller. `rest` is what others take, and becomes the most that was found. */
static plim_status fit_candidates(struct search *s, size_t *rest, plim_error *error) {
    plim__training_plan *plan = s->plan;
    size_t budget = plan->bounds.budget, now = *rest, searched = plim__process_arena_limit(budget, now);
    for (int round = 0;; round++) {
        size_t limit = plim__process_arena_limit(budget, now);
        if (limit < searched && !s->candidates.complete)
            PLIM_TRY(plim__candidates_find(&s->candidates, searched = limit, error));
        PLIM_TRY(round < MOST_ROUNDS ? choose(s, limit, error) : take_smallest(s, error));
        plim__candidates_release(&s->candidates);
        PLIM_TRY(add_up(plan, error));
        *rest = larger(*rest, rest_of(plan));
        bool room = round == 0 && rest_of(plan) + CLEARLY < now;
        if ((plim__process_fits_as_estimated(plan) && !room) || s->smallest) return PLIM_OK;
        now = rest_of(plan);
        drop_programs(plan);
    }
}

/* What the n-th smallest candidate takes with all its programs; 0: there is none. */
static plim_status add_up_smallest(struct search *s, size_t n, size_t *bytes, plim_error *error) {
    plim__training_plan *plan = s->plan;
    bool found;
    *bytes = 0;
    PLIM_TRY(plim__candidates_smallest(&s->candidates, n, &found, &plan->choice, error));
    if (!found) return PLIM_OK;
    plim_status status = plim__candidates_take(&s->candidates, &plan->choice, &plan->main, error);
    plim__candidates_release(&s->candidates);
    if (status == PLIM_OK) status = add_up(plan, error);
    if (status == PLIM_OK) *bytes = plim__process_estimated(plan);
    drop_programs(plan);
    return status;
}

/* The least budget is that of the smallest candidate with all its programs, as training within it will find. Settings that
 * are about as small are added up, too: how many programs they have decides. */
static plim_status name_least(struct search *s, plim_error *error) {
    plim__training_plan *plan = s->plan;
    plim__candidate choice = plan->choice;
    plim_status status = PLIM_OK;
    size_t least = plan->process.free_bytes, bytes = 1;
    for (size_t n = 0; n < MOST_SMALLEST && bytes && status == PLIM_OK; n++) {
        status = add_up_smallest(s, n, &bytes, error);
        if (bytes && (!least || bytes < least)) least = bytes;
    }
    if (status == PLIM_OK && least) plan->least_budget = plim__process_least_budget(least);
    plan->choice = choice;
    return status;
}

static plim_status list_all(struct search *s, size_t rest, plim_error *error) {
    PLIM_TRY(list_alternatives(s, rest, error));
    s->plan->lever_count = plim__lever_table(&s->candidates, &s->plan->choice, s->plan->levers);
    plim__candidates_release(&s->candidates);
    PLIM_TRY(name_least(s, error));
    size_t count = s->plan->alternatives.count; /* the last row is the smallest */
    if (count > 0) s->plan->alternatives.items[count - 1].budget_bytes = s->plan->least_budget;
    return PLIM_OK;
}

/* A search leaves holes in the heap, and steps would fill an unknown part of them: what was chosen is rebuilt where the
 * search was. */
static plim_status rebuild(struct search *s, const plim__schedule *schedule, plim_error *error) {
    plim__training_plan *plan = s->plan;
    plim__process_leave(plan);
    PLIM_TRY(plim__levers_apply_schedule(&s->task, &plan->choice.levers, schedule, &plan->main, error));
    return add_up(plan, error);
}

static plim_status finish(struct search *s, size_t rest, plim_error *error) {
    plim__training_plan *plan = s->plan;
    plim__schedule schedule;
    PLIM_TRY(plim__schedule_copy(plan->main->schedule.steps, plan->main->schedule.count, &schedule, error));
    drop_programs(plan);
    plim_status status = wants_alternatives(plan) ? list_all(s, rest, error) : PLIM_OK;
    plim__candidates_free(&s->candidates);
    if (status == PLIM_OK) status = rebuild(s, &schedule, error);
    plim__schedule_free(&schedule);
    return status;
}

static plim_status search(struct search *s, size_t rest, plim_error *error) {
    plim__training_plan *plan = s->plan;
    size_t limit = wants_alternatives(plan) ? SIZE_MAX : plim__process_arena_limit(plan->bounds.budget, rest);
    s->task = plim__training_plan_task(plan);
    s->task.coming_bytes = s->coming;
    s->candidates = (plim__candidates){.task = s->task};
    set_planning_room(s, wants_alternatives(plan) || only_tries(plan));
    plim_status status = plim__candidates_find(&s->candidates, limit, error);
    if (status == PLIM_OK) status = fit_candidates(s, &rest, error);
    if (status == PLIM_OK && !only_tries(plan)) status = finish(s, rest, error);
    plim__candidates_free(&s->candidates);
    return status;
}

/* The estimate decides, which `plan` and `train` have alike: what one names, the other accepts. A process that trains must
 * fit as measured too; one that only shows has explored every candidate, and keeps more of its heap. */
static bool fits(const plim__training_plan *plan) {
    bool trains = plan->request.purpose == PLIM__PLAN_TO_RUN;
    return plim__process_fits_as_estimated(plan) && (!trains || plim__process_fits_as_measured(plan));
}

/* The estimate counts parts of the process in grains, and these may lie next to where one ends: `plan` named a budget by the one
 * count, and the process that trains within it finds the other. Where nothing smaller is left, what is measured decides. */
static bool fits_nearly(const struct search *s) {
    return s->smallest && s->plan->request.purpose == PLIM__PLAN_TO_RUN && plim__process_fits_nearly(s->plan) &&
           plim__process_fits_as_measured(s->plan);
}

/* What is known of the plan that is there goes into the search for a better one. */
static size_t begin_search(struct search *s) {
    plim__process_search(s->plan);
    size_t rest = rest_of(s->plan);
    s->held = plim__process_held(s->plan);
    s->coming = plim__process_coming(s->plan);
    drop_programs(s->plan);
    return rest;
}

/* Should the estimate have been too low after all, it is corrected, and there is another search. */
static plim_status search_until_it_fits(struct search *s, plim_error *error) {
    PLIM_TRY(search(s, begin_search(s), error));
    for (int round = 0; round < MOST_ROUNDS && !s->smallest && !fits(s->plan); round++) {
        plim__process_correct(s->plan, 0);
        PLIM_TRY(search(s, begin_search(s), error));
    }
    return PLIM_OK;
}

static plim_status fit(plim__training_plan *plan, plim_error *error) {
    struct search s = {.plan = plan};
    plan->least_budget = plan->room.needed = 0;
    plim_status status = search_until_it_fits(&s, error);
    if (status == PLIM_BUDGET && !plan->least_budget && plan->room.needed) return refuse_program(plan, error);
    PLIM_TRY(status);
    bool measured = plan->request.purpose == PLIM__PLAN_TO_RUN && (plan->process.has_past || !s.beyond);
    return fits(plan) || fits_nearly(&s) ? PLIM_OK : refuse(plan, measured, error);
}

/* The step as it comes fits, and is taken; others are only listed. */
static plim_status list_others(plim__training_plan *plan, plim_error *error) {
    struct search s = {.plan = plan, .task = plim__training_plan_task(plan)};
    size_t rest = begin_search(&s);
    s.task.coming_bytes = s.coming;
    s.candidates = (plim__candidates){.task = s.task};
    set_planning_room(&s, true);
    plim_status status = plim__candidates_find(&s.candidates, SIZE_MAX, error);
    if (status == PLIM_OK) status = list_all(&s, rest, error);
    plim__candidates_free(&s.candidates);
    plim__process_leave(plan);
    plan->process.left_bytes = 0; /* counted by what is measured now */
    if (status == PLIM_OK) status = plan_freely(plan, error);
    return status == PLIM_OK ? add_up(plan, error) : status;
}

/* Whether planning has room for the step as it comes with all its programs, those of other sizes and for evaluation too: the main
 * one is there already. */
static bool has_room_for_all(const plim__training_plan *plan) {
    if (plan->choice.program_bytes <= plim__process_second_program(plan) && plan->request.evaluates <= 0) return true;
    size_t room = plim__process_arena_limit(plan->bounds.budget, plim__process_held(plan)),
           evaluation = plan->request.evaluates > 0 ? plim__process_second_program(plan) / 2 : 0;
    return plan->choice.program_bytes + evaluation + plim__packing_bytes(plan->main->lowered->steps.count) <= room;
}

/* What it would need, and what the plan itself takes. Where there is no room for its other programs, they are not made: it
 * would not fit with them. */
static plim_status plan_within(plim__training_plan *plan, plim_error *error) {
    plim__process_begin(plan);
    set_room(plan);
    plim_status status = plan_freely(plan, error);
    if (status == PLIM_BUDGET) return refuse_program(plan, error);
    PLIM_TRY(status);
    if (!has_room_for_all(plan)) {
        plan->choice.program_bytes = plim__process_second_program(plan); /* those that there are */
        return fit(plan, error);
    }
    PLIM_TRY(add_up(plan, error));
    if (!only_tries(plan)) plim__process_correct(plan, A_TRIFLE);
    plan->process.free_bytes = plim__process_estimated_freely(plan);
    if (!plim__process_fits_freely(plan)) return fit(plan, error);
    return wants_alternatives(plan) ? list_others(plan, error) : PLIM_OK;
}

/* --- any ------------------------------------------------------------------------------------------------------ */

static plim_status plan_saved(plim__training_plan *plan, plim_error *error) {
    PLIM_TRY(plim__process_prepare(plan->bounds.threads, error));
    plim__process_begin(plan);
    PLIM_TRY(plim__saved_plan_take(plan, error));
    if (!plan->bounds.budget) return plim__programs_plan(plan, error);
    PLIM_TRY(add_up(plan, error));
    return plim__process_fits_as_measured(plan) ? PLIM_OK : refuse(plan, true, error);
}

plim_status plim__training_plan_choose(plim__training_plan *plan, plim_error *error) {
    plan->costs = plim__alloc(sizeof *plan->costs);
    if (!plan->costs) return plim__fail_memory(error, "a plan", sizeof *plan->costs);
    *plan->costs = plim__costs_default(plan->bounds.threads);
    plan->process.planned_bytes = 0;
    plan->process.has_past = plim__process_enter();
    PLIM_TRY(find_spill_room(plan, error));
    if (plan->request.saved) return plan_saved(plan, error);
    if (!plan->bounds.budget) {
        PLIM_TRY(plan_freely(plan, error));
        return plim__programs_plan(plan, error);
    }
    plim__costs_known(plan->bounds.threads, plan->costs);
    PLIM_TRY(plim__process_prepare(plan->bounds.threads, error));
    return plan_within(plan, error);
}
