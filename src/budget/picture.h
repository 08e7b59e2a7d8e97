/* A plan as a timeline: for pages, traces and saved plans. */
#ifndef PLIM_BUDGET_PICTURE_H
#define PLIM_BUDGET_PICTURE_H

#include "budget/training_plan.h"
#include "mem/timeline.h"

/* One micro-batch with its update, as planned: every buffer of the arena, and the rest of the process beside it. The
 * timeline's peak is the planned memory of the process and its extent the arena, both to the byte; without a budget the
 * process is not planned, and the peak is what the arena holds. Title, facts and budget are set too. */
plim_status plim__training_plan_picture(const plim__training_plan *plan, const char *title, plim__timeline *timeline,
                                        plim_error *error);
/* Only title, facts and budget. */
plim_status plim__training_plan_picture_head(const plim__training_plan *plan, const char *title,
                                             plim__timeline *timeline, plim_error *error);
/* The plan and, where they were searched for, its alternatives: time against budget. `command` as below. */
plim_status plim__training_plan_picture_alternatives(const plim__training_plan *plan, const char *command,
                                                     plim__timeline *timeline, plim_error *error);

/* The chosen plan (where nothing fits, the unconstrained one) and the others as its frontier. `command` is how to ask
 * for one, up to its budget: "plimsoll plan lenet.onnx --budget". */
plim_status plim__plan_picture(const plim_plan *plan, const char *title, const char *command, plim__timeline *timeline,
                               plim_error *error);
/* Writes the chosen plan with its picture to a file: for train --plan, and for report. */
plim_status plim__plan_save(const plim_plan *plan, plim__timeline *picture, const char *path, plim_error *error);

#endif
