/* Placed items sorted by offset, in chains of blocks: walks run through contiguous memory, insertions move little.
 *
 *   all      every item; for items that live long
 *   wide     the items that live in more than two stretches of time
 *   stretch  the others, by the stretches they live in
 *
 * A short-lived item, of which there are many, thus meets only its neighbours in time and the long-lived. */
#include "plan/pack_shelf.h"

#include <string.h>

#include "core/alloc.h"

enum { block_entries = 256 };

typedef struct entry {
    int64_t offset, top;
    int32_t first, last;
} entry;

typedef struct plim__pack_block {
    struct plim__pack_block *next;
    int32_t count;
    entry entries[block_entries];
} block;

void plim__pack_shelf_init(plim__pack_shelf *shelf, const plim__pack_problem *problem) {
    *shelf = (plim__pack_shelf){.problem = problem};
}

static void release(plim__pack_shelf *shelf, block **chain) {
    while (*chain) {
        block *rest = (*chain)->next;
        (*chain)->next = shelf->spare;
        shelf->spare = *chain;
        *chain = rest;
    }
}

void plim__pack_shelf_clear(plim__pack_shelf *shelf, bool brief) {
    release(shelf, &shelf->all);
    release(shelf, &shelf->wide);
    for (int i = 0; i < PLIM__PACK_STRETCHES; i++) release(shelf, &shelf->stretch[i]);
    shelf->brief = brief;
}

void plim__pack_shelf_free(plim__pack_shelf *shelf) {
    plim__pack_shelf_clear(shelf, false);
    while (shelf->spare) {
        block *rest = shelf->spare->next;
        plim__free(shelf->spare);
        shelf->spare = rest;
    }
}

/* An empty block, linked in at *link. */
static bool link_block(plim__pack_shelf *shelf, block **link) {
    block *made = shelf->spare;
    if (made)
        shelf->spare = made->next;
    else
        made = plim__alloc(sizeof *made);
    if (!made) return false;
    made->count = 0;
    made->next = *link;
    *link = made;
    return true;
}

/* The last block of a chain that starts at or below the offset; the first one when none does. */
static block *find_block(block *chain, int64_t offset) {
    while (chain->next && chain->next->entries[0].offset <= offset) chain = chain->next;
    return chain;
}

/* The number of entries at or below the offset. */
static int32_t find_entry(const block *in, int64_t offset) {
    int32_t low = 0, high = in->count;
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (in->entries[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool chain_insert(plim__pack_shelf *shelf, block **chain, entry new) {
    if (!*chain && !link_block(shelf, chain)) return false;
    block *into = find_block(*chain, new.offset);
    if (into->count == block_entries) {
        if (!link_block(shelf, &into->next)) return false;
        block *upper = into->next;
        upper->count = into->count = block_entries / 2;
        memcpy(upper->entries, into->entries + block_entries / 2, block_entries / 2 * sizeof(entry));
        into = find_block(into, new.offset);
    }
    int32_t at = find_entry(into, new.offset);
    memmove(into->entries + at + 1, into->entries + at, (size_t)(into->count - at) * sizeof(entry));
    into->entries[at] = new;
    into->count++;
    return true;
}

static int32_t stretch_of(const plim__pack_problem *problem, int32_t section) {
    return (int32_t)((int64_t)section * PLIM__PACK_STRETCHES / problem->section_count);
}

bool plim__pack_shelf_insert(plim__pack_shelf *shelf, int32_t item, int64_t offset) {
    const plim__pack_item *it = &shelf->problem->items[item];
    entry new = {offset, offset + it->size, it->first, it->last};
    int32_t first = stretch_of(shelf->problem, it->first), last = stretch_of(shelf->problem, it->last - 1);
    if (!chain_insert(shelf, &shelf->all, new)) return false;
    if (shelf->brief) return true;
    if (last - first > 1) return chain_insert(shelf, &shelf->wide, new);
    for (int32_t i = first; i <= last; i++)
        if (!chain_insert(shelf, &shelf->stretch[i], new)) return false;
    return true;
}

void plim__pack_shelf_remove(plim__pack_shelf *shelf, int64_t offset) {
    if (!shelf->all) return;
    block **link = &shelf->all, *from = find_block(shelf->all, offset);
    int32_t at = find_entry(from, offset) - 1;
    if (at < 0 || from->entries[at].offset != offset) return;
    memmove(from->entries + at, from->entries + at + 1, (size_t)(from->count - at - 1) * sizeof(entry));
    if (--from->count > 0) return;
    while (*link != from) link = &(*link)->next; /* no empty blocks: a block's first entry is read */
    *link = from->next;
    from->next = shelf->spare;
    shelf->spare = from;
}

/* --- gaps ----------------------------------------------------------------------------------------------------- */

/* A place for one item, while the placed ones pass by from the bottom up. */
typedef struct gap_search {
    int64_t size, alignment;
    int64_t end; /* of what overlaps the item so far */
    int64_t best, best_gap;
    int32_t first, last;
} gap_search;

/* True when there is a gap below `other` that is better than the best so far. Whether two lifetimes meet is a coin
 * toss to the processor: a mask stands in for the branch, with all bits set when they do. */
static inline bool gap_below(gap_search *gaps, const entry *other) {
    int64_t meets = -(int64_t)((other->last > gaps->first) & (gaps->last > other->first));
    bool better = false;
    if (((other->offset - gaps->end) & meets) >= gaps->size) {
        int64_t at = plim__pack_align(gaps->end, gaps->alignment), gap = other->offset - at;
        better = gap >= gaps->size && gap < gaps->best_gap;
        if (better) {
            gaps->best = at;
            gaps->best_gap = gap;
        }
    }
    int64_t top = other->top & meets;
    gaps->end = top > gaps->end ? top : gaps->end;
    return better;
}

/* Most of the time is spent here. */
static void walk_chain(plim__pack_shelf *shelf, const block *chain, gap_search *wanted, bool narrowest) {
    gap_search gaps = *wanted;
    bool found = false;
    for (; chain && !found; chain = chain->next) {
        shelf->work += chain->count;
        for (int32_t i = 0; i < chain->count && !found; i++) found = gap_below(&gaps, &chain->entries[i]) && !narrowest;
    }
    *wanted = gaps;
}

typedef struct cursor {
    const block *chain;
    int32_t at;
} cursor;

/* The chain with the lowest entry, or -1 at the end of all. */
static int lowest_cursor(const cursor *cursors, int count) {
    int best = -1;
    int64_t lowest = INT64_MAX;
    for (int i = 0; i < count; i++) {
        if (!cursors[i].chain) continue;
        int64_t offset = cursors[i].chain->entries[cursors[i].at].offset;
        if (best < 0 || offset < lowest) best = i, lowest = offset;
    }
    return best;
}

static void walk_chains(plim__pack_shelf *shelf, cursor *cursors, int count, gap_search *gaps, bool narrowest) {
    for (int i; (i = lowest_cursor(cursors, count)) >= 0;) {
        cursor *now = &cursors[i];
        shelf->work++;
        if (gap_below(gaps, &now->chain->entries[now->at++]) && !narrowest) return;
        if (now->at == now->chain->count) *now = (cursor){now->chain->next, 0};
    }
}

int64_t plim__pack_shelf_fit(plim__pack_shelf *shelf, int32_t item, bool narrowest) {
    const plim__pack_item *it = &shelf->problem->items[item];
    gap_search gaps = {it->size, it->alignment, 0, -1, INT64_MAX, it->first, it->last};
    int32_t first = stretch_of(shelf->problem, it->first), last = stretch_of(shelf->problem, it->last - 1);
    if (shelf->brief || last - first > 1) {
        walk_chain(shelf, shelf->all, &gaps, narrowest);
    } else {
        cursor cursors[3] = {{shelf->wide, 0}, {shelf->stretch[first], 0}, {shelf->stretch[last], 0}};
        walk_chains(shelf, cursors, last == first ? 2 : 3, &gaps, narrowest);
    }
    return gaps.best >= 0 ? gaps.best : plim__pack_align(gaps.end, it->alignment);
}
