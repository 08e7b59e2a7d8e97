/* A partial packing that can be extended and taken back: the state of the exact search.
 *
 * Items are placed from the bottom up. Every item that isn't placed yet has a `low`: the lowest offset that the
 * placed items and the refusals leave to it. All unplaced items lie above all placed ones where they meet, so the
 * lows of the unplaced items are the whole state: what is below them no longer matters.
 *
 *        offset
 *      capacity ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄
 *                         ┌─────────   level of a section: the least low of the items that still have to go there
 *               ──────┐   │            spare of a section: what would stay empty if its unplaced items were stacked
 *         ██████████  └───┘                                as tightly as their lows allow; below 0 is a dead end
 *         ████████████████████         niche: a stretch of equal level, both neighbours higher
 *                  sections →
 */
#ifndef PLIM_PLAN_PACK_STATE_H
#define PLIM_PLAN_PACK_STATE_H

#include "plan/pack_internal.h"

typedef struct plim__pack_section {
    int64_t level, spare;
    int32_t ready; /* unplaced items whose low is the level */
} plim__pack_section;

typedef struct plim__pack_state {
    const plim__pack_problem *problem;
    int64_t capacity;
    int64_t *low;     /* item → lowest offset, while it isn't placed; -1 once it is */
    int64_t *offsets; /* item → offset, once it is placed */
    int64_t *room;    /* section → capacity for padded sizes */
    plim__pack_section *sections;
    int32_t *unplaced;   /* section → how many */
    int32_t *crossing;   /* section → unplaced items alive in it and the next */
    int32_t *sorted;     /* problem->live: the unplaced items of each section first, sorted by low when last
                          * read, then the placed ones, the last placed first */
    int64_t *size;       /* item → padded size, close together for the inner loop */
    uint64_t *conflicts; /* section → dead ends found there */
    uint64_t hash;       /* of the lows of all unplaced items */
    int64_t *scratch;    /* item → used inside one call */
    struct plim__pack_low_change *low_trail;
    struct plim__pack_section_change *section_trail;
    size_t low_count, low_capacity, section_count, section_capacity;
    int64_t work;
    bool no_memory;
} plim__pack_state;

typedef struct plim__pack_mark {
    size_t low_count, section_count;
    uint64_t hash;
} plim__pack_mark;

plim_status plim__pack_state_init(plim__pack_state *state, const plim__pack_problem *problem, plim_error *error);
void plim__pack_state_free(plim__pack_state *state);
/* Empties the packing. False when the problem plainly does not fit. */
bool plim__pack_state_reset(plim__pack_state *state, int64_t capacity);

plim__pack_mark plim__pack_state_mark(const plim__pack_state *state);
/* Puts an item at its low. False when the rest can't fit any more (or memory is short); take it back either way. */
bool plim__pack_state_place(plim__pack_state *state, int32_t item);
void plim__pack_state_unplace(plim__pack_state *state, int32_t item, plim__pack_mark mark);
/* Decides that nothing lies on the section's level, which must be that of a niche: lows and level go up to the next
 * offset where something can come to rest. */
bool plim__pack_state_refuse(plim__pack_state *state, int32_t section);
void plim__pack_state_unrefuse(plim__pack_state *state, plim__pack_mark mark);

/* What the unplaced items of sections [first, last) add to the hash; no item may reach beyond them. */
uint64_t plim__pack_state_hash(plim__pack_state *state, int32_t first, int32_t last);

#endif
