/* The search over levers. */
#include "budget/candidates.h"

#include <math.h>
#include <stdlib.h>

#include "core/error.h"
#include "grad/optimizer.h"
#include "kernel/processor.h"
#include "mem/heap.h"
#include "plan/recompute.h"

/* --- candidates --------------------------------------------------------------------------------------------------- */

static size_t arena_of(const plim__candidate *p) {
    return p->arena_bytes ? p->arena_bytes : p->persistent_bytes + p->transient_bytes;
}

/* Planning takes memory too, where the arena will be. */
static size_t floor_of(const plim__candidates *all, const plim__setting *s) {
    return s->working_bytes > all->task.coming_bytes ? s->working_bytes - all->task.coming_bytes : 0;
}

size_t plim__candidates_total(const plim__candidates *all, const plim__candidate *p) {
    size_t arena = arena_of(p), least = floor_of(all, all->settings.items[p->setting]);
    return (arena > least ? arena : least) + p->program_bytes;
}

/* Bytes of a file that are left for optimizer state. */
static uint64_t state_room(const plim__candidates *all, const plim__setting *s) {
    return all->task.spill_room > s->streamed_bytes ? all->task.spill_room - s->streamed_bytes : 0;
}

/* What spilling all of its state saves. */
static size_t spill_gain(const plim__candidates *all, const plim__setting *s) {
    size_t most = plim__spill_list_most(&s->spillable, state_room(all, s));
    return most > s->window ? most - s->window : 0;
}

/* The bytes of a candidate with all of its state in a file. */
static size_t least_total(const plim__candidates *all, const plim__candidate *p) {
    const plim__setting *s = all->settings.items[p->setting];
    size_t arena = arena_of(p) - spill_gain(all, s), least = floor_of(all, s);
    return (arena > least ? arena : least) + p->program_bytes;
}

static int faster_first(const void *a, const void *b) {
    const plim__candidate *x = a, *y = b;
    size_t xs = x->persistent_bytes + x->transient_bytes, ys = y->persistent_bytes + y->transient_bytes;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
    if (x->class != y->class) return x->class < y->class ? -1 : 1;
    return (xs > ys) - (xs < ys);
}

static plim_status add_candidates(plim__candidates *all, size_t index, plim_error *error) {
    const plim__setting *s = all->settings.items[index];
    for (size_t i = 0; i < s->points.count; i++) {
        const plim__point *from = &s->points.items[i];
        plim__candidate candidate = {.levers = s->levers,
                                     .class = s->class,
                                     .persistent_bytes = s->persistent_bytes,
                                     .transient_bytes = (size_t)from->peak_bytes,
                                     .program_bytes = s->programs * s->program_bytes,
                                     .seconds = s->update_seconds + from->extra_seconds * (double)s->runs,
                                     .repeated = from->schedule.count - s->step_count,
                                     .setting = index};
        candidate.levers.transient_limit = from->peak_bytes;
        if (!plim__vec_push(&all->items, candidate)) return plim__fail_memory(error, "plans", sizeof candidate);
    }
    return PLIM_OK;
}

/* Whether one is no larger than the other, with its state in memory and in a file: settings differ in what can be spilled. */
static bool covers(const plim__candidates *all, const plim__candidate *a, const plim__candidate *b) {
    return plim__candidates_total(all, a) <= plim__candidates_total(all, b) &&
           least_total(all, a) <= least_total(all, b);
}

/* Sorts by time and drops every candidate that a faster one is no larger than. */
static void keep_best(plim__candidates *all) {
    plim__candidate *items = all->items.items;
    size_t count = 0;
    if (all->items.count) qsort(items, all->items.count, sizeof *items, faster_first);
    for (size_t i = 0; i < all->items.count; i++) {
        bool covered = false;
        for (size_t k = count; k-- > 0 && !covered;) covered = covers(all, &items[k], &items[i]);
        if (!covered) items[count++] = items[i];
    }
    all->items.count = count;
}

void plim__candidates_release(plim__candidates *all) {
    for (size_t i = 0; i < all->settings.count; i++) plim__setting_release(all->settings.items[i]);
}

/* Memory of programs that are freed goes back to the system, not to the next program's neighbours. */
static void trim(void) {
    plim__processor_trim();
    plim__heap_trim();
}

/* Programs wait to be needed again as far as the search has room for them, the latest the longest. `but` is at work. */
static void make_room(plim__candidates *all, const plim__setting *but) {
    size_t held = 0;
    bool released = false;
    for (size_t i = all->settings.count; i-- > 0;) {
        plim__setting *s = all->settings.items[i];
        if (s == but || !s->variant) continue;
        held += s->program_bytes;
        if (held <= all->task.search_bytes) continue;
        plim__setting_release(s);
        released = true;
    }
    if (released) trim();
}

/* Schedules that no candidate follows any more. */
static plim_status drop_points(plim__candidates *all, size_t index, plim_error *error) {
    plim__setting *s = all->settings.items[index];
    bool *wanted = plim__alloc_zero(s->points.count + 1, sizeof *wanted);
    if (!wanted) return plim__fail_memory(error, "plans", s->points.count);
    for (size_t k = 0; k < all->items.count; k++) {
        const plim__candidate *p = &all->items.items[k];
        if (p->setting == index) wanted[plim__setting_point(s, p->levers.transient_limit) - s->points.items] = true;
    }
    plim__setting_keep(s, wanted);
    plim__free(wanted);
    return PLIM_OK;
}

static plim_status pack(plim__candidates *all, plim__candidate *candidate, plim_error *error) {
    plim__setting *s = all->settings.items[candidate->setting];
    if (candidate->arena_bytes) return PLIM_OK;
    make_room(all, s);
    if (!s->variant) all->built += s->step_count;
    PLIM_TRY(plim__setting_revive(s, &all->task, error));
    const plim__point *point = plim__setting_point(s, candidate->levers.transient_limit);
    PLIM_TRY(plim__variant_pack(s->variant, &point->schedule, 0, NULL, error));
    all->packed++;
    candidate->arena_bytes = s->variant->plan->arena_bytes;
    return PLIM_OK;
}

/* The same candidate with `spill` bytes of state in a file, a sum of its list. */
static plim__candidate spilled(const plim__candidates *all, const plim__candidate *candidate, size_t spill) {
    const plim__setting *s = all->settings.items[candidate->setting];
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
    const plim__setting *s = all->settings.items[candidate->setting];
    size_t bytes = arena_of(candidate) + candidate->program_bytes, spill = 0;
    if (floor_of(all, s) + candidate->program_bytes > limit) return false;
    if (bytes > limit) {
        spill = plim__spill_list_sum(&s->spillable, bytes - limit + s->window);
        if (!spill || spill > state_room(all, s)) return false;
    }
    *with = spilled(all, candidate, spill);
    return true;
}

/* Work is bounded, so that the largest and the most hostile file is planned in half a minute: what is found by then is the
 * answer. Networks of some hundred layers never come there. */
#define MOST_BUILT  ((size_t)60000) /* steps of programs */
#define MOST_PACKED ((size_t)200)   /* candidates */
#define MANY_STEPS  ((size_t)8000)  /* of a program: all else takes longer, so that less is left for its search */

static bool is_spent(const plim__candidates *all) { return all->built > MOST_BUILT || all->packed > MOST_PACKED; }

/* Packs a candidate, and where it does not fit then, the next ones of its setting until one does: another setting would have
 * its program rebuilt, and this one again for the next. */
static plim_status pack_some(plim__candidates *all, plim__candidate *first, size_t limit, plim_error *error) {
    plim__candidate *end = all->items.items + all->items.count, with;
    for (plim__candidate *p = first; p < end; p++) {
        if (p->setting != first->setting) continue;
        PLIM_TRY(pack(all, p, error));
        if (within(all, p, limit, &with) || is_spent(all)) break;
    }
    return PLIM_OK;
}

/* Packing may need a little more than the largest sum: so only a packed arena tells whether a candidate fits, and more
 * memory never means a slower one. Packs those that could be the fastest, until one that is packed is. */
plim_status plim__candidates_best(plim__candidates *all, size_t limit, bool *found, plim__candidate *best,
                                  plim_error *error) {
    for (;;) {
        plim__candidate *winner = NULL;
        double least = INFINITY;
        for (size_t i = 0; i < all->items.count; i++) {
            plim__candidate with, *p = &all->items.items[i];
            if (!within(all, p, limit, &with) || with.seconds >= least || (!p->arena_bytes && is_spent(all))) continue;
            winner = p;
            least = with.seconds;
            *best = with;
        }
        *found = winner != NULL;
        if (!winner || winner->arena_bytes) return PLIM_OK;
        PLIM_TRY(pack_some(all, winner, limit, error));
    }
}

/* The smallest candidate of a setting; NULL: it has none. */
static plim__candidate *smallest_of(plim__candidates *all, size_t setting) {
    for (size_t i = all->items.count; i-- > 0;)
        if (all->items.items[i].setting == setting) return &all->items.items[i];
    return NULL;
}

/* The smallest candidate of the setting that is n-th in this, with all state in a file; of two that are as small, the later. */
static plim__candidate *nth_smallest(plim__candidates *all, size_t n) {
    for (size_t i = all->items.count; i-- > 0;) {
        plim__candidate *candidate = &all->items.items[i];
        size_t own = least_total(all, candidate), before = 0;
        if (smallest_of(all, candidate->setting) != candidate) continue;
        for (size_t k = 0; k < all->items.count; k++) {
            plim__candidate *other = &all->items.items[k];
            size_t bytes = least_total(all, other);
            before += smallest_of(all, other->setting) == other && (bytes < own || (bytes == own && k > i));
        }
        if (before == n) return candidate;
    }
    return NULL;
}

plim_status plim__candidates_smallest(plim__candidates *all, size_t n, bool *found, plim__candidate *smallest,
                                      plim_error *error) {
    plim__candidate *candidate = nth_smallest(all, n);
    *found = candidate != NULL;
    if (!*found) return PLIM_OK;
    const plim__setting *s = all->settings.items[candidate->setting];
    PLIM_TRY(pack(all, candidate, error));
    *smallest = spilled(all, candidate, spill_gain(all, s) ? spill_gain(all, s) + s->window : 0);
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

static size_t programs_of(const plim__setting *s) { return s->programs * s->program_bytes; }

static size_t least_persistent(const plim__candidates *all, const plim__setting *s) {
    return s->persistent_bytes - spill_gain(all, s);
}

/* Whether any candidate of a setting could be one that keep_best keeps: with sums of gradients beside everything else,
 * micro-batches are often larger and slower than what is there already. */
static bool could_win(const plim__candidates *all, const plim__setting *s) {
    size_t floor = floor_of(all, s), in_memory = s->persistent_bytes + s->least_transient,
           in_file = in_memory - spill_gain(all, s);
    if (in_memory < floor) in_memory = floor;
    if (in_file < floor) in_file = floor;
    for (size_t i = 0; i < all->items.count; i++) {
        const plim__candidate *p = &all->items.items[i];
        if (p->seconds <= s->update_seconds && p->class <= s->class &&
            plim__candidates_total(all, p) <= in_memory + programs_of(s) &&
            least_total(all, p) <= in_file + programs_of(s))
            return false;
    }
    return true;
}

static plim__setting *known_setting(const plim__candidates *all, const plim__levers *levers) {
    for (size_t i = 0; i < all->settings.count; i++) {
        plim__setting *s = all->settings.items[i];
        if (s->levers.micro_batch == levers->micro_batch && s->levers.loss_rows == levers->loss_rows &&
            s->levers.state_bits == levers->state_bits && s->levers.precision == levers->precision &&
            s->levers.stream == levers->stream)
            return s;
    }
    return NULL;
}

#define HAIR     1e-4
#define A_LITTLE 0.02

/* Of an earlier search with another limit, or a new one. */
static plim_status find_setting(plim__candidates *all, plim__levers levers, plim__setting **setting,
                                plim_error *error) {
    plim__setting *s = *setting = known_setting(all, &levers);
    if (s) return PLIM_OK;
    make_room(all, NULL);
    PLIM_TRY(plim__setting_create(&all->task, levers, &s, error));
    if (!plim__vec_push(&all->settings, s)) {
        plim__setting_free(s);
        return plim__fail_memory(error, "plans", sizeof *s);
    }
    /* parts are never faster than the whole, which is tried first, whatever the rates make of their sizes; nor as fast as
     * larger ones, so that one candidate is the fastest wherever the search ends. Other numbers are worth it when they save
     * more than a little time. */
    double slower = 1 + HAIR * (double)(all->settings.count - 1) + (s->class > PLIM_EXACT ? A_LITTLE : 0);
    all->built += s->step_count;
    s->work = PLIM__RECOMPUTE_WORK / (int64_t)((all->settings.count + 1) / 2 * (1 + s->step_count / MANY_STEPS));
    if (all->settings.count > 1)
        s->update_seconds = fmax(s->update_seconds, all->settings.items[0]->update_seconds * slower);
    *setting = s;
    return PLIM_OK;
}

static bool can_split(const plim__candidates *all, const plim__setting *s) {
    return s->split != PLIM__SPLIT_NEVER && plim__split_class(s->split) <= all->task.allow;
}

/* In pieces of one sample every batch has the same program. */
static size_t fewest_programs(const plim__candidates *all, const plim__setting *s) {
    return can_split(all, s) ? plim__task_programs(&all->task, 1) : s->programs;
}

/* Whether exploring a setting is worth it, and possible, within the limit. */
static plim_status is_useful(plim__candidates *all, const plim__setting *s, size_t limit, bool *useful,
                             plim_error *error) {
    bool found = false, requested = s->levers.micro_batch == all->task.most_samples;
    plim__candidate best;
    *useful = s->usable && !s->explored && (s->unasked <= all->task.allow || requested) && could_win(all, s);
    if (!*useful) return PLIM_OK;
    if (s->program_bytes + s->working_bytes > all->task.planning_room) {
        size_t least = fewest_programs(all, s) * s->program_bytes + floor_of(all, s);
        if (!all->left_out || least < all->left_out) all->left_out = least;
        *useful = false;
        return PLIM_OK;
    }
    if (limit < SIZE_MAX) PLIM_TRY(plim__candidates_best(all, limit, &found, &best, error));
    if (least_persistent(all, s) + programs_of(s) >= limit || (found && s->update_seconds >= best.seconds))
        *useful = all->complete = false;
    return PLIM_OK;
}

/* Builds a setting; it is only explored when it could be faster than what fits already. */
static plim_status try(plim__candidates *all, plim__levers levers, size_t limit, plim_error *error) {
    plim__setting *s;
    bool useful;
    PLIM_TRY(find_setting(all, levers, &s, error));
    PLIM_TRY(is_useful(all, s, limit, &useful, error));
    if (!useful) return PLIM_OK;
    /* micro-batches come in many sizes: theirs are sketched, that of the whole is worked out */
    int effort = levers.micro_batch < all->task.most_samples || levers.stream ? -1 : all->task.effort;
    /* only asked whether something fits: no further than there, and lower by what packing may add */
    bool fits_only = all->task.effort < 0 && limit < SIZE_MAX;
    size_t others = least_persistent(all, s) + programs_of(s), index = 0;
    int64_t least = fits_only ? (int64_t)((double)(limit - others) * 0.9) : 0;
    make_room(all, s);
    PLIM_TRY(plim__setting_explore(s, &all->task, effort, least, error));
    while (all->settings.items[index] != s) index++;
    PLIM_TRY(add_candidates(all, index, error));
    keep_best(all);
    for (size_t i = 0; i < all->settings.count; i++) PLIM_TRY(drop_points(all, i, error));
    return PLIM_OK;
}

/* MiB of scores in a chunk, about. Every chunk reads the weights of the last layer again: with many rows they
 * cost next to nothing, with few they need the least memory. */
static const int chunk_sizes[] = {64, 8};
#define CHUNK_SIZES  (sizeof chunk_sizes / sizeof *chunk_sizes)
#define MANY_CLASSES 4096

static int64_t chunk_rows(int64_t classes, int mebibytes) {
    int64_t rows = ((int64_t)mebibytes << 20) / (classes * 4);
    return rows < 8 ? 8 : rows;
}

/* A size of micro-batches, with the scores of the last layer as a whole and in chunks. */
static plim_status try_with_chunks(plim__candidates *all, plim__levers levers, const int64_t *rows, size_t chunks,
                                   size_t limit, plim_error *error) {
    if (levers.micro_batch < all->task.most_samples) PLIM_TRY(try(all, levers, limit, error));
    for (size_t i = 0; i < chunks; i++) {
        levers.loss_rows = rows[i];
        PLIM_TRY(try(all, levers, limit, error));
    }
    return PLIM_OK;
}

/* Weights below this are not worth a search. */
#define WORTH_STREAMING ((size_t)16 << 20)

static size_t trained_bytes(const plim__candidates *all) {
    size_t bytes = 0;
    for (size_t v = 0; v < all->task.model->values.count; v++) {
        const plim__value *value = &all->task.model->values.items[v];
        if (value->kind == PLIM__VALUE_PARAMETER && value->tensor) bytes += value->tensor->bytes;
    }
    return bytes;
}

/* The whole batch with its weights in a file. Sums over micro-batches are as large as the weights: those are not tried. */
static plim_status find_streamed(plim__candidates *all, plim__levers levers, const int64_t *rows, size_t chunks,
                                 size_t limit, plim_error *error) {
    size_t bytes = trained_bytes(all);
    if (bytes < WORTH_STREAMING || bytes > all->task.spill_room || is_spent(all)) return PLIM_OK;
    levers.stream = true;
    PLIM_TRY(try(all, levers, limit, error));
    return try_with_chunks(all, levers, rows, chunks, limit, error);
}

/* All sizes of micro-batches, with the optimizer's state and what waits for the backward pass in these bits. */
static plim_status find_with(plim__candidates *all, int state_bits, plim_precision precision, size_t limit,
                             plim_error *error) {
    int64_t batch = all->task.most_samples;
    plim__levers levers = {
        .micro_batch = batch, .state_bits = state_bits, .precision = precision, .transient_limit = INT64_MAX};
    PLIM_TRY(try(all, levers, limit, error));
    const plim__setting *first = known_setting(all, &levers);
    size_t chunks = first->classes >= MANY_CLASSES && all->task.allow >= PLIM_REORDERED ? CHUNK_SIZES : 0;
    bool splits = can_split(all, first);
    int64_t rows[CHUNK_SIZES] = {0}, last = batch;
    for (size_t i = 0; i < chunks; i++) rows[i] = chunk_rows(first->classes, chunk_sizes[i]);
    PLIM_TRY(find_streamed(all, levers, rows, chunks, limit, error));
    if (!first->explored) return PLIM_OK; /* persistent bytes alone are too many */
    PLIM_TRY(try_with_chunks(all, levers, rows, chunks, limit, error));
    for (int64_t runs = 2; splits && runs / 2 < batch && !is_spent(all); runs *= 2) {
        int64_t micro = (batch + runs - 1) / runs;
        if (micro == last) continue;
        last = levers.micro_batch = micro;
        PLIM_TRY(try_with_chunks(all, levers, rows, chunks, limit, error));
    }
    return PLIM_OK;
}

/* In the bits that the caller chose; else in float32, and where that is allowed in fewer. */
static plim_status find(plim__candidates *all, size_t limit, plim_error *error) {
    const plim_optimizer *optimizer = all->task.training.optimizer;
    plim_precision asked = plim__precision_lever(all->task.training.precision);
    int state = optimizer->state_bits == 8 ? 8 : 0;
    PLIM_TRY(find_with(all, state, asked, limit, error));
    if (all->task.allow < PLIM_LOSSY) return PLIM_OK;
    bool narrows = all->task.training.precision == PLIM_PRECISION_DEFAULT,
         quantizes = !optimizer->state_bits && plim__optimizer_quantizes(optimizer);
    if (narrows) PLIM_TRY(find_with(all, state, PLIM_PRECISION_BF16, limit, error));
    if (quantizes) PLIM_TRY(find_with(all, 8, asked, limit, error));
    return narrows && quantizes ? find_with(all, 8, PLIM_PRECISION_BF16, limit, error) : PLIM_OK;
}

plim_status plim__candidates_find(plim__candidates *all, size_t limit, plim_error *error) {
    all->complete = true;
    all->left_out = 0;
    return find(all, limit ? limit : SIZE_MAX, error);
}

void plim__candidates_free(plim__candidates *all) {
    for (size_t i = 0; i < all->settings.count; i++) plim__setting_free(all->settings.items[i]);
    plim__vec_free(&all->settings);
    plim__vec_free(&all->items);
    all->settings.count = all->items.count = 0;
}

/* --- variants ------------------------------------------------------------------------------------------------- */

plim_status plim__candidates_take(plim__candidates *all, const plim__candidate *candidate, plim__variant **variant,
                                  plim_error *error) {
    plim__setting *s = all->settings.items[candidate->setting];
    make_room(all, s);
    PLIM_TRY(plim__setting_revive(s, &all->task, error));
    const plim__point *point = plim__setting_point(s, candidate->levers.transient_limit);
    PLIM_TRY(plim__variant_pack(s->variant, &point->schedule, candidate->levers.spill, NULL, error));
    *variant = s->variant;
    s->variant = NULL;
    return PLIM_OK;
}
