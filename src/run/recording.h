/* Recording a run: the planner's events at the time they happen, resident memory and the loss, in a trace. All updates
 * are sampled (fewer and fewer as they become many), some are recorded whole: the first three, then one in `every`,
 * until the file is large. */
#ifndef PLIM_RUN_RECORDING_H
#define PLIM_RUN_RECORDING_H

#include "plan/variant.h"
#include "plimsoll/measures.h"
#include "plimsoll/train.h"

/* From the next update on. `every` 0 takes 100. `command` is how to ask for another budget, up to it: "plimsoll train
 * lenet.onnx --budget". */
plim_status plim__trainer_record(plim_trainer *trainer, const char *path, const char *title, const char *command,
                                 int64_t every, plim_error *error);
/* Writes what was planned and what was measured, and closes the file. Without a recording it does nothing. */
plim_status plim__trainer_record_end(plim_trainer *trainer, plim_error *error);
/* Training is over: gives back what the arena holds, which is lost, and says how many bytes the process may take now
 * without exceeding its plan. Without a budget it does nothing, and there is no limit: SIZE_MAX. */
size_t plim__trainer_vacate(plim_trainer *trainer);

/* --- for the trainer ------------------------------------------------------------------------------------------ */

/* After the variants were made, before the first update by them: all that is held is there from now on. */
plim_status plim__recording_prepare(plim_trainer *trainer, plim_error *error);
/* Before an update of `count` samples: its variants exist. */
plim_status plim__recording_begin(plim_trainer *trainer, int64_t count, plim_error *error);
/* After it. */
void plim__recording_updated(plim_trainer *trainer, const plim_step_result *result);
/* After a validation, with its measures (NULL: none); `text`: its perplexity is one. Without a recording it does nothing. */
void plim__recording_validated(plim_trainer *trainer, const plim_evaluation *evaluation, const plim_measures *measures,
                               bool text);
/* Instead of that: the update ends where it is. What it holds is given back, and the rest is not recorded. */
void plim__recording_broke(plim_trainer *trainer);
/* ... and this is why. */
void plim__recording_failed(plim_trainer *trainer, const plim_error *error);
/* The variants are about to be stopped. */
void plim__recording_clear(plim_trainer *trainer);
/* This one is. */
void plim__recording_drop(plim_trainer *trainer, const plim__variant *variant);
void plim__recording_free(plim_trainer *trainer);

#endif
