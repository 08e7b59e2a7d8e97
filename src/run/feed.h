/* Which field of a data set feeds which input of a graph. */
#ifndef PLIM_RUN_FEED_H
#define PLIM_RUN_FEED_H

#include "graph/graph.h"
#include "plimsoll/train.h"

/* What a graph wants to be fed. */
typedef struct plim__wants {
    const plim_graph *graph;
    plim_value inputs[PLIM_MOST_INPUTS]; /* in the model's order */
    size_t count;                        /* of the model's inputs; more than PLIM_MOST_INPUTS cannot be fed */
    plim_value target;                   /* PLIM_NO_VALUE: there is none, targets of the data are inputs like others */
    int64_t samples, classes;            /* classes 0: the target is not a class */
} plim__wants;

/* Adds an input of the model. */
void plim__wants_add(plim__wants *wants, plim_value input);
/* By name, or by order where the names differ; refuses what does not fit. */
plim_status plim__feed_match(const plim__wants *wants, plim_data *data, plim_feed *feed, plim_error *error);

#endif
