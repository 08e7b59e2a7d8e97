/* The cheapest schedule for a target, exactly, for small programs: A* over what is in memory.
 *
 * A state is how far the steps have come in their order, and which buffers are there. From it the next step may run for
 * the first time, a step may run again whose output is missing, or a buffer may be dropped. What is certain to be done
 * again, given what is missing now, bounds the rest of the way from below. Sharing in place is seen where both buffers
 * have the same size. Gives up after a number of states. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "plan/search.h"

#define MASK_WORDS   2
#define MOST_BUFFERS (64 * MASK_WORDS)
#define NO_NODE      (-1)
/* Some 2.5 MiB: planning is within the budget, too, and counts no more for itself (plim__working_bytes). */
#define MOST_NODES ((size_t)32768)

typedef struct mask {
    uint64_t words[MASK_WORDS];
} mask;

static bool has(const mask *m, int32_t i) { return m->words[i / 64] >> (i % 64) & 1; }
static void put(mask *m, int32_t i) { m->words[i / 64] |= (uint64_t)1 << (i % 64); }
static void take(mask *m, int32_t i) { m->words[i / 64] &= ~((uint64_t)1 << (i % 64)); }
static bool covers(const mask *all, const mask *part) {
    for (int w = 0; w < MASK_WORDS; w++)
        if (part->words[w] & ~all->words[w]) return false;
    return true;
}

struct node {
    mask there;
    int32_t done;         /* steps of the order that have run */
    int32_t parent, step; /* step: that led here, -1 for a drop */
    int64_t live;
    double cost, bound; /* seconds of repetitions so far, and at least until the end */
    bool closed;
};

struct exact {
    plim__search *search;
    const plim__depend *depend;
    int64_t target;
    double limit; /* only cheaper schedules are of interest */
    const int32_t *order;
    int32_t *position; /* of each step in the order */
    int32_t *number;   /* of each buffer in the masks, -1: none */
    int32_t buffers[MOST_BUFFERS];
    int32_t count;
    mask *reads, *makes; /* of each step */
    mask *useful;        /* by the number of steps done: what may still be read */
    mask outputs;
    PLIM_VEC(struct node) nodes;
    PLIM_VEC(int32_t) heap; /* nodes, the lowest bound on top */
    int32_t *table;         /* by hash: nodes */
    size_t table_size;
    bool failed; /* memory is short */
};

/* --- the open states -------------------------------------------------------------------------------------------- */

static bool before(const struct exact *e, int32_t a, int32_t b) {
    const struct node *x = &e->nodes.items[a], *y = &e->nodes.items[b];
    if (x->bound != y->bound) return x->bound < y->bound;
    if (x->done != y->done) return x->done > y->done;
    return a > b;
}

static void push_heap(struct exact *e, int32_t node) {
    if (!plim__vec_push(&e->heap, node)) {
        e->failed = true;
        return;
    }
    int32_t *h = e->heap.items;
    for (size_t i = e->heap.count - 1; i > 0 && before(e, h[i], h[(i - 1) / 2]); i = (i - 1) / 2) {
        int32_t other = h[i];
        h[i] = h[(i - 1) / 2];
        h[(i - 1) / 2] = other;
    }
}

static int32_t pop_heap(struct exact *e) {
    int32_t *h = e->heap.items, top = h[0];
    h[0] = h[--e->heap.count];
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < e->heap.count; k++)
            if (before(e, h[k], h[least])) least = k;
        if (least == i) return top;
        int32_t other = h[i];
        h[i] = h[least];
        h[least] = other;
        i = least;
    }
}

static size_t slot_of(const struct exact *e, const mask *there, int32_t done) {
    uint64_t hash = (uint64_t)done * 0x9e3779b97f4a7c15u;
    for (int w = 0; w < MASK_WORDS; w++) hash = (hash ^ there->words[w]) * 0xff51afd7ed558ccdu ^ hash >> 29;
    size_t slot = (size_t)hash & (e->table_size - 1);
    const struct node *nodes = e->nodes.items; /* NULL before the first one: then the table is empty too */
    while (nodes && e->table[slot] != NO_NODE) {
        const struct node *n = &nodes[e->table[slot]];
        if (n->done == done && memcmp(&n->there, there, sizeof *there) == 0) break;
        slot = (slot + 1) & (e->table_size - 1);
    }
    return slot;
}

/* --- bounds ----------------------------------------------------------------------------------------------------- */

/* A step may run again once `done` steps have run: nothing it reads has changed, no step that is last has run. */
static bool may_repeat(const struct exact *e, int32_t s, int32_t done) {
    const plim__depend *d = e->depend;
    if (!d->repeatable[s] || e->position[s] >= done) return false;
    if ((size_t)done < d->step_count && d->last[e->order[done]] && !d->last[s]) return false;
    for (int32_t k = d->closed.start[s]; k < d->closed.start[s + 1]; k++)
        if (e->position[d->closed.items[k]] < done) return false;
    return true;
}

/* What must be done again before the rest can be done: seconds, INFINITY when it cannot. The steps are stamped. */
static double certain(struct exact *e, const mask *there, int32_t done) {
    plim__search *s = e->search;
    const plim__depend *d = e->depend;
    double seconds = 0;
    mask missing = {0};
    s->stamps++;
    for (size_t i = (size_t)done; i < d->step_count; i++) {
        int32_t step = e->order[i];
        for (int32_t k = d->reads.start[step]; k < d->reads.start[step + 1]; k++) {
            int32_t b = d->reads.items[k], n = e->number[b];
            if (n >= 0 && !has(there, n) && (d->maker[b] < 0 || e->position[d->maker[b]] < done)) put(&missing, n);
        }
    }
    if (!covers(there, &e->outputs)) /* those that have been made are never dropped */
        for (int32_t n = 0; n < e->count; n++)
            if (has(&e->outputs, n) && !has(there, n)) {
                int32_t maker = d->maker[e->buffers[n]];
                if (maker < 0 || e->position[maker] < done) return INFINITY;
            }
    for (bool more = true; more;) {
        more = false;
        for (int32_t n = 0; n < e->count; n++) {
            if (!has(&missing, n)) continue;
            int32_t maker = d->maker[e->buffers[n]];
            if (maker < 0 || !may_repeat(e, maker, done)) return INFINITY;
            if (s->stamp[maker] == s->stamps) continue;
            s->stamp[maker] = s->stamps;
            seconds += s->seconds[maker];
            for (int w = 0; w < MASK_WORDS; w++) missing.words[w] |= e->reads[maker].words[w] & ~there->words[w];
            more = true;
        }
    }
    return seconds;
}

/* --- moves ------------------------------------------------------------------------------------------------------ */

static int64_t bytes_of(const struct exact *e, const mask *m) {
    int64_t bytes = 0;
    for (int w = 0; w < MASK_WORDS; w++)
        for (uint64_t left = m->words[w]; left; left &= left - 1)
            bytes += e->depend->bytes[e->buffers[w * 64 + __builtin_ctzll(left)]];
    return bytes;
}

static void reach(struct exact *e, mask there, int32_t done, int32_t parent, int32_t step, double cost) {
    for (int w = 0; w < MASK_WORDS; w++) there.words[w] &= e->useful[done].words[w];
    size_t slot = slot_of(e, &there, done);
    const struct node *nodes = e->nodes.items;
    int32_t old = nodes ? e->table[slot] : NO_NODE;
    if (old != NO_NODE && nodes[old].cost <= cost) return;
    double bound = cost + certain(e, &there, done);
    if (!(bound < e->limit)) return;
    struct node n = {there, done, parent, step, bytes_of(e, &there), cost, bound, false};
    if (!plim__vec_push(&e->nodes, n)) {
        e->failed = true;
        return;
    }
    int32_t made = (int32_t)e->nodes.count - 1;
    if (old != NO_NODE) e->nodes.items[old].closed = true;
    e->table[slot] = made;
    push_heap(e, made);
}

/* The step runs, the first time or again: its output beside everything, or over an input that ends there. */
static void run_step(struct exact *e, int32_t at, int32_t s, bool first) {
    const plim__depend *d = e->depend;
    struct node n = e->nodes.items[at];
    if (!covers(&n.there, &e->reads[s])) return;
    mask after = n.there, fresh = e->makes[s];
    for (int w = 0; w < MASK_WORDS; w++) {
        fresh.words[w] &= ~n.there.words[w];
        after.words[w] |= e->makes[s].words[w];
    }
    int64_t need = n.live + bytes_of(e, &fresh) + d->scratch[s];
    int32_t done = n.done + first;
    double cost = n.cost + (first ? 0 : e->search->seconds[s]);
    if (need <= e->target) reach(e, after, done, at, s, cost);
    int32_t over = d->over[s] < 0 ? -1 : e->number[d->over[s]], onto = over < 0 ? -1 : e->number[d->onto[s]];
    if (over < 0 || onto < 0 || has(&e->outputs, over) || has(&n.there, onto)) return;
    if (d->bytes[d->over[s]] != d->bytes[d->onto[s]] || need - d->bytes[d->onto[s]] > e->target) return;
    take(&after, over);
    reach(e, after, done, at, s, cost);
}

static void expand(struct exact *e, int32_t at) {
    struct node n = e->nodes.items[at];
    plim__search *s = e->search;
    int32_t again[256], count = 0;
    certain(e, &n.there, n.done);
    for (int32_t i = 0; i < n.done && count < 256; i++)
        if (s->stamp[e->order[i]] == s->stamps) again[count++] = e->order[i];
    run_step(e, at, e->order[n.done], true);
    for (int32_t i = 0; i < count; i++) run_step(e, at, again[i], false);
    for (int32_t b = 0; b < e->count; b++) {
        if (!has(&n.there, b) || has(&e->outputs, b)) continue;
        mask there = n.there;
        take(&there, b);
        reach(e, there, n.done, at, -1, n.cost);
    }
}

/* --- all of it -------------------------------------------------------------------------------------------------- */

static void find_useful(struct exact *e) {
    const plim__depend *d = e->depend;
    for (size_t k = d->step_count + 1; k-- > 0;) {
        mask *m = &e->useful[k];
        *m = k == d->step_count ? e->outputs : e->useful[k + 1];
        if (k < d->step_count)
            for (int w = 0; w < MASK_WORDS; w++) m->words[w] |= e->reads[e->order[k]].words[w];
        for (bool more = true; more;) { /* and what they can be made from again */
            more = false;
            for (int32_t n = 0; n < e->count; n++) {
                int32_t maker = d->maker[e->buffers[n]];
                if (!has(m, n) || maker < 0 || !may_repeat(e, maker, (int32_t)k)) continue;
                if (covers(m, &e->reads[maker])) continue;
                for (int w = 0; w < MASK_WORDS; w++) m->words[w] |= e->reads[maker].words[w];
                more = true;
            }
        }
    }
}

static bool number_buffers(struct exact *e) {
    const plim__depend *d = e->depend;
    memset(e->number, -1, d->buffer_count * sizeof *e->number);
    for (size_t b = 0; b < d->buffer_count; b++) {
        const plim__buffer *buffer = &d->program->buffers.items[b];
        if (buffer->persistent || (d->maker[b] < 0 && buffer->kind == PLIM__BUFFER_WORKSPACE)) continue;
        if (e->count == MOST_BUFFERS) return false;
        e->number[b] = e->count;
        if (buffer->output) put(&e->outputs, e->count);
        e->buffers[e->count++] = (int32_t)b;
    }
    for (size_t s = 0; s < d->step_count; s++) {
        e->position[e->order[s]] = (int32_t)s;
        for (int32_t k = d->reads.start[s]; k < d->reads.start[s + 1]; k++)
            put(&e->reads[s], e->number[d->reads.items[k]]);
        for (int32_t k = d->makes.start[s]; k < d->makes.start[s + 1]; k++)
            put(&e->makes[s], e->number[d->makes.items[k]]);
    }
    return true;
}

static bool make(struct exact *e) {
    size_t steps = e->depend->step_count + 1;
    e->table_size = MOST_NODES * 2;
    e->position = plim__alloc_zero(steps, sizeof *e->position);
    e->number = plim__alloc_zero(e->depend->buffer_count + 1, sizeof *e->number);
    e->reads = plim__alloc_zero(steps, sizeof *e->reads);
    e->makes = plim__alloc_zero(steps, sizeof *e->makes);
    e->useful = plim__alloc_zero(steps, sizeof *e->useful);
    e->table = plim__alloc_array(e->table_size, sizeof *e->table);
    if (!e->position || !e->number || !e->reads || !e->makes || !e->useful || !e->table) return false;
    memset(e->table, -1, e->table_size * sizeof *e->table);
    return true;
}

static bool search(struct exact *e, size_t states) {
    const plim__depend *d = e->depend;
    mask there = {0};
    for (size_t i = 0; i < d->input_count; i++) put(&there, e->number[d->inputs[i]]);
    reach(e, there, 0, NO_NODE, -1, 0);
    for (size_t expanded = 0; !e->failed && e->heap.count > 0 && expanded < states;) {
        int32_t at = pop_heap(e);
        if (e->nodes.items[at].closed) continue;
        e->nodes.items[at].closed = true;
        if ((size_t)e->nodes.items[at].done == d->step_count) {
            size_t count = 0, end;
            for (int32_t n = at; n != NO_NODE; n = e->nodes.items[n].parent) count += e->nodes.items[n].step >= 0;
            if (count > e->search->capacity) return false;
            end = e->search->now.count = count;
            for (int32_t n = at; n != NO_NODE; n = e->nodes.items[n].parent)
                if (e->nodes.items[n].step >= 0) e->search->now.steps[--end] = e->nodes.items[n].step;
            return true;
        }
        if (e->nodes.count > MOST_NODES) return false;
        expand(e, at);
        expanded++;
    }
    return false;
}

plim_status plim__search_exact(plim__search *s, const plim__schedule *order, const plim__exact_goal *goal, bool *found,
                               plim_error *error) {
    size_t states = goal->states;
    struct exact e = {
        .search = s, .depend = s->depend, .target = goal->target, .limit = goal->limit, .order = order->steps};
    *found = false;
    if (make(&e)) {
        if (number_buffers(&e)) {
            find_useful(&e);
            *found = search(&e, states);
        }
    } else {
        e.failed = true;
    }
    plim__free(e.position);
    plim__free(e.number);
    plim__free(e.reads);
    plim__free(e.makes);
    plim__free(e.useful);
    plim__free(e.table);
    plim__vec_free(&e.nodes);
    plim__vec_free(&e.heap);
    return e.failed ? plim__fail_memory(error, "the search for a schedule", states * sizeof(struct node)) : PLIM_OK;
}
