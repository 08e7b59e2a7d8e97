/* The search over levers. */
#include "budget/candidates.h"

#include <math.h>
#include <stdlib.h>

#include "core/error.h"
#include "program/fold.h"

struct plim__candidate {
    plim__levers levers; /* without a limit */
    plim_class class;
    plim__variant *variant; /* NULL: made again when it is needed */
    plim__spill_list spillable;
    plim__depend *depend;
    double *seconds; /* of each lowered step */
    plim__frontier *frontier;
    size_t kept_bytes;     /* with nothing spilled */
    size_t window;         /* bytes more when something is */
    double update_seconds; /* of an update without repetitions */
    int64_t runs;          /* of an update */
};

const char *plim_class_name(plim_class class_) {
    static const char *const names[] = {"exact", "reordered", "lossy"};
    return (size_t)class_ < 3 ? names[class_] : "?";
}

plim_class plim__allow_class(plim_allow allow) {
    return allow == PLIM_ALLOW_DEFAULT ? PLIM_REORDERED : (plim_class)(allow - PLIM_ALLOW_EXACT);
}

/* --- candidates ----------------------------------------------------------------------------------------------- */

static plim__training_options options_of(const plim__task *task, const plim__levers *levers) {
    plim__training_options options = task->training;
    options.batch = levers->micro_batch;
    options.whole = task->training.batch;
    options.sums = levers->micro_batch < task->training.batch;
    options.loss_rows = levers->loss_rows;
    return options;
}

static size_t kept_bytes(const plim__program *program) {
    size_t bytes = 0;
    for (size_t b = 0; b < program->buffers.count; b++)
        if (program->buffers.items[b].persistent)
            bytes += (program->buffers.items[b].bytes + PLIM__ALIGNMENT - 1) / PLIM__ALIGNMENT * PLIM__ALIGNMENT;
    return bytes;
}

static double sum_seconds(const plim__program *program, const double *seconds, int64_t runs) {
    double sum = 0;
    for (size_t s = 0; s < program->steps.count; s++)
        sum += seconds[s] * (program->steps.items[s].phase == PLIM__UPDATE ? 1 : (double)runs);
    return sum;
}

static void candidate_free(struct plim__candidate *c) {
    if (!c) return;
    plim__frontier_free(c->frontier);
    plim__depend_free(c->depend);
    plim__free(c->seconds);
    plim__variant_free(c->variant);
    plim__spill_list_free(&c->spillable);
    plim__free(c);
}

static plim_status build(struct plim__candidate *c, const plim__task *task, plim_error *error) {
    plim__training_options options = options_of(task, &c->levers);
    PLIM_TRY(plim__variant_create(task->model, &options, task->threads, NULL, &c->variant, error));
    c->seconds = plim__costs_of(task->costs, c->variant->lowered);
    if (!c->seconds) return plim__fail_memory(error, "a plan", sizeof *c->seconds);
    c->runs = (task->training.batch + c->levers.micro_batch - 1) / c->levers.micro_batch;
    c->kept_bytes = kept_bytes(c->variant->lowered);
    c->window = plim__spill_window_bytes(c->variant->lowered);
    PLIM_TRY(plim__spill_list_make(c->variant->lowered, &c->spillable, error));
    c->update_seconds = sum_seconds(c->variant->lowered, c->seconds, c->runs);
    c->class = plim__variant_class(c->variant, task->training.batch);
    if (c->class < PLIM_REORDERED && c->levers.loss_rows > 0) c->class = PLIM_REORDERED;
    return plim__depend_create(c->variant->lowered, &(plim__depend_options){.update_in_backward = !options.sums},
                               &c->depend, error);
}

static plim_status candidate_create(const plim__task *task, plim__levers levers, struct plim__candidate **out,
                                    plim_error *error) {
    struct plim__candidate *c = *out = plim__alloc_zero(1, sizeof *c);
    if (!c) return plim__fail_memory(error, "a plan", sizeof *c);
    c->levers = levers;
    plim_status status = build(c, task, error);
    if (status == PLIM_OK) return PLIM_OK;
    candidate_free(c);
    *out = NULL;
    return status;
}

static plim_status explore(struct plim__candidate *c, int effort, int threads, int64_t least, plim_error *error) {
    plim__recompute_options options = {.seconds = c->seconds, .effort = effort, .threads = threads, .least = least};
    return c->frontier ? PLIM_OK : plim__frontier_create(c->depend, &options, &c->frontier, error);
}

/* --- points --------------------------------------------------------------------------------------------------- */

static int faster_first(const void *a, const void *b) {
    const plim__way_point *x = a, *y = b;
    size_t xs = x->kept_bytes + x->passing_bytes, ys = y->kept_bytes + y->passing_bytes;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
    if (x->class != y->class) return x->class < y->class ? -1 : 1;
    return (xs > ys) - (xs < ys);
}

static plim_status add_points(plim__ways *ways, size_t index, plim_error *error) {
    const struct plim__candidate *c = ways->candidates.items[index];
    for (size_t i = 0; c->frontier && i < c->frontier->points.count; i++) {
        const plim__frontier_point *from = &c->frontier->points.items[i];
        plim__way_point point = {.levers = c->levers,
                                 .class = c->class,
                                 .kept_bytes = c->kept_bytes,
                                 .passing_bytes = (size_t)from->peak_bytes,
                                 .seconds = c->update_seconds + from->extra_seconds * (double)c->runs,
                                 .repeated = from->schedule.count - c->depend->step_count,
                                 .candidate = index};
        point.levers.passing_limit = from->peak_bytes;
        if (!plim__vec_push(&ways->points, point)) return plim__fail_memory(error, "plans", sizeof point);
    }
    return PLIM_OK;
}

static size_t arena_of(const plim__way_point *p) { return p->kept_bytes + p->passing_bytes; }

/* Sorts by time and drops every point that a faster one is no larger than. */
static void keep_best(plim__ways *ways) {
    plim__way_point *items = ways->points.items;
    size_t count = 0, least = SIZE_MAX;
    if (ways->points.count) qsort(items, ways->points.count, sizeof *items, faster_first);
    for (size_t i = 0; i < ways->points.count; i++) {
        if (arena_of(&items[i]) >= least) continue;
        least = arena_of(&items[i]);
        items[count++] = items[i];
    }
    ways->points.count = count;
}

/* The candidate's own point. */
static const plim__frontier_point *frontier_point(const struct plim__candidate *c, const plim__way_point *point) {
    return plim__frontier_find(c->frontier, point->levers.passing_limit);
}

/* Making a program is quick beside the search. */
static plim_status revive(struct plim__candidate *c, const plim__task *task, plim_error *error) {
    plim__training_options options = options_of(task, &c->levers);
    return c->variant ? PLIM_OK : plim__variant_create(task->model, &options, task->threads, NULL, &c->variant, error);
}

void plim__ways_rest(plim__ways *ways) {
    for (size_t i = 0; i < ways->candidates.count; i++) {
        struct plim__candidate *c = ways->candidates.items[i];
        plim__depend_free(c->depend);
        plim__free(c->seconds);
        plim__variant_free(c->variant);
        c->depend = NULL;
        c->seconds = NULL;
        c->variant = NULL;
    }
}

static plim_status pack(plim__ways *ways, plim__way_point *point, plim_error *error) {
    struct plim__candidate *c = ways->candidates.items[point->candidate];
    if (point->arena_bytes) return PLIM_OK;
    PLIM_TRY(revive(c, &ways->task, error));
    PLIM_TRY(plim__variant_pack(c->variant, &frontier_point(c, point)->schedule, 0, NULL, 0, error));
    point->arena_bytes = c->variant->plan->arena_bytes;
    return PLIM_OK;
}

/* The same point with so much state in a file; `spill` is a sum of its list. */
static plim__way_point spilled(const plim__ways *ways, const plim__way_point *point, size_t spill) {
    const struct plim__candidate *c = ways->candidates.items[point->candidate];
    plim__way_point with = *point;
    if (!spill) return with;
    with.levers.spill = spill;
    with.kept_bytes += c->window - spill;
    if (point->arena_bytes) with.arena_bytes += c->window - spill;
    with.seconds += 2 * (double)spill / ways->task.costs->disk; /* read, and written back */
    return with;
}

/* The point with just enough state in a file, as far as its arena is known: before packing it may need more. False when
 * even all of it is not enough. */
static bool within(const plim__ways *ways, const plim__way_point *point, size_t limit, plim__way_point *with) {
    const struct plim__candidate *c = ways->candidates.items[point->candidate];
    size_t arena = point->arena_bytes ? point->arena_bytes : arena_of(point), spill = 0;
    if (arena > limit) {
        spill = plim__spill_list_sum(&c->spillable, arena - limit + c->window);
        if (!spill || spill > ways->task.spill_room) return false;
    }
    *with = spilled(ways, point, spill);
    return true;
}

/* Packing may need a little more than the largest sum: so only a packed arena tells whether a point fits, and more
 * memory never means a slower one. Packs those that could be the fastest, until one that is packed is. */
plim_status plim__ways_best(plim__ways *ways, size_t limit, bool *found, plim__way_point *best, plim_error *error) {
    for (;;) {
        plim__way_point *winner = NULL;
        double least = INFINITY;
        for (size_t i = 0; i < ways->points.count; i++) {
            plim__way_point with;
            if (!within(ways, &ways->points.items[i], limit, &with) || with.seconds >= least) continue;
            winner = &ways->points.items[i];
            least = with.seconds;
            *best = with;
        }
        *found = winner != NULL;
        if (!winner || winner->arena_bytes) return PLIM_OK;
        PLIM_TRY(pack(ways, winner, error));
    }
}

plim_status plim__ways_smallest(plim__ways *ways, bool *found, plim__way_point *smallest, plim_error *error) {
    *found = ways->points.count > 0;
    if (!*found) return PLIM_OK;
    plim__way_point *point = &ways->points.items[ways->points.count - 1];
    const struct plim__candidate *c = ways->candidates.items[point->candidate];
    PLIM_TRY(pack(ways, point, error));
    size_t most = plim__spill_list_most(&c->spillable, ways->task.spill_room);
    *smallest = spilled(ways, point, most > c->window ? most : 0);
    return PLIM_OK;
}

plim_status plim__ways_fastest(plim__ways *ways, bool *found, plim__way_point *fastest, plim_error *error) {
    *found = ways->points.count > 0;
    if (!*found) return PLIM_OK;
    PLIM_TRY(pack(ways, &ways->points.items[0], error));
    *fastest = ways->points.items[0];
    return PLIM_OK;
}

/* --- the search ----------------------------------------------------------------------------------------------- */

static size_t least_kept(const plim__ways *ways, const struct plim__candidate *c) {
    size_t most = plim__spill_list_most(&c->spillable, ways->task.spill_room);
    return most > c->window ? c->kept_bytes + c->window - most : c->kept_bytes;
}

/* What some step holds at once, whatever the order: no schedule has less. */
static size_t least_passing(const plim__depend *d) {
    int64_t most = 0;
    for (size_t s = 0; s < d->step_count; s++) {
        int64_t bytes = d->scratch[s] - (d->over[s] >= 0 ? d->bytes[d->onto[s]] : 0);
        for (int32_t i = d->reads.start[s]; i < d->reads.start[s + 1]; i++) bytes += d->bytes[d->reads.items[i]];
        for (int32_t i = d->makes.start[s]; i < d->makes.start[s + 1]; i++) bytes += d->bytes[d->makes.items[i]];
        if (bytes > most) most = bytes;
    }
    return (size_t)most;
}

/* Whether any point of a candidate could be one that keep_best keeps: with sums of gradients beside everything else,
 * micro-batches are often larger and slower than what is there already. */
static bool could_win(const plim__ways *ways, const struct plim__candidate *c) {
    size_t least = c->kept_bytes + least_passing(c->depend);
    for (size_t i = 0; i < ways->points.count; i++) {
        const plim__way_point *p = &ways->points.items[i];
        if (p->seconds <= c->update_seconds && p->class <= c->class && arena_of(p) <= least) return false;
    }
    return true;
}

#define HAIR     1e-4
#define A_LITTLE 0.02

/* What is left of a batch after all micro-batches is split off likewise. */
static plim_status judge_rest(const plim__task *task, const struct plim__candidate *c, bool *splits,
                              plim_error *error) {
    plim__training_options options = options_of(task, &c->levers);
    plim__batch_verdict verdict;
    options.batch = task->training.batch % c->levers.micro_batch;
    options.fold = plim__kernel_fold;
    *splits = c->variant->training->split.split != PLIM__SPLIT_NEVER;
    if (!*splits || options.batch == 0) return PLIM_OK;
    PLIM_TRY(plim__training_judge(task->model, &options, &verdict, error));
    *splits = verdict.split >= c->variant->training->split.split;
    return PLIM_OK;
}

static bool means_unbuildable(plim_status status) {
    return status == PLIM_SHAPE || status == PLIM_DTYPE || status == PLIM_UNSUPPORTED || status == PLIM_INVALID ||
           status == PLIM_CORRUPT || status == PLIM_OVERFLOW;
}

/* A candidate of this micro-batch; none when the model cannot be built for it, or its parts do not make a batch. */
static plim_status candidate_find(const plim__task *task, plim__levers levers, struct plim__candidate **out,
                                  plim_error *error) {
    bool asked = levers.micro_batch == task->most_samples, splits = true;
    plim_status status = candidate_create(task, levers, out, error);
    if (asked) return status;
    if (status == PLIM_OK) status = judge_rest(task, *out, &splits, error);
    if (status == PLIM_OK && splits) return PLIM_OK;
    candidate_free(*out);
    *out = NULL;
    return means_unbuildable(status) ? PLIM_OK : status;
}

/* Builds a candidate; its frontier is only explored when it could be faster than what fits already. */
static plim_status try(plim__ways *ways, plim__levers levers, size_t limit, plim_error *error) {
    struct plim__candidate *c;
    PLIM_TRY(candidate_find(&ways->task, levers, &c, error));
    if (!c) return PLIM_OK;
    /* parts are never faster than the whole, which is tried first, whatever the rates make of their sizes; nor as fast as
     * larger ones, so that one way is the fastest wherever the search ends. Other numbers are worth it when they save
     * more than a little time. */
    double slower = 1 + HAIR * (double)ways->tried++ + (c->class > PLIM_EXACT ? A_LITTLE : 0);
    if (ways->candidates.count > 0)
        c->update_seconds = fmax(c->update_seconds, ways->candidates.items[0]->update_seconds * slower);
    plim__way_point best;
    bool found = false;
    plim_status status = limit == SIZE_MAX ? PLIM_OK : plim__ways_best(ways, limit, &found, &best, error);
    bool allowed = c->class <= ways->task.allow || levers.micro_batch == ways->task.most_samples; /* as it was asked */
    bool useful = status == PLIM_OK && allowed && could_win(ways, c);
    if (useful && (least_kept(ways, c) >= limit || (found && c->update_seconds >= best.seconds)))
        useful = ways->complete = false;
    /* micro-batches come in many sizes: theirs are sketched, that of the whole is worked out */
    int effort = levers.micro_batch < ways->task.most_samples ? -1 : ways->task.effort;
    /* only asked whether something fits: no further than there, and lower by what packing may add */
    bool fits_only = useful && ways->task.effort < 0 && limit < SIZE_MAX;
    int64_t least = fits_only ? (int64_t)((double)(limit - least_kept(ways, c)) * 0.9) : 0;
    if (useful) status = explore(c, effort, ways->task.threads, least, error);
    if (status != PLIM_OK || !useful) {
        candidate_free(c);
        return status;
    }
    if (!plim__vec_push(&ways->candidates, c)) {
        candidate_free(c);
        return plim__fail_memory(error, "plans", sizeof c);
    }
    PLIM_TRY(add_points(ways, ways->candidates.count - 1, error));
    keep_best(ways);
    return PLIM_OK;
}

/* Rows of scores that make about so many MiB. Every chunk reads the weights of the last layer again: with many rows they
 * cost next to nothing, with few they need the least memory. */
static const int chunk_sizes[] = {64, 8};
#define CHUNK_SIZES (sizeof chunk_sizes / sizeof *chunk_sizes)

static int64_t chunk_rows(const plim__variant *v, int mebibytes) {
    int64_t rows = v->training->classes > 0 ? ((int64_t)mebibytes << 20) / (v->training->classes * 4) : 0;
    return rows < 8 ? 8 : rows;
}

static bool wants_chunks(const plim__variant *v) { return v->training->classes >= 4096; }

/* A size of micro-batches, with the scores of the last layer as a whole and in chunks. */
static plim_status try_with_chunks(plim__ways *ways, int64_t micro, const int64_t *rows, size_t chunks, size_t limit,
                                   plim_error *error) {
    plim__levers levers = {.micro_batch = micro, .passing_limit = INT64_MAX};
    if (micro < ways->task.most_samples) PLIM_TRY(try(ways, levers, limit, error));
    for (size_t i = 0; i < chunks; i++) {
        levers.loss_rows = rows[i];
        PLIM_TRY(try(ways, levers, limit, error));
    }
    return PLIM_OK;
}

static plim_status find(plim__ways *ways, size_t limit, plim_error *error) {
    int64_t batch = ways->task.most_samples;
    plim__levers whole = {.micro_batch = batch, .passing_limit = INT64_MAX};
    PLIM_TRY(try(ways, whole, limit, error));
    if (ways->candidates.count == 0) return PLIM_OK; /* what is kept alone is too much */
    const plim__variant *first = ways->candidates.items[0]->variant;
    size_t chunks = wants_chunks(first) && ways->task.allow >= PLIM_REORDERED ? CHUNK_SIZES : 0;
    bool splits = plim__split_class(first->training->split.split) <= ways->task.allow &&
                  first->training->split.split != PLIM__SPLIT_NEVER;
    int64_t rows[CHUNK_SIZES], last = batch;
    for (size_t i = 0; i < chunks; i++) rows[i] = chunk_rows(first, chunk_sizes[i]);
    PLIM_TRY(try_with_chunks(ways, batch, rows, chunks, limit, error));
    for (int64_t runs = 2; splits && runs / 2 < batch; runs *= 2) {
        int64_t micro = (batch + runs - 1) / runs;
        if (micro == last) continue;
        last = micro;
        PLIM_TRY(try_with_chunks(ways, micro, rows, chunks, limit, error));
    }
    return PLIM_OK;
}

plim_status plim__ways_find(const plim__task *task, size_t limit, plim__ways *ways, plim_error *error) {
    *ways = (plim__ways){.task = *task, .complete = true};
    plim_status status = find(ways, limit ? limit : SIZE_MAX, error);
    if (status != PLIM_OK) plim__ways_free(ways);
    return status;
}

void plim__ways_free(plim__ways *ways) {
    for (size_t i = 0; i < ways->candidates.count; i++) candidate_free(ways->candidates.items[i]);
    plim__vec_free(&ways->candidates);
    plim__vec_free(&ways->points);
    ways->candidates.count = ways->points.count = 0;
}

/* --- variants ------------------------------------------------------------------------------------------------- */

plim_status plim__ways_take(plim__ways *ways, const plim__way_point *point, plim__variant **variant,
                            plim_error *error) {
    struct plim__candidate *c = ways->candidates.items[point->candidate];
    PLIM_TRY(revive(c, &ways->task, error));
    PLIM_TRY(plim__variant_pack(c->variant, &frontier_point(c, point)->schedule, point->levers.spill, NULL, 0, error));
    *variant = c->variant;
    c->variant = NULL;
    return PLIM_OK;
}

/* The order and the repetitions for a limit. */
static plim_status schedule_for(const plim__task *task, const plim__levers *levers, plim__variant *v, bool sums,
                                plim__frontier_point *point, plim_error *error) {
    plim__depend *depend = NULL;
    double *seconds = plim__costs_of(task->costs, v->lowered);
    plim_status status = seconds ? PLIM_OK : plim__fail_memory(error, "a plan", sizeof *seconds);
    if (status == PLIM_OK)
        status = plim__depend_create(v->lowered, &(plim__depend_options){.update_in_backward = !sums}, &depend, error);
    if (status == PLIM_OK)
        status = plim__recompute(depend, &(plim__recompute_options){.seconds = seconds, .threads = task->threads},
                                 levers->passing_limit, point, error);
    plim__depend_free(depend);
    plim__free(seconds);
    return status;
}

plim_status plim__levers_pack(const plim__task *task, const plim__levers *levers, const plim__variant *like,
                              size_t kept_from, plim__variant *variant, plim_error *error) {
    plim__frontier_point point = {0};
    bool sums = options_of(task, levers).sums;
    plim_status status = schedule_for(task, levers, variant, sums, &point, error);
    if (status == PLIM_OK) status = plim__variant_pack(variant, &point.schedule, levers->spill, like, kept_from, error);
    plim__schedule_free(&point.schedule);
    return status;
}

plim_status plim__levers_apply(const plim__task *task, const plim__levers *levers, const plim__variant *like,
                               size_t kept_from, plim__variant **variant, plim_error *error) {
    plim__training_options options = options_of(task, levers);
    PLIM_TRY(plim__variant_create(task->model, &options, task->threads, like, variant, error));
    plim_status status = plim__levers_pack(task, levers, like, kept_from, *variant, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__variant_free(*variant);
    *variant = NULL;
    return status;
}

static plim_status check_schedule(const plim__variant *v, bool sums, const plim__schedule *schedule,
                                  plim_error *error) {
    plim__depend *depend = NULL;
    for (size_t i = 0; i < schedule->count; i++)
        if (schedule->steps[i] < 0 || (size_t)schedule->steps[i] >= v->lowered->steps.count)
            return plim__fail(error, PLIM_INVALID, "the plan is not one of this model: it names step %d of %zu",
                              (int)schedule->steps[i], v->lowered->steps.count);
    PLIM_TRY(plim__depend_create(v->lowered, &(plim__depend_options){.update_in_backward = !sums}, &depend, error));
    plim_error why = {0};
    bool valid = plim__schedule_is_valid(depend, schedule, &why);
    plim__depend_free(depend);
    return valid ? PLIM_OK : plim__fail(error, PLIM_INVALID, "the plan is not one of this model: %s", why.message);
}

plim_status plim__levers_pack_alike(const plim__task *task, const plim__levers *levers, const plim__variant *like,
                                    size_t kept_from, plim__variant *variant, bool *same, plim_error *error) {
    *same = like->schedule.count > 0 && like->lowered->steps.count == variant->lowered->steps.count;
    if (!*same) return PLIM_OK;
    plim_status status = check_schedule(variant, options_of(task, levers).sums, &like->schedule, error);
    *same = status == PLIM_OK;
    if (!*same) return status == PLIM_INVALID ? PLIM_OK : status;
    return plim__variant_pack(variant, &like->schedule, levers->spill, like, kept_from, error);
}

plim_status plim__levers_apply_schedule(const plim__task *task, const plim__levers *levers,
                                        const plim__schedule *schedule, plim__variant **variant, plim_error *error) {
    plim__training_options options = options_of(task, levers);
    PLIM_TRY(plim__variant_create(task->model, &options, task->threads, NULL, variant, error));
    plim_status status = check_schedule(*variant, options.sums, schedule, error);
    if (status == PLIM_OK) status = plim__variant_pack(*variant, schedule, levers->spill, NULL, 0, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__variant_free(*variant);
    *variant = NULL;
    return status;
}

double plim__variant_seconds(const plim__variant *v, const plim__task *task) {
    double *seconds = plim__costs_of(task->costs, v->program);
    if (!seconds) return 0;
    double sum = sum_seconds(v->program, seconds, (task->training.batch + v->samples - 1) / v->samples);
    plim__free(seconds);
    return sum + 2 * (double)plim__spilled_bytes(v->lowered) / task->costs->disk;
}
