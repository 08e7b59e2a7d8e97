/* What a training run leaves behind: models, checkpoints, logs. Nothing that is there already is lost, and where the user
 * asked for nothing, a checkpoint goes to the cache folder. */
#ifndef PLIM_CLI_TRAIN_OUTPUTS_H
#define PLIM_CLI_TRAIN_OUTPUTS_H

#include "cli/command.h"

/* Whether both are there and the same file. */
bool plim__is_same_file(const char *a, const char *b);

/* Every file that will be written can be, and nothing but files of ours is replaced; the model itself may be. */
plim_status plim__train_outputs_check(const plim__args *args, const plim_fit_options *fit, plim_error *error);

/* Where neither --out nor --best nor --checkpoint was given: says so, and makes fit->checkpoint a file in the cache folder;
 * `path` is its place. Without room or a folder for it, it says that nothing will be saved. */
void plim__train_outputs_choose(const plim__args *args, const plim_trainer *trainer, plim_fit_options *fit,
                                char path[4096]);

#endif
