/* The training graph: forward, loss, backward and update as nodes of one graph. */
#ifndef PLIM_GRAD_TRAINING_H
#define PLIM_GRAD_TRAINING_H

#include "graph/graph.h"
#include "plimsoll/train.h"

/* What a loss adds to a graph. All but the target are float32 scalars. */
typedef struct plim__loss_parts {
    plim_value target;  /* a new input "plimsoll.target"; PLIM_NO_VALUE for a loss that the model has itself */
    plim_value loss;    /* mean over the targets that count */
    plim_value weight;  /* sum of the weights of these targets: what the mean divides by */
    plim_value correct; /* how many of them the model predicts; PLIM_NO_VALUE when it does not classify */
} plim__loss_parts;

/* Adds the loss to a graph with concrete shapes. */
plim_status plim__loss_append(plim_graph *g, const plim_loss *loss, plim__loss_parts *parts, plim_error *error);

/* Adds the update of each parameter by its gradient, clipping included. `update` is an input {learning rate, number
 * of the update from 1}; every gradient is multiplied by `scale` first, unless that is PLIM_NO_VALUE. */
plim_status plim__optimizer_append(plim_graph *g, const plim_optimizer *optimizer, const plim_value *parameters,
                                   const plim_value *gradients, size_t count, plim_value update, plim_value scale,
                                   plim_error *error);

#endif
