/* A whole training run: batches from a data set, validation, checkpoints, the best weights, an early end.
 *
 *     plim_fit_result r;
 *     plim_fit(trainer, data, &(plim_fit_options){.epochs = 5, .validation = test, .on_event = show}, &r, &error);
 */
#ifndef PLIMSOLL_FIT_H
#define PLIMSOLL_FIT_H

#include "plimsoll/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum plim_fit_event_kind {
    PLIM_FIT_BEGIN,      /* nothing was done yet; .updates is above 0 when a checkpoint was read */
    PLIM_FIT_STEP,       /* an update was made */
    PLIM_FIT_VALIDATED,  /* .validation is set */
    PLIM_FIT_CHECKPOINT, /* one was written */
    PLIM_FIT_BEST,       /* the best weights so far were written */
} plim_fit_event_kind;

/* What happened, and where the run stands. */
typedef struct plim_fit_event {
    plim_fit_event_kind kind;
    plim_step_result step; /* the last one */
    int64_t epoch;         /* from 0 */
    int64_t position;      /* samples of the epoch that were used */
    int64_t epoch_samples; /* of how many */
    int64_t updates;       /* made since training began, checkpoints included */
    int64_t total_updates; /* that the run will make; 0 when that is not known */
    plim_evaluation validation;
    double seconds;    /* since the run began */
    double wait_share; /* of them, waiting for data */
    /* Means over the steps of .epoch so far, also those before a checkpoint, each by what it counted: the loss, and the share
     * of targets that were predicted. NaN before the first step; the accuracy also where the model does not classify. */
    double epoch_loss, epoch_accuracy;
} plim_fit_event;

/* Zero means the default everywhere. */
typedef struct plim_fit_options {
    size_t size;           /* sizeof(plim_fit_options), or 0; see plimsoll.h */
    int64_t epochs, steps; /* since training began, whichever ends first; default: one epoch */
    plim_data *validation; /* evaluated after each epoch, and at the end; opened with .epochs = 1 and .in_order */
    struct plim_measures
        *measures;    /* filled at each validation (plimsoll/measures.h): on_event reads them; the trainer was
                                     * made with .scores. NULL: none */
    int64_t patience; /* end after this number of validations without a better loss; 0: never */
    const char *best; /* the weights with the best validation loss are saved here (.onnx or .safetensors) */
    const char
        *checkpoint; /* written here every checkpoint_every updates, after each epoch and at the end. A checkpoint
                             * that is there already is PLIM_INVALID without .resume, any other file always: nothing
                             * is overwritten */
    int64_t checkpoint_every;
    /* Go on from the checkpoint as if nothing had happened: with the same options and threads the end is the same, bit
     * for bit. Where there is no file yet, from the beginning. A checkpoint of another model, optimizer, batch, seed or
     * data set is refused with PLIM_INVALID. */
    int resume;
    int new_rate; /* with .resume: the learning rate may be another one from here on */
    /* Called after each event, from the thread that called plim_fit. Returning non-zero ends the run: the checkpoint is
     * written, the result filled in, and plim_fit gives PLIM_INTERRUPTED. */
    int (*on_event)(void *context, const plim_fit_event *event);
    void *context;
    int continues; /* the run is the rest of one that this trainer has begun, epoch by epoch: the checkpoint is its own */
} plim_fit_options;

typedef struct plim_fit_result {
    int64_t steps;       /* updates made since training began */
    double loss;         /* of the last one */
    double metric;       /* accuracy of the last validation, else of the last 100 steps; -1 when it does not classify */
    double best_loss;    /* of validations; NaN when there was none */
    int64_t best_update; /* after which it was; 0: none */
    double seconds_per_step; /* median, the first three left out */
    double samples_per_second;
    double wait_share;          /* of the time, waiting for data */
    plim_evaluation validation; /* the last one; count is 0 when there was none */
    int64_t epochs;             /* finished */
    int stopped;                /* .on_event ended the run: the status is PLIM_INTERRUPTED */
    int early;                  /* patience was used up */
} plim_fit_result;

/* Schedules that end with the run and have no total get the number of its updates. When data cannot be read any more, the
 * trainable state of that moment is in the checkpoint. */
PLIM_API plim_status plim_fit(plim_trainer *trainer, plim_data *data, const plim_fit_options *options,
                              plim_fit_result *result, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
