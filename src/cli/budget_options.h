/* --budget, --device-memory, --allow and --spill, for plan and train. */
#ifndef PLIM_CLI_BUDGET_OPTIONS_H
#define PLIM_CLI_BUDGET_OPTIONS_H

#include "cli/command.h"
#include "core/str.h"

/* Rows for a command's option table. */
#define PLIM__BUDGET_OPTIONS                                                                                           \
    {"budget", 'B', "SIZE|auto", "bytes that the whole process may hold, as 700MiB; auto: what the machine allows"},   \
        {"allow", 0, "CLASS", "exact, reordered (the default) or lossy: what a plan may do to the numbers"},           \
        {"spill", 0, "DIR",                                                                                            \
         "folder for optimizer state that the budget has no room for; the default is $TMPDIR, else /var/tmp"},         \
    {                                                                                                                  \
        "no-spill", 0, NULL, "keep all optimizer state in memory"                                                      \
    }

/* Fills in budget, allow, spill and no_spill. Says on standard error when the budget is more than the machine has. False
 * after a usage error has been printed. */
bool plim__budget_options_read(plim__args *args, plim_trainer_options *options);
/* The command again, up to another budget: "plimsoll plan lenet.onnx --batch 8 --budget". */
void plim__budget_repeat_command(const plim__args *args, plim__str *command);
/* Costs of steps are measured in a process of their own, so that they take no memory here. */
void plim__budget_measure_costs(const plim__args *args);

#endif
