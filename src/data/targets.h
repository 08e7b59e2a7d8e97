/* A look at all targets before they are trained on: one that is NaN, or a class that the model has not, should not end a run at its
 * thousandth update. */
#ifndef PLIM_DATA_TARGETS_H
#define PLIM_DATA_TARGETS_H

#include "data/source.h"

typedef struct plim__target_rules {
    int64_t classes; /* that the model tells apart; 0: the target is not a class */
    bool ignores;    /* ignore_index is no class, and allowed */
    int64_t ignore_index;
    bool several; /* samples must be of more than one class, where a sample has one */
} plim__target_rules;

/* Reads the targets of the part that `order` takes, but those of more than a gigabyte, which are judged when their batch comes. */
plim_status plim__targets_check(const plim__data_source *source, const plim__order *order,
                                const plim__target_rules *rules, plim_error *error);

#endif
