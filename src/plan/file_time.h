/* What moving bytes to and from files takes of a run, and how much of it steps wait for: the rest passes while others compute. */
#ifndef PLIM_PLAN_FILE_TIME_H
#define PLIM_PLAN_FILE_TIME_H

#include "plan/costs.h"
#include "plan/plan.h"

typedef struct plim__file_time {
    double moving;  /* seconds, at the rate of the disk */
    double waiting; /* of them, those in which nothing else is done */
} plim__file_time;

/* Goes through the steps as the runner does: what may begin has begun, what is due first is moved first. */
plim_status plim__file_time_of(const plim__program *program, const plim__plan *plan, const plim__costs *costs,
                               plim__file_time *time, plim_error *error);

#endif
