/* Executes a plan inside its arena. Everything was decided before; nothing here allocates once it is made. */
#ifndef PLIM_RUN_RUNNER_H
#define PLIM_RUN_RUNNER_H

#include "mem/arena.h"
#include "plan/plan.h"

typedef struct plim__runner {
    const plim__program *program; /* not owned */
    const plim__plan *plan;       /* not owned */
    plim__arena *arena;
    plim__arena own;                         /* unless several runners share one */
    void **pointers;                         /* operands of all steps, in order */
    size_t *operands;                        /* of each step: where its pointers begin */
    int64_t *places;                         /* beside pointers: where spilled ones are; NULL when none is */
    struct plim__errands *errands;           /* of steps with such operands; NULL when there is none */
    uint64_t tick;                           /* for random operators: the number of the update */
    int64_t sample;                          /* and of the first sample of this run in its batch */
    bool first;                              /* of its batch: sums begin at 0 */
    bool no_update;                          /* leaves out the steps of the update phase */
    bool check;                              /* fails with the first step that makes a number that is not finite */
    double *seconds;                         /* of each step in the last run; NULL unless asked for */
    struct plim__trace *trace;               /* of a run that is recorded: what happens at each step */
    const struct plim__trace_script *script; /* ... NULL while it is not */
    int64_t played;                          /* the last tick of it that was recorded; -1: none yet */
} plim__runner;

/* Reserves and touches the arena and reads the weights; or, with an arena that others use too (it must be large
 * enough), does neither. */
plim_status plim__runner_create(const plim__program *program, const plim__plan *plan, plim__arena *shared,
                                plim__runner **runner, plim_error *error);
void plim__runner_free(plim__runner *runner);
/* Brings in everything persistent: weights, zeros. */
plim_status plim__runner_load(plim__runner *runner, plim_error *error);
/* After the arena's memory has moved. */
void plim__runner_resolve(plim__runner *runner);
/* All steps, once. On failure the message names the node. */
plim_status plim__runner_run(plim__runner *runner, plim_error *error);
/* Steps `from` to `to` - 1. */
plim_status plim__runner_run_part(plim__runner *runner, size_t from, size_t to, plim_error *error);
/* What the kernel of a step gets in this run. */
plim__call plim__runner_call(const plim__runner *runner, size_t s);
/* Where an operand is. */
void *plim__runner_at(const plim__runner *runner, plim__operand operand);
/* The first of these numbers in the arena that is NaN or infinite; false when all are finite. */
bool plim__runner_find_nonfinite(const plim__runner *runner, const float *x, size_t count, float *found, size_t *at);
/* From now on runs measure each step. */
plim_status plim__runner_measure(plim__runner *runner, plim_error *error);

/* A persistent buffer, dense row-major, from and to the outside. Transient memory serves as scratch: its contents are lost. */
plim_status plim__runner_read_tensor(plim__runner *runner, const plim__load *load, void *dense, plim_error *error);
plim_status plim__runner_write_tensor(plim__runner *runner, const plim__load *load, const void *dense,
                                      plim_error *error);

#endif
