/* Depth-first search over partial packings (pack_state.h).
 *
 * A node picks a section in a niche and asks: what lies on its level? Each ready item is a branch, "nothing" is the
 * last one. Every packing in which nothing can sink answers each such question in exactly one way, so the search is
 * complete, and questions may be asked in any order: it asks where there is least room to be wrong.
 *
 * Where no unplaced item crosses from one section to the next, the two sides no longer depend on each other. They
 * are solved one after the other, and if one of them can't be, the search goes straight back to the node that
 * separated them. The lows of a part's unplaced items say all about it; parts that failed once are remembered, and
 * fail at once when they come up again on another path. */
#include "plan/pack_search.h"

#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/vec.h"
#include "plan/pack_state.h"
#include "plan/pack_table.h"

enum { nothing = -1, refused = -2 };

/* No preference suits every problem, but for nearly every problem there is one that hardly ever goes astray. */
static const struct {
    enum { WHERE_TIGHTEST, WHERE_CONFLICTS, WHERE_LOWEST, WHERE_FEWEST } where;
    enum { WHAT_WIDEST, WHAT_LARGEST_AREA, WHAT_TALLEST, WHAT_LONGEST } what;
} styles[PLIM__PACK_STYLES] = {
    {WHERE_CONFLICTS, WHAT_WIDEST}, {WHERE_TIGHTEST, WHAT_WIDEST},        {WHERE_FEWEST, WHAT_WIDEST},
    {WHERE_LOWEST, WHAT_TALLEST},   {WHERE_CONFLICTS, WHAT_LARGEST_AREA}, {WHERE_CONFLICTS, WHAT_LONGEST},
    {WHERE_LOWEST, WHAT_WIDEST},    {WHERE_TIGHTEST, WHAT_TALLEST},
};

/* A part that waits until the one before it is solved. */
typedef struct waiting_part {
    uint64_t key;
    int32_t first, last;
    int32_t parent; /* the frame that separated it */
    int32_t next;   /* in the list of waiting parts, or -1 */
} waiting_part;

typedef struct frame {
    uint64_t key;  /* of the part's state */
    int64_t nodes; /* when it was entered */
    plim__pack_mark mark;
    size_t waiting_count; /* of the pool, to shrink back to */
    int32_t first, last;  /* the part: sections */
    int32_t section;      /* the question's */
    int32_t choices, choice_count, next;
    int32_t done;    /* what the current branch did: an item placed, or nothing, or refused */
    int32_t waiting; /* list of parts to solve after this one */
    int32_t parent;  /* the frame to go back to when this one fails */
} frame;

struct plim__pack_search {
    const plim__pack_problem *problem;
    plim__pack_state state;
    plim__pack_table table;
    uint64_t salt; /* dead ends hold for one capacity: it is part of their keys */
    int style;
    PLIM_VEC(frame) frames;
    PLIM_VEC(int32_t) choices;
    PLIM_VEC(waiting_part) waiting;
};

plim_status plim__pack_search_new(const plim__pack_problem *problem, size_t memory, plim__pack_search **search,
                                  plim_error *error) {
    plim__pack_search *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "the packer's search", sizeof *made);
    made->problem = problem;
    plim_status status = plim__pack_state_init(&made->state, problem, error);
    if (status == PLIM_OK && !plim__pack_table_init(&made->table, memory))
        status = plim__fail_memory(error, "the packer's table of dead ends", memory);
    if (status != PLIM_OK) {
        plim__pack_search_free(made);
        return status;
    }
    *search = made;
    return PLIM_OK;
}

void plim__pack_search_free(plim__pack_search *search) {
    if (!search) return;
    plim__pack_state_free(&search->state);
    plim__pack_table_free(&search->table);
    plim__vec_free(&search->frames);
    plim__vec_free(&search->choices);
    plim__vec_free(&search->waiting);
    plim__free(search);
}

/* --- where to ask --------------------------------------------------------------------------------------------- */

static bool fewer_branches(const plim__pack_section *a, const plim__pack_section *b) {
    if (a->ready != b->ready) return a->ready < b->ready;
    return a->spare < b->spare;
}

static bool tighter(const plim__pack_section *a, const plim__pack_section *b) {
    if (a->spare != b->spare) return a->spare < b->spare;
    return a->ready < b->ready;
}

static bool better_section(const plim__pack_search *search, int32_t a, int32_t b) {
    const plim__pack_section *x = &search->state.sections[a], *y = &search->state.sections[b];
    switch (styles[search->style].where) {
    case WHERE_TIGHTEST: return tighter(x, y);
    case WHERE_LOWEST: return x->level != y->level ? x->level < y->level : tighter(x, y);
    case WHERE_FEWEST: return fewer_branches(x, y);
    case WHERE_CONFLICTS: break;
    }
    /* Fewest branches for the dead ends found there: trouble comes first. */
    double p = (double)x->ready / (double)(search->state.conflicts[a] + 1);
    double q = (double)y->ready / (double)(search->state.conflicts[b] + 1);
    return p != q ? p < q : x->spare < y->spare;
}

/* The best section among all niches of [first, last); *whole tells that the niche is the entire part. */
static int32_t choose_section(plim__pack_search *search, int32_t first, int32_t last, bool *whole) {
    const plim__pack_section *sections = search->state.sections;
    int32_t best = -1;
    search->state.work += last - first;
    *whole = false;
    for (int32_t begin = first, end; begin < last; begin = end) {
        int64_t level = sections[begin].level;
        for (end = begin + 1; end < last && sections[end].level == level;) end++;
        if (begin > first && sections[begin - 1].level < level) continue;
        if (end < last && sections[end].level < level) continue;
        if (begin == first && end == last) *whole = true;
        for (int32_t s = begin; s < end; s++)
            if (best < 0 || better_section(search, s, best)) best = s;
    }
    return best;
}

/* --- what to put there ---------------------------------------------------------------------------------------- */

static bool better_item(const plim__pack_search *search, int32_t a, int32_t b) {
    const plim__pack_item *x = &search->problem->items[a], *y = &search->problem->items[b];
    double p = x->last - x->first, q = y->last - y->first;
    switch (styles[search->style].what) {
    case WHAT_WIDEST: break;
    case WHAT_LARGEST_AREA: p *= (double)x->size, q *= (double)y->size; break;
    case WHAT_TALLEST: p += (double)x->size * 1e6, q += (double)y->size * 1e6; break;
    case WHAT_LONGEST: p = (double)x->upper - (double)x->lower, q = (double)y->upper - (double)y->lower; break;
    }
    if (p != q) return p > q;
    if (x->size != y->size) return x->size > y->size;
    return a < b;
}

/* Ready items of the section, best first, one of each kind. An item as long as the whole part may as well lie at its
 * bottom: then it is the only choice, and *forced. */
static bool list_choices(plim__pack_search *search, frame *node, bool whole, bool *forced) {
    const plim__pack_problem *problem = search->problem;
    int64_t level = search->state.sections[node->section].level;
    int32_t begin = problem->live.start[node->section], end = problem->live.start[node->section + 1];
    node->choices = (int32_t)search->choices.count;
    node->choice_count = 0;
    *forced = false;
    if (!plim__vec_reserve(&search->choices, search->choices.count + (size_t)(end - begin))) return false;
    int32_t *list = search->choices.items + node->choices;
    search->state.work += end - begin;
    for (int32_t i = begin; i < end; i++) {
        int32_t item = problem->live.items[i], count = node->choice_count, k = count;
        const plim__pack_item *it = &problem->items[item];
        if (search->state.low[item] != level) continue;
        if (whole && problem->uniform && it->pad == 0 && it->first <= node->first && it->last >= node->last) {
            list[0] = item;
            node->choice_count = 1;
            *forced = true;
            break;
        }
        bool twin = false;
        for (int32_t t = 0; t < count && !twin; t++) twin = problem->items[list[t]].kind == it->kind;
        if (twin) continue;
        for (; k > 0 && better_item(search, item, list[k - 1]); k--) list[k] = list[k - 1];
        list[k] = item;
        node->choice_count++;
    }
    search->choices.count += (size_t)node->choice_count;
    return true;
}

/* --- the walk ------------------------------------------------------------------------------------------------- */

typedef enum walk { WALK_ON, WALK_DEAD, WALK_SOLVED, WALK_NO_MEMORY } walk;

/* Asks the first question of a part. */
static walk enter(plim__pack_search *search, const waiting_part *part, int64_t nodes) {
    frame node = {.key = part->key,
                  .nodes = nodes,
                  .first = part->first,
                  .last = part->last,
                  .done = nothing,
                  .waiting = part->next,
                  .waiting_count = search->waiting.count,
                  .parent = part->parent};
    bool whole, forced;
    node.section = choose_section(search, node.first, node.last, &whole);
    if (!list_choices(search, &node, whole, &forced)) return WALK_NO_MEMORY;
    if (forced) node.section = -1;
    return plim__vec_push(&search->frames, node) ? WALK_ON : WALK_NO_MEMORY;
}

static void undo(plim__pack_search *search, frame *node) {
    if (node->done == refused)
        plim__pack_state_unrefuse(&search->state, node->mark);
    else if (node->done != nothing)
        plim__pack_state_unplace(&search->state, node->done, node->mark);
    node->done = nothing;
    search->waiting.count = node->waiting_count;
}

/* Drops frames until `target` is the topmost. */
static void go_back(plim__pack_search *search, int32_t target) {
    while ((int32_t)search->frames.count - 1 > target) {
        frame *node = &search->frames.items[search->frames.count - 1];
        undo(search, node);
        search->choices.count = (size_t)node->choices;
        search->frames.count--;
    }
}

/* After a branch was taken: splits the part where nothing crosses any more, puts all pieces on the waiting list and
 * enters the first. */
static walk descend(plim__pack_search *search, int64_t nodes) {
    const plim__pack_state *state = &search->state;
    int32_t self = (int32_t)search->frames.count - 1, list = search->frames.items[self].waiting;
    const frame node = search->frames.items[self];
    for (int32_t end = node.last, begin; end > node.first; end = begin) {
        begin = end - 1;
        if (state->unplaced[begin] == 0) continue;
        while (begin > node.first && state->crossing[begin - 1] > 0) begin--;
        waiting_part part = {0, begin, end, self, list};
        if (begin == node.first && end == node.last)
            part.key = node.key + (state->hash - node.mark.hash);
        else
            part.key = plim__pack_state_hash(&search->state, begin, end);
        if (plim__pack_table_has(&search->table, part.key ^ search->salt)) return WALK_DEAD;
        if (!plim__vec_push(&search->waiting, part)) return WALK_NO_MEMORY;
        list = (int32_t)search->waiting.count - 1;
    }
    search->state.work += node.last - node.first;
    if (list < 0) return WALK_SOLVED;
    const waiting_part part = search->waiting.items[list];
    return enter(search, &part, nodes);
}

/* Takes the next branch of the topmost frame. */
static walk branch(plim__pack_search *search, int64_t nodes) {
    frame *node = &search->frames.items[search->frames.count - 1];
    node->mark = plim__pack_state_mark(&search->state);
    bool alive;
    if (node->next < node->choice_count) {
        node->done = search->choices.items[node->choices + node->next++];
        alive = plim__pack_state_place(&search->state, node->done);
    } else {
        node->next++;
        node->done = refused;
        alive = plim__pack_state_refuse(&search->state, node->section);
    }
    if (search->state.no_memory) return WALK_NO_MEMORY;
    return alive ? descend(search, nodes) : WALK_DEAD;
}

static walk start(plim__pack_search *search) {
    search->frames.count = search->choices.count = search->waiting.count = 0;
    /* The bottom frame stands for "everything": its parts are the independent stretches of time. */
    frame root = {.last = search->problem->section_count, .done = nothing, .waiting = -1, .parent = -1, .section = -1};
    root.mark = plim__pack_state_mark(&search->state);
    if (!plim__vec_push(&search->frames, root)) return WALK_NO_MEMORY;
    return descend(search, 0);
}

plim_status plim__pack_search_run(plim__pack_search *search, const plim__pack_goal *goal, plim__pack_budget *budget,
                                  int64_t *offsets, plim__pack_outcome *outcome, plim_error *error) {
    plim__pack_state *state = &search->state;
    search->salt = plim__pack_mix((uint64_t)goal->capacity, 0);
    search->style = goal->style;
    *outcome = PLIM__PACK_IMPOSSIBLE;
    if (!plim__pack_state_reset(state, goal->capacity)) return PLIM_OK;
    state->work = 0;
    int64_t limit = goal->limit < budget->work ? goal->limit : budget->work;
    int64_t nodes = 0;
    walk now = start(search);
    while (now != WALK_SOLVED && now != WALK_NO_MEMORY) {
        nodes++;
        if (state->work > limit || ((nodes & 255) == 0 && plim__pack_budget_late(budget))) {
            *outcome = PLIM__PACK_STOPPED;
            break;
        }
        int32_t top = (int32_t)search->frames.count - 1;
        frame *node = &search->frames.items[top];
        if (now == WALK_DEAD) undo(search, node);
        if (top == 0 && now == WALK_DEAD) break;
        if (node->next < node->choice_count + (node->section >= 0)) {
            now = branch(search, nodes);
        } else {
            plim__pack_table_add(&search->table, node->key ^ search->salt, nodes - node->nodes);
            go_back(search, node->parent);
            now = WALK_DEAD;
        }
    }
    budget->work -= state->work;
    budget->nodes += nodes;
    if (now == WALK_NO_MEMORY)
        return plim__fail_memory(error, "the packer's search", search->frames.count * sizeof(frame));
    if (now == WALK_SOLVED) {
        *outcome = PLIM__PACK_FOUND;
        memcpy(offsets, state->offsets, (size_t)search->problem->count * sizeof *offsets);
    }
    return PLIM_OK;
}
