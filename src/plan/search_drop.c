/* Dropping: a buffer that waits long between two uses is released after the first and computed again before the second,
 * together with whatever of its own inputs is gone by then.
 *
 *     use ············ waits ············ use          the gap
 *     use   (free)              make again use
 *
 * Each round measures the schedule, estimates for every gap how many bytes above the target it would take away for
 * each second of repetition, tries the most promising ones for real, and keeps the best. Repeated runs have gaps too,
 * so deep recursion comes out by itself where little memory is left. */
#include <math.h>
#include <string.h>

#include "plan/search.h"

#define TRIED 8 /* drops that are tried for real in each round; all of them when none of these helps */
#define SMALL 4 /* an input of less than 1/4 of what is computed from it is better held than computed again */

/* --- computing again ---------------------------------------------------------------------------------------------- */

/* Collected while walking `now` up to the place before which steps run again. */
struct closure {
    int32_t *steps; /* in the order in which they run */
    int32_t count;
    int32_t place;
    int64_t wanted; /* bytes of the buffer it is all for */
    int64_t target;
    double seconds;
    double harm;  /* byte places above the target that longer lives of inputs add */
    bool keep;    /* inputs live on wherever they can; otherwise they are computed again unless small */
    double gain;  /* bytes above the target that it may take away ... */
    double least; /* ... and how many it must for each second, to be of interest */
};

/* An input that is gone at the place: does it live on, or is it computed again? */
static bool lives_on(const plim__search *s, const struct closure *c, int32_t b) {
    int32_t maker = s->depend->maker[b];
    if (maker < 0 || !s->depend->repeatable[maker] || c->keep) return true;
    if (s->depend->bytes[b] <= c->wanted / SMALL) return true;
    int64_t room = c->target - s->depend->bytes[b];
    return room >= 0 && plim__search_below(s, s->until[b] + 1, c->place, room);
}

static bool add_to_closure(plim__search *s, struct closure *c, int32_t step) {
    const plim__depend *d = s->depend;
    s->work -= 4;
    if (s->stamp[step] == s->stamps) return true;
    s->stamp[step] = s->stamps;
    if (!d->repeatable[step] || d->last[s->now.steps[c->place]] > d->last[step]) return false;
    for (int32_t k = d->closed.start[step]; k < d->closed.start[step + 1]; k++)
        if (s->first[d->closed.items[k]] < c->place) return false;
    for (int32_t k = d->reads.start[step]; k < d->reads.start[step + 1]; k++) {
        int32_t b = d->reads.items[k];
        if (s->until[b] >= c->place) continue;
        if (lives_on(s, c, b))
            c->harm += (double)d->bytes[b] * (s->above[c->place] - s->above[s->until[b] + 1]);
        else if (!add_to_closure(s, c, d->maker[b]))
            return false;
    }
    if (c->count == PLIM__DROP_STEPS) return false;
    c->steps[c->count++] = step;
    c->seconds += s->seconds[step];
    return c->gain / c->seconds > c->least;
}

/* --- gaps --------------------------------------------------------------------------------------------------------- */

struct gap {
    int32_t buffer, from, to; /* `from`: place of the first use, `to`: of the second */
};

/* Bytes above the target that the gap's memory takes part in. */
static double relief(const plim__search *s, const struct gap *gap) {
    double area = (double)(s->area[gap->to] - s->area[gap->from + 1]);
    double most = (double)s->depend->bytes[gap->buffer] * (s->above[gap->to] - s->above[gap->from + 1]);
    return area < most ? area : most;
}

/* Puts a drop where its score belongs; the worst one leaves when there are too many, and its steps' memory is free. */
static void insert_drop(plim__search *s, struct plim__drop drop) {
    size_t at = s->drop_count;
    if (at == PLIM__DROPS) {
        if (s->drops[at - 1].score >= drop.score) return;
        s->free_drop = s->drops[--at].steps;
    } else {
        s->free_drop = s->drop_steps + PLIM__DROP_STEPS * ++s->drop_count;
    }
    for (; at > 0 && s->drops[at - 1].score < drop.score; at--) s->drops[at] = s->drops[at - 1];
    s->drops[at] = drop;
}

static void estimate(plim__search *s, const struct gap *gap, int64_t target) {
    double gain = relief(s, gap), seconds_before = -1;
    bool full = !s->noise && s->drop_count == PLIM__DROPS; /* blurred, the worst may still become better */
    double least = full ? s->drops[PLIM__DROPS - 1].score : -INFINITY;
    if (gain / s->seconds[s->depend->maker[gap->buffer]] <= least) return;
    for (int keep = 0; keep < 2; keep++) {
        struct closure c = {.steps = s->free_drop,
                            .place = gap->to,
                            .wanted = s->depend->bytes[gap->buffer],
                            .target = target,
                            .keep = keep,
                            .gain = gain,
                            .least = least};
        s->stamps++;
        if (!add_to_closure(s, &c, s->depend->maker[gap->buffer]) || s->now.count + (size_t)c.count > s->capacity)
            continue;
        if (c.seconds == seconds_before) continue; /* the same */
        seconds_before = c.seconds;
        double score = (gain - c.harm) / c.seconds;
        if (s->noise) score *= 0.6 + (double)plim__search_random(s, 1000) * 0.001;
        if (score <= 0) score = gain / c.seconds * 1e-9; /* behind all others, yet not out */
        insert_drop(s, (struct plim__drop){c.steps, c.count, c.place, score});
    }
}

/* Walks `now` and estimates every gap that has places above the target in it. */
static void find_drops(plim__search *s, int64_t target) {
    const plim__depend *d = s->depend;
    s->drop_count = 0;
    s->free_drop = s->drop_steps;
    for (size_t i = 0; i < s->now.count; i++) {
        int32_t step = s->now.steps[i];
        for (int32_t k = d->reads.start[step]; k < d->reads.start[step + 1]; k++) {
            int32_t b = d->reads.items[k];
            struct gap gap = {b, s->since[b], (int32_t)i};
            if (d->maker[b] >= 0 && s->above[i] > s->above[gap.from + 1]) estimate(s, &gap, target);
        }
        plim__search_pass(s, (int32_t)i);
    }
}

/* --- trying for real ---------------------------------------------------------------------------------------------- */

static void build_trial(plim__search *s, const struct plim__drop *drop) {
    size_t place = (size_t)drop->place, added = (size_t)drop->count;
    memcpy(s->trial.steps, s->now.steps, place * sizeof *s->trial.steps);
    memcpy(s->trial.steps + place, drop->steps, added * sizeof *s->trial.steps);
    memcpy(s->trial.steps + place + added, s->now.steps + place, (s->now.count - place) * sizeof *s->trial.steps);
    s->trial.count = s->now.count + added;
    plim__search_clean(s, &s->trial);
}

static bool drop_one(plim__search *s, int64_t target) {
    find_drops(s, target);
    int64_t excess = s->area[s->now.count];
    double best = 0;
    size_t chosen = 0;
    for (size_t w = 0; w < s->drop_count && (w < TRIED || best <= 0); w++) {
        int64_t gain = excess - plim__search_with(s, &s->drops[w], target, excess);
        if (gain <= 0) continue;
        double score = (double)gain / fmax(plim__search_more(s), 1e-9);
        if (score <= best) continue;
        best = score;
        chosen = w;
    }
    if (best <= 0) return false;
    build_trial(s, &s->drops[chosen]);
    plim__draft_set(&s->now, &s->trial);
    return true;
}

bool plim__search_drop(plim__search *search, int64_t target) {
    for (;;) {
        plim__search_survey(search, target);
        if (search->area[search->now.count] == 0) return true;
        if (search->work <= 0 || !drop_one(search, target)) return false;
    }
}
