/* The budget of a training run: following it while it changes, and telling how it went. */
#ifndef PLIM_CLI_TRAIN_BUDGET_H
#define PLIM_CLI_TRAIN_BUDGET_H

#include "cli/command.h"

typedef struct plim__train_budget {
    plim_budget_watch *watch;
} plim__train_budget;

/* After the trainer is made, with the options that it was made with. */
plim_status plim__train_budget_begin(plim__train_budget *budget, const plim__args *args,
                                     const plim_trainer_options *options, plim_error *error);
/* Between two steps; plim_budget_watch_notice tells what happened. */
plim_status plim__train_budget_poll(plim__train_budget *budget, plim_trainer *trainer, plim_error *error);
void plim__train_budget_end(plim__train_budget *budget);
/* What was planned, and what was measured: one line on standard output. */
void plim__train_budget_say(const plim__train_budget *budget, const plim_trainer *trainer);
/* budget_bytes, planned_arena_bytes, planned_process_bytes, replans, class, micro_batch, accumulate, recomputed,
 * spilled_bytes. */
void plim__train_budget_json(const plim__train_budget *budget, const plim_trainer *trainer, json_t *object);

#endif
