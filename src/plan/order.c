/* Order for memory.
 *
 * First whole orders: the given one swept forwards, so that a step that frees at least as much as it makes runs as soon
 * as it can, and backwards, so that a step that makes more than it frees runs as late as it can. Then single moves
 * around the peak of the best: what lives across it is made after it, or used up before it. Every order is measured as
 * the plan will measure it, sharing in place included. */
#include "plan/order.h"

#include <string.h>

#include "core/error.h"

#define ROUNDS     400                  /* moves around the peak, at most */
#define WORK       ((int64_t)100 << 20) /* steps measured or swept over, at most */
#define MANY_STEPS 8000                 /* orders of larger programs are made several times in a plan: each gets less */

struct order {
    const plim__depend *depend;
    plim__meter *meter;
    size_t count;
    int32_t *best, *trial, *from;
    int32_t *waiting; /* of each step: how many it still waits for */
    int32_t *readers; /* of each buffer: how many have not run yet */
    int32_t *place;   /* of each step */
    bool *live;       /* of each buffer */
    bool *done;       /* of each step */
    int64_t peak;     /* of the best */
    double breadth;   /* of the best: the squares of live bytes, summed up */
    int64_t work;     /* left: steps measured or swept over */
};

static bool make(struct order *o) {
    size_t steps = o->depend->step_count + 1, buffers = o->depend->buffer_count + 1;
    o->best = plim__alloc_array(steps, sizeof *o->best);
    o->trial = plim__alloc_array(steps, sizeof *o->trial);
    o->from = plim__alloc_array(steps, sizeof *o->from);
    o->waiting = plim__alloc_array(steps, sizeof *o->waiting);
    o->place = plim__alloc_array(steps, sizeof *o->place);
    o->readers = plim__alloc_array(buffers, sizeof *o->readers);
    o->live = plim__alloc_array(buffers, sizeof *o->live);
    o->done = plim__alloc_array(steps, sizeof *o->done);
    return o->best && o->trial && o->from && o->waiting && o->place && o->readers && o->live && o->done;
}

static void release(struct order *o) {
    void *all[] = {o->best, o->trial, o->from, o->waiting, o->place, o->readers, o->live, o->done};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) plim__free(all[i]);
    plim__meter_free(o->meter);
}

/* Keeps the trial when it is lower, or as low and less broad: recomputing will take the peak away and meet the rest. */
static bool keep_if_better(struct order *o) {
    o->work -= (int64_t)o->count;
    int64_t peak = plim__meter_run(o->meter, o->trial, o->count);
    if (peak > o->peak) return false;
    double breadth = 0;
    plim__lists makes = o->depend->makes;
    for (size_t i = 0; i < o->count; i++) /* only where something is made can it get more */
        if (makes.start[o->trial[i]] < makes.start[o->trial[i] + 1])
            breadth += (double)o->meter->live[i] * (double)o->meter->live[i];
    if (peak == o->peak && breadth >= o->breadth) return false;
    o->peak = peak;
    o->breadth = breadth;
    memcpy(o->best, o->trial, o->count * sizeof *o->best);
    return true;
}

/* --- sweeps ----------------------------------------------------------------------------------------------------- */

/* A sweep forwards or backwards; backwards everything is mirrored: a step takes away what it makes and brings in what
 * it reads, and those that follow it come first. */
struct sweep {
    struct order *order;
    bool backwards;
    bool ends;     /* only steps that make nothing are hurried (forwards), or that read nothing (backwards) */
    int depth;     /* of steps that follow each other at once */
    size_t count;  /* steps placed */
    size_t others; /* steps left that are not last (forwards), or that are (backwards) */
};

static plim__lists needs_of(const struct sweep *w) {
    return w->backwards ? w->order->depend->after : w->order->depend->before;
}
static plim__lists needed_by(const struct sweep *w) {
    return w->backwards ? w->order->depend->before : w->order->depend->after;
}

static bool is_ready(const struct sweep *w, int32_t s) {
    const struct order *o = w->order;
    return !o->done[s] && o->waiting[s] == 0 && (o->depend->last[s] == w->backwards || w->others == 0);
}

static void begin_sweep(struct sweep *w) {
    struct order *o = w->order;
    const plim__depend *d = o->depend;
    plim__lists needs = needs_of(w);
    memset(o->done, 0, d->step_count * sizeof *o->done);
    memset(o->readers, 0, d->buffer_count * sizeof *o->readers);
    memset(o->live, 0, d->buffer_count * sizeof *o->live);
    for (size_t s = 0; s < d->step_count; s++) {
        o->waiting[s] = needs.start[s + 1] - needs.start[s];
        w->others += d->last[s] == w->backwards;
        for (int32_t k = d->reads.start[s]; k < d->reads.start[s + 1]; k++) o->readers[d->reads.items[k]]++;
    }
    for (size_t i = 0; i < d->output_count; i++) {
        o->readers[d->outputs[i]]++; /* the caller */
        o->live[d->outputs[i]] = true;
    }
}

/* Bytes more in use after the step than before it. */
static int64_t growth(const struct sweep *w, int32_t s) {
    const struct order *o = w->order;
    const plim__depend *d = o->depend;
    int64_t grown = 0;
    for (int32_t k = d->reads.start[s]; k < d->reads.start[s + 1]; k++) {
        int32_t b = d->reads.items[k];
        if (w->backwards ? !o->live[b] : o->readers[b] == 1) grown += w->backwards ? d->bytes[b] : -d->bytes[b];
    }
    for (int32_t k = d->makes.start[s]; k < d->makes.start[s + 1]; k++) {
        int32_t b = d->makes.items[k];
        if (w->backwards ? o->live[b] : o->readers[b] > 0) grown += w->backwards ? -d->bytes[b] : d->bytes[b];
    }
    return grown;
}

static void place_step(struct sweep *w, int32_t s) {
    struct order *o = w->order;
    const plim__depend *d = o->depend;
    plim__lists next = needed_by(w);
    o->done[s] = true;
    w->others -= d->last[s] == w->backwards;
    o->trial[w->backwards ? o->count - 1 - w->count : w->count] = s;
    w->count++;
    for (int32_t k = next.start[s]; k < next.start[s + 1]; k++) o->waiting[next.items[k]]--;
    for (int32_t k = d->reads.start[s]; k < d->reads.start[s + 1]; k++) {
        o->readers[d->reads.items[k]]--;
        o->live[d->reads.items[k]] = true;
    }
    for (int32_t k = d->makes.start[s]; k < d->makes.start[s + 1]; k++) o->live[d->makes.items[k]] = false;
}

static bool is_eager(const struct sweep *w, int32_t s) {
    if (!is_ready(w, s)) return false;
    plim__lists lists = w->backwards ? w->order->depend->reads : w->order->depend->makes;
    if (w->ends && lists.start[s] < lists.start[s + 1]) return false;
    return growth(w, s) <= 0;
}

/* How deep steps follow each other at once: the rest come in their turn. */
#define DEEPEST 4096

/* After each step: those that have become ready, directly or by a buffer that now has one reader left, and grow
 * nothing, run at once. */
static void place_eager(struct sweep *w, int32_t s) {
    const plim__depend *d = w->order->depend;
    place_step(w, s);
    if (w->depth == DEEPEST || w->order->work <= 0) return;
    w->depth++;
    plim__lists next = needed_by(w);
    w->order->work -= next.start[s + 1] - next.start[s];
    for (int32_t k = next.start[s]; k < next.start[s + 1]; k++)
        if (is_eager(w, next.items[k])) place_eager(w, next.items[k]);
    for (int32_t k = d->reads.start[s]; k < d->reads.start[s + 1]; k++) {
        int32_t maker = d->maker[d->reads.items[k]], from = maker < 0 ? 0 : d->after.start[maker],
                to = maker < 0 ? 0 : d->after.start[maker + 1];
        w->order->work -= to - from;
        for (int32_t j = from; j < to; j++)
            if (is_eager(w, d->after.items[j])) place_eager(w, d->after.items[j]);
    }
    w->depth--;
}

/* The steps of `from`, in that order where nothing speaks for another. */
static void sweep(struct order *o, bool backwards, bool ends) {
    struct sweep w = {.order = o, .backwards = backwards, .ends = ends};
    begin_sweep(&w);
    while (w.count < o->count) {
        size_t before = w.count;
        o->work -= (int64_t)o->count;
        for (size_t i = 0; i < o->count; i++) {
            int32_t s = o->from[backwards ? o->count - 1 - i : i];
            if (is_ready(&w, s)) place_eager(&w, s);
        }
        if (w.count == before || o->work <= 0) { /* the former cannot be: the order given is one */
            memcpy(o->trial, o->from, o->count * sizeof *o->trial);
            return;
        }
    }
}

static bool sweep_best(struct order *o, bool backwards, bool ends) {
    memcpy(o->from, o->best, o->count * sizeof *o->from);
    sweep(o, backwards, ends);
    return keep_if_better(o);
}

static void try_sweeps(struct order *o, plim__order_kind kind) {
    for (int round = 0; round < 3; round++) {
        bool better = sweep_best(o, false, true);
        better |= sweep_best(o, true, true);
        if (kind == PLIM__ORDER_NEAR) return;
        better |= sweep_best(o, true, false);
        memcpy(o->from, o->trial, o->count * sizeof *o->from);
        sweep(o, false, false);
        better |= keep_if_better(o);
        better |= sweep_best(o, false, false);
        if (!better) return;
    }
}

/* --- moves around the peak -------------------------------------------------------------------------------------- */

/* The trial: the step at `from` put before the one at `to`. */
static void move_step(struct order *o, size_t from, size_t to) {
    size_t at = 0;
    for (size_t i = 0; i <= o->count; i++) {
        if (i == to) o->trial[at++] = o->best[from];
        if (i < o->count && i != from) o->trial[at++] = o->best[i];
    }
}

/* As late as those that need it allow. */
static bool try_later(struct order *o, int32_t s) {
    const plim__depend *d = o->depend;
    size_t to = o->count;
    for (int32_t k = d->after.start[s]; k < d->after.start[s + 1]; k++)
        if ((size_t)o->place[d->after.items[k]] < to) to = (size_t)o->place[d->after.items[k]];
    while (!d->last[s] && to > 0 && d->last[o->best[to - 1]]) to--;
    if (to <= (size_t)o->place[s] + 1) return false;
    move_step(o, (size_t)o->place[s], to);
    return keep_if_better(o);
}

/* With all it needs from behind the peak, before the peak. */
static bool try_before(struct order *o, int32_t s, size_t peak) {
    const plim__depend *d = o->depend;
    size_t end = (size_t)o->place[s], moved = 0;
    if (d->last[s] != d->last[o->best[peak]]) return false;
    memset(o->done, 0, o->count * sizeof *o->done); /* here: moves */
    o->done[s] = true;
    for (size_t i = end + 1; i-- > peak;) {
        int32_t t = o->best[i];
        if (!o->done[t]) continue;
        moved++;
        for (int32_t k = d->before.start[t]; k < d->before.start[t + 1]; k++)
            if ((size_t)o->place[d->before.items[k]] >= peak) o->done[d->before.items[k]] = true;
    }
    if (o->done[o->best[peak]] || moved > 64) return false;
    size_t front = peak, back = peak + moved;
    memcpy(o->trial, o->best, o->count * sizeof *o->trial);
    for (size_t i = peak; i <= end; i++)
        if (o->done[o->best[i]])
            o->trial[front++] = o->best[i];
        else
            o->trial[back++] = o->best[i];
    return keep_if_better(o);
}

static bool move_once(struct order *o) {
    const plim__depend *d = o->depend;
    size_t peak = 0;
    plim__meter_run(o->meter, o->best, o->count);
    while (peak < o->count && o->meter->live[peak] < o->peak) peak++;
    for (size_t i = 0; i < o->count; i++) o->place[o->best[i]] = (int32_t)i;
    for (size_t i = 0; i < o->count && o->work > 0; i++) {
        int32_t s = o->best[i];
        bool across = false; /* makes something for after the peak, or reads something from before it */
        if (i < peak) {
            for (int32_t k = d->after.start[s]; k < d->after.start[s + 1]; k++)
                across |= (size_t)o->place[d->after.items[k]] > peak;
            if (across && try_later(o, s)) return true;
        } else if (i > peak) {
            for (int32_t k = d->reads.start[s]; k < d->reads.start[s + 1]; k++) {
                int32_t maker = d->maker[d->reads.items[k]];
                across |= maker < 0 || (size_t)o->place[maker] < peak;
            }
            if (across && try_before(o, s, peak)) return true;
        }
    }
    return false;
}

plim_status plim__order(const plim__depend *depend, plim__order_kind kind, plim__schedule *schedule,
                        plim_error *error) {
    if (schedule->count != depend->step_count || depend->step_count == 0) return PLIM_OK;
    struct order o = {.depend = depend, .count = schedule->count, .peak = INT64_MAX};
    o.work = WORK / (1 + (int64_t)(o.count / MANY_STEPS));
    plim_status status = plim__meter_create(depend, &o.meter, error);
    if (status == PLIM_OK && !make(&o)) status = plim__fail_memory(error, "the order of steps", o.count);
    if (status == PLIM_OK) {
        memcpy(o.trial, schedule->steps, o.count * sizeof *o.trial);
        keep_if_better(&o);
        try_sweeps(&o, kind);
        for (int round = 0; kind == PLIM__ORDER_LOWEST && round < ROUNDS && move_once(&o); round++) {}
        try_sweeps(&o, kind);
        memcpy(schedule->steps, o.best, o.count * sizeof *o.best);
    }
    release(&o);
    return status;
}
