/* A plan as a timeline: what the page shows before anything has run. */
#ifndef PLIM_REPORT_PLAN_TIMELINE_H
#define PLIM_REPORT_PLAN_TIMELINE_H

#include "mem/timeline.h"
#include "plan/plan.h"

/* Adds a life for every piece of memory that the plan places, a mark for every step, and finishes the timeline;
 * title, budget, facts and frontier are the caller's. A tick is a step of the program. Bytes are what a buffer takes
 * in the arena, so the timeline's peak is the plan's lower bound and its extent the arena, both to the byte. */
plim_status plim__plan_timeline(const plim_graph *g, const plim__program *program, const plim__plan *plan,
                                plim__timeline *timeline, plim_error *error);

#endif
