/* A plan for training: everything that is decided before anything runs.
 *
 *   model + request + bounds ──→ plan   programs of the main, tail, irregular and evaluation batches
 *                                       the levers, the class, the expected seconds of an update
 *                                       the arena that all programs share, the process that will hold it
 *
 *   arena:  | persistent: of all │ of each tail │ of the irregular one │ of evaluation |  | transient: the largest |
 *
 * It owns no arena and runs nothing: it is printed (picture.h), saved (saved_plan.h), compared and freed by itself, and a
 * trainer is made from it (src/run/trainer.h). */
#ifndef PLIM_BUDGET_TRAINING_PLAN_H
#define PLIM_BUDGET_TRAINING_PLAN_H

#include "budget/candidates.h"
#include "budget/process.h"
#include "budget/request.h"
#include "plan/inference.h"
#include "plimsoll/plan.h"

/* With a budget: the program of a size that was not declared (irregular.h). */
typedef struct plim__irregular {
    plim__variant *variant; /* NULL: none */
    int64_t rest;           /* samples it is for: its own, or more in pieces of its own */
    size_t from, to;        /* its own persistent bytes lie there */
} plim__irregular;

typedef struct plim__training_plan {
    const plim_graph *model; /* not owned */
    plim__request request;
    plim__bounds bounds;
    plim__costs *costs;
    uint64_t spill_room;             /* bytes of optimizer state that may go to a file */
    plim__candidate choice;          /* what the main program is */
    plim__variant *main;             /* micro-batches of the usual size; NULL: there is no plan */
    PLIM_VEC(plim__variant *) tails; /* other declared sizes: what is left at the end of a batch or an epoch */
    plim__irregular irregular;
    plim__inference *evaluation;              /* NULL: none */
    size_t persistent_bytes, transient_bytes; /* of all programs: what the arena must have */
    size_t planned_persistent, planned_arena; /* the same when the plan was made: programs may have been added since */
    plim__process process;
    plim__room room;                            /* for programs, while a plan is searched for */
    PLIM_VEC(plim_plan_candidate) alternatives; /* what other budgets would cost, where that was asked for */
    plim_plan_lever levers[PLIM_PLAN_LEVERS];   /* what each saves by itself, likewise */
    int lever_count;
    size_t least_budget; /* the smallest that works: with alternatives, and after a refusal */
} plim__training_plan;

/* Plans. With a saved plan in the request, rebuilds that one. When nothing fits the budget: PLIM_BUDGET, and *plan is one
 * without programs to run that tells the least budget and the alternatives; after other failures *plan is NULL. */
plim_status plim__training_plan_create(const plim_graph *model, const plim__request *request,
                                       const plim__bounds *bounds, plim__training_plan **plan, plim_error *error);
void plim__training_plan_free(plim__training_plan *plan);
/* Frees the programs and all that was found out; request and bounds stay. */
void plim__training_plan_clear(plim__training_plan *plan);
/* Plans again, after plim__training_plan_clear. */
plim_status plim__training_plan_renew(plim__training_plan *plan, plim_error *error);

/* The program for runs of `samples` samples; NULL: there is none. */
plim__variant *plim__training_plan_variant(const plim__training_plan *plan, int64_t samples);
plim__task plim__training_plan_task(const plim__training_plan *plan);
/* Bytes of data buffers that the process will hold. */
size_t plim__training_plan_data_bytes(const plim__training_plan *plan);
/* Bytes that recording the run will hold (request.records), and what a page needs at its end beyond what the arena leaves
 * to it. */
size_t plim__training_plan_recording_bytes(const plim__training_plan *plan);
/* What it comes to, by kind: .arena_bytes as planned, .replans 0. All zero without a plan. */
void plim__training_plan_stats(const plim__training_plan *plan, plim_trainer_stats *stats);
plim_plan_candidate plim__training_plan_summary(const plim__training_plan *plan);

/* --- for src/budget ------------------------------------------------------------------------------------------- */

/* Chooses the main program and plans the others with it, within the bounds (choose.c). */
plim_status plim__training_plan_choose(plim__training_plan *plan, plim_error *error);

#endif
