/* How often each class comes in a data set, and orders that bring all of them equally often. */
#ifndef PLIM_DATA_CLASSES_H
#define PLIM_DATA_CLASSES_H

#include "data/source.h"

/* The number of classes of the target; 0 when it has none. */
int64_t plim__classes_of(const plim__data_source *source);
/* Samples of each class in the part that `order` takes, into counts[0 .. plim__classes_of). */
plim_status plim__classes_count(const plim__data_source *source, const plim__order *order, int64_t *counts,
                                plim_error *error);
/* Samples by class, in one block of *bytes that plim__free takes. */
plim_status plim__classes_group(const plim__data_source *source, const plim__order *order,
                                plim__order_classes **classes, uint64_t *bytes, plim_error *error);

#endif
