/* The order of steps for memory: what frees memory comes early, what takes memory comes late. */
#ifndef PLIM_PLAN_ORDER_H
#define PLIM_PLAN_ORDER_H

#include "plan/schedule.h"

typedef enum plim__order_kind {
    PLIM__ORDER_NEAR,   /* near the given one: updates early, copies of weights late. The best to recompute from */
    PLIM__ORDER_LOWEST, /* the lowest peak without repeating anything */
} plim__order_kind;

/* Replaces a schedule without repetitions by the one with the lowest peak that is found: never a higher one. Moves
 * updates into the backward pass where `depend` allows it. The same answer every time. */
plim_status plim__order(const plim__depend *depend, plim__order_kind kind, plim__schedule *schedule, plim_error *error);

#endif
