/* A model to be evaluated: set to evaluation, with its loss behind it. */
#ifndef PLIM_GRAD_EVALUATION_H
#define PLIM_GRAD_EVALUATION_H

#include "ops/op.h"
#include "plimsoll/loss.h"

/* Inputs and outputs by name, since passes may move values. */
#define PLIM__TARGET_NAME  "plimsoll.target"
#define PLIM__COUNT_NAME   "plimsoll.count"
#define PLIM__LOSS_NAME    "plimsoll.loss"
#define PLIM__WEIGHT_NAME  "plimsoll.weight"
#define PLIM__CORRECT_NAME "plimsoll.correct"

typedef struct plim__evaluated {
    int64_t classes; /* 0: the target is not a class */
    int64_t ignored; /* with classes: the label that does not count, and that fills up a short batch */
} plim__evaluated;

/* For a graph with concrete shapes, inferred. Loss, weight and correct become its only outputs, the target an input, and
 * for losses of single elements how many of them count ("plimsoll.count", int64). */
plim_status plim__evaluation_append(plim_graph *g, const plim_loss *loss, plim__evaluated *made, plim_error *error);

#endif
