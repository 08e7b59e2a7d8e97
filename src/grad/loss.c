/* Gradients of losses. */
#include <string.h>

#include "grad/gradient.h"

static plim_status class_loss(plim__gradient *d, const char *op, bool scores) {
    plim_value dloss = plim__gradient_of_output(d, 0), x = plim__gradient_input(d, 0);
    if (plim__gradient_of_output(d, 1) >= 0) { /* the log-probabilities, log_softmax along the classes */
        plim_value logs[] = {plim__gradient_of_output(d, 1), plim__gradient_output(d, 1)};
        int32_t slope = plim__gradient_begin(d, PLIM__DOMAIN, "LogSoftmaxGrad", logs, 2, 1);
        plim_graph_set_int(d->graph, slope, "axis", 1);
        PLIM_TRY(plim__gradient_set(d, 0, plim__gradient_end(d, slope)));
    }
    if (dloss < 0) return PLIM_OK;
    /* weights of classes are given, not learnt: they have no gradient in PyTorch either */
    if (plim__gradient_wanted(d, 2)) return plim__gradient_unsupported(d, "for its class weights ");
    plim__shape shape = plim__gradient_shape(d, x);
    plim_value inputs[] = {dloss, plim__gradient_input(d, 1), plim__gradient_input(d, 2), x};
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, op, inputs, scores ? 4 : 3, 1);
    plim__gradient_copy_attributes(d, node);
    plim_graph_set_ints(d->graph, node, "shape", shape.dims, (size_t)shape.rank);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

plim_status plim__gradient_softmax_loss(plim__gradient *d) {
    return class_loss(d, "SoftmaxCrossEntropyLossGrad", true);
}
plim_status plim__gradient_likelihood_loss(plim__gradient *d) {
    return class_loss(d, "NegativeLogLikelihoodLossGrad", false);
}

/* The weight and the number of right predictions do not change with the scores, as far as a gradient can tell. */
plim_status plim__gradient_cross_entropy(plim__gradient *d) {
    plim_value dloss = plim__gradient_of_output(d, 0);
    if (dloss < 0) return PLIM_OK;
    plim_value weights = plim__gradient_input(d, 3);
    if (plim__gradient_wanted(d, 2)) return plim__gradient_unsupported(d, "for its class weights ");
    if (weights >= 0 && plim__gradient_wanted(d, 3)) return plim__gradient_unsupported(d, "for weights of samples ");
    PLIM_TRY(plim__gradient_become(d, "CrossEntropy", 4));
    plim_value inputs[] = {plim__gradient_input(d, 0),
                           plim__gradient_input(d, 1),
                           plim__gradient_output(d, 3),
                           plim__gradient_output(d, 1),
                           dloss,
                           plim__gradient_input(d, 2),
                           weights};
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "CrossEntropyGrad", inputs, weights >= 0 ? 7 : 6, 1);
    plim__gradient_copy_attributes(d, node);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

/* --- the linear layer inside the loss ------------------------------------------------------------------------- */

static const size_t linear_inputs[] = {0, 1, 3}; /* x, w, bias */

static bool is_one(const plim_graph *g, plim_value v) {
    const plim__tensor *tensor = v < 0 ? NULL : plim__graph_constant_tensor(g, v);
    return tensor && tensor->data && tensor->dtype == PLIM_F32 && plim__shape_elements(&tensor->shape) == 1 &&
           *(const float *)tensor->data == 1;
}

/* Whether the gradient of the loss is the weight of its targets: that of their sum. */
static bool is_weight(plim__gradient *d, plim_value dloss) {
    const plim_graph *g = d->graph;
    plim_value weight = plim__gradient_output(d, 1);
    int32_t producer = g->values.items[dloss].producer;
    if (weight < 0 || producer < 0) return false;
    const plim__node *node = &g->nodes.items[producer];
    if (*node->domain || strcmp(node->op_name, "Mul") != 0) return false;
    plim_value a = node->inputs.items[0], b = node->inputs.items[1];
    return (a == weight && is_one(g, b)) || (b == weight && is_one(g, a));
}

/* The node itself gives the gradients out: the scores are computed once. */
static plim_status linear_at_once(plim__gradient *d, bool sum) {
    plim_graph *g = d->graph;
    PLIM_TRY(plim__gradient_become(d, "LinearCrossEntropyTrain", 6));
    if (sum) plim_graph_set_int(g, d->node, "sum", 1);
    for (size_t i = 0; i < 3; i++) {
        plim_value made = plim__gradient_output(d, 3 + i);
        if (plim__gradient_wanted(d, linear_inputs[i])) {
            PLIM_TRY(plim__gradient_set(d, linear_inputs[i], made));
        } else {
            g->nodes.items[d->node].outputs.items[3 + i] = PLIM_NO_VALUE;
            g->values.items[made].producer = -1;
        }
    }
    return plim_graph_status(g, d->error);
}

/* A node with the gradients of x, w and bias, those that are wanted; it computes the scores again. */
static plim_status linear_again(plim__gradient *d, plim_value dloss) {
    PLIM_TRY(plim__gradient_become(d, "LinearCrossEntropy", 4));
    plim_value inputs[8] = {[3] = plim__gradient_output(d, 3), plim__gradient_output(d, 1), dloss};
    for (size_t i = 0; i < 5; i++) inputs[i < 3 ? i : i + 3] = plim__gradient_input(d, i);
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "LinearCrossEntropyGrad", inputs, 8, 0);
    plim__gradient_copy_attributes(d, node);
    for (size_t i = 0; i < 3; i++)
        plim__node_add_output(
            d->graph, node,
            plim__gradient_wanted(d, linear_inputs[i])
                ? plim__graph_add_value(d->graph, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN)
                : PLIM_NO_VALUE);
    plim__gradient_end(d, node);
    PLIM_TRY(plim_graph_status(d->graph, d->error));
    for (size_t i = 0; i < 3; i++)
        if (plim__gradient_wanted(d, linear_inputs[i]))
            PLIM_TRY(plim__gradient_set(d, linear_inputs[i], plim_graph_node_output(d->graph, node, i)));
    return PLIM_OK;
}

plim_status plim__gradient_linear_cross_entropy(plim__gradient *d) {
    plim_value dloss = plim__gradient_of_output(d, 0);
    if (dloss < 0) return PLIM_OK;
    if (plim__gradient_wanted(d, 4)) return plim__gradient_unsupported(d, "for its class weights ");
    bool mean = is_one(d->graph, dloss), sum = is_weight(d, dloss), fresh = plim__gradient_output(d, 3) < 0;
    return fresh && (mean || sum) ? linear_at_once(d, sum) : linear_again(d, dloss);
}

plim_status plim__gradient_element_loss(plim__gradient *d) {
    if (plim__gradient_wanted(d, 1)) return plim__gradient_unsupported(d, "for its targets ");
    if (plim__gradient_input(d, 2) >= 0) return plim__gradient_unsupported(d, "of a part of its elements ");
    plim_value counts = plim__gradient_input(d, 3), weights = plim__gradient_input(d, 4),
               dloss = plim__gradient_of_output(d, 0);
    if (counts >= 0 && plim__gradient_wanted(d, 3)) return plim__gradient_unsupported(d, "for which elements count ");
    if (weights >= 0 && plim__gradient_wanted(d, 4)) return plim__gradient_unsupported(d, "for weights of samples ");
    if (dloss < 0) return PLIM_OK;
    plim_value inputs[] = {plim__gradient_input(d, 0), plim__gradient_input(d, 1), dloss, counts, weights};
    size_t count = weights >= 0 ? 5 : counts >= 0 ? 4 : 3;
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "ElementLossGrad", inputs, count, 1);
    plim__gradient_copy_attributes(d, node);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}
