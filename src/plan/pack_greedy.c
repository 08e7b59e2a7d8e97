/* Greedy packings: take the items in some order, give each the best place among those already placed.
 *
 * Which order is good depends on the shape of the lifetimes, so several are tried. Long-lived first suits training
 * steps, whose saved activations nest like onion skins; large first suits inference.
 *
 * Two ways to find a place:
 *   drop   on top of everything placed that overlaps it: a segment tree over time, n log n
 *   fit    into a gap between those: placed items are kept sorted by offset and walked from the bottom. Short-lived
 *          ones are also filed by the stretch of time they live in, so that a short-lived item, of which there are
 *          many, meets only its neighbours and the long-lived. */
#include "plan/pack_greedy.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/vec.h"

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* --- orders -------------------------------------------------------------------------------------- */

typedef enum item_order { ORDER_LENGTH, ORDER_AREA, ORDER_SIZE, ORDER_START, ORDER_END } item_order;
typedef enum placement { PLACE_DROP, PLACE_FIRST_FIT, PLACE_BEST_FIT } placement;

/* In the order of what they usually achieve, after the quickest one: when one reaches the lower bound, nothing is left
 * to do. */
static const struct {
    item_order order;
    placement place;
} constructions[] = {
    {ORDER_LENGTH, PLACE_DROP},      {ORDER_SIZE, PLACE_FIRST_FIT}, {ORDER_AREA, PLACE_FIRST_FIT},
    {ORDER_LENGTH, PLACE_FIRST_FIT}, {ORDER_END, PLACE_BEST_FIT},   {ORDER_START, PLACE_BEST_FIT},
    {ORDER_LENGTH, PLACE_BEST_FIT},  {ORDER_AREA, PLACE_BEST_FIT},  {ORDER_SIZE, PLACE_BEST_FIT},
};

typedef struct ranked {
    double key, second; /* larger comes first */
    int32_t item;
} ranked;

static int by_rank(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    if (a->key != b->key) return COMPARE(b->key, a->key);
    if (a->second != b->second) return COMPARE(b->second, a->second);
    return COMPARE(a->item, b->item);
}

static void sort_items(const plim__pack_problem *problem, item_order order, ranked *ranks) {
    for (int32_t i = 0; i < problem->count; i++) {
        const plim__pack_item *item = &problem->items[i];
        double length = item->last - item->first, size = (double)item->size;
        ranked rank = {0, 0, i};
        switch (order) {
        case ORDER_LENGTH: rank.key = length, rank.second = size; break;
        case ORDER_AREA: rank.key = length * size, rank.second = length; break;
        case ORDER_SIZE: rank.key = size, rank.second = length; break;
        case ORDER_START: rank.key = -item->first, rank.second = length; break;
        case ORDER_END: rank.key = item->last, rank.second = length; break;
        }
        ranks[i] = rank;
    }
    qsort(ranks, (size_t)problem->count, sizeof *ranks, by_rank);
}

/* --- drop: a segment tree of tops over sections ------------------------------------------------------ */

typedef struct skyline {
    int64_t *highest; /* node → highest top within its stretch */
    int64_t *covers;  /* node → top of what covers its whole stretch */
    int32_t leaves;   /* a power of two */
} skyline;

static int64_t skyline_highest(const skyline *sky, int32_t node, int32_t begin, int32_t end, int32_t first,
                               int32_t last) {
    if (last <= begin || end <= first) return 0;
    if (first <= begin && end <= last) return sky->highest[node];
    int32_t middle = begin + (end - begin) / 2;
    int64_t left = skyline_highest(sky, 2 * node, begin, middle, first, last);
    int64_t right = skyline_highest(sky, 2 * node + 1, middle, end, first, last);
    int64_t below = left > right ? left : right;
    return below > sky->covers[node] ? below : sky->covers[node];
}

static void skyline_raise(skyline *sky, int32_t node, int32_t begin, int32_t end, int32_t first, int32_t last,
                          int64_t top) {
    if (last <= begin || end <= first) return;
    if (sky->highest[node] < top) sky->highest[node] = top;
    if (first <= begin && end <= last) {
        if (sky->covers[node] < top) sky->covers[node] = top;
        return;
    }
    int32_t middle = begin + (end - begin) / 2;
    skyline_raise(sky, 2 * node, begin, middle, first, last, top);
    skyline_raise(sky, 2 * node + 1, middle, end, first, last, top);
}

/* --- fit: placed items sorted by offset ---------------------------------------------------------------- */

enum { stretches = 64 };

typedef PLIM_VEC(int32_t) item_list;

typedef struct shelf {
    item_list all, wide, stretch[stretches]; /* each by offset; wide ones live in more than two stretches */
} shelf;

/* What the walks look at, close together. */
typedef struct resting {
    int64_t offset, top;
    int32_t first, last;
} resting;

typedef struct builder {
    const plim__pack_problem *problem;
    int64_t *offsets;
    resting *placed; /* by item */
    ranked *ranks;
    skyline sky;
    shelf shelf;
    int64_t work;
} builder;

static int32_t stretch_of(const plim__pack_problem *problem, int32_t section) {
    return (int32_t)((int64_t)section * stretches / problem->section_count);
}

static bool list_insert(builder *build, item_list *list, int32_t item) {
    if (!plim__vec_reserve(list, list->count + 1)) return false;
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (build->placed[list->items[middle]].offset <= build->placed[item].offset)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(list->items + low + 1, list->items + low, (list->count - low) * sizeof *list->items);
    list->items[low] = item;
    list->count++;
    return true;
}

static bool shelf_insert(builder *build, int32_t item) {
    const plim__pack_item *it = &build->problem->items[item];
    int32_t first = stretch_of(build->problem, it->first), last = stretch_of(build->problem, it->last - 1);
    if (!list_insert(build, &build->shelf.all, item)) return false;
    if (last - first > 1) return list_insert(build, &build->shelf.wide, item);
    for (int32_t i = first; i <= last; i++)
        if (!list_insert(build, &build->shelf.stretch[i], item)) return false;
    return true;
}

/* Up to three lists, to be walked together from the bottom. */
typedef struct overlap_walk {
    const int32_t *at[3], *end[3];
    int lists;
} overlap_walk;

static void walk_add(overlap_walk *walk, const item_list *list) {
    if (list->count == 0) return;
    walk->at[walk->lists] = list->items;
    walk->end[walk->lists++] = list->items + list->count;
}

static overlap_walk walk_overlaps(const builder *build, const plim__pack_item *item) {
    overlap_walk walk = {0};
    int32_t first = stretch_of(build->problem, item->first), last = stretch_of(build->problem, item->last - 1);
    if (last - first > 1) {
        walk_add(&walk, &build->shelf.all);
        return walk;
    }
    walk_add(&walk, &build->shelf.wide);
    walk_add(&walk, &build->shelf.stretch[first]);
    if (last != first) walk_add(&walk, &build->shelf.stretch[last]);
    return walk;
}

/* The list with the lowest item, or -1 at the end of all. */
static int walk_lowest(const overlap_walk *walk, const resting *placed) {
    int best = -1;
    for (int i = 0; i < walk->lists; i++)
        if (walk->at[i] < walk->end[i] && (best < 0 || placed[*walk->at[i]].offset < placed[*walk->at[best]].offset))
            best = i;
    return best;
}

/* A place for one item, while the placed ones pass by from the bottom up. */
typedef struct gap_search {
    const plim__pack_item *item;
    int64_t end; /* of what overlaps the item so far */
    int64_t best, best_gap;
} gap_search;

/* True when there is a gap below `other` that is better than the best so far. Whether two lifetimes meet is a coin
 * toss to the processor, so there is no branch on that alone. */
static inline bool gap_below(gap_search *gaps, const resting *other) {
    const plim__pack_item *item = gaps->item;
    bool meets = (other->last > item->first) & (item->last > other->first), better = false;
    if (meets & (other->offset - gaps->end >= item->size)) {
        int64_t at = plim__pack_align(gaps->end, item->alignment), gap = other->offset - at;
        better = gap >= item->size && gap < gaps->best_gap;
        if (better) {
            gaps->best = at;
            gaps->best_gap = gap;
        }
    }
    int64_t top = meets ? other->top : 0;
    gaps->end = top > gaps->end ? top : gaps->end;
    return better;
}

/* The lowest gap that takes the item, or the narrowest; above everything when there is none. */
static int64_t fit(builder *build, const plim__pack_item *item, bool narrowest) {
    const resting *placed = build->placed;
    overlap_walk walk = walk_overlaps(build, item);
    gap_search gaps = {item, 0, -1, INT64_MAX};
    if (walk.lists == 1) { /* most of the time is spent here */
        const int32_t *at = walk.at[0], *end = walk.end[0];
        while (at < end && (!gap_below(&gaps, &placed[*at]) || narrowest)) at++;
        build->work += at - walk.at[0];
    } else {
        for (int list; (list = walk_lowest(&walk, placed)) >= 0; build->work++)
            if (gap_below(&gaps, &placed[*walk.at[list]++]) && !narrowest) break;
    }
    return gaps.best >= 0 ? gaps.best : plim__pack_align(gaps.end, item->alignment);
}

/* --- construction --------------------------------------------------------------------------------------- */

static void clear(builder *build) {
    size_t nodes = 2 * (size_t)build->sky.leaves;
    memset(build->sky.highest, 0, nodes * sizeof *build->sky.highest);
    memset(build->sky.covers, 0, nodes * sizeof *build->sky.covers);
    build->shelf.all.count = build->shelf.wide.count = 0;
    for (int i = 0; i < stretches; i++) build->shelf.stretch[i].count = 0;
}

/* False when memory is short. */
static bool settle(builder *build, int32_t item, int64_t offset, placement place) {
    const plim__pack_item *it = &build->problem->items[item];
    build->offsets[item] = offset;
    build->placed[item] = (resting){offset, offset + it->size, it->first, it->last};
    if (place != PLACE_DROP) return shelf_insert(build, item);
    skyline_raise(&build->sky, 1, 0, build->sky.leaves, it->first, it->last, offset + it->size);
    build->work += 64;
    return true;
}

static bool construct(builder *build, item_order order, placement place) {
    const plim__pack_problem *problem = build->problem;
    sort_items(problem, order, build->ranks);
    clear(build);
    for (int32_t i = 0; i < problem->count; i++)
        if (problem->items[i].fixed != PLIM__PACK_FREE && !settle(build, i, problem->items[i].fixed, place))
            return false;
    for (int32_t i = 0; i < problem->count; i++) {
        int32_t item = build->ranks[i].item;
        const plim__pack_item *it = &problem->items[item];
        if (it->fixed != PLIM__PACK_FREE) continue;
        int64_t offset;
        if (place == PLACE_DROP)
            offset = plim__pack_align(skyline_highest(&build->sky, 1, 0, build->sky.leaves, it->first, it->last),
                                      it->alignment);
        else
            offset = fit(build, it, place == PLACE_BEST_FIT);
        if (!settle(build, item, offset, place)) return false;
    }
    return true;
}

static bool builder_init(builder *build, const plim__pack_problem *problem) {
    *build = (builder){.problem = problem, .sky.leaves = 1};
    while (build->sky.leaves < problem->section_count) build->sky.leaves *= 2;
    size_t nodes = 2 * (size_t)build->sky.leaves;
    build->offsets = plim__alloc_array((size_t)problem->count + 1, sizeof *build->offsets);
    build->placed = plim__alloc_array((size_t)problem->count + 1, sizeof *build->placed);
    build->ranks = plim__alloc_array((size_t)problem->count + 1, sizeof *build->ranks);
    build->sky.highest = plim__alloc_array(nodes, sizeof *build->sky.highest);
    build->sky.covers = plim__alloc_array(nodes, sizeof *build->sky.covers);
    return build->offsets && build->placed && build->ranks && build->sky.highest && build->sky.covers;
}

static void builder_free(builder *build) {
    plim__free(build->offsets);
    plim__free(build->placed);
    plim__free(build->ranks);
    plim__free(build->sky.highest);
    plim__free(build->sky.covers);
    plim__vec_free(&build->shelf.all);
    plim__vec_free(&build->shelf.wide);
    for (int i = 0; i < stretches; i++) plim__vec_free(&build->shelf.stretch[i]);
}

plim_status plim__pack_greedy(const plim__pack_problem *problem, int64_t target, plim__pack_budget *budget,
                              int64_t *offsets, int64_t *height, plim_error *error) {
    builder build;
    bool enough_memory = builder_init(&build, problem);
    *height = INT64_MAX;
    for (size_t i = 0; enough_memory && i < sizeof constructions / sizeof *constructions; i++) {
        build.work = problem->count;
        enough_memory = construct(&build, constructions[i].order, constructions[i].place);
        if (!enough_memory) break;
        int64_t reached = plim__pack_height(problem, build.offsets);
        if (reached < *height) {
            *height = reached;
            memcpy(offsets, build.offsets, (size_t)problem->count * sizeof *offsets);
        }
        budget->work -= build.work;
        if (*height <= target || budget->work <= 0 || plim__pack_budget_late(budget)) break;
    }
    builder_free(&build);
    if (!enough_memory) return plim__fail_memory(error, "the packer's lists", (size_t)problem->count * sizeof(ranked));
    return PLIM_OK;
}
