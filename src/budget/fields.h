/* What a training graph wants to be fed, as fields of a data set. */
#ifndef PLIM_BUDGET_FIELDS_H
#define PLIM_BUDGET_FIELDS_H

#include "grad/training.h"

/* Inputs of the model first, in its order; then the target, where there is one. Returns how many. */
int plim__training_fields(const plim__training *training, plim_data_field fields[PLIM_MOST_INPUTS + 1]);

#endif
