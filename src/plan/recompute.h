/* Recomputing: less memory for more time. Which steps to do again, so that what is alive at any time fits a target, at
 * the least cost. All schedules compute the same bits as the program (class `exact`).
 *
 *     plim__depend *depend;             what may move and repeat
 *     plim__frontier *frontier;
 *     plim__depend_create(program, &(plim__depend_options){.update_in_backward = true}, &depend, error);
 *     plim__frontier_create(depend, &(plim__recompute_options){.seconds = measured}, &frontier, error);
 *     const plim__frontier_point *point = plim__frontier_find(frontier, bytes);     NULL: nothing is that low
 *     plim__schedule_apply(program, &point->schedule, &lean, error);                then plan and run it
 */
#ifndef PLIM_PLAN_RECOMPUTE_H
#define PLIM_PLAN_RECOMPUTE_H

#include "plan/schedule.h"

#define PLIM__RECOMPUTE_WORK ((int64_t)400 << 20)

/* Zero means the default. */
typedef struct plim__recompute_options {
    const double *seconds; /* that each step of the program takes; NULL: an estimate from what it computes and moves */
    int effort;            /* rounds of improvement at each point: more find cheaper schedules; default by size, a
                            * second or two in all for a thousand steps; -1: none */
    int threads;           /* 2 or more: both orders are searched from at the same time, to the same answer */
    size_t memory;         /* bytes for searching from both orders at the same time: where they need more, one is
                            * searched from after the other, to the same answer; 0: any */
    int64_t work;          /* of each search: steps walked over, and the like; when it is used up, what was found is the
                            * answer. 0: PLIM__RECOMPUTE_WORK, some seconds, which programs of a thousand steps seldom
                            * need */
    int64_t least;         /* of interest: points below it are not searched for; with an effort of -1 it is the only
                            * one that is */
} plim__recompute_options;

typedef struct plim__frontier_point {
    int64_t peak_bytes;   /* transient bytes that the schedule needs, before packing: lower_bound_bytes -
                           * persistent_bytes of its plan */
    double extra_seconds; /* of the steps that are done again */
    plim__schedule schedule;
} plim__frontier_point;

/* The best trades found: from the highest peak, which costs nothing, to the lowest; each costs more than the one
 * before it. */
typedef struct plim__frontier {
    PLIM_VEC(plim__frontier_point) points;
} plim__frontier;

/* The same answer every time. options may be NULL. */
plim_status plim__frontier_create(const plim__depend *depend, const plim__recompute_options *options,
                                  plim__frontier **frontier, plim_error *error);
void plim__frontier_free(plim__frontier *frontier);
/* The cheapest point that needs at most `bytes`; NULL when there is none. */
const plim__frontier_point *plim__frontier_find(const plim__frontier *frontier, int64_t bytes);

/* One target alone. When it cannot be reached, point->peak_bytes is above it: the lowest that was found. Free the
 * point's schedule. */
plim_status plim__recompute(const plim__depend *depend, const plim__recompute_options *options, int64_t target,
                            plim__frontier_point *point, plim_error *error);

#endif
