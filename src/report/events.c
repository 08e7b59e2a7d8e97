/* Two orders merged: lives are sorted by birth already, a list of them is sorted by death. */
#include "report/events.h"

#include <stdlib.h>

#include "core/error.h"

typedef struct death {
    uint32_t tick, life;
} death;

static int by_tick(const void *a, const void *b) {
    const death *left = a, *right = b;
    if (left->tick != right->tick) return left->tick < right->tick ? -1 : 1;
    return (left->life > right->life) - (left->life < right->life);
}

plim_status plim__events_open(plim__events *events, const plim__timeline *timeline, plim_error *error) {
    *events = (plim__events){.timeline = timeline};
    size_t count = 0;
    for (size_t i = 0; i < timeline->lives.count; i++) count += timeline->lives.items[i].died != PLIM__NEVER;
    death *order = plim__alloc_array(count, sizeof *order);
    events->deaths = plim__alloc_array(count, sizeof *events->deaths);
    if (!order || !events->deaths) {
        plim__free(order);
        plim__events_free(events);
        return plim__fail_memory(error, "the order of events", count * sizeof *order);
    }
    for (size_t i = 0; i < timeline->lives.count; i++)
        if (timeline->lives.items[i].died != PLIM__NEVER)
            order[events->death_count++] = (death){timeline->lives.items[i].died, (uint32_t)i};
    qsort(order, count, sizeof *order, by_tick);
    for (size_t i = 0; i < count; i++) events->deaths[i] = order[i].life;
    plim__free(order);
    return PLIM_OK;
}

bool plim__events_next(plim__events *events, uint32_t *life, bool *is_death) {
    const plim__timeline_life *lives = events->timeline->lives.items;
    bool more_births = events->next_birth < events->timeline->lives.count,
         more_deaths = events->next_death < events->death_count;
    if (!more_births && !more_deaths) return false;
    *is_death = more_deaths &&
                (!more_births || lives[events->deaths[events->next_death]].died <= lives[events->next_birth].born);
    *life = *is_death ? events->deaths[events->next_death++] : (uint32_t)events->next_birth++;
    return true;
}

void plim__events_free(plim__events *events) {
    plim__free(events->deaths);
    *events = (plim__events){0};
}
