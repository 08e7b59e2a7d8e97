/* The data of a training run: sizes that follow from the model, the set to learn from, the set to validate with. */
#ifndef PLIM_CLI_TRAIN_DATA_H
#define PLIM_CLI_TRAIN_DATA_H

#include "cli/data_options.h"
#include "cli/open_axes.h"
#include "cli/train_options.h"

/* Rows for a command's option table, in addition to PLIM__DATA_OPTIONS. */
#define PLIM__TRAIN_DATA_OPTIONS                                                                                       \
    PLIM__JOB_OPTIONS,                                                                                                 \
        {"val", 0, "PATH", "validate with this data set (its test split, where it has one); else see --validation"},   \
        {"augment", 0, "LIST",                                                                                         \
         "change training images by chance: crop, crop=0.08, flip, vflip, pad=4, rotate=15, color=0.2, erase=0.25, "   \
         "mixup=0.2, with commas"},                                                                                    \
        {"oversample", 0, NULL, "bring samples of rare classes several times, so that all classes are as frequent"}, { \
        "drop-last", 0, NULL, "leave out the short batch at the end of an epoch"                                       \
    }

/* Rows for a command's option table: how long a run is, which decides whether the short batch at the end of an epoch comes. */
#define PLIM__TRAIN_LENGTH_OPTIONS                                                                                     \
    {"epochs", 'e', "N", "passes over the data; the default is 1"}, { "steps", 0, "N", "at most N updates" }

/* False after a usage error has been printed. */
bool plim__train_length_read(plim__args *args, int64_t *epochs, int64_t *steps);

/* Whether the loss wants targets as float32: all but classes. */
bool plim__train_data_is_float(const plim_graph *model, plim_loss_kind loss);
/* What the user left open: what the model remembers of its job; windows of text as long as the model's, and its axis as long
 * as --seq; images as large as the model takes them; classes or numbers as targets. Before the data is opened; refuses
 * --size of axes that the model has not. */
plim_status plim__train_data_follow(const plim__args *args, const plim_graph *model, plim__train_settings *settings,
                                    plim__data_settings *data, plim_error *error);
/* The same for a session. */
plim_status plim__model_data_follow(const plim__args *args, const plim_graph *model, const plim__sizes *sizes,
                                    plim_loss *loss, plim__data_settings *data, plim_error *error);

typedef struct plim__train_data {
    int64_t steps;                /* given: what the run makes at most; 0: whole epochs */
    bool counted;                 /* given: every byte is, so buffers do not grow while it runs */
    plim_data *data, *validation; /* validation: --val, or the share of --validation; NULL when there is neither */
    bool measured;                /* validation is */
    plim_measures_options measures;
} plim__train_data;

/* Before the trainer is created: opens both, takes the sizes of open axes from the data, and declares in its options how long an epoch is, what is evaluated, and the
 * bytes that reading takes. Synthetic data follows the trainer, and is not there yet. Free `made` after a failure, too. */
plim_status plim__train_data_open(const plim__args *args, const plim_graph *model, plim__train_settings *settings,
                                  plim__data_settings *data, plim__train_data *made, plim_error *error);
/* After it is made. */
plim_status plim__train_data_follow_trainer(const plim__args *args, const plim_trainer *trainer,
                                            plim__data_settings *data, plim__train_data *made, plim_error *error);
void plim__train_data_free(plim__train_data *data);

/* Says how many samples were left out as bad, where some were. */
void plim__data_say_bad(const plim__args *args, const plim_data *data);

#endif
