/* Arrays of files beside models in other floating types: NumPy has no bfloat16. */
#ifndef PLIM_CLI_FLOAT_ARRAYS_H
#define PLIM_CLI_FLOAT_ARRAYS_H

#include <stdbool.h>

#include "plimsoll/array.h"

/* Whether numbers of one type may be given where another is taken: both are floating. */
bool plim__floats_fit(plim_dtype from, plim_dtype to);
/* A copy of a floating array in another floating type; plim__free(made->data). False when memory is short. */
bool plim__floats_convert(const plim_array *from, plim_dtype to, plim_array *made);

#endif
