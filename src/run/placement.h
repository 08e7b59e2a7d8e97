/* Where threads of a run compute beside busy programs. Two threads that share each core with somebody else's wait for each
 * other at every barrier: whichever is not running holds up both. Gathered on half of the cores they lose nothing by that,
 * and the others' programs move to the rest. Which is faster is timed, now and then, and results are the same bits. */
#ifndef PLIM_RUN_PLACEMENT_H
#define PLIM_RUN_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>

#include "mem/cpu_load.h"
#include "mem/crowd.h"

/* --- the decision: what to do with times that were seen -------------------------------------------------------- */

typedef struct plim__gathering {
    bool gathered; /* how the threads are to be placed now */
    bool trying;   /* for a moment, to time it */
    bool busy;     /* others use the processors */
    double sum;    /* seconds of the steps since a time was taken last */
    int count;
    double step[2];    /* seconds of a step when it was last timed: spread, gathered */
    double hold, next; /* seconds from trial to trial, and when the next may be */
    double moved;      /* when the threads were */
} plim__gathering;

/* After a step of `seconds`, which ended `now`. `others`: how many processors other programs use; negative: not looked. */
void plim__gathering_step(plim__gathering *g, double now, double seconds, double others);

/* --- the threads of a run -------------------------------------------------------------------------------------- */

typedef struct plim__placement {
    int threads; /* of the team; 0: they stay where they are */
    cpu_set_t all;
    plim__crowd *crowd; /* keeps others away from where the threads are gathered */
    plim__gathering gathering;
    plim__cpu_load seen;
    double looked; /* when */
} plim__placement;

/* Declined by plim_host_options.keep_affinity, and where OpenMP binds its threads. */
void plim__placement_begin(plim__placement *p, int threads);
/* After a step of the usual size, and its time. */
void plim__placement_step(plim__placement *p, double seconds);
/* The threads, the calling one among them, may run where they could before. */
void plim__placement_end(plim__placement *p);

#endif
