/* Schedules to search from, and their clean-up. */
#include "plan/search.h"

#include <string.h>

#include "core/error.h"
#include "core/random.h"

#define BLOCK 32

static bool make_draft(plim__draft *draft, size_t capacity) {
    draft->steps = plim__alloc_array(capacity + 1, sizeof *draft->steps);
    return draft->steps != NULL;
}

static bool make(plim__search *s) {
    size_t steps = s->depend->step_count + 1, buffers = s->depend->buffer_count + 1, places = s->capacity + 2;
    size_t most = 1;
    for (size_t i = 0; i + 1 < steps; i++) {
        size_t made = (size_t)(s->depend->makes.start[i + 1] - s->depend->makes.start[i]);
        if (made > most) most = made;
    }
    s->first = plim__alloc_zero(steps, sizeof *s->first);
    s->runs = plim__alloc_zero(steps, sizeof *s->runs);
    s->stamp = plim__alloc_zero(steps, sizeof *s->stamp);
    s->since = plim__alloc_zero(buffers, sizeof *s->since);
    s->until = plim__alloc_zero(buffers, sizeof *s->until);
    s->death = plim__alloc_zero(places * most, sizeof *s->death);
    s->area = plim__alloc_zero(places, sizeof *s->area);
    s->above = plim__alloc_zero(places, sizeof *s->above);
    s->block = plim__alloc_zero(places, sizeof *s->block);
    s->way_steps = plim__alloc_array((PLIM__WAYS + 1) * PLIM__WAY_STEPS, sizeof *s->way_steps);
    s->removals = plim__alloc_array(places, sizeof *s->removals);
    return s->removals && s->way_steps && s->first && s->runs && s->stamp && s->since && s->until && s->death &&
           s->area && s->above && s->block && make_draft(&s->now, s->capacity) && make_draft(&s->trial, s->capacity) &&
           make_draft(&s->best, s->capacity) && make_draft(&s->spare, s->capacity);
}

plim_status plim__search_create(const plim__depend *depend, const double *seconds, plim__search **search,
                                plim_error *error) {
    plim__search *s = *search = plim__alloc_zero(1, sizeof *s);
    if (!s) return plim__fail_memory(error, "the search for a schedule", sizeof *s);
    s->depend = depend;
    s->seconds = seconds;
    plim_status status = plim__meter_create(depend, &s->meter, error);
    if (status == PLIM_OK) {
        s->capacity = s->meter->capacity;
        if (!make(s)) status = plim__fail_memory(error, "the search for a schedule", s->capacity * sizeof(int64_t));
    }
    if (status == PLIM_OK) return PLIM_OK;
    plim__search_free(s);
    *search = NULL;
    return status;
}

void plim__search_free(plim__search *s) {
    if (!s) return;
    plim__meter_free(s->meter);
    void *all[] = {s->first,      s->runs,        s->stamp, s->since,     s->until,
                   s->death,      s->area,        s->above, s->now.steps, s->trial.steps,
                   s->best.steps, s->spare.steps, s->block, s->way_steps, s->removals};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) plim__free(all[i]);
    plim__free(s);
}

double plim__search_cost(const plim__search *search, const plim__draft *draft) {
    double cost = 0;
    for (size_t i = 0; i < draft->count; i++) cost += search->seconds[draft->steps[i]];
    return cost;
}

int64_t plim__search_excess(plim__search *search, const plim__draft *draft, int64_t target) {
    if (plim__meter_run(search->meter, draft->steps, draft->count) <= target) return 0;
    int64_t excess = 0;
    for (size_t i = 0; i < draft->count; i++)
        if (search->meter->live[i] > target) excess += search->meter->live[i] - target;
    return excess;
}

uint64_t plim__search_random(plim__search *search, uint64_t below) {
    return plim__random_bits(1, 0, search->random++) % below;
}

/* From the last place to the first: a run is of use when somebody reads one of its outputs before it runs again. The
 * last run left of a step stays, whatever it is for. */
void plim__search_clean(plim__search *search, plim__draft *draft) {
    const plim__depend *d = search->depend;
    int32_t *read = search->since; /* of each buffer: read further on */
    memset(read, 0, d->buffer_count * sizeof *read);
    for (size_t i = 0; i < d->output_count; i++) read[d->outputs[i]] = 1;
    memset(search->runs, 0, d->step_count * sizeof *search->runs);
    for (size_t i = 0; i < draft->count; i++) search->runs[draft->steps[i]]++;
    size_t to = draft->count;
    for (size_t i = draft->count; i-- > 0;) {
        int32_t s = draft->steps[i];
        bool used = search->runs[s] == 1;
        for (int32_t k = d->makes.start[s]; k < d->makes.start[s + 1]; k++) used |= read[d->makes.items[k]] != 0;
        if (!used) {
            search->runs[s]--;
            continue;
        }
        for (int32_t k = d->makes.start[s]; k < d->makes.start[s + 1]; k++) read[d->makes.items[k]] = 0;
        for (int32_t k = d->reads.start[s]; k < d->reads.start[s + 1]; k++) read[d->reads.items[k]] = 1;
        draft->steps[--to] = s;
    }
    if (to == 0) return;
    draft->count -= to;
    memmove(draft->steps, draft->steps + to, draft->count * sizeof *draft->steps);
}

/* --- looking at a schedule ---------------------------------------------------------------------------------------- */

/* Places: live bytes and how much of them is above the target, summed up from the left. */
static void measure(plim__search *s, int64_t target) {
    const int64_t *live = s->meter->live;
    plim__meter_run(s->meter, s->now.steps, s->now.count);
    s->area[0] = s->above[0] = 0;
    for (size_t i = 0; i < s->now.count; i++) {
        bool above = live[i] > target;
        s->area[i + 1] = s->area[i] + (above ? live[i] - target : 0);
        s->above[i + 1] = s->above[i] + above;
        if (i % BLOCK == 0 || live[i] > s->block[i / BLOCK]) s->block[i / BLOCK] = live[i];
    }
}

int64_t plim__search_most(const plim__search *s, int32_t a, int32_t b) {
    int64_t most = 0;
    while (a <= b) {
        if (a % BLOCK == 0 && a + BLOCK - 1 <= b) {
            if (s->block[a / BLOCK] > most) most = s->block[a / BLOCK];
            a += BLOCK;
        } else {
            if (s->meter->live[a] > most) most = s->meter->live[a];
            a++;
        }
    }
    return most;
}

/* Lives: for every run the last use of each of its outputs, for every input its last use of all. */
static void find_lives(plim__search *s) {
    const plim__depend *d = s->depend;
    memset(s->since, -1, d->buffer_count * sizeof *s->since);
    memset(s->until, -1, d->buffer_count * sizeof *s->until);
    for (size_t i = 0; i < d->output_count; i++) s->until[d->outputs[i]] = (int32_t)s->now.count;
    size_t at = 0;
    for (size_t i = s->now.count; i-- > 0;) {
        int32_t step = s->now.steps[i];
        for (int32_t k = d->makes.start[step]; k < d->makes.start[step + 1]; k++) {
            int32_t b = d->makes.items[k];
            s->death[at++] = s->until[b] < 0 ? (int32_t)i : s->until[b];
            s->until[b] = -1;
        }
        for (int32_t k = d->reads.start[step]; k < d->reads.start[step + 1]; k++)
            if (s->until[d->reads.items[k]] < 0) s->until[d->reads.items[k]] = (int32_t)i;
        s->first[step] = (int32_t)i;
    }
    s->deaths = at;
}

void plim__search_look(plim__search *search, int64_t target) {
    measure(search, target);
    find_lives(search);
}

void plim__search_pass(plim__search *s, size_t *deaths, int32_t place) {
    const plim__depend *d = s->depend;
    int32_t step = s->now.steps[place];
    for (int32_t k = d->reads.start[step]; k < d->reads.start[step + 1]; k++) s->since[d->reads.items[k]] = place;
    *deaths -= (size_t)(d->makes.start[step + 1] - d->makes.start[step]);
    const int32_t *death = s->death + *deaths;
    for (int32_t k = d->makes.start[step]; k < d->makes.start[step + 1]; k++) {
        s->since[d->makes.items[k]] = place;
        s->until[d->makes.items[k]] = *death++;
    }
}
