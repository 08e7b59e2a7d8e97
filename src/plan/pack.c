/* plim_pack: constructions first, then the exact search at well-chosen capacities.
 *
 *   0 ──────── proven ─ ─ ─ probe ─ ─ ─ best ────→ height
 *   no packing is lower          a packing is known
 *
 * The first probe of a round is the goal: the capacity, or what is proven when the lowest packing is wanted. Probes
 * that run out of their limit are followed by more modest ones, halfway to the best, so that there is progress
 * whenever the deadline comes. Each round has twice the limit of the one before. Limits are counted in work, not in
 * seconds, which makes the answer the same everywhere. */
#include "plimsoll/pack.h"

#include "core/alloc.h"
#include "core/arguments.h"
#include "core/clock.h"
#include "plan/pack_greedy.h"
#include "plan/pack_internal.h"
#include "plan/pack_search.h"

static const int64_t default_work = 400 * 1000 * 1000;
static const int64_t greedy_work = 250 * 1000 * 1000;
static const int64_t first_limit = 4 * 1000 * 1000; /* of one style at one probe */
enum { failures_per_round = 3 };

typedef struct packing {
    plim__pack_problem problem;
    plim__pack_search *search;
    plim__pack_budget budget;
    int64_t capacity;        /* INT64_MIN for none */
    size_t memory;           /* for dead ends; 0: the usual */
    int64_t *offsets, *next; /* of items: the best, and what a probe finds */
    int64_t best, proven;    /* these three are above problem.base */
} packing;

bool plim__pack_budget_late(plim__pack_budget *budget) {
    if (budget->deadline > 0 && plim__clock_seconds() >= budget->deadline) budget->timed_out = true;
    return budget->timed_out;
}

static bool spent(packing *pack) { return pack->budget.work <= 0 || plim__pack_budget_late(&pack->budget); }

static bool satisfied(const packing *pack) { return pack->best <= pack->proven || pack->best <= pack->capacity; }

/* No packing is as low as `height`: what is the next that could be? */
static int64_t next_height(const plim__pack_problem *problem, int64_t height) {
    return problem->padded ? height + 1 : (height / problem->step + 1) * problem->step;
}

/* Asks for a packing within `height`, every style in turn until one knows the answer. */
static plim_status probe(packing *pack, int64_t height, int64_t limit, plim__pack_outcome *outcome, plim_error *error) {
    *outcome = PLIM__PACK_STOPPED;
    for (int style = 0; style < PLIM__PACK_STYLES && *outcome == PLIM__PACK_STOPPED && !spent(pack); style++) {
        plim__pack_goal goal = {height, style, limit};
        PLIM_TRY(plim__pack_search_run(pack->search, &goal, &pack->budget, pack->next, outcome, error));
    }
    if (*outcome == PLIM__PACK_IMPOSSIBLE) pack->proven = next_height(&pack->problem, height);
    if (*outcome == PLIM__PACK_FOUND) {
        int64_t *swap = pack->offsets;
        pack->offsets = pack->next;
        pack->next = swap;
        pack->best = plim__pack_height(&pack->problem, pack->offsets);
    }
    return PLIM_OK;
}

static plim_status probe_round(packing *pack, int64_t limit, plim_error *error) {
    int64_t from = pack->capacity > pack->proven ? pack->capacity : pack->proven; /* not worth asking below this */
    int failures = 0;
    for (bool first = true; from < pack->best && failures < failures_per_round; first = false) {
        plim__pack_outcome outcome;
        int64_t height = first ? from : from + (pack->best - 1 - from) / 2;
        PLIM_TRY(probe(pack, height, limit, &outcome, error));
        if (satisfied(pack) || spent(pack)) break;
        if (outcome == PLIM__PACK_STOPPED) failures++;
        if (outcome != PLIM__PACK_FOUND) from = height + 1 > pack->proven ? height + 1 : pack->proven;
    }
    return PLIM_OK;
}

/* Bytes of the search's lists; 0: as many as it needs. */
static size_t list_bytes(const packing *pack) {
    size_t quarter = (size_t)(pack->proven / 4);
    return pack->memory && quarter > pack->memory ? quarter : pack->memory;
}

static plim_status improve(packing *pack, plim_error *error) {
    if (satisfied(pack) || spent(pack) ||
        !plim__pack_problem_searchable(&pack->problem, pack->budget.work / 4, list_bytes(pack)))
        return PLIM_OK;
    PLIM_TRY(plim__pack_problem_index(&pack->problem, error));
    PLIM_TRY(plim__pack_search_new(&pack->problem, pack->memory, &pack->search, error));
    int64_t dives = 2 * pack->problem.dive_work;
    for (int64_t limit = dives > first_limit ? dives : first_limit; !satisfied(pack) && !spent(pack);) {
        PLIM_TRY(probe_round(pack, limit, error));
        if (limit < INT64_MAX / 2) limit *= 2;
    }
    return PLIM_OK;
}

static plim_status solve(packing *pack, plim_error *error) {
    size_t count = (size_t)pack->problem.count;
    pack->offsets = plim__alloc_array(count + 1, sizeof *pack->offsets);
    pack->next = plim__alloc_array(count + 1, sizeof *pack->next);
    if (!pack->offsets || !pack->next)
        return plim__fail_memory(error, "the packer's offsets", count * sizeof *pack->offsets);
    pack->proven = pack->problem.padded_bound;
    plim__pack_budget quick = pack->budget;
    if (quick.work > greedy_work) quick.work = greedy_work;
    int64_t target = pack->capacity > pack->proven ? pack->capacity : pack->proven;
    PLIM_TRY(plim__pack_greedy(&pack->problem, target, &quick, pack->offsets, &pack->best, error));
    pack->budget.timed_out = quick.timed_out;
    if (pack->budget.work <= greedy_work)
        pack->budget.work = quick.work;
    else
        pack->budget.work -= greedy_work - quick.work;
    return improve(pack, error);
}

/* Fixed buffers must not collide with each other; everything else gives way to them. */
static plim_status check_fixed(const plim_pack_buffer *buffers, size_t count, plim_error *error) {
    size_t fixed = 0;
    for (size_t i = 0; i < count; i++) fixed += buffers[i].fixed;
    if (fixed == 0) return PLIM_OK;
    plim_pack_buffer *copies = plim__alloc_array(count, sizeof *copies);
    int64_t *offsets = plim__alloc_array(count, sizeof *offsets);
    plim_status status = PLIM_OK;
    if (copies && offsets) {
        for (size_t i = 0; i < count; i++) {
            copies[i] = buffers[i];
            if (!buffers[i].fixed) copies[i].size = 0; /* overlaps nothing; keeps the indices of the others */
            offsets[i] = buffers[i].fixed ? buffers[i].offset : 0;
        }
        status = plim_pack_check(copies, count, offsets, error);
        if (status == PLIM_INVALID) status = plim__fail_context(error, status, "fixed offsets collide");
    } else {
        status = plim__fail_memory(error, "the check of fixed offsets", count * sizeof *copies);
    }
    plim__free(copies);
    plim__free(offsets);
    return status;
}

static void fill_result(const packing *pack, const plim_pack_options *options, double start, plim_pack_result *result) {
    int64_t height = pack->problem.base + pack->best;
    bool fits = options->capacity == 0 || height <= options->capacity;
    *result = (plim_pack_result){
        .height = height,
        .lower_bound = pack->problem.lower_bound,
        .fits = fits,
        .exact = pack->best <= pack->proven || (!fits && pack->capacity < pack->proven),
        .timed_out = pack->budget.timed_out,
        .nodes = pack->budget.nodes,
        .seconds = plim__clock_seconds() - start,
    };
}

static void fill_offsets(const packing *pack, const plim_pack_buffer *buffers, size_t count, int64_t *offsets) {
    const plim__pack_problem *problem = &pack->problem;
    for (size_t i = 0; i < count; i++) offsets[i] = buffers[i].fixed ? buffers[i].offset : 0; /* those of size 0 */
    for (int32_t i = 0; i < problem->count; i++) offsets[problem->items[i].buffer] = problem->base + pack->offsets[i];
    for (int32_t i = problem->count; i < problem->count + problem->bottom; i++)
        offsets[problem->items[i].buffer] = problem->items[i].fixed;
}

plim_status plim_pack(const plim_pack_buffer *buffers, size_t count, const plim_pack_options *options, int64_t *offsets,
                      plim_pack_result *result, plim_error *error) {
    plim_pack_options o;
    PLIM__NEED(result, error);
    *result = (plim_pack_result){0};
    if (count) PLIM__NEED(buffers, error);
    if (count) PLIM__NEED(offsets, error);
    PLIM__OPTIONS(plim_pack_options, o, options, error);
    options = &o;
    if (options->capacity < 0 || options->work < 0 || !(options->seconds >= 0))
        return plim__fail(error, PLIM_INVALID, "the packer's capacity, work and seconds must not be negative");
    double begin = plim__clock_seconds();
    packing pack = {.capacity = INT64_MIN, .memory = options->memory};
    pack.budget.deadline = options->seconds > 0 ? begin + options->seconds : 0;
    pack.budget.work = options->work ? options->work : options->capacity ? INT64_MAX : default_work;
    plim_status status = plim__pack_problem_init(&pack.problem, buffers, count, error);
    if (status == PLIM_OK) status = check_fixed(buffers, count, error);
    if (options->capacity > 0) pack.capacity = options->capacity - pack.problem.base;
    if (status == PLIM_OK) status = solve(&pack, error);
    if (status == PLIM_OK) {
        fill_offsets(&pack, buffers, count, offsets);
        fill_result(&pack, options, begin, result);
    }
    plim__pack_search_free(pack.search);
    plim__pack_problem_free(&pack.problem);
    plim__free(pack.offsets);
    plim__free(pack.next);
    return status;
}
