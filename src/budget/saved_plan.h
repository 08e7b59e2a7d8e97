/* A plan as text: what it is for, and everything that makes it, so that it can be rebuilt to the byte. It is kept as JSON
 * inside a trace, whose rest is the plan's picture.
 *
 *   {"plimsoll_plan": 2, "for": {"model": …, "processor": …, "threads": …, "batch": …}, "budget_bytes": …,
 *    "levers": {…}, "schedule": [0, 1, 2, 1, 3], "arena_bytes": …, "process_bytes": …}
 */
#ifndef PLIM_BUDGET_SAVED_PLAN_H
#define PLIM_BUDGET_SAVED_PLAN_H

#include "budget/training_plan.h"

/* The JSON of a plan (plim__free it). `budget` 0: none. */
plim_status plim__saved_plan_text(const plim__training_plan *plan, uint64_t budget, char **text, plim_error *error);
/* Rebuilds the main program as the file request.saved says, and takes its budget. PLIM_INVALID when that is a plan for
 * something else. */
plim_status plim__saved_plan_take(plim__training_plan *plan, plim_error *error);

#endif
