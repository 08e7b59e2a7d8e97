/* The data of a training run: sizes that follow from the model, the set to learn from, the set to validate with. */
#ifndef PLIM_CLI_TRAIN_DATA_H
#define PLIM_CLI_TRAIN_DATA_H

#include "cli/data_options.h"
#include "cli/train_options.h"

/* Rows for a command's option table, besides PLIM__DATA_OPTIONS. */
#define PLIM__TRAIN_DATA_OPTIONS                                                                                       \
    {"val", 0, "PATH", "validate with this data set (its test split, where it has one); else see --validation"}, {     \
        "drop-last", 0, NULL, "leave out the short batch at the end of an epoch"                                       \
    }

/* Whether the loss wants targets as float32: all but classes. */
bool plim__train_data_is_float(const plim_graph *model, plim_loss_kind loss);
/* What the user left open: windows of text as long as the model's, and its axis as long as --seq; images as large as
 * the model takes them; classes or numbers as targets. Before the trainer is made. */
void plim__train_data_follow(const plim__args *args, const plim_graph *model, plim__train_settings *settings,
                             plim__data_settings *data);
/* --data. */
plim_status plim__train_data_open(const plim__args *args, const plim_trainer *trainer,
                                  const plim__train_settings *settings, plim__data_settings *data, plim_data **made,
                                  plim_error *error);
/* --val, or the share of --validation; NULL when there is neither. */
plim_status plim__train_data_open_validation(const plim__args *args, const plim_trainer *trainer,
                                             const plim__data_settings *data, plim_data **made, plim_error *error);

#endif
