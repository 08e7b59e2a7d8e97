/* Planning a trainer: without a budget the step as it comes; with one, the fastest way to make it that fits.
 *
 *   process = resident now, plans made │ arena │ data buffers │ what running adds: pages of libraries, stacks, and
 *                                                               factors that oneDNN packs for a matrix product
 */
#include <malloc.h>
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/str.h"
#include "kernel/machine.h"
#include "mem/resident.h"
#include "mem/spill.h"
#include "plan/peak.h"
#include "plimsoll/bytes.h"
#include "run/measure.h"
#include "run/saved_plan.h"
#include "run/trainer.h"

/* What the first step adds to resident memory: pages of oneDNN and the C library, stacks of threads. */
#define RUNNING_BYTES ((size_t)700 << 10)
/* How often a way is chosen at most, and how much less it must take to look for one that uses the rest. */
#define MOST_ROUNDS 4
#define CLEARLY     ((size_t)4 << 20)
/* Batches that the pipeline holds at a time, and what it aligns each by. */
#define DATA_SLOTS   3
#define DATA_PADDING 4096
/* oneDNN's matrix product packs its factors in blocks, each thread its own, on the heap. The sizes of blocks were seen
 * in runs; from how many rows on it packs is fitted to what lenet, lstm, gpt2-tiny and vit-tiny were measured to take. */
#define MOST_COLUMNS 9984
#define MOST_DEPTH   384
#define LEAST_ROWS   512
#define LEAST_PACKED 192 /* fewer rows or columns are multiplied as they lie */
/* A plan stays so far below its budget: the kernel's own bookkeeping, and what differs from run to run. */
static size_t margin(size_t budget) { return ((size_t)1 << 20) + budget / 256; }
/* What that leaves for the arena. */
static size_t limit_of(size_t budget, size_t besides) {
    return budget > besides + margin(budget) ? budget - besides - margin(budget) : 1;
}

plim__task plim__trainer_task(const plim_trainer *t) {
    return (plim__task){.model = t->model,
                        .training = plim__trainer_training_options(t, t->options.batch, false),
                        .threads = t->options.threads,
                        .costs = t->costs,
                        .allow = t->options.exact_only ? PLIM_EXACT
                                 : t->options.allow    ? t->options.allow
                                                       : PLIM_REORDERED,
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

size_t plim__trainer_data_bytes(const plim_trainer *t) {
    if (t->options.data_bytes) return t->options.data_bytes;
    plim_data_field fields[PLIM_MOST_INPUTS + 1];
    int count = t->main ? plim_trainer_fields(t, fields) : 0;
    size_t sample = 0;
    for (int i = 0; i < count; i++) sample += fields[i].bytes;
    return DATA_SLOTS * (sample * (size_t)t->options.batch + DATA_PADDING);
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

/* A heap that keeps what was freed would grow by what differs from run to run: large blocks go back to the system at
 * once, and threads share one heap. */
static void prepare_process(int threads) {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    mallopt(M_TRIM_THRESHOLD, 256 << 10);
    plim__machine_warm(threads);
}

static bool begins_with_any(const char *label, const char *const *names) {
    for (; *names; names++)
        if (strncmp(label, *names, strlen(*names)) == 0) return true;
    return false;
}

/* Of one thread, for factors of (m, k) and (k, n). The first one is read as it lies where its depth is less than a
 * block. */
static double packed_block(double m, double n, double k, int threads) {
    double rows = k < MOST_DEPTH ? 0 : fmin(m, MOST_DEPTH);
    return (fmin(n / threads, MOST_COLUMNS) + rows) * fmin(k, MOST_DEPTH) * sizeof(float);
}

static double operand_numbers(const plim__program *program, const plim__step *step, int32_t i) {
    int32_t buffer = i < step->in_count + step->out_count ? step->operands[i].buffer : -1;
    return buffer < 0 ? 0 : (double)program->buffers.items[buffer].bytes / sizeof(float);
}

/* Rows of the products inside a step: a loss in chunks multiplies so many at a time. */
static double inner_rows(const plim__step *step, double numbers, int64_t loss_rows) {
    double rows = numbers / MOST_DEPTH;
    return loss_rows > 0 && strncmp(step->label, "LinearCross", 11) == 0 ? fmin(rows, (double)loss_rows) : rows;
}

static double packed_by(const plim__program *program, const plim__step *step, int threads, int64_t loss_rows) {
    static const char *const products[] = {"MatMul", "Gemm", "Linear", "Einsum", NULL}, *const inside[] = {
                                                                                            "LinearCross", "LSTM",
                                                                                            "GRU", "RNN", NULL};
    double a = operand_numbers(program, step, 0), b = operand_numbers(program, step, 1);
    if (begins_with_any(step->label, inside)) /* of their factors only the sizes are known here */
        return inner_rows(step, a, loss_rows) < LEAST_PACKED
                   ? 0
                   : packed_block(inner_rows(step, a, loss_rows), b / MOST_DEPTH, MOST_DEPTH, threads);
    double c = operand_numbers(program, step, step->in_count);
    if (!begins_with_any(step->label, products) || a <= 0 || b <= 0 || c <= 0) return 0;
    double k = sqrt(a * b / c); /* (m k) (k n) / (m n) */
    bool thin = a / k < LEAST_ROWS || b / k < LEAST_PACKED;
    return thin ? 0 : packed_block(a / k, b / k, k, threads);
}

/* The most that a step takes from the heap while it runs. */
static size_t packed_bytes(const plim__program *program, int threads, int64_t loss_rows) {
    double most = 0;
    for (size_t s = 0; s < program->steps.count; s++)
        most = fmax(most, packed_by(program, &program->steps.items[s], threads, loss_rows));
    return (size_t)most * (size_t)threads;
}

/* Data buffers that are not there yet. */
static size_t data_to_come(const plim_trainer *t) {
    size_t bytes = plim__trainer_data_bytes(t);
    return bytes > t->options.data_held_bytes ? bytes - (size_t)t->options.data_held_bytes : 0;
}

/* Resident bytes of everything but the arena, once all programs are made. */
static size_t overhead_now(const plim_trainer *t) {
    plim__machine_forget();
    malloc_trim(0);
    return plim__resident_now() + RUNNING_BYTES +
           packed_bytes(t->main->program, t->options.threads, t->way.levers.loss_rows) + data_to_come(t);
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

/* The main variant is the smallest way, with everything that comes besides it; `besides`: resident then. */
static plim_status refuse(plim_trainer *t, size_t besides, plim_error *error) {
    char budget[PLIM_BYTES_TEXT], kept[PLIM_BYTES_TEXT], passing[PLIM_BYTES_TEXT], rest[PLIM_BYTES_TEXT];
    char file[PLIM_BYTES_TEXT];
    plim__str names = {0}, spilled = {0};
    name_largest(t->main, &names);
    if (t->way.levers.spill)
        plim__str_addf(&spilled, " besides %s that can go to a file", plim_bytes_format(t->way.levers.spill, file));
    t->least_budget = least_budget(t->kept_bytes + t->passing_bytes, besides);
    plim__fail(
        error, PLIM_NO_MEMORY,
        "nothing fits a budget of %s: weights and state take %s%s, the step at least %s, the program and data %s "
        "(largest: %s). The smallest budget that works is %zu MiB",
        plim_bytes_format(t->options.budget, budget), plim_bytes_format(t->kept_bytes, kept), plim__str_text(&spilled),
        plim_bytes_format(t->passing_bytes, passing), plim_bytes_format(besides, rest), plim__str_text(&names),
        t->least_budget >> 20);
    t->refused = true;
    plim__str_free(&names);
    plim__str_free(&spilled);
    return PLIM_NO_MEMORY;
}

static plim_status add_row(plim_trainer *t, const plim__way_point *way, size_t besides, plim_error *error) {
    plim_plan_way row = {.budget_bytes = least_budget(way->arena_bytes, besides),
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
}

/* Takes the fastest way within what the budget leaves; again when the plan itself turned out larger, or, once, clearly
 * smaller. */
static plim_status fit_ways(plim_trainer *t, const plim__task *task, plim__ways *ways, size_t besides,
                            plim_error *error) {
    size_t budget = t->options.budget, most = besides, searched = limit_of(budget, besides);
    for (int round = 0;; round++) {
        size_t limit = limit_of(budget, besides);
        if (limit < searched && !ways->complete) PLIM_TRY(search_again(task, ways, searched = limit, error));
        PLIM_TRY(round < MOST_ROUNDS ? choose(t, task, ways, limit, error) : take_smallest(t, ways, error));
        plim__ways_rest(ways);
        PLIM_TRY(plim__trainer_plan_others(t, error));
        size_t now = overhead_now(t);
        t->planned_process = now + t->kept_bytes + t->passing_bytes;
        size_t beside = t->planned_process - t->main->plan->arena_bytes;
        if (beside > most) most = beside;
        bool fits = t->planned_process + margin(budget) <= budget, room = round == 0 && beside + CLEARLY < besides;
        if ((fits && !room) || t->smallest) {
            plim_status status = t->planned_process <= budget ? PLIM_OK : refuse(t, now, error);
            if (t->explore) PLIM_TRY(list_rows(t, ways, most, error));
            return status;
        }
        besides = beside + ((size_t)1 << 20);
        forget_plan(t);
    }
}

static plim_status fit(plim_trainer *t, size_t besides, plim_error *error) {
    plim__task task = plim__trainer_task(t);
    plim__ways ways;
    PLIM_TRY(plim__ways_find(&task, t->explore ? SIZE_MAX : limit_of(t->options.budget, besides), &ways, error));
    plim_status status = fit_ways(t, &task, &ways, besides, error);
    plim__ways_free(&ways);
    return status;
}

static plim_status plan_within(plim_trainer *t, plim_error *error) {
    PLIM_TRY(plan_freely(t, error)); /* what it would need, and what the plan itself takes */
    PLIM_TRY(plim__trainer_plan_others(t, error));
    size_t besides = overhead_now(t), arena = t->kept_bytes + t->passing_bytes;
    t->planned_process = arena + besides;
    if (!t->explore && arena + besides + margin(t->options.budget) <= t->options.budget) return PLIM_OK;
    forget_plan(t);
    return fit(t, besides, error);
}

static plim_status plan_saved(plim_trainer *t, plim_error *error) {
    prepare_process(t->options.threads);
    PLIM_TRY(plim__saved_plan_take(t, error));
    PLIM_TRY(plim__trainer_plan_others(t, error));
    if (!t->options.budget) return PLIM_OK;
    size_t besides = overhead_now(t);
    t->planned_process = besides + t->kept_bytes + t->passing_bytes;
    return t->planned_process <= t->options.budget ? PLIM_OK : refuse(t, besides, error);
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
    prepare_process(t->options.threads);
    return plan_within(t, error);
}

plim_status plim__trainer_plan(plim_trainer *t, plim_error *error) {
    PLIM_TRY(plan_any(t, error));
    t->planned_kept = t->kept_bytes;
    t->planned_arena = t->kept_bytes + t->passing_bytes;
    return PLIM_OK;
}

plim_plan_way plim__trainer_way(const plim_trainer *t) {
    plim_trainer_stats stats;
    plim_trainer_stats_get(t, &stats);
    size_t data = plim__trainer_data_bytes(t), process = t->planned_process;
    return (plim_plan_way){.budget_bytes = least_budget(stats.arena_bytes, process - stats.arena_bytes),
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
                           .program = process - stats.arena_bytes - data};
}
