/* A timeline's births and deaths one after the other: at each tick first what dies, then what is born. */
#ifndef PLIM_REPORT_EVENTS_H
#define PLIM_REPORT_EVENTS_H

#include "mem/timeline.h"

typedef struct plim__events {
    const plim__timeline *timeline;
    uint32_t *deaths; /* lives that die, by their death */
    size_t death_count, next_death, next_birth;
} plim__events;

plim_status plim__events_open(plim__events *events, const plim__timeline *timeline, plim_error *error);
/* The next event; false at the end. *death says which of the two it is. */
bool plim__events_next(plim__events *events, uint32_t *life, bool *death);
void plim__events_free(plim__events *events);

#endif
