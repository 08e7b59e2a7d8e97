/* In which order an epoch goes through which samples: everything follows from (seed, epoch, position). */
#ifndef PLIM_DATA_ORDER_H
#define PLIM_DATA_ORDER_H

#include <stdbool.h>

#include "data/permute.h"

typedef struct plim__order {
    int64_t total;        /* samples of the source */
    int64_t first, count; /* of these, the part that is used */
    bool scattered;       /* the part is taken from a fixed permutation of the source, not from the source itself */
    bool shuffled;        /* differently in each epoch */
    uint64_t seed;
} plim__order;

static inline int64_t plim__order_index(const plim__order *order, int64_t epoch, int64_t position) {
    uint64_t key = plim__random_mix(plim__random_mix(order->seed) ^ (uint64_t)epoch);
    if (order->shuffled) position = plim__permute(order->count, key, position);
    position += order->first;
    /* The key of the part does not depend on the seed: a validation share is the same in every run. */
    return order->scattered ? plim__permute(order->total, 0x706c696d736f6c6cu, position) : position;
}

#endif
