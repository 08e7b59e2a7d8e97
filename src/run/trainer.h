/* A trainer: a plan, the arena it asks for, a runner for each of its programs, and how far training is; private to src/run. */
#ifndef PLIM_RUN_TRAINER_H
#define PLIM_RUN_TRAINER_H

#include "budget/training_plan.h"
#include "run/instance.h"

struct plim_trainer {
    plim__training_plan *plan; /* owned; without programs when training cannot go on */
    plim__arena arena;
    plim__instance main;
    PLIM_VEC(plim__instance) tails; /* as plan->tails */
    plim__instance irregular;
    plim_session *evaluation;  /* NULL: none */
    PLIM_VEC(int32_t) tensors; /* loads of the main program that are parameters, statistics or optimizer state */
    plim_progress progress;
    double *times;   /* of each step of the main program in all its runs; NULL unless measured */
    int64_t updates; /* made by it; what `times` is divided by */
    int64_t replans;
    struct plim__recording *recording; /* src/run/recording.h; NULL: none */
};

/* Makes a trainer from a plan, which it owns from then on, also after a failure. */
plim_status plim__trainer_create(plim__training_plan *plan, plim_trainer **trainer, plim_error *error);
/* Reserves, loads, gets ready to run what the plan says; and gives all of that back. */
plim_status plim__trainer_start(plim_trainer *t, plim_error *error);
void plim__trainer_stop(plim_trainer *t);
/* PLIM_INVALID unless it is started. */
plim_status plim__trainer_check(const plim_trainer *t, plim_error *error);

/* Batches of several sizes (trainer_batches.c): what runs next when `left` samples of a batch are left, of as many or of a
 * part of them. Programs for the batch are there. */
const plim__instance *plim__trainer_next(const plim_trainer *t, int64_t left);
/* Whether all programs that a batch of `count` samples needs are there. */
bool plim__trainer_has_batch(const plim_trainer *t, int64_t count);
/* Adds what a batch of `count` samples or evaluation needs, where it was not declared and is not there. With a budget that
 * may be another plan. On failure everything is as before. */
plim_status plim__trainer_need_batch(plim_trainer *t, int64_t count, plim_error *error);
plim_status plim__trainer_need_evaluation(plim_trainer *t, int64_t batch, plim_error *error);
/* The program of an undeclared size, and its runner, are gone after this. */
void plim__trainer_drop_irregular(plim_trainer *t);

/* Between two steps: plans again, for another request and budget, and goes on with the same weights, state and counters.
 * `wanted` is a copy of t->plan->request with some numbers changed. On failure everything is as before. */
plim_status plim__trainer_plan_again(plim_trainer *t, const plim__request *wanted, uint64_t budget, plim_error *error);

/* "update 12: the loss is NaN: ...", when it or the data is not finite: the first operator or input that is not. Inputs are
 * those of `batch`, from sample `from` on. */
plim_status plim__trainer_report_nonfinite(plim_trainer *t, const plim__instance *instance, const plim_batch *batch,
                                           int64_t from, double loss, plim_error *error);
/* Whether a batch has as many samples as the trainer takes, and data for every input and the target. */
plim_status plim__trainer_check_batch(const plim_trainer *trainer, const plim_batch *batch, plim_error *error);
/* Copies the instance's samples of the batch, from `from` on, to its inputs; *finite: whether floats among
 * them all are. */
plim_status plim__trainer_feed(const plim__instance *instance, const plim_batch *batch, int64_t from, bool *finite,
                               plim_error *error);

#endif
