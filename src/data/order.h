/* In which order an epoch goes through which samples: everything follows from (seed, epoch, position). */
#ifndef PLIM_DATA_ORDER_H
#define PLIM_DATA_ORDER_H

#include <stdbool.h>

#include "data/permute.h"

/* Samples by class, so that each class comes as often as the largest. */
typedef struct plim__order_classes {
    int64_t count;          /* of classes that have samples */
    int64_t most;           /* samples of the largest */
    const int64_t *ends;    /* number of members up to and with each class */
    const int64_t *members; /* places in the part of the source that is used, class by class */
} plim__order_classes;

typedef struct plim__order {
    int64_t total;        /* samples of the source */
    int64_t first, count; /* of these, the part that is used; with classes, count is that of the epoch */
    bool scattered;       /* the part is taken from a fixed permutation of the source, not from the source itself */
    bool shuffled;        /* differently in each epoch */
    uint64_t seed;
    const plim__order_classes *classes; /* NULL: every sample comes once */
} plim__order;

/* The sample at a place of the part, which is the same in every epoch. */
static inline int64_t plim__order_source(const plim__order *order, int64_t place) {
    place += order->first;
    /* The key of the part does not depend on the seed: a validation share is the same in every run. */
    return order->scattered ? plim__permute(order->total, 0x706c696d736f6c6cu, place) : place;
}

/* Each class takes `most` places of an epoch; in these its members come in turns, in another order in each epoch, so that
 * who comes once more than the others changes. */
static inline int64_t plim__order_pick(const plim__order *order, uint64_t key, int64_t position, uint64_t *repeat) {
    const plim__order_classes *c = order->classes;
    int64_t which = position / c->most, turn = position % c->most;
    int64_t from = which > 0 ? c->ends[which - 1] : 0, members = c->ends[which] - from;
    *repeat = (uint64_t)(turn / members);
    return c->members[from + plim__permute(members, key ^ (uint64_t)which, turn % members)];
}

/* `repeat` becomes how often the sample came before in this epoch. */
static inline int64_t plim__order_index(const plim__order *order, int64_t epoch, int64_t position, uint64_t *repeat) {
    uint64_t key = plim__random_mix(plim__random_mix(order->seed) ^ (uint64_t)epoch);
    *repeat = 0;
    if (order->shuffled) position = plim__permute(order->count, key, position);
    if (order->classes) position = plim__order_pick(order, key, position, repeat);
    return plim__order_source(order, position);
}

#endif
