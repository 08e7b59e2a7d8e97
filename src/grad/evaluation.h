/* A model to be evaluated: set to evaluation, with its loss behind it. */
#ifndef PLIM_GRAD_EVALUATION_H
#define PLIM_GRAD_EVALUATION_H

#include "grad/training.h"
#include "ops/op.h"
#include "plimsoll/loss.h"

/* Inputs and outputs by name, since passes may move values. */
#define PLIM__TARGET_NAME  "plimsoll.target"
#define PLIM__COUNT_NAME   "plimsoll.count"
#define PLIM__LOSS_NAME    "plimsoll.loss"
#define PLIM__WEIGHT_NAME  "plimsoll.weight"
#define PLIM__CORRECT_NAME "plimsoll.correct"
#define PLIM__SCORES_NAME  "plimsoll.scores"

typedef struct plim__evaluated {
    int64_t classes; /* 0: the target is not a class */
    int64_t ignored; /* with classes: the label that does not count, and that fills up a short batch */
    bool sums;       /* the model's own loss is a sum: batches add up */
    bool weighs;     /* PLIM__WEIGHT_NAME is the weight of the loss, else samples or elements are */
    bool some;       /* only some targets count: that weight is their number */
} plim__evaluated;

/* Batch norm takes its running statistics, nothing is dropped; for a graph whose types are inferred. */
plim_status plim__evaluation_set(plim_graph *g, plim_error *error);
/* For a graph with concrete shapes, inferred. Loss, weight and correct (and what the loss applies to, with `scores`) become its
 * only outputs, the target an input, and
 * for losses of single elements how many of them count ("plimsoll.count", int64). */
plim_status plim__evaluation_append(plim_graph *g, const plim_loss *loss, bool scores, plim__evaluated *made,
                                    plim_error *error);
/* After that, for a loss of the model's own: how the losses of batches combine, as training finds it. `options` are for
 * some batch of at least two samples. */
plim_status plim__evaluation_weigh(plim_graph *g, const plim_graph *model, const plim__training_options *options,
                                   plim__evaluated *made, plim_error *error);

#endif
