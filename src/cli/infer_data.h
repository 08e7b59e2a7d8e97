/* plimsoll infer --data: a whole data set through a model, its outputs as arrays. */
#ifndef PLIM_CLI_INFER_DATA_H
#define PLIM_CLI_INFER_DATA_H

#include "cli/data_options.h"
#include "cli/model.h"

/* The exit code. */
int plim__infer_data(plim__args *args, const char *path, plim__model_options *options);

#endif
