/* The process that trains within a budget: what it will hold. */
#ifndef PLIM_BUDGET_PROCESS_H
#define PLIM_BUDGET_PROCESS_H

#include "run/trainer.h"

/* Before the first plan: a heap that gives back what is freed, and what oneDNN makes at its first call. */
plim_status plim__process_prepare(int threads, plim_error *error);
/* All programs are made: t->planned_process is what the process will hold at its highest, as measured now, and the heap is
 * in the state in which steps leave nothing behind. Before programs are made or freed it must be left again, which also gives
 * back what is free. */
plim_status plim__process_measure(plim_trainer *t, plim_error *error);
void plim__process_untidy(plim_trainer *t);
/* The same as it is reckoned with when a way is chosen, besides the main variant's arena: a number that does not change
 * from run to run, nor from `plan` to `train`, and mostly a little more than the truth. */
size_t plim__process_reckon(const plim_trainer *t);
/* Reckoning is never to say less than what was measured: in a process that holds other things it may. */
void plim__process_correct(plim_trainer *t);
/* Whether a larger batch would fit is asked when much was searched for (.effort below 0): what is measured then says
 * nothing. */
bool plim__process_fits_as_reckoned(const plim_trainer *t);
bool plim__process_fits_as_measured(const plim_trainer *t);
/* What a budget leaves for the arena. */
size_t plim__process_arena_limit(size_t budget, size_t besides);
/* For a process of so many bytes. */
size_t plim__process_least_budget(size_t process);
/* Where the arena is small, planning itself may have held more than running will. */
void plim__process_count_planning(plim_trainer *t);

#endif
