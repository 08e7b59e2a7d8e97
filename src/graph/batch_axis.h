/* Where the samples of a batch lie in a value, and how the values of parts of a batch make up that of the whole.
 *
 *   kind    a value of the whole batch of N samples, from those of its parts
 *   NONE    the same in each: weights, constants, what follows from them alone
 *   AXIS    side by side along `axis`, which has outer · N · inner elements: (N·T, C) is axis 0 with inner T
 *   SUM     their sum
 *   RATIO   their mean, weighted by `weight`, itself a sum: the mean over targets that are not ignored
 *
 * Any of these times N^power: the mean over samples is a SUM with the power -1. */
#ifndef PLIM_GRAPH_BATCH_AXIS_H
#define PLIM_GRAPH_BATCH_AXIS_H

#include <stdbool.h>

#include "graph/shape.h"

typedef enum plim__batch_kind {
    PLIM__BATCH_UNKNOWN,
    PLIM__BATCH_NONE,
    PLIM__BATCH_AXIS,
    PLIM__BATCH_SUM,
    PLIM__BATCH_RATIO,
} plim__batch_kind;

typedef struct plim__batch {
    plim__batch_kind kind;
    int16_t axis, power;  /* not int8_t: that is a character type */
    plim_value weight;    /* of a RATIO */
    int64_t outer, inner; /* of an AXIS */
} plim__batch;

/* Whether the samples of two values lie alike along axes that meet. */
bool plim__batch_aligned(const plim__batch *a, const plim__batch *b);
/* The same elements in the same order under another shape. False when no axis of it has all the samples. */
bool plim__batch_reshape(const plim__batch *from, const plim__shape *shape, const plim__shape *to, int64_t samples,
                         plim__batch *batch);
/* The shape of a value of `whole` samples is that of `part` samples but for its batch. */
bool plim__batch_fits(const plim__batch *batch, const plim__shape *whole, int64_t whole_samples,
                      const plim__shape *part, int64_t part_samples);
/* The one axis along which shapes for `whole` and `part` samples differ, in proportion to these; -1 when they do not
 * differ, -2 when they differ otherwise. */
int plim__batch_axis_between(const plim__shape *whole, int64_t whole_samples, const plim__shape *part,
                             int64_t part_samples);

#endif
