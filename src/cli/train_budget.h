/* The budget of a training run: following it while it changes, and telling how it went. */
#ifndef PLIM_CLI_TRAIN_BUDGET_H
#define PLIM_CLI_TRAIN_BUDGET_H

#include "cli/command.h"
#include "run/budget_watch.h"

typedef struct plim__train_budget {
    plim__budget_watch watch;
    bool open; /* takes requests of `plimsoll budget` */
} plim__train_budget;

/* After the trainer is made, with the options that it was made with. */
void plim__train_budget_begin(plim__train_budget *budget, const plim__args *args, const plim_trainer_options *options);
/* Between two steps. A notice that is new goes to standard error, unless `quiet`. */
plim_status plim__train_budget_poll(plim__train_budget *budget, plim_trainer *trainer, bool quiet, plim_error *error);
void plim__train_budget_end(plim__train_budget *budget);
/* What was planned, and what was measured: one line on standard output. */
void plim__train_budget_say(const plim__train_budget *budget, const plim_trainer *trainer);
/* budget_bytes, planned_arena_bytes, planned_process_bytes, replans, class, micro_batch, accumulate, recomputed,
 * spilled_bytes. */
void plim__train_budget_json(const plim__train_budget *budget, const plim_trainer *trainer, json_t *object);

#endif
