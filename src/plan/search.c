/* Schedules to search from, and their clean-up. */
#include "plan/search.h"

#include <string.h>

#include "core/error.h"
#include "core/random.h"

static bool make_draft(plim__draft *draft, size_t capacity) {
    draft->steps = plim__alloc_array(capacity + 1, sizeof *draft->steps);
    return draft->steps != NULL;
}

static size_t list_size(plim__lists lists, size_t i) { return (size_t)(lists.start[i + 1] - lists.start[i]); }

/* How many items the lists of all runs have at most: only some steps are done more than once. */
static size_t most_items(const plim__search *s, plim__lists lists) {
    const plim__depend *d = s->depend;
    size_t most = 0;
    for (size_t i = 0; i < d->step_count; i++)
        if (d->repeatable[i] && list_size(lists, i) > most) most = list_size(lists, i);
    return (size_t)lists.start[d->step_count] + (s->capacity - d->step_count + PLIM__DROP_STEPS) * most + 1;
}

static bool make(plim__search *s) {
    size_t steps = s->depend->step_count + 1, buffers = s->depend->buffer_count + 1, places = s->capacity + 2;
    s->versions_capacity = s->depend->input_count + most_items(s, s->depend->makes);
    s->first = plim__alloc_zero(steps, sizeof *s->first);
    s->runs = plim__alloc_zero(steps, sizeof *s->runs);
    s->stamp = plim__alloc_zero(steps, sizeof *s->stamp);
    s->since = plim__alloc_zero(buffers, sizeof *s->since);
    s->until = plim__alloc_zero(buffers, sizeof *s->until);
    s->newest = plim__alloc_array(buffers, sizeof *s->newest);
    s->versions = plim__alloc_array(s->versions_capacity, sizeof *s->versions);
    s->readings = plim__alloc_array(most_items(s, s->depend->reads), sizeof *s->readings);
    s->live = plim__alloc_zero(places, sizeof *s->live);
    s->cut = plim__alloc_zero(places, sizeof *s->cut);
    s->area = plim__alloc_zero(places, sizeof *s->area);
    s->above = plim__alloc_zero(places, sizeof *s->above);
    s->spent = plim__alloc_zero(places, sizeof *s->spent);
    s->block = plim__alloc_zero(places / PLIM__PLACES + 1, sizeof *s->block);
    s->made = plim__alloc_array(places, sizeof *s->made);
    s->read = plim__alloc_array(places, sizeof *s->read);
    s->drop_steps = plim__alloc_array((PLIM__DROPS + 1) * PLIM__DROP_STEPS, sizeof *s->drop_steps);
    s->removals = plim__alloc_array(places, sizeof *s->removals);
    return s->removals && s->drop_steps && s->first && s->runs && s->stamp && s->since && s->until && s->newest &&
           s->versions && s->readings && s->live && s->cut && s->area && s->above && s->spent && s->block && s->made &&
           s->read && make_draft(&s->now, s->capacity) && make_draft(&s->trial, s->capacity) &&
           make_draft(&s->best, s->capacity) && plim__trials_create(s);
}

void plim__search_restart(plim__search *search, int64_t work) {
    search->random = 0;
    search->work = work;
    search->noise = false;
    search->drop_count = 0;
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
    s->work = INT64_MAX;
    if (status == PLIM_OK) return PLIM_OK;
    plim__search_free(s);
    *search = NULL;
    return status;
}

void plim__search_free(plim__search *s) {
    if (!s) return;
    plim__meter_free(s->meter);
    plim__trials_free(s->trials);
    void *all[] = {s->first,      s->runs,       s->stamp, s->since, s->until, s->newest,    s->versions,
                   s->readings,   s->live,       s->cut,   s->area,  s->above, s->now.steps, s->trial.steps,
                   s->best.steps, s->drop_steps, s->block, s->made,  s->read,  s->removals,  s->spent};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) plim__free(all[i]);
    plim__free(s);
}

#define STEP_BYTES ((size_t)1024)

size_t plim__search_bytes(size_t steps) {
    return (PLIM__DROPS + 1) * PLIM__DROP_STEPS * sizeof(int32_t) + steps * STEP_BYTES;
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
