/* Planning a trainer: without a budget the step as it comes; with one, the fastest way to make it that fits. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/str.h"
#include "mem/spill.h"
#include "plan/peak.h"
#include "plimsoll/bytes.h"
#include "run/measure.h"
#include "run/session_parts.h"
#include "run/recording.h"
#include "budget/saved_plan.h"
#include "budget/process.h"

/* How often a way is chosen at most, and how much less it must take to look for one that uses the rest. */
#define MOST_ROUNDS 4
#define CLEARLY     ((size_t)4 << 20)

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

plim__task plim__trainer_task(const plim_trainer *t) {
    return (plim__task){.model = t->model,
                        .training = plim__trainer_training_options(t, t->options.batch, false),
                        .threads = t->options.threads,
                        .costs = t->costs,
                        .allow = plim__allow_class(t->options.allow),
                        .effort = t->effort,
                        .spill_room = t->spill_room,
                        .most_samples = (t->options.batch + t->options.accumulate - 1) / t->options.accumulate};
}

const char *plim__trainer_spill_folder(const plim_trainer *t) {
    return t->options.spill ? t->options.spill : plim__spill_default_folder();
}

/* A folder that was asked for must do; one that nobody named is used where it can be. */
static plim_status find_spill_room(plim_trainer *t, plim_error *error) {
    t->spill_room = 0;
    if (t->options.no_spill) return PLIM_OK;
    plim_status status = plim__spill_check(plim__trainer_spill_folder(t), &t->spill_room, error);
    return t->options.spill ? status : PLIM_OK;
}

/* --- without a budget ----------------------------------------------------------------------------------------- */

static plim_status plan_freely(plim_trainer *t, plim_error *error) {
    plim__task task = plim__trainer_task(t);
    plim__levers levers = {.micro_batch = task.most_samples, .passing_limit = INT64_MAX};
    PLIM_TRY(plim__levers_apply(&task, &levers, NULL, 0, &t->main, error));
    t->way = (plim__way_point){.levers = levers,
                               .class = plim__variant_class(t->main, t->options.batch),
                               .kept_bytes = t->main->plan->persistent_bytes,
                               .passing_bytes = plim__variant_passing_bytes(t->main),
                               .seconds = plim__variant_seconds(t->main, &task)};
    return PLIM_OK;
}

/* --- with a budget -------------------------------------------------------------------------------------------- */

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

/* The main variant is the smallest way. */
static plim_status refuse(plim_trainer *t, plim_error *error) {
    char budget[PLIM_BYTES_TEXT], kept[PLIM_BYTES_TEXT], passing[PLIM_BYTES_TEXT], rest[PLIM_BYTES_TEXT];
    char file[PLIM_BYTES_TEXT];
    plim__str names = {0}, spilled = {0};
    name_largest(t->main, &names);
    if (t->way.levers.spill)
        plim__str_addf(&spilled, " besides %s that can go to a file", plim_bytes_format(t->way.levers.spill, file));
    size_t arena = t->kept_bytes + t->passing_bytes;
    t->least_budget =
        plim__process_least_budget(larger(t->planned_process, t->main->plan->arena_bytes + plim__process_reckon(t)));
    plim__fail(
        error, PLIM_NO_MEMORY,
        "nothing fits a budget of %s: weights and state take %s%s, the step at least %s, the program and data %s "
        "(largest: %s). The smallest budget that works is %zu MiB",
        plim_bytes_format(t->options.budget, budget), plim_bytes_format(t->kept_bytes, kept), plim__str_text(&spilled),
        plim_bytes_format(t->passing_bytes, passing), plim_bytes_format(t->planned_process - arena, rest),
        plim__str_text(&names), t->least_budget >> 20);
    t->refused = true;
    plim__str_free(&names);
    plim__str_free(&spilled);
    return PLIM_NO_MEMORY;
}

static plim_status add_row(plim_trainer *t, const plim__way_point *way, size_t besides, plim_error *error) {
    plim_plan_candidate row = {.budget_bytes = plim__process_least_budget(way->arena_bytes + besides),
                               .arena_bytes = way->arena_bytes,
                               .process_bytes = way->arena_bytes + besides,
                               .micro_batch = way->levers.micro_batch,
                               .accumulate = (t->options.batch + way->levers.micro_batch - 1) / way->levers.micro_batch,
                               .recomputed = way->repeated,
                               .spilled = way->levers.spill,
                               .seconds = way->seconds,
                               .class_ = way->class};
    /* rows become slower: a budget that a faster one needs already, in whole MiB, is no alternative */
    bool useless = t->rows.count > 0 && t->rows.items[t->rows.count - 1].budget_bytes <= row.budget_bytes;
    if (!useless && !plim__vec_push(&t->rows, row)) return plim__fail_memory(error, "a plan", sizeof row);
    if (!t->least_budget || row.budget_bytes < t->least_budget) t->least_budget = row.budget_bytes;
    return PLIM_OK;
}

/* What other budgets would cost: from the fastest to the smallest, evenly spread over bytes. */
static plim_status list_rows(plim_trainer *t, plim__ways *ways, size_t besides, plim_error *error) {
    plim__way_point fastest, smallest, way;
    bool found;
    t->rows.count = 0;
    t->least_budget = 0;
    PLIM_TRY(plim__ways_fastest(ways, &found, &fastest, error));
    PLIM_TRY(plim__ways_smallest(ways, &found, &smallest, error));
    size_t least = found ? smallest.arena_bytes : 0, last = SIZE_MAX;
    size_t spread = found && fastest.arena_bytes > least ? fastest.arena_bytes - least : 0;
    for (size_t k = PLIM_PLAN_POINTS; found && k-- > 0;) {
        size_t limit = least + (size_t)((double)spread * (double)k / (PLIM_PLAN_POINTS - 1));
        PLIM_TRY(plim__ways_best(ways, limit, &found, &way, error));
        if (!found || way.arena_bytes == last) continue;
        last = way.arena_bytes;
        PLIM_TRY(add_row(t, &way, besides, error));
    }
    return PLIM_OK;
}

/* The fastest way within `limit`, as the main variant; none when there is none. */
static plim_status take_best(plim_trainer *t, plim__ways *ways, size_t limit, plim_error *error) {
    plim__way_point best;
    bool found;
    PLIM_TRY(plim__ways_best(ways, limit, &found, &best, error));
    if (!found) return PLIM_OK;
    t->way = best;
    return plim__ways_take(ways, &best, &t->main, error);
}

static plim_status search_again(const plim__task *task, plim__ways *ways, size_t limit, plim_error *error) {
    plim__ways_free(ways);
    return plim__ways_find(task, limit, ways, error);
}

/* What was reckoned with besides the arena was that of a larger way, perhaps: the smallest is tried before all is
 * refused. */
static plim_status take_smallest(plim_trainer *t, plim__ways *ways, plim_error *error) {
    bool found;
    PLIM_TRY(plim__ways_smallest(ways, &found, &t->way, error));
    t->smallest = true;
    if (found) return plim__ways_take(ways, &t->way, &t->main, error);
    t->refused = true;
    return plim__fail(error, PLIM_NO_MEMORY, "the budget is smaller than the program itself");
}

static plim_status choose(plim_trainer *t, const plim__task *task, plim__ways *ways, size_t limit, plim_error *error) {
    PLIM_TRY(take_best(t, ways, limit, error));
    if (t->main) return PLIM_OK;
    if (t->effort < 0) { /* only asked whether something fits */
        t->refused = true;
        return plim__fail(error, PLIM_NO_MEMORY, "nothing fits");
    }
    if (!ways->complete) { /* the search stopped where nothing could fit: how low does it go? */
        PLIM_TRY(search_again(task, ways, SIZE_MAX, error));
        PLIM_TRY(take_best(t, ways, limit, error));
    }
    return t->main ? PLIM_OK : take_smallest(t, ways, error);
}

static void forget_plan(plim_trainer *t) {
    plim__trainer_end_others(t);
    plim__variant_free(t->main);
    t->main = NULL;
    plim__process_untidy(t);
}

/* The main variant is there: all others, and what the process will hold. */
static plim_status add_up(plim_trainer *t, plim_error *error) {
    PLIM_TRY(plim__trainer_plan_others(t, error));
    return plim__process_measure(t, error);
}

/* Takes the fastest way within what the budget leaves; again when the plan itself turned out larger, or, once, clearly
 * smaller. */
static plim_status fit_ways(plim_trainer *t, const plim__task *task, plim__ways *ways, size_t besides,
                            plim_error *error) {
    size_t budget = t->options.budget, most = besides, searched = plim__process_arena_limit(budget, besides);
    for (int round = 0;; round++) {
        size_t limit = plim__process_arena_limit(budget, besides);
        if (limit < searched && !ways->complete) PLIM_TRY(search_again(task, ways, searched = limit, error));
        PLIM_TRY(round < MOST_ROUNDS ? choose(t, task, ways, limit, error) : take_smallest(t, ways, error));
        plim__ways_rest(ways);
        PLIM_TRY(add_up(t, error));
        most = larger(most, plim__process_reckon(t));
        bool room = round == 0 && plim__process_reckon(t) + CLEARLY < besides;
        if ((plim__process_fits_as_reckoned(t) && !room) || t->smallest) break;
        besides = plim__process_reckon(t);
        forget_plan(t);
    }
    return t->explore ? list_rows(t, ways, most, error) : PLIM_OK;
}

/* A search leaves holes in the heap, and steps would fill who knows how many of them: what was chosen is made once more,
 * where the search was. */
static plim_status make_anew(plim_trainer *t, const plim__task *task, plim_error *error) {
    plim__schedule schedule;
    PLIM_TRY(plim__schedule_copy(t->main->schedule.steps, t->main->schedule.count, &schedule, error));
    forget_plan(t);
    plim_status status = plim__levers_apply_schedule(task, &t->way.levers, &schedule, &t->main, error);
    plim__schedule_free(&schedule);
    return status == PLIM_OK ? add_up(t, error) : status;
}

static plim_status search(plim_trainer *t, size_t besides, plim_error *error) {
    plim__task task = plim__trainer_task(t);
    plim__ways ways;
    PLIM_TRY(plim__ways_find(&task, t->explore ? SIZE_MAX : plim__process_arena_limit(t->options.budget, besides),
                             &ways, error));
    plim_status status = fit_ways(t, &task, &ways, besides, error);
    plim__ways_free(&ways);
    return status == PLIM_OK && t->effort >= 0 ? make_anew(t, &task, error) : status;
}

/* Should reckoning have failed after all, it is corrected, and there is another search. */
static plim_status fit(plim_trainer *t, plim_error *error) {
    size_t besides = plim__process_reckon(t);
    forget_plan(t);
    PLIM_TRY(search(t, besides, error));
    for (int round = 0; round < MOST_ROUNDS && !t->smallest && !plim__process_fits_as_measured(t); round++) {
        plim__process_correct(t);
        besides = plim__process_reckon(t);
        forget_plan(t);
        PLIM_TRY(search(t, besides, error));
    }
    return (t->effort < 0 ? plim__process_fits_as_reckoned(t) : plim__process_fits_as_measured(t)) ? PLIM_OK
                                                                                                   : refuse(t, error);
}

/* The step as it comes fits, and is taken; others are only listed. */
static plim_status list_others(plim_trainer *t, plim_error *error) {
    plim__task task = plim__trainer_task(t);
    plim__ways ways;
    size_t besides = plim__process_reckon(t);
    forget_plan(t);
    PLIM_TRY(plim__ways_find(&task, SIZE_MAX, &ways, error));
    plim_status status = list_rows(t, &ways, besides, error);
    plim__ways_free(&ways);
    plim__process_untidy(t);
    if (status == PLIM_OK) status = plan_freely(t, error);
    return status == PLIM_OK ? add_up(t, error) : status;
}

static plim_status plan_within(plim_trainer *t, plim_error *error) {
    PLIM_TRY(plan_freely(t, error)); /* what it would need, and what the plan itself takes */
    PLIM_TRY(add_up(t, error));
    if (t->effort >= 0) plim__process_correct(t);
    if (!plim__process_fits_as_reckoned(t)) return fit(t, error);
    return t->explore ? list_others(t, error) : PLIM_OK;
}

static plim_status plan_saved(plim_trainer *t, plim_error *error) {
    PLIM_TRY(plim__process_prepare(t->options.threads, error));
    PLIM_TRY(plim__saved_plan_take(t, error));
    if (!t->options.budget) return plim__trainer_plan_others(t, error);
    PLIM_TRY(add_up(t, error));
    return plim__process_fits_as_measured(t) ? PLIM_OK : refuse(t, error);
}

static plim_status plan_any(plim_trainer *t, plim_error *error) {
    t->costs = plim__alloc(sizeof *t->costs);
    if (!t->costs) return plim__fail_memory(error, "a plan", sizeof *t->costs);
    *t->costs = plim__costs_default(t->options.threads);
    t->planned_process = 0;
    t->smallest = false;
    PLIM_TRY(find_spill_room(t, error));
    if (t->options.plan) return plan_saved(t, error);
    if (!t->options.budget) {
        PLIM_TRY(plan_freely(t, error));
        return plim__trainer_plan_others(t, error);
    }
    plim__costs_known(t->options.threads, t->costs);
    PLIM_TRY(plim__process_prepare(t->options.threads, error));
    return plan_within(t, error);
}

plim_status plim__trainer_plan(plim_trainer *t, plim_error *error) {
    PLIM_TRY(plan_any(t, error));
    if (t->planned_process) plim__process_count_planning(t);
    t->planned_kept = t->kept_bytes;
    t->planned_arena = t->kept_bytes + t->passing_bytes;
    return PLIM_OK;
}

plim_plan_candidate plim__trainer_way(const plim_trainer *t) {
    plim_trainer_stats stats;
    plim_trainer_get_stats(t, &stats);
    size_t data = plim__trainer_data_bytes(t), recording = plim__recording_bytes(t), process = t->planned_process;
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
                                 .data = stats.data_bytes + data,
                                 .recording = recording,
                                 .program = process - stats.arena_bytes - data - recording};
}
