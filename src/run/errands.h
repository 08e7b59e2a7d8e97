/* Steps of a runner whose operands are in a file: begun before their turn and ended after it, as the plan says, by the carrier of
 * the arena (mem/carrier.h). */
#ifndef PLIM_RUN_ERRANDS_H
#define PLIM_RUN_ERRANDS_H

#include "run/runner.h"

typedef struct plim__errands plim__errands;

/* NULL where no step is done in pieces. */
plim_status plim__errands_create(const plim__runner *runner, plim__errands **errands, plim_error *error);
void plim__errands_free(plim__errands *errands);
/* Before the first step of a run: nothing is under way. PLIM_UNSUPPORTED in a forked child, which has no file of its own. */
plim_status plim__errands_start(plim__errands *errands, plim_error *error);
/* Before step `s`: begins what may begin now, and waits for what must have ended. Where something failed, *failed is its step. */
plim_status plim__errands_advance(plim__errands *errands, size_t s, size_t *failed, plim_error *error);
/* The step itself: all of it, or its beginning. */
plim_status plim__errands_run(plim__errands *errands, size_t s, plim_error *error);
/* After a step failed: nothing is under way any more. */
void plim__errands_drop(plim__errands *errands);

#endif
