/* Placing, refusing and undoing, with the bounds that tell dead ends.
 *
 * The bound of a section treats its unplaced items as jobs with release times on one machine: stacked in the order
 * of their lows, each no lower than its low, they must end within the capacity. No packing does better, and it sees
 * gaps that a plain sum of sizes doesn't. */
#include "plan/pack_state.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/vec.h"
#include "plan/pack_table.h"

static const int64_t nowhere = INT64_MAX;

typedef struct plim__pack_low_change {
    int64_t low;
    int32_t item;
} low_change;

typedef struct plim__pack_section_change {
    plim__pack_section before;
    int32_t section;
} section_change;

plim_status plim__pack_state_init(plim__pack_state *state, const plim__pack_problem *problem, plim_error *error) {
    memset(state, 0, sizeof *state);
    state->problem = problem;
    size_t items = (size_t)problem->count + 1, sections = (size_t)problem->section_count + 1;
    state->low = plim__alloc_array(items, sizeof *state->low);
    state->size = plim__alloc_array(items, sizeof *state->size);
    state->offsets = plim__alloc_array(items, sizeof *state->offsets);
    state->scratch = plim__alloc_array(items, sizeof *state->scratch);
    state->room = plim__alloc_array(sections, sizeof *state->room);
    state->sections = plim__alloc_array(sections, sizeof *state->sections);
    state->unplaced = plim__alloc_array(sections, sizeof *state->unplaced);
    state->crossing = plim__alloc_array(sections, sizeof *state->crossing);
    state->sorted = plim__alloc_array(problem->section_entries + 1, sizeof *state->sorted);
    state->conflicts = plim__alloc_zero(sections, sizeof *state->conflicts);
    if (state->low && state->size && state->offsets && state->scratch && state->room && state->sections &&
        state->unplaced && state->crossing && state->sorted && state->conflicts)
        return PLIM_OK;
    plim__pack_state_free(state);
    return plim__fail_memory(error, "the packer's search", problem->section_entries * sizeof *state->sorted);
}

void plim__pack_state_free(plim__pack_state *state) {
    plim__free(state->low);
    plim__free(state->size);
    plim__free(state->offsets);
    plim__free(state->scratch);
    plim__free(state->room);
    plim__free(state->sections);
    plim__free(state->unplaced);
    plim__free(state->crossing);
    plim__free(state->sorted);
    plim__free(state->conflicts);
    plim__free(state->low_trail);
    plim__free(state->section_trail);
    memset(state, 0, sizeof *state);
}

static uint64_t hash_of(const plim__pack_state *state, int32_t item) {
    return plim__pack_mix((uint64_t)state->problem->items[item].kind, (uint64_t)state->low[item]);
}

/* Insertion sort by low: lists change little between two calls. */
static void sort_section(const int64_t *low, int32_t *list, int32_t count) {
    for (int32_t i = 1; i < count; i++) {
        int32_t item = list[i];
        int64_t key = low[item];
        int32_t k = i;
        for (; k > 0 && low[list[k - 1]] > key; k--) list[k] = list[k - 1];
        list[k] = item;
    }
}

/* Computes level, spare and ready again. False when the section's items no longer fit. */
static bool measure(plim__pack_state *state, int32_t section) {
    const int64_t *low = state->low, *size = state->size;
    int32_t *list = state->sorted + state->problem->live.start[section], count = state->unplaced[section];
    plim__pack_section *result = &state->sections[section];
    state->work += count;
    if (count == 0) {
        *result = (plim__pack_section){nowhere, nowhere, 0};
        return true;
    }
    sort_section(low, list, count);
    int64_t level = low[list[0]], top = 0;
    int32_t ready = 0;
    for (int32_t i = 0; i < count; i++) {
        int64_t from = low[list[i]];
        ready += from == level;
        top = (from > top ? from : top) + size[list[i]];
    }
    *result = (plim__pack_section){level, state->room[section] - top, ready};
    if (result->spare >= 0) return true;
    state->conflicts[section]++;
    return false;
}

static bool remeasure(plim__pack_state *state, int32_t first, int32_t last) {
    size_t need = state->section_count + (size_t)(last - first);
    if (need > state->section_capacity &&
        !plim__vec_grow((void **)&state->section_trail, &state->section_capacity, need, sizeof *state->section_trail)) {
        state->no_memory = true;
        return false;
    }
    for (int32_t section = first; section < last; section++) {
        plim__pack_section before = state->sections[section];
        bool fits = measure(state, section);
        const plim__pack_section *now = &state->sections[section];
        if (now->level != before.level || now->spare != before.spare || now->ready != before.ready)
            state->section_trail[state->section_count++] = (section_change){before, section};
        if (!fits) return false;
    }
    return true;
}

/* Raises the low of an unplaced item. */
static bool raise(plim__pack_state *state, int32_t item, int64_t low) {
    const plim__pack_item *it = &state->problem->items[item];
    low = plim__pack_align(low, it->alignment);
    if (it->fixed != PLIM__PACK_FREE || low + it->size - it->pad > state->capacity) {
        state->conflicts[it->first]++;
        return false;
    }
    if (state->low_count == state->low_capacity && !plim__vec_grow((void **)&state->low_trail, &state->low_capacity,
                                                                   state->low_count + 1, sizeof *state->low_trail)) {
        state->no_memory = true;
        return false;
    }
    state->low_trail[state->low_count++] = (low_change){state->low[item], item};
    state->hash -= hash_of(state, item);
    state->low[item] = low;
    state->hash += hash_of(state, item);
    return true;
}

bool plim__pack_state_reset(plim__pack_state *state, int64_t capacity) {
    const plim__pack_problem *problem = state->problem;
    state->capacity = capacity;
    state->low_count = state->section_count = 0;
    state->hash = 0;
    memset(state->unplaced, 0, (size_t)problem->section_count * sizeof *state->unplaced);
    memset(state->crossing, 0, (size_t)problem->section_count * sizeof *state->crossing);
    memset(state->room, 0, (size_t)problem->section_count * sizeof *state->room);
    memcpy(state->sorted, problem->live.items, problem->section_entries * sizeof *state->sorted);
    for (int32_t i = 0; i < problem->count; i++) {
        const plim__pack_item *item = &problem->items[i];
        state->size[i] = item->size;
        state->low[i] = item->fixed == PLIM__PACK_FREE ? 0 : item->fixed;
        if (state->low[i] + item->size - item->pad > capacity) return false;
        state->hash += hash_of(state, i);
        for (int32_t s = item->first; s < item->last; s++) {
            state->unplaced[s]++;
            state->crossing[s] += s + 1 < item->last;
            if (item->pad > state->room[s]) state->room[s] = item->pad;
        }
    }
    bool fits = true;
    for (int32_t s = 0; s < problem->section_count; s++) {
        int64_t room = capacity + state->room[s];
        state->room[s] = room - room % problem->step;
        fits = measure(state, s) && fits;
    }
    return fits;
}

plim__pack_mark plim__pack_state_mark(const plim__pack_state *state) {
    return (plim__pack_mark){state->low_count, state->section_count, state->hash};
}

/* Moves an item from the unplaced ones of a section to the front of the placed ones, and so it is undone by counting
 * it among the unplaced again. */
static void take_out(plim__pack_state *state, int32_t section, int32_t item) {
    int32_t *list = state->sorted + state->problem->live.start[section], left = --state->unplaced[section], at = 0;
    while (list[at] != item) at++;
    memmove(list + at, list + at + 1, (size_t)(left - at) * sizeof *list);
    list[left] = item;
    state->work += at / 4;
}

bool plim__pack_state_place(plim__pack_state *state, int32_t item) {
    const plim__pack_problem *problem = state->problem;
    const plim__pack_item *it = &problem->items[item];
    int64_t offset = state->low[item], top = offset + it->size;
    state->hash -= hash_of(state, item);
    state->offsets[item] = offset;
    state->low[item] = -1;
    for (int32_t s = it->first; s < it->last; s++) {
        take_out(state, s, item);
        state->crossing[s] -= s + 1 < it->last;
    }
    int32_t first = it->first, last = it->last;
    int32_t begin = problem->overlaps.start[item], end = problem->overlaps.start[item + 1];
    state->work += end - begin;
    for (int32_t i = begin; i < end; i++) {
        int32_t other = problem->overlaps.items[i];
        if (state->low[other] < 0 || state->low[other] >= top) continue;
        if (!raise(state, other, top)) return false;
        if (problem->items[other].first < first) first = problem->items[other].first;
        if (problem->items[other].last > last) last = problem->items[other].last;
    }
    return remeasure(state, first, last);
}

/* Undoes what was written down since the mark; lists may stay in another order, which measure() doesn't mind. */
static void rewind(plim__pack_state *state, plim__pack_mark mark) {
    while (state->low_count > mark.low_count) {
        const low_change *change = &state->low_trail[--state->low_count];
        state->low[change->item] = change->low;
    }
    while (state->section_count > mark.section_count) {
        const section_change *change = &state->section_trail[--state->section_count];
        state->sections[change->section] = change->before;
    }
    state->hash = mark.hash;
}

void plim__pack_state_unplace(plim__pack_state *state, int32_t item, plim__pack_mark mark) {
    const plim__pack_item *it = &state->problem->items[item];
    for (int32_t s = it->first; s < it->last; s++) {
        state->unplaced[s]++;
        state->crossing[s] += s + 1 < it->last;
    }
    state->low[item] = state->offsets[item];
    rewind(state, mark);
}

void plim__pack_state_unrefuse(plim__pack_state *state, plim__pack_mark mark) { rewind(state, mark); }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The lowest top of an unplaced item that overlaps `item` but isn't alive in the section. */
static int64_t lowest_rest_outside(plim__pack_state *state, int32_t item, int32_t section) {
    const plim__pack_problem *problem = state->problem;
    int64_t lowest = nowhere;
    int32_t begin = problem->overlaps.start[item], end = problem->overlaps.start[item + 1];
    state->work += end - begin;
    for (int32_t i = begin; i < end; i++) {
        int32_t other = problem->overlaps.items[i];
        const plim__pack_item *it = &problem->items[other];
        if (state->low[other] < 0 || (it->first <= section && section < it->last)) continue;
        lowest = least(lowest, state->low[other] + it->size);
    }
    return lowest;
}

/* In a packing where nothing can sink, an item rests on the floor or on another's top. A ready item that is refused
 * the level rests on an unplaced item: one outside the section, one in the section that isn't ready, or another
 * refused one, which itself rests no lower than the lowest of the former. */
bool plim__pack_state_refuse(plim__pack_state *state, int32_t section) {
    const plim__pack_problem *problem = state->problem;
    int32_t begin = problem->live.start[section], end = problem->live.start[section + 1];
    int64_t level = state->sections[section].level;
    int64_t inside = nowhere, lowest = nowhere;   /* tops of items in the section that aren't ready; any rest */
    int64_t smallest = nowhere, second = nowhere; /* sizes of refused items */
    for (int32_t i = begin; i < end; i++) {
        int32_t item = problem->live.items[i];
        int64_t size = problem->items[item].size;
        if (state->low[item] > level) inside = least(inside, state->low[item] + size);
        if (state->low[item] != level) continue;
        if (problem->items[item].fixed != PLIM__PACK_FREE) return false;
        state->scratch[item] = lowest_rest_outside(state, item, section);
        lowest = least(lowest, state->scratch[item]);
        if (size < smallest)
            second = smallest, smallest = size;
        else
            second = least(second, size);
    }
    lowest = least(lowest, inside);
    if (lowest == nowhere) return false;
    int32_t first = section, last = section + 1;
    for (int32_t i = begin; i < end; i++) {
        int32_t item = problem->live.items[i];
        const plim__pack_item *it = &problem->items[item];
        if (state->low[item] != level) continue;
        int64_t other = it->size == smallest ? second : smallest;
        int64_t low = least(least(state->scratch[item], inside), other == nowhere ? nowhere : lowest + other);
        if (low == nowhere || !raise(state, item, low)) return false;
        if (it->first < first) first = it->first;
        if (it->last > last) last = it->last;
    }
    return remeasure(state, first, last);
}

uint64_t plim__pack_state_hash(plim__pack_state *state, int32_t first, int32_t last) {
    const plim__pack_lists *starting = &state->problem->starting;
    uint64_t hash = 0;
    for (int32_t i = starting->start[first]; i < starting->start[last]; i++) {
        int32_t item = starting->items[i];
        if (state->low[item] >= 0) hash += hash_of(state, item);
    }
    state->work += starting->start[last] - starting->start[first];
    return hash;
}
