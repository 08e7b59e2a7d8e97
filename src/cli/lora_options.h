/* --lora: adapters beside a frozen model. */
#ifndef PLIM_CLI_LORA_OPTIONS_H
#define PLIM_CLI_LORA_OPTIONS_H

#include "cli/command.h"

/* Rows for a command's option table. */
#define PLIM__LORA_OPTIONS                                                                                             \
    {                                                                                                                  \
        "lora", 0, "r=8[,...]",                                                                                        \
            "train adapters of rank r beside the frozen model: also alpha=16, dropout=0, targets=GLOB (names of "      \
            "layers; several times), or from=FOLDER of PEFT's"                                                         \
    }

/* Adds the adapters that --lora asks for to a model, and says how many; nothing without it. */
plim_status plim__lora_apply(plim__args *args, plim_graph *model, uint64_t seed, plim_error *error);
/* Whether --adapter and --merge can be written; and writes them. */
plim_status plim__lora_check_outputs(const plim__args *args, plim_error *error);
plim_status plim__lora_write(const plim__args *args, plim_trainer *trainer, plim_error *error);

#endif
