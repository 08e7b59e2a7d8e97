/* Greedy packings: take the items in some order, give each the best place among those already placed.
 *
 * Which order is good depends on the shape of the lifetimes, so several are tried. Long-lived first suits training
 * steps, whose saved activations nest like onion skins; large first suits inference; what is alive at the most crowded
 * time first suits both.
 *
 * Two methods to find a place:
 *   drop   on top of everything placed that overlaps it: a segment tree over time, n log n
 *   fit    into a gap between those: pack_shelf.c */
#include "plan/pack_greedy.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "plan/pack_shelf.h"

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* --- orders --------------------------------------------------------------------------------------------------- */

typedef enum item_order {
    ORDER_LENGTH,
    ORDER_AREA,
    ORDER_SIZE,
    ORDER_START,
    ORDER_END,
    ORDER_CROWD_SIZE, /* alive at the most crowded time first, large ones of them first */
    ORDER_CROWD_LENGTH,
} item_order;
typedef enum placement { PLACE_DROP, PLACE_FIRST_FIT, PLACE_BEST_FIT } placement;

/* In the order of what they achieve for their time: large problems don't get further than the first few. */
static const struct {
    item_order order;
    placement place;
} constructions[] = {
    {ORDER_LENGTH, PLACE_DROP},          {ORDER_START, PLACE_BEST_FIT},   {ORDER_CROWD_LENGTH, PLACE_BEST_FIT},
    {ORDER_SIZE, PLACE_FIRST_FIT},       {ORDER_END, PLACE_BEST_FIT},     {ORDER_CROWD_LENGTH, PLACE_FIRST_FIT},
    {ORDER_AREA, PLACE_FIRST_FIT},       {ORDER_LENGTH, PLACE_FIRST_FIT}, {ORDER_LENGTH, PLACE_BEST_FIT},
    {ORDER_CROWD_SIZE, PLACE_FIRST_FIT},
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

static void sort_items(const plim__pack_problem *problem, item_order order, const int64_t *crowd, ranked *ranks) {
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
        case ORDER_CROWD_SIZE: rank.key = (double)crowd[i], rank.second = size; break;
        case ORDER_CROWD_LENGTH: rank.key = (double)crowd[i], rank.second = length; break;
        }
        ranks[i] = rank;
    }
    qsort(ranks, (size_t)problem->count, sizeof *ranks, by_rank);
}

/* --- drop: a segment tree of tops over sections --------------------------------------------------------------- */

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

/* From section `first` to before `last`, the height becomes at least `top`. */
struct raise {
    int32_t first, last;
    int64_t top;
};

static void skyline_raise(skyline *sky, int32_t node, int32_t begin, int32_t end, const struct raise *to) {
    if (to->last <= begin || end <= to->first) return;
    if (sky->highest[node] < to->top) sky->highest[node] = to->top;
    if (to->first <= begin && end <= to->last) {
        if (sky->covers[node] < to->top) sky->covers[node] = to->top;
        return;
    }
    int32_t middle = begin + (end - begin) / 2;
    skyline_raise(sky, 2 * node, begin, middle, to);
    skyline_raise(sky, 2 * node + 1, middle, end, to);
}

/* --- construction --------------------------------------------------------------------------------------------- */

typedef struct builder {
    const plim__pack_problem *problem;
    int64_t *offsets;
    int64_t *crowd;  /* by item: the largest sum of live sizes in its life */
    ranked *ranks;   /* the order */
    ranked *leaving; /* the order in which items leave a brief shelf */
    skyline sky;
    plim__pack_shelf shelf;
    int64_t work;
} builder;

static void clear_skyline(builder *build) {
    size_t nodes = 2 * (size_t)build->sky.leaves;
    memset(build->sky.highest, 0, nodes * sizeof *build->sky.highest);
    memset(build->sky.covers, 0, nodes * sizeof *build->sky.covers);
}

/* False when memory is short. */
static bool settle(builder *build, int32_t item, int64_t offset, placement place) {
    const plim__pack_item *it = &build->problem->items[item];
    build->offsets[item] = offset;
    if (place != PLACE_DROP) return plim__pack_shelf_insert(&build->shelf, item, offset);
    skyline_raise(&build->sky, 1, 0, build->sky.leaves, &(struct raise){it->first, it->last, offset + it->size});
    build->work += 64;
    return true;
}

/* Items come by their start (or, in reverse, by their end): those that ended before can't meet any to come. */
static void remove_gone(builder *build, item_order order, int32_t item, int32_t *gone) {
    const plim__pack_item *items = build->problem->items;
    for (; *gone < build->problem->count; (*gone)++) {
        int32_t other = build->leaving[*gone].item;
        if (order == ORDER_START ? items[other].last > items[item].first : items[other].first < items[item].last)
            return;
        plim__pack_shelf_remove(&build->shelf, build->offsets[other]);
    }
}

static void sort_leaving(builder *build, item_order order) {
    for (int32_t i = 0; i < build->problem->count; i++) {
        const plim__pack_item *item = &build->problem->items[i];
        build->leaving[i] = (ranked){order == ORDER_START ? -item->last : item->first, 0, i};
    }
    qsort(build->leaving, (size_t)build->problem->count, sizeof *build->leaving, by_rank);
}

static int64_t find_place(builder *build, int32_t item, placement place) {
    const plim__pack_item *it = &build->problem->items[item];
    if (place != PLACE_DROP) return plim__pack_shelf_fit(&build->shelf, item, place == PLACE_BEST_FIT);
    return plim__pack_align(skyline_highest(&build->sky, 1, 0, build->sky.leaves, it->first, it->last), it->alignment);
}

/* Takes the items in the order of build->ranks. False when memory is short. */
static bool construct(builder *build, item_order order, placement place) {
    const plim__pack_problem *problem = build->problem;
    bool brief = problem->uniform && (order == ORDER_START || order == ORDER_END) && place != PLACE_DROP;
    int32_t gone = 0;
    clear_skyline(build);
    plim__pack_shelf_clear(&build->shelf, brief);
    if (brief) sort_leaving(build, order);
    for (int32_t i = 0; i < problem->count; i++)
        if (problem->items[i].fixed != PLIM__PACK_FREE && !settle(build, i, problem->items[i].fixed, place))
            return false;
    for (int32_t i = 0; i < problem->count; i++) {
        int32_t item = build->ranks[i].item;
        if (problem->items[item].fixed != PLIM__PACK_FREE) continue;
        if (brief) remove_gone(build, order, item, &gone);
        if (!settle(build, item, find_place(build, item, place), place)) return false;
    }
    build->work += build->shelf.work;
    build->shelf.work = 0;
    return true;
}

/* Uses the skyline for its range maximum: a block on each section, as high as the sum of what is alive there. */
static void measure_crowd(builder *build) {
    const plim__pack_problem *problem = build->problem;
    int64_t live = 0, *change = build->crowd; /* by section first: there are no more sections than items */
    memset(change, 0, ((size_t)problem->section_count + 1) * sizeof *change);
    clear_skyline(build);
    for (int32_t i = 0; i < problem->count; i++) {
        change[problem->items[i].first] += problem->items[i].size;
        change[problem->items[i].last] -= problem->items[i].size;
    }
    for (int32_t s = 0; s < problem->section_count; s++) {
        live += change[s];
        skyline_raise(&build->sky, 1, 0, build->sky.leaves, &(struct raise){s, s + 1, live});
    }
    for (int32_t i = 0; i < problem->count; i++)
        build->crowd[i] =
            skyline_highest(&build->sky, 1, 0, build->sky.leaves, problem->items[i].first, problem->items[i].last);
}

static bool builder_init(builder *build, const plim__pack_problem *problem) {
    *build = (builder){.problem = problem, .sky.leaves = 1};
    plim__pack_shelf_init(&build->shelf, problem);
    while (build->sky.leaves < problem->section_count) build->sky.leaves *= 2;
    size_t nodes = 2 * (size_t)build->sky.leaves;
    size_t crowd = (size_t)(problem->count > problem->section_count ? problem->count : problem->section_count);
    build->crowd = plim__alloc_array(crowd + 1, sizeof *build->crowd);
    build->offsets = plim__alloc_array((size_t)problem->count + 1, sizeof *build->offsets);
    build->leaving = plim__alloc_array((size_t)problem->count + 1, sizeof *build->leaving);
    build->ranks = plim__alloc_array((size_t)problem->count + 1, sizeof *build->ranks);
    build->sky.highest = plim__alloc_array(nodes, sizeof *build->sky.highest);
    build->sky.covers = plim__alloc_array(nodes, sizeof *build->sky.covers);
    if (build->crowd && build->sky.highest && build->sky.covers) measure_crowd(build);
    return build->crowd && build->offsets && build->leaving && build->ranks && build->sky.highest && build->sky.covers;
}

static void builder_free(builder *build) {
    plim__free(build->crowd);
    plim__free(build->offsets);
    plim__free(build->leaving);
    plim__free(build->ranks);
    plim__free(build->sky.highest);
    plim__free(build->sky.covers);
    plim__pack_shelf_free(&build->shelf);
}

static void keep_better(builder *build, int64_t *offsets, int64_t *height) {
    int64_t reached = plim__pack_height(build->problem, build->offsets);
    if (reached >= *height) return;
    *height = reached;
    memcpy(offsets, build->offsets, (size_t)build->problem->count * sizeof *offsets);
}

plim_status plim__pack_greedy(const plim__pack_problem *problem, int64_t target, plim__pack_budget *budget,
                              int64_t *offsets, int64_t *height, plim_error *error) {
    builder build;
    bool enough_memory = builder_init(&build, problem);
    *height = INT64_MAX;
    for (size_t i = 0; enough_memory && i < sizeof constructions / sizeof *constructions; i++) {
        build.work = problem->count;
        sort_items(problem, constructions[i].order, build.crowd, build.ranks);
        enough_memory = construct(&build, constructions[i].order, constructions[i].place);
        if (!enough_memory) break;
        keep_better(&build, offsets, height);
        budget->work -= build.work;
        if (*height <= target || budget->work <= 0 || plim__pack_budget_late(budget)) break;
    }
    builder_free(&build);
    if (!enough_memory) return plim__fail_memory(error, "the packer's lists", (size_t)problem->count * sizeof(ranked));
    return PLIM_OK;
}
