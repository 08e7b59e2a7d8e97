#include "fit/executor.h"

#include "core/error.h"

typedef struct run {
    plim__executor *x;
    uint32_t *first, *readers; /* of each tensor: who reads it, in the order in which they were added */
    uint32_t *queue, head, tail;
} run;

void plim__executor_init(plim__executor *x, plim__tape *tape) {
    *x = (plim__executor){.tape = tape};
    if (!plim__vec_push(&x->list, (plim__operation){0})) tape->failed = true;
}

void plim__executor_free(plim__executor *x) { plim__vec_free(&x->list); }

uint32_t plim__executor_add(plim__executor *x, const plim__operation *operation) {
    plim__operation one = *operation;
    one.pending = one.readers = one.made = 0;
    if (x->tape->failed || x->list.count >= UINT32_MAX / PLIM__EXECUTOR_READS) x->tape->failed = true;
    if (x->tape->failed) return 0;
    for (size_t i = 0; i < PLIM__EXECUTOR_READS; i++) {
        if (!one.reads[i]) continue;
        one.pending++;
        x->list.items[one.reads[i]].readers++;
    }
    if (!plim__vec_push(&x->list, one)) x->tape->failed = true;
    return x->tape->failed ? 0 : (uint32_t)(x->list.count - 1);
}

/* Readers of tensor t: readers[first[t]] to readers[first[t + 1] - 1]. */
static bool list_readers(run *r) {
    size_t count = r->x->list.count, edges = 1;
    for (size_t i = 0; i < count; i++) edges += r->x->list.items[i].readers;
    r->first = plim__alloc_zero(count + 2, sizeof *r->first);
    r->readers = plim__alloc_zero(edges, sizeof *r->readers);
    r->queue = plim__alloc_zero(count, sizeof *r->queue);
    if (!r->first || !r->readers || !r->queue) return false;
    for (size_t i = 0; i < count; i++) r->first[i + 2] = r->first[i + 1] + r->x->list.items[i].readers;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < PLIM__EXECUTOR_READS; k++) {
            uint32_t read = r->x->list.items[i].reads[k];
            if (read) r->readers[r->first[read + 1]++] = (uint32_t)i; /* moves first[read + 1] to its place */
        }
    return true;
}

static void finish(run *r, uint32_t tensor) {
    for (uint32_t i = r->first[tensor]; i < r->first[tensor + 1]; i++)
        if (--r->x->list.items[r->readers[i]].pending == 0) r->queue[r->tail++] = r->readers[i];
}

static uint32_t storage_for(plim__executor *x, const plim__operation *o) {
    if (o->view && o->reads[0]) return plim__tape_hold(x->tape, x->list.items[o->reads[0]].made);
    for (size_t i = 0; o->over && i < PLIM__EXECUTOR_READS; i++) {
        const plim__operation *in = &x->list.items[o->reads[i]];
        bool free = o->reads[i] && in->readers == 1 && plim__tape_is_alone(x->tape, in->made);
        if (free && x->tape->storages.items[in->made].bytes == o->bytes) return plim__tape_hold(x->tape, in->made);
    }
    return plim__tape_new(x->tape, o->name ? o->name : o->what, o->what, o->kind, o->bytes);
}

static void run_one(run *r, uint32_t number) {
    plim__executor *x = r->x;
    plim__operation *o = &x->list.items[number];
    if (!o->storage) {
        if (o->phase && o->phase != x->tape->phase) plim__tape_phase(x->tape, (plim__memory_phase)o->phase);
        if (o->owner && x->mark) x->mark(x->context, o);
        o->made = o->if_read && !o->readers ? 0 : storage_for(x, o);
        plim__tape_drop(x->tape, plim__tape_new(x->tape, o->what, "work space", PLIM__KIND_WORKSPACE, o->work));
    } else {
        o->made = plim__tape_hold(x->tape, o->storage);
    }
    for (size_t i = 0; i < PLIM__EXECUTOR_READS; i++) {
        plim__operation *in = &x->list.items[o->reads[i]];
        if (o->reads[i] && --in->readers == 0) plim__tape_drop(x->tape, in->made);
    }
    if (!o->readers) plim__tape_drop(x->tape, o->made);
    finish(r, number);
}

void plim__executor_run(plim__executor *x) {
    run r = {.x = x};
    if (!x->tape->failed && !list_readers(&r)) x->tape->failed = true;
    for (size_t i = 1; !x->tape->failed && i < x->list.count; i++)
        if (!x->list.items[i].pending) r.queue[r.tail++] = (uint32_t)i;
    while (!x->tape->failed && r.head < r.tail) run_one(&r, r.queue[r.head++]);
    plim__free(r.first);
    plim__free(r.readers);
    plim__free(r.queue);
    x->list.count = x->list.count ? 1 : 0;
}
