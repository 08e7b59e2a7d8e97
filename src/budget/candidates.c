/* The search over levers. */
#include "budget/candidates.h"

#include <math.h>
#include <stdlib.h>

#include "core/error.h"
#include "kernel/processor.h"
#include "mem/heap.h"
#include "plan/recompute.h"

struct plim__setting {
    plim__levers levers; /* without a limit */
    plim_class class;
    plim__variant *variant; /* NULL: rebuilt when it is needed */
    plim__spill_list spillable;
    plim__depend *depend;
    double *seconds; /* of each lowered step */
    plim__frontier *frontier;
    size_t persistent_bytes; /* with nothing spilled */
    size_t window;           /* bytes more when something is */
    double update_seconds;   /* of an update without repetitions */
    int64_t runs;            /* of an update */
};

/* --- settings ------------------------------------------------------------------------------------------------- */

static size_t persistent_bytes(const plim__program *program) {
    size_t bytes = 0;
    for (size_t b = 0; b < program->buffers.count; b++)
        if (program->buffers.items[b].persistent)
            bytes += (program->buffers.items[b].bytes + PLIM__ALIGNMENT - 1) / PLIM__ALIGNMENT * PLIM__ALIGNMENT;
    return bytes;
}

static void setting_free(struct plim__setting *s) {
    if (!s) return;
    plim__frontier_free(s->frontier);
    plim__depend_free(s->depend);
    plim__free(s->seconds);
    plim__variant_free(s->variant);
    plim__spill_list_free(&s->spillable);
    plim__free(s);
}

static plim_status build(struct plim__setting *s, const plim__task *task, plim_error *error) {
    plim__training_options options = plim__levers_training(task, &s->levers);
    PLIM_TRY(plim__variant_create(task->model, &options, task->target, NULL, &s->variant, error));
    s->seconds = plim__costs_of(task->costs, s->variant->lowered);
    if (!s->seconds) return plim__fail_memory(error, "a plan", sizeof *s->seconds);
    s->runs = (task->training.batch + s->levers.micro_batch - 1) / s->levers.micro_batch;
    s->persistent_bytes = persistent_bytes(s->variant->lowered);
    s->window = plim__spill_window_bytes(s->variant->lowered);
    PLIM_TRY(plim__spill_list_make(s->variant->lowered, &s->spillable, error));
    s->update_seconds = plim__program_seconds(s->variant->lowered, s->seconds, s->runs);
    s->class = plim__variant_class(s->variant, task->training.batch);
    if (s->class < PLIM_REORDERED && s->levers.loss_rows > 0) s->class = PLIM_REORDERED;
    return plim__depend_create(s->variant->lowered, &(plim__depend_options){.update_in_backward = !options.sums},
                               &s->depend, error);
}

static plim_status setting_create(const plim__task *task, plim__levers levers, struct plim__setting **out,
                                  plim_error *error) {
    struct plim__setting *s = *out = plim__alloc_zero(1, sizeof *s);
    if (!s) return plim__fail_memory(error, "a plan", sizeof *s);
    s->levers = levers;
    plim_status status = build(s, task, error);
    if (status == PLIM_OK) return PLIM_OK;
    setting_free(s);
    *out = NULL;
    return status;
}

static plim_status explore(struct plim__setting *s, int effort, int threads, int64_t least, plim_error *error) {
    plim__recompute_options options = {.seconds = s->seconds, .effort = effort, .threads = threads, .least = least};
    return s->frontier ? PLIM_OK : plim__frontier_create(s->depend, &options, &s->frontier, error);
}

/* --- candidates --------------------------------------------------------------------------------------------------- */

static int faster_first(const void *a, const void *b) {
    const plim__candidate *x = a, *y = b;
    size_t xs = x->persistent_bytes + x->transient_bytes, ys = y->persistent_bytes + y->transient_bytes;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
    if (x->class != y->class) return x->class < y->class ? -1 : 1;
    return (xs > ys) - (xs < ys);
}

static plim_status add_candidates(plim__candidates *all, size_t index, plim_error *error) {
    const struct plim__setting *s = all->settings.items[index];
    for (size_t i = 0; s->frontier && i < s->frontier->points.count; i++) {
        const plim__frontier_point *from = &s->frontier->points.items[i];
        plim__candidate candidate = {.levers = s->levers,
                                     .class = s->class,
                                     .persistent_bytes = s->persistent_bytes,
                                     .transient_bytes = (size_t)from->peak_bytes,
                                     .seconds = s->update_seconds + from->extra_seconds * (double)s->runs,
                                     .repeated = from->schedule.count - s->depend->step_count,
                                     .setting = index};
        candidate.levers.transient_limit = from->peak_bytes;
        if (!plim__vec_push(&all->items, candidate)) return plim__fail_memory(error, "plans", sizeof candidate);
    }
    return PLIM_OK;
}

static size_t arena_of(const plim__candidate *p) { return p->persistent_bytes + p->transient_bytes; }

/* Sorts by time and drops every candidate that a faster one is no larger than. */
static void keep_best(plim__candidates *all) {
    plim__candidate *items = all->items.items;
    size_t count = 0, least = SIZE_MAX;
    if (all->items.count) qsort(items, all->items.count, sizeof *items, faster_first);
    for (size_t i = 0; i < all->items.count; i++) {
        if (arena_of(&items[i]) >= least) continue;
        least = arena_of(&items[i]);
        items[count++] = items[i];
    }
    all->items.count = count;
}

/* Its place on the setting's frontier. */
static const plim__frontier_point *frontier_point(const struct plim__setting *s, const plim__candidate *candidate) {
    return plim__frontier_find(s->frontier, candidate->levers.transient_limit);
}

/* Making a program is quick beside the search. */
static plim_status revive(struct plim__setting *s, const plim__task *task, plim_error *error) {
    plim__training_options options = plim__levers_training(task, &s->levers);
    return s->variant ? PLIM_OK : plim__variant_create(task->model, &options, task->target, NULL, &s->variant, error);
}

static void release(struct plim__setting *s) {
    plim__depend_free(s->depend);
    plim__free(s->seconds);
    plim__variant_free(s->variant);
    s->depend = NULL;
    s->seconds = NULL;
    s->variant = NULL;
}

void plim__candidates_release(plim__candidates *all) {
    for (size_t i = 0; i < all->settings.count; i++) release(all->settings.items[i]);
}

/* Memory of programs that are freed goes back to the system, not to the next program's neighbours. */
static void trim(void) {
    plim__processor_trim();
    plim__heap_trim();
}

/* Programs wait to be needed again as far as the search has room for them, the latest the longest. `but` is at work. */
static void make_room(plim__candidates *all, const struct plim__setting *but) {
    size_t held = 0;
    bool released = false;
    for (size_t i = all->settings.count; i-- > 0;) {
        struct plim__setting *s = all->settings.items[i];
        if (s == but || !s->variant) continue;
        held += plim__program_bytes(s->variant->lowered);
        if (held <= all->task.search_bytes) continue;
        release(s);
        released = true;
    }
    if (released) trim();
}

/* A setting that is not among the candidates. */
static void discard(const plim__candidates *all, struct plim__setting *s) {
    bool large = plim__program_bytes(s->variant->lowered) > all->task.search_bytes;
    setting_free(s);
    if (large) trim();
}

/* Schedules that no candidate follows any more. */
static void drop_points(plim__candidates *all, size_t index) {
    plim__frontier *f = all->settings.items[index]->frontier;
    size_t count = 0;
    for (size_t i = 0; f && i < f->points.count; i++) {
        bool wanted = false;
        for (size_t k = 0; k < all->items.count && !wanted; k++)
            wanted = all->items.items[k].setting == index &&
                     all->items.items[k].levers.transient_limit == f->points.items[i].peak_bytes;
        if (wanted)
            f->points.items[count++] = f->points.items[i];
        else
            plim__schedule_free(&f->points.items[i].schedule);
    }
    if (f) f->points.count = count;
}

static plim_status pack(plim__candidates *all, plim__candidate *candidate, plim_error *error) {
    struct plim__setting *s = all->settings.items[candidate->setting];
    if (candidate->arena_bytes) return PLIM_OK;
    make_room(all, s);
    PLIM_TRY(revive(s, &all->task, error));
    PLIM_TRY(plim__variant_pack(s->variant, &frontier_point(s, candidate)->schedule, 0, NULL, error));
    candidate->arena_bytes = s->variant->plan->arena_bytes;
    return PLIM_OK;
}

/* The same candidate with `spill` bytes of state in a file, a sum of its list. */
static plim__candidate spilled(const plim__candidates *all, const plim__candidate *candidate, size_t spill) {
    const struct plim__setting *s = all->settings.items[candidate->setting];
    plim__candidate with = *candidate;
    if (!spill) return with;
    with.levers.spill = spill;
    with.persistent_bytes += s->window - spill;
    if (candidate->arena_bytes) with.arena_bytes += s->window - spill;
    with.seconds += 2 * (double)spill / all->task.costs->disk; /* read, and written back */
    return with;
}

/* The candidate with just enough state in a file, as far as its arena is known: before packing it may need more. False when
 * even all of it is not enough. */
static bool within(const plim__candidates *all, const plim__candidate *candidate, size_t limit, plim__candidate *with) {
    const struct plim__setting *s = all->settings.items[candidate->setting];
    size_t arena = candidate->arena_bytes ? candidate->arena_bytes : arena_of(candidate), spill = 0;
    if (arena > limit) {
        spill = plim__spill_list_sum(&s->spillable, arena - limit + s->window);
        if (!spill || spill > all->task.spill_room) return false;
    }
    *with = spilled(all, candidate, spill);
    return true;
}

/* Packing may need a little more than the largest sum: so only a packed arena tells whether a candidate fits, and more
 * memory never means a slower one. Packs those that could be the fastest, until one that is packed is. */
plim_status plim__candidates_best(plim__candidates *all, size_t limit, bool *found, plim__candidate *best,
                                  plim_error *error) {
    for (;;) {
        plim__candidate *winner = NULL;
        double least = INFINITY;
        for (size_t i = 0; i < all->items.count; i++) {
            plim__candidate with;
            if (!within(all, &all->items.items[i], limit, &with) || with.seconds >= least) continue;
            winner = &all->items.items[i];
            least = with.seconds;
            *best = with;
        }
        *found = winner != NULL;
        if (!winner || winner->arena_bytes) return PLIM_OK;
        PLIM_TRY(pack(all, winner, error));
    }
}

plim_status plim__candidates_smallest(plim__candidates *all, bool *found, plim__candidate *smallest,
                                      plim_error *error) {
    *found = all->items.count > 0;
    if (!*found) return PLIM_OK;
    plim__candidate *candidate = &all->items.items[all->items.count - 1];
    const struct plim__setting *s = all->settings.items[candidate->setting];
    PLIM_TRY(pack(all, candidate, error));
    size_t most = plim__spill_list_most(&s->spillable, all->task.spill_room);
    *smallest = spilled(all, candidate, most > s->window ? most : 0);
    return PLIM_OK;
}

plim_status plim__candidates_fastest(plim__candidates *all, bool *found, plim__candidate *fastest, plim_error *error) {
    *found = all->items.count > 0;
    if (!*found) return PLIM_OK;
    PLIM_TRY(pack(all, &all->items.items[0], error));
    *fastest = all->items.items[0];
    return PLIM_OK;
}

/* --- the search ----------------------------------------------------------------------------------------------- */

static size_t least_persistent(const plim__candidates *all, const struct plim__setting *s) {
    size_t most = plim__spill_list_most(&s->spillable, all->task.spill_room);
    return most > s->window ? s->persistent_bytes + s->window - most : s->persistent_bytes;
}

/* What some step holds at once, whatever the order: no schedule has less. */
static size_t least_transient(const plim__depend *d) {
    int64_t most = 0;
    for (size_t s = 0; s < d->step_count; s++) {
        int64_t bytes = d->scratch[s] - (d->over[s] >= 0 ? d->bytes[d->onto[s]] : 0);
        for (int32_t i = d->reads.start[s]; i < d->reads.start[s + 1]; i++) bytes += d->bytes[d->reads.items[i]];
        for (int32_t i = d->makes.start[s]; i < d->makes.start[s + 1]; i++) bytes += d->bytes[d->makes.items[i]];
        if (bytes > most) most = bytes;
    }
    return (size_t)most;
}

/* Whether any candidate of a setting could be one that keep_best keeps: with sums of gradients beside everything else,
 * micro-batches are often larger and slower than what is there already. */
static bool could_win(const plim__candidates *all, const struct plim__setting *s) {
    size_t least = s->persistent_bytes + least_transient(s->depend);
    for (size_t i = 0; i < all->items.count; i++) {
        const plim__candidate *p = &all->items.items[i];
        if (p->seconds <= s->update_seconds && p->class <= s->class && arena_of(p) <= least) return false;
    }
    return true;
}

#define HAIR     1e-4
#define A_LITTLE 0.02

/* What is left of a batch after all micro-batches must be splittable likewise. */
static plim_status judge_rest(const plim__task *task, const struct plim__setting *s, bool *splits, plim_error *error) {
    plim__training_options options = plim__levers_training(task, &s->levers);
    plim__batch_verdict verdict;
    options.batch = task->training.batch % s->levers.micro_batch;
    options.fold = task->target.device->fold;
    *splits = s->variant->training->split.split != PLIM__SPLIT_NEVER;
    if (!*splits || options.batch == 0) return PLIM_OK;
    PLIM_TRY(plim__training_judge(task->model, &options, &verdict, error));
    *splits = verdict.split >= s->variant->training->split.split;
    return PLIM_OK;
}

static bool means_unbuildable(plim_status status) {
    return status == PLIM_SHAPE || status == PLIM_DTYPE || status == PLIM_UNSUPPORTED || status == PLIM_INVALID ||
           status == PLIM_CORRUPT || status == PLIM_OVERFLOW;
}

/* A setting of this micro-batch; none when the model cannot be built for it, or its parts do not make a batch. */
static plim_status setting_find(const plim__task *task, plim__levers levers, struct plim__setting **out,
                                plim_error *error) {
    bool requested = levers.micro_batch == task->most_samples, splits = true;
    plim_status status = setting_create(task, levers, out, error);
    if (requested) return status;
    if (status == PLIM_OK) status = judge_rest(task, *out, &splits, error);
    if (status == PLIM_OK && splits) return PLIM_OK;
    setting_free(*out);
    *out = NULL;
    return means_unbuildable(status) ? PLIM_OK : status;
}

/* Builds a setting; its frontier is only explored when it could be faster than what fits already. */
static plim_status try(plim__candidates *all, plim__levers levers, size_t limit, plim_error *error) {
    struct plim__setting *s;
    plim__candidate best;
    bool found = false;
    if (limit < SIZE_MAX) PLIM_TRY(plim__candidates_best(all, limit, &found, &best, error));
    make_room(all, NULL);
    PLIM_TRY(setting_find(&all->task, levers, &s, error));
    if (!s) return PLIM_OK;
    /* parts are never faster than the whole, which is tried first, whatever the rates make of their sizes; nor as fast as
     * larger ones, so that one candidate is the fastest wherever the search ends. Other numbers are worth it when they save
     * more than a little time. */
    double slower = 1 + HAIR * (double)all->tried++ + (s->class > PLIM_EXACT ? A_LITTLE : 0);
    if (all->settings.count > 0)
        s->update_seconds = fmax(s->update_seconds, all->settings.items[0]->update_seconds * slower);
    plim_status status = PLIM_OK;
    bool allowed = s->class <= all->task.allow || levers.micro_batch == all->task.most_samples; /* as requested */
    bool useful = allowed && could_win(all, s);
    if (useful && (least_persistent(all, s) >= limit || (found && s->update_seconds >= best.seconds)))
        useful = all->complete = false;
    /* micro-batches come in many sizes: theirs are sketched, that of the whole is worked out */
    int effort = levers.micro_batch < all->task.most_samples ? -1 : all->task.effort;
    /* only asked whether something fits: no further than there, and lower by what packing may add */
    bool fits_only = useful && all->task.effort < 0 && limit < SIZE_MAX;
    int64_t least = fits_only ? (int64_t)((double)(limit - least_persistent(all, s)) * 0.9) : 0;
    if (useful) status = explore(s, effort, all->task.target.threads, least, error);
    if (status != PLIM_OK || !useful) {
        discard(all, s);
        return status;
    }
    if (!plim__vec_push(&all->settings, s)) {
        setting_free(s);
        return plim__fail_memory(error, "plans", sizeof s);
    }
    PLIM_TRY(add_candidates(all, all->settings.count - 1, error));
    keep_best(all);
    for (size_t i = 0; i < all->settings.count; i++) drop_points(all, i);
    return PLIM_OK;
}

/* MiB of scores in a chunk, about. Every chunk reads the weights of the last layer again: with many rows they
 * cost next to nothing, with few they need the least memory. */
static const int chunk_sizes[] = {64, 8};
#define CHUNK_SIZES (sizeof chunk_sizes / sizeof *chunk_sizes)

static int64_t chunk_rows(const plim__variant *v, int mebibytes) {
    int64_t rows = v->training->classes > 0 ? ((int64_t)mebibytes << 20) / (v->training->classes * 4) : 0;
    return rows < 8 ? 8 : rows;
}

static bool wants_chunks(const plim__variant *v) { return v->training->classes >= 4096; }

/* A size of micro-batches, with the scores of the last layer as a whole and in chunks. */
static plim_status try_with_chunks(plim__candidates *all, int64_t micro, const int64_t *rows, size_t chunks,
                                   size_t limit, plim_error *error) {
    plim__levers levers = {.micro_batch = micro, .transient_limit = INT64_MAX};
    if (micro < all->task.most_samples) PLIM_TRY(try(all, levers, limit, error));
    for (size_t i = 0; i < chunks; i++) {
        levers.loss_rows = rows[i];
        PLIM_TRY(try(all, levers, limit, error));
    }
    return PLIM_OK;
}

static plim_status find(plim__candidates *all, size_t limit, plim_error *error) {
    int64_t batch = all->task.most_samples;
    plim__levers whole = {.micro_batch = batch, .transient_limit = INT64_MAX};
    PLIM_TRY(try(all, whole, limit, error));
    if (all->settings.count == 0) return PLIM_OK; /* persistent bytes alone are too many */
    const plim__variant *first = all->settings.items[0]->variant;
    size_t chunks = wants_chunks(first) && all->task.allow >= PLIM_REORDERED ? CHUNK_SIZES : 0;
    plim__split split = first->training->split.split;
    bool splits = split != PLIM__SPLIT_NEVER && plim__split_class(split) <= all->task.allow;
    int64_t rows[CHUNK_SIZES], last = batch;
    for (size_t i = 0; i < chunks; i++) rows[i] = chunk_rows(first, chunk_sizes[i]);
    PLIM_TRY(try_with_chunks(all, batch, rows, chunks, limit, error)); /* `first` may be gone from here on */
    for (int64_t runs = 2; splits && runs / 2 < batch; runs *= 2) {
        int64_t micro = (batch + runs - 1) / runs;
        if (micro == last) continue;
        last = micro;
        PLIM_TRY(try_with_chunks(all, micro, rows, chunks, limit, error));
    }
    return PLIM_OK;
}

plim_status plim__candidates_find(const plim__task *task, size_t limit, plim__candidates *all, plim_error *error) {
    *all = (plim__candidates){.task = *task, .complete = true};
    plim_status status = find(all, limit ? limit : SIZE_MAX, error);
    if (status != PLIM_OK) plim__candidates_free(all);
    return status;
}

void plim__candidates_free(plim__candidates *all) {
    for (size_t i = 0; i < all->settings.count; i++) setting_free(all->settings.items[i]);
    plim__vec_free(&all->settings);
    plim__vec_free(&all->items);
    all->settings.count = all->items.count = 0;
}

/* --- variants ------------------------------------------------------------------------------------------------- */

plim_status plim__candidates_take(plim__candidates *all, const plim__candidate *candidate, plim__variant **variant,
                                  plim_error *error) {
    struct plim__setting *s = all->settings.items[candidate->setting];
    make_room(all, s);
    PLIM_TRY(revive(s, &all->task, error));
    PLIM_TRY(
        plim__variant_pack(s->variant, &frontier_point(s, candidate)->schedule, candidate->levers.spill, NULL, error));
    *variant = s->variant;
    s->variant = NULL;
    return PLIM_OK;
}
