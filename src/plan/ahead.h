/* When steps that move bytes between a file and memory may begin before their turn, or end after it.
 *
 *             a   b   fetch W   c(W)   …   d → dW   update W   e   f
 *   copy of W     |───────────────|                                      read while b computes
 *   dW                                     |─────────────────────|       read, and W written, while e and f compute
 *
 * The lives of what a fetch makes and of what an update reads are made longer where memory is free anyway: no step holds more than
 * the peak, so that a program takes as much with it as without. */
#ifndef PLIM_PLAN_AHEAD_H
#define PLIM_PLAN_AHEAD_H

#include "plan/plan.h"

/* Whether any step of the program is done in pieces. */
bool plim__ahead_any(const plim__program *program);
/* Makes lives longer as far as all that live at a step stay within `most` transient bytes. */
plim_status plim__ahead_within(const plim__program *program, plim__plan *plan, int64_t most, plim_error *error);
/* Makes lives longer as far as nothing else lies there, with the offsets that the plan has, and puts down what that allows:
 * plan->begins and plan->ends. */
plim_status plim__ahead_settle(const plim__program *program, plim__plan *plan, plim_error *error);

#endif
