/* A schedule: the steps of a program in some order, some of them more than once.
 *
 *   program    a b c d e f            each step once, in the order of lowering
 *   schedule   a b c d b e f          `b` is done again: between its two runs its outputs need no memory
 *
 * Whoever reads a buffer reads what its maker made last. So every list of steps in which each stands behind those it
 * needs is a schedule, wherever its repetitions are; only the memory it needs and the time it takes differ. Kernels are
 * functions of what they read (random ones of the tick too), so all schedules of a program compute the same bits. */
#ifndef PLIM_PLAN_SCHEDULE_H
#define PLIM_PLAN_SCHEDULE_H

#include "plan/depend.h"

typedef struct plim__schedule {
    int32_t *steps; /* owned */
    size_t count;
} plim__schedule;

/* The order of the program itself, with steps that must be last put behind the others. */
plim_status plim__schedule_create(const plim__depend *depend, plim__schedule *schedule, plim_error *error);
plim_status plim__schedule_copy(const int32_t *steps, size_t count, plim__schedule *copy, plim_error *error);
void plim__schedule_free(plim__schedule *schedule);
/* Every step is there, behind what it needs; none is repeated that must not be, or after what it reads has changed. */
bool plim__schedule_is_valid(const plim__depend *depend, const plim__schedule *schedule, plim_error *error);
/* Seconds that repetitions take. */
double plim__schedule_extra(const plim__depend *depend, const int32_t *steps, size_t count, const double *seconds);
/* A new program that does the steps in this order. Repeated steps write to buffers of their own; the buffers of
 * `original` keep their numbers. It borrows kernels, weights and machine: free it before `original`. */
plim_status plim__schedule_apply(const plim__program *original, const plim__schedule *schedule, plim__program **out,
                                 plim_error *error);

/* --- memory ----------------------------------------------------------------------------------------------------- */

/* Measures what schedules of one program need; the memory for it is there from the beginning. */
typedef struct plim__meter {
    const plim__depend *depend; /* not owned */
    size_t capacity;            /* longest schedule that it can measure */
    int64_t *live;              /* after measuring: transient bytes in use at each step, workspace included */
    int64_t peak;               /* the largest: plan->lower_bound_bytes - plan->persistent_bytes of plim__plan_create */
    /* while measuring */
    bool *ends;    /* of each operand in the schedule: no step reads the buffer afterwards */
    int32_t *next; /* of each buffer: its next reader */
    int32_t *root; /* of each buffer: whose memory it has */
} plim__meter;

plim_status plim__meter_create(const plim__depend *depend, plim__meter **meter, plim_error *error);
void plim__meter_free(plim__meter *meter);
/* The peak; count must be at most meter->capacity. */
int64_t plim__meter_run(plim__meter *meter, const int32_t *steps, size_t count);
/* Whether a step may write its output over the input that dies there, in memory that began as the buffer `root`: as in
 * plim__plan_create. */
bool plim__meter_may_share(const plim__depend *depend, int32_t step, int32_t root);

#endif
