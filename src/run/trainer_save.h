/* The trainable state of a trainer, to files and back; private to src/run. */
#ifndef PLIM_RUN_TRAINER_SAVE_H
#define PLIM_RUN_TRAINER_SAVE_H

#include "plimsoll/train.h"
#include "run/checkpoint.h"

/* Tensors of a trainer as they are now. It must not move while it is used. */
typedef struct plim__trainer_weights {
    plim__weights weights;
    plim_trainer *trainer;
    plim__weight *items;
    size_t *indices; /* of each item among the trainer's tensors */
} plim__trainer_weights;

/* What belongs to the model (parameters, statistics), or what the optimizer keeps. */
plim_status plim__trainer_weights_make(plim__trainer_weights *made, plim_trainer *trainer, plim__checkpoint_part part,
                                       plim_error *error);
void plim__trainer_weights_free(plim__trainer_weights *made);

/* A model with these weights in place of its own, by the ending of the path. */
plim_status plim__trainer_save_graph(const plim_graph *g, const plim__weights *now, const char *path,
                                     plim_error *error);

/* Writes a checkpoint of the trainer as it is between two updates. Of `meta` it sets model, optimizer, settings, update,
 * and seed itself; the caller gives the rest. */
plim_status plim__trainer_write_checkpoint(plim_trainer *trainer, const char *path, plim__checkpoint meta,
                                           plim_error *error);
/* Brings the trainer to where the file's run was: weights, optimizer state, progress. The model, the optimizer's name and
 * the seed must be the same; other settings of the optimizer may have changed (compare file->meta.settings with
 * plim__trainer_settings). Nothing is changed unless everything fits. */
plim_status plim__trainer_read_checkpoint(plim_trainer *trainer, const plim__checkpoint_file *file, plim_error *error);
/* The optimizer's settings as text; returns text. */
#define PLIM__SETTINGS_TEXT 512
const char *plim__trainer_settings(const plim_trainer *trainer, char text[PLIM__SETTINGS_TEXT]);

#endif
