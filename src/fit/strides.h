/* How PyTorch lays out the values of a step: which reshapes are views, and which make a copy because axes were swapped before. */
#ifndef PLIM_FIT_STRIDES_H
#define PLIM_FIT_STRIDES_H

#include "fit/autograd_rows.h"
#include "graph/graph.h"

/* Elements from one index of an axis to the next. */
typedef struct plim__strides {
    int64_t of[PLIM_MAX_RANK];
} plim__strides;

/* Of a new tensor: the last axis is the innermost one. */
plim__strides plim__strides_plain(const plim__shape *shape);
/* Whether axes from..to - 1 can become one without a copy. */
bool plim__strides_join(const plim__shape *shape, const plim__strides *strides, int from, int to);
/* Of the output of a node that may be a view of its first input, `in`; false when PyTorch would copy. */
bool plim__strides_view(const plim_graph *g, const plim__node *node, plim__torch_kind kind, const plim__strides *in,
                        plim__strides *out);
/* Of what the attention kernel makes: heads beside each other, whatever the order of the axes says. */
plim__strides plim__strides_attention(const plim__shape *shape);

#endif
