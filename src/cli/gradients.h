/* The gradients of one batch as a file, for comparing them with those of other programs. */
#ifndef PLIM_CLI_GRADIENTS_H
#define PLIM_CLI_GRADIENTS_H

#include "plimsoll/train.h"

/* Of the batch that `data` brings next; afterwards the data stands where it stood. */
plim_status plim__gradients_dump(plim_trainer *trainer, plim_data *data, const char *path, plim_error *error);

#endif
