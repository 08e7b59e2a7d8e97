/* Fast constructions: packings of any number of buffers, without going back on a decision. */
#ifndef PLIM_PLAN_PACK_GREEDY_H
#define PLIM_PLAN_PACK_GREEDY_H

#include "plan/pack_internal.h"

/* Tries one construction after another until one is no higher than `target` or the work is spent; at least one is
 * always finished. The lowest packing goes to offsets[], one for each item. PLIM_INVALID when fixed items collide. */
plim_status plim__pack_greedy(const plim__pack_problem *problem, int64_t target, plim__pack_budget *budget,
                              int64_t *offsets, int64_t *height, plim_error *error);

#endif
