/* Executes a plan inside its arena. Everything was decided before; nothing here allocates once it is made. */
#ifndef PLIM_RUN_RUNNER_H
#define PLIM_RUN_RUNNER_H

#include "plan/plan.h"

typedef struct plim__runner {
    const plim__program *program; /* not owned */
    const plim__plan *plan;       /* not owned */
    char *arena;                  /* plan->arena_bytes, reserved and touched */
    void **pointers;              /* operands of all steps, in order */
    uint64_t tick;
    double *seconds; /* of each step in the last run; NULL unless asked for */
} plim__runner;

/* Reserves and touches the arena, reads the weights. */
plim_status plim__runner_create(const plim__program *program, const plim__plan *plan, plim__runner **runner,
                                plim_error *error);
void plim__runner_free(plim__runner *runner);
/* All steps, once. On failure the message names the node. */
plim_status plim__runner_run(plim__runner *runner, const plim_graph *g, plim_error *error);
/* Where an operand is. */
void *plim__runner_at(const plim__runner *runner, plim__operand operand);
/* From now on runs measure each step. */
plim_status plim__runner_measure(plim__runner *runner, plim_error *error);

#endif
