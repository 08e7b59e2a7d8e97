/* Planning a trainer: without a budget the step as it comes; with one, the fastest way to make it that fits.
 *
 *   process = resident now, plans made │ arena │ data buffers │ what running adds: pages of libraries, stacks
 */
#include <malloc.h>
#include <math.h>

#include "core/error.h"
#include "core/str.h"
#include "kernel/machine.h"
#include "mem/resident.h"
#include "plan/peak.h"
#include "run/measure.h"
#include "run/trainer.h"

/* What the first step adds to resident memory: pages of oneDNN and the C library, stacks of threads. Measured on many
 * models: 3.8 to 4.9 MB. */
#define RUNNING_BYTES ((size_t)4400 << 10)
/* A plan stays so far below its budget: the kernel's own bookkeeping, and what differs from run to run. */
static size_t margin(size_t budget) { return ((size_t)1 << 20) + budget / 256; }

plim__task plim__trainer_task(const plim_trainer *t) {
    return (plim__task){.model = t->model,
                        .training = plim__trainer_training_options(t, t->options.batch, false),
                        .threads = t->options.threads,
                        .costs = t->costs,
                        .allow = t->options.exact_only ? PLIM_EXACT
                                 : t->options.allow    ? t->options.allow
                                                       : PLIM_REORDERED,
                        .most_samples = (t->options.batch + t->options.accumulate - 1) / t->options.accumulate};
}

size_t plim__trainer_data_bytes(const plim_trainer *t) {
    if (t->options.data_bytes) return t->options.data_bytes;
    plim_data_field fields[PLIM_MOST_INPUTS + 1];
    int count = t->main ? plim_trainer_fields(t, fields) : 0;
    size_t sample = 0;
    for (int i = 0; i < count; i++) sample += fields[i].bytes;
    return 4 * sample * (size_t)t->options.batch;
}

/* --- without a budget ----------------------------------------------------------------------------------------- */

static plim_status plan_freely(plim_trainer *t, plim_error *error) {
    plim__task task = plim__trainer_task(t);
    plim__levers levers = {.micro_batch = task.most_samples, .passing_limit = INT64_MAX};
    PLIM_TRY(plim__levers_apply(&task, &levers, NULL, 0, &t->main, error));
    bool splits = levers.micro_batch < t->options.batch;
    t->way = (plim__way_point){.levers = levers,
                               .class = !splits                      ? PLIM_EXACT
                                        : t->main->training->couples ? PLIM_LOSSY
                                                                     : PLIM_REORDERED,
                               .kept_bytes = t->main->plan->persistent_bytes,
                               .passing_bytes = plim__variant_passing_bytes(t->main),
                               .seconds = plim__variant_seconds(t->main, &task)};
    return PLIM_OK;
}

/* --- with a budget -------------------------------------------------------------------------------------------- */

/* Resident bytes of everything but arena and data, once the plans are made. */
static size_t overhead_now(void) {
    plim__machine_forget();
    malloc_trim(0);
    return plim__resident_now() + RUNNING_BYTES;
}

static size_t least_budget(size_t arena, size_t besides) {
    size_t bytes = arena + besides + ((size_t)3 << 20);
    bytes += bytes / 200;
    return (bytes + (1 << 20) - 1) >> 20 << 20;
}

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

static plim_status refuse(plim_trainer *t, plim__ways *ways, size_t besides, plim_error *error) {
    const plim__way_point *smallest = plim__ways_smallest(ways);
    char budget[PLIM_BYTES_TEXT], least[PLIM_BYTES_TEXT], kept[PLIM_BYTES_TEXT], passing[PLIM_BYTES_TEXT],
        rest[PLIM_BYTES_TEXT];
    plim__variant *v = NULL;
    plim__str names = {0};
    PLIM_TRY(smallest ? plim__ways_take(ways, smallest, 0, &v, error)
                      : plim__fail(error, PLIM_NO_MEMORY, "the budget is smaller than the program itself"));
    name_largest(v, &names);
    t->least_budget = least_budget(v->plan->arena_bytes, besides);
    plim__fail(error, PLIM_NO_MEMORY,
               "nothing fits a budget of %s: weights and state take %s, the step at least %s, the program and data %s "
               "(largest: %s). The smallest budget that works is %s",
               plim_bytes_format(t->options.budget, budget), plim_bytes_format(v->plan->persistent_bytes, kept),
               plim_bytes_format(plim__variant_passing_bytes(v), passing), plim_bytes_format(besides, rest),
               plim__str_text(&names), plim_bytes_format(t->least_budget, least));
    plim__str_free(&names);
    plim__variant_free(v);
    return PLIM_NO_MEMORY;
}

/* Takes the fastest way within what the budget leaves; again with less when the plan itself turned out larger. */
static plim_status fit(plim_trainer *t, size_t besides, plim_error *error) {
    plim__task task = plim__trainer_task(t);
    plim__ways ways;
    size_t budget = t->options.budget;
    for (int round = 0; round < 3; round++) {
        size_t limit = budget > besides + margin(budget) ? budget - besides - margin(budget) : 1;
        PLIM_TRY(plim__ways_find(&task, limit, &ways, error));
        const plim__way_point *best = plim__ways_best(&ways, limit);
        plim_status status = PLIM_NO_MEMORY;
        if (best) {
            t->way = *best;
            status = plim__ways_take(&ways, best, limit, &t->main, error);
        }
        if (!best || status != PLIM_OK) { /* the search stopped where nothing could fit: how low does it go? */
            plim__ways_free(&ways);
            PLIM_TRY(plim__ways_find(&task, SIZE_MAX, &ways, error));
            best = plim__ways_best(&ways, limit);
            status = best ? plim__ways_take(&ways, best, limit, &t->main, error) : PLIM_NO_MEMORY;
            if (best) t->way = *best;
            if (status != PLIM_OK) status = refuse(t, &ways, besides, error);
        }
        plim__ways_free(&ways);
        PLIM_TRY(status);
        size_t now = overhead_now() + plim__trainer_data_bytes(t), arena = t->main->plan->arena_bytes;
        if (now + arena + margin(budget) <= budget || round == 2) {
            t->planned_process = now + arena;
            return PLIM_OK;
        }
        besides = now + ((size_t)1 << 20);
        plim__variant_free(t->main);
        t->main = NULL;
    }
    return PLIM_OK;
}

static plim_status plan_within(plim_trainer *t, plim_error *error) {
    PLIM_TRY(plan_freely(t, error)); /* what it would need, and what the plan itself takes */
    size_t besides = overhead_now() + plim__trainer_data_bytes(t), arena = t->main->plan->arena_bytes;
    if (arena + besides + margin(t->options.budget) <= t->options.budget) {
        t->planned_process = arena + besides;
        return PLIM_OK;
    }
    plim__variant_free(t->main);
    t->main = NULL;
    return fit(t, besides, error);
}

plim_status plim__trainer_plan(plim_trainer *t, plim_error *error) {
    t->costs = plim__alloc(sizeof *t->costs);
    if (!t->costs) return plim__fail_memory(error, "a plan", sizeof *t->costs);
    *t->costs = plim__costs_default(t->options.threads);
    if (!t->options.budget) return plan_freely(t, error);
    PLIM_TRY(plim__costs_get(t->options.threads, t->costs, error));
    return plan_within(t, error);
}
