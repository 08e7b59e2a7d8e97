/* Programs beside the main one: for what is left of a batch, for the last batch of an epoch, for batches of undeclared
 * sizes and for evaluation. They run in the same arena, one at a time; the transient bytes of the main program are mostly
 * enough for them. */
#ifndef PLIM_BUDGET_PROGRAMS_H
#define PLIM_BUDGET_PROGRAMS_H

#include "budget/training_plan.h"

/* All that the request declares, after the main program; sets the bytes of the arena. */
plim_status plim__programs_plan(plim__training_plan *plan, plim_error *error);
void plim__programs_free(plim__training_plan *plan);

/* One more, of an undeclared size: the arena grows with it. Dropping the last one leaves the bytes of the arena to the
 * caller. */
plim_status plim__programs_add_tail(plim__training_plan *plan, int64_t samples, plim_error *error);
void plim__programs_drop_tail(plim__training_plan *plan);
plim_status plim__programs_add_evaluation(plim__training_plan *plan, int64_t batch, plim_error *error);
void plim__programs_drop_evaluation(plim__training_plan *plan);

/* The one program of an undeclared size that a plan within a budget has room for (irregular.c). `add` plans it for the
 * largest size that may come, where the request declares such batches; `replace` for `rest` samples of a batch, within the
 * arena that is there, after `drop`. */
plim_status plim__irregular_add(plim__training_plan *plan, plim_error *error);
plim_status plim__irregular_replace(plim__training_plan *plan, int64_t rest, plim_error *error);
void plim__irregular_drop(plim__training_plan *plan);

/* What a program for `samples` samples that are left of a batch is planned by. */
plim__task plim__programs_tail_task(const plim__training_plan *plan, int64_t samples);
/* The arena has room for this program too from now on. */
void plim__programs_make_room(plim__training_plan *plan, const plim__plan *layout);

#endif
