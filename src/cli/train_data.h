/* The data of a training run: sizes that follow from the model, the set to learn from, the set to validate with. */
#ifndef PLIM_CLI_TRAIN_DATA_H
#define PLIM_CLI_TRAIN_DATA_H

#include "cli/data_options.h"
#include "cli/train_options.h"

/* Rows for a command's option table, in addition to PLIM__DATA_OPTIONS. */
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
typedef struct plim__train_data {
    int64_t steps;                /* given: what the run makes at most; 0: whole epochs */
    bool counted;                 /* given: every byte is, so buffers do not grow while it runs */
    plim_data *data, *validation; /* validation: --val, or the share of --validation; NULL when there is neither */
} plim__train_data;

/* Before the trainer is created: opens both, and declares in its options how long an epoch is, what is evaluated, and the
 * bytes that reading takes. Synthetic data follows the trainer, and is not there yet. Free `made` after a failure, too. */
plim_status plim__train_data_open(const plim__args *args, plim__train_settings *settings, plim__data_settings *data,
                                  plim__train_data *made, plim_error *error);
/* After it is made. */
plim_status plim__train_data_follow_trainer(const plim__args *args, const plim_trainer *trainer,
                                            plim__data_settings *data, plim__train_data *made, plim_error *error);
void plim__train_data_free(plim__train_data *data);

#endif
