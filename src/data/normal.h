/* Normalising float inputs: (value - mean) / deviation, one pair for all values or one a channel. */
#ifndef PLIM_DATA_NORMAL_H
#define PLIM_DATA_NORMAL_H

#include "plimsoll/data.h"

enum { PLIM__NORMAL_MOST = 64 };

typedef struct plim__normal {
    int count;                                                /* 0: leave values alone */
    float mean[PLIM__NORMAL_MOST], factor[PLIM__NORMAL_MOST]; /* factor: 1 / deviation */
} plim__normal;

plim_status plim__normal_set(plim__normal *normal, const plim_data_options *options, plim_error *error);
/* Whether it can be applied to this field: several pairs need as many channels (its first axis). */
plim_status plim__normal_check(const plim__normal *normal, const plim_data_field *field, plim_error *error);
void plim__normal_apply(const plim__normal *normal, const plim_data_field *field, float *values);

#endif
