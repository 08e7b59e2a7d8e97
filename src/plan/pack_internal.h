/* What the packer's files share: the problem in the form that the constructions and the search work on.
 *
 *   plim_pack (pack.c)                  checks the input, keeps the best packing, decides which capacities to try
 *     ├─ pack_problem.c                 buffers → items, sections (points in time that matter), overlaps
 *     ├─ pack_greedy.c                  fast constructions, any number of buffers
 *     │    └─ pack_shelf.c              the gaps between placed items
 *     └─ pack_search.c                  exact search for one capacity
 *          ├─ pack_state.c              the partial packing: place, refuse, undo, prune
 *          └─ pack_table.c              states known to be dead ends
 */
#ifndef PLIM_PLAN_PACK_INTERNAL_H
#define PLIM_PLAN_PACK_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/pack.h"

#define PLIM__PACK_FREE (-1) /* `fixed` of an item whose offset may be chosen */

/* A buffer with size > 0. When every buffer has the same alignment, `size` is rounded up to it, since the next one
 * above starts at a multiple anyway; `pad` is what was added, which the topmost buffer doesn't need. */
typedef struct plim__pack_item {
    int64_t lower, upper;
    int64_t size, pad;
    int64_t alignment;   /* >= 1 */
    int64_t fixed;       /* offset, or PLIM__PACK_FREE */
    int32_t first, last; /* sections [first, last) */
    int32_t kind;        /* items with equal kind are interchangeable */
    int32_t buffer;      /* index in the caller's array */
} plim__pack_item;

/* Lists of items, one after another: list i is items[start[i] .. start[i + 1]). */
typedef struct plim__pack_lists {
    int32_t *start, *items;
} plim__pack_lists;

typedef struct plim__pack_problem {
    plim__pack_item *items; /* by lower, then upper, then size, then index */
    int32_t count;
    bool uniform; /* no fixed items and every alignment is met by stacking: items may be shifted freely */
    bool padded;  /* some size was rounded up */
    int64_t lower_bound;
    int64_t base;         /* heights and offsets of the problem start here; below lie the items of `bottom` */
    int32_t bottom;       /* items[count .. count + bottom): alive all the time, they lie at their `fixed` offset */
    int64_t padded_bound; /* the lower bound over padded sizes, less the largest pad; above base */
    int64_t step;         /* every reachable height, pads aside, is a multiple of this */

    /* A section is a stretch of time with the same live items. Only those that aren't a subset of another matter:
     * two items overlap in time exactly when they share one. */
    int32_t section_count;
    size_t section_entries; /* sum of live items over sections */
    int64_t dive_work;      /* about what the search spends to place each item once */

    /* For the search only; see plim__pack_problem_index. */
    plim__pack_lists live;     /* section → items alive in it */
    plim__pack_lists starting; /* section → items whose first section it is */
    plim__pack_lists overlaps; /* item → items alive at the same time */
    size_t overlap_entries;
} plim__pack_problem;

plim_status plim__pack_problem_init(plim__pack_problem *problem, const plim_pack_buffer *buffers, size_t count,
                                    plim_error *error);
/* Whether the lists for the search stay within `bytes` (0: a sensible size), and the search has a chance within `work`. */
bool plim__pack_problem_searchable(const plim__pack_problem *problem, int64_t work, size_t bytes);
plim_status plim__pack_problem_index(plim__pack_problem *problem, plim_error *error);
void plim__pack_problem_free(plim__pack_problem *problem);
/* The largest offset + unpadded size, above base. */
int64_t plim__pack_height(const plim__pack_problem *problem, const int64_t *offsets);

static inline int64_t plim__pack_align(int64_t offset, int64_t alignment) {
    int64_t over = alignment == 1 ? 0 : offset % alignment;
    return over ? offset + (alignment - over) : offset;
}

/* What may still be spent. Work is counted in steps of inner loops, so that the same input takes the same path on
 * any machine; the clock is read rarely, and only to give up. */
typedef struct plim__pack_budget {
    int64_t work;    /* left */
    double deadline; /* on plim__clock_seconds; 0 for none */
    bool timed_out;
    int64_t nodes;
} plim__pack_budget;

/* True when the deadline is over. */
bool plim__pack_budget_late(plim__pack_budget *budget);

#endif
