/* Taking repetitions out again where there is room, and searching around a schedule for a cheaper one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/search.h"

/* The trial: `now` without the run at `place`, and without what was only done for it. */
static void without(plim__search *s, size_t place) {
    memcpy(s->trial.steps, s->now.steps, place * sizeof *s->trial.steps);
    memcpy(s->trial.steps + place, s->now.steps + place + 1, (s->now.count - place - 1) * sizeof *s->trial.steps);
    s->trial.count = s->now.count - 1;
    plim__search_clean(s, &s->trial);
}

static int by_seconds(const void *a, const void *b) {
    const struct plim__removal *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds > y->seconds ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

/* Whether there is room for the outputs of the run at `place` from their last use before it, when the inputs that end
 * there end earlier. An estimate that seldom says no wrongly: it saves measuring. */
static bool has_room(const plim__search *s, int32_t place, int64_t target) {
    const plim__depend *d = s->depend;
    int32_t step = s->now.steps[place];
    int64_t freed = 0;
    for (int32_t k = d->reads.start[step]; k < d->reads.start[step + 1]; k++)
        if (s->until[d->reads.items[k]] == place) freed += d->bytes[d->reads.items[k]];
    for (int32_t k = d->makes.start[step]; k < d->makes.start[step + 1]; k++) {
        int32_t b = d->makes.items[k];
        int64_t room = target - d->bytes[b] + freed;
        if (room < 0 || !plim__search_below(s, s->since[b] + 1, place - 1, room)) return false;
    }
    return true;
}

/* The repetitions for which there may be room, the dearest first. */
static size_t find_removals(plim__search *s, int64_t target) {
    size_t count = 0;
    plim__search_survey(s, target);
    for (size_t i = 0; i < s->now.count; i++) {
        int32_t step = s->now.steps[i];
        if (s->first[step] < (int32_t)i && has_room(s, (int32_t)i, target))
            s->removals[count++] = (struct plim__removal){(int32_t)i, s->seconds[step]};
        plim__search_pass(s, (int32_t)i);
    }
    qsort(s->removals, count, sizeof *s->removals, by_seconds);
    return count;
}

void plim__search_restore(plim__search *s, int64_t target) {
    bool again = true;
    double dearest = INFINITY; /* what was too much once stays so: every removal leaves less room */
    while (again && s->work > 0) {
        size_t count = find_removals(s, target);
        again = false;
        for (size_t r = 0; r < count && !again; r++) {
            if (s->removals[r].seconds > dearest) continue;
            dearest = s->removals[r].seconds;
            again = plim__search_without(s, s->removals[r].place, target, 1) == 0;
            if (again) without(s, (size_t)s->removals[r].place);
        }
        if (again) plim__draft_set(&s->now, &s->trial);
    }
}

/* Takes out `count` repetitions that follow each other, or stand anywhere. */
static void ruin(plim__search *s, size_t repetitions) {
    size_t count = 1 + (size_t)plim__search_random(s, repetitions < 8 ? repetitions : repetitions / 4);
    size_t begin = (size_t)plim__search_random(s, repetitions);
    bool together = plim__search_random(s, 2) == 0;
    memset(s->runs, 0, s->depend->step_count * sizeof *s->runs);
    size_t to = 0, met = 0;
    for (size_t i = 0; i < s->now.count; i++) {
        int32_t step = s->now.steps[i];
        bool again = s->runs[step]++ > 0, out = false;
        if (again && together) out = met >= begin && met < begin + count;
        if (again && !together) out = plim__search_random(s, repetitions) < count;
        met += again;
        if (!out) s->now.steps[to++] = step;
    }
    s->now.count = to;
    plim__search_clean(s, &s->now);
}

void plim__search_improve(plim__search *s, int64_t target, int rounds) {
    double best = plim__search_cost(s, &s->now);
    int64_t excess = plim__search_excess(s, &s->now, target);
    plim__draft_set(&s->best, &s->now);
    s->noise = true;
    for (int round = 0; round < rounds && s->work > 0; round++) {
        size_t repetitions = s->best.count - s->depend->step_count;
        if (repetitions == 0) break;
        plim__draft_set(&s->now, &s->best);
        ruin(s, repetitions);
        if (plim__search_drop(s, target)) plim__search_restore(s, target);
        int64_t left = plim__search_excess(s, &s->now, target);
        double cost = plim__search_cost(s, &s->now);
        if (left > excess || (left == excess && cost > best)) continue;
        best = cost;
        excess = left;
        plim__draft_set(&s->best, &s->now);
    }
    s->noise = false;
    plim__draft_set(&s->now, &s->best);
}
