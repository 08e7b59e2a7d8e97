/* Gradients of losses. */
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

plim_status plim__gradient_softmax_loss(plim__gradient *d);
plim_status plim__gradient_softmax_loss(plim__gradient *d) {
    return class_loss(d, "SoftmaxCrossEntropyLossGrad", true);
}
plim_status plim__gradient_likelihood_loss(plim__gradient *d);
plim_status plim__gradient_likelihood_loss(plim__gradient *d) {
    return class_loss(d, "NegativeLogLikelihoodLossGrad", false);
}

/* The weight and the number of right predictions do not change with the scores, as far as a gradient can tell. */
plim_status plim__gradient_cross_entropy(plim__gradient *d);
plim_status plim__gradient_cross_entropy(plim__gradient *d) {
    plim_value dloss = plim__gradient_of_output(d, 0);
    if (dloss < 0) return PLIM_OK;
    if (plim__gradient_wanted(d, 2)) return plim__gradient_unsupported(d, "for its class weights ");
    PLIM_TRY(plim__gradient_become(d, "CrossEntropy", 4));
    plim_value inputs[] = {plim__gradient_input(d, 0),
                           plim__gradient_input(d, 1),
                           plim__gradient_output(d, 3),
                           plim__gradient_output(d, 1),
                           dloss,
                           plim__gradient_input(d, 2)};
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "CrossEntropyGrad", inputs, 6, 1);
    plim__gradient_copy_attributes(d, node);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}

/* A node with the gradients of x, w and bias, those that are wanted. */
plim_status plim__gradient_linear_cross_entropy(plim__gradient *d);
plim_status plim__gradient_linear_cross_entropy(plim__gradient *d) {
    static const size_t from[] = {0, 1, 3};
    plim_value dloss = plim__gradient_of_output(d, 0);
    if (dloss < 0) return PLIM_OK;
    if (plim__gradient_wanted(d, 4)) return plim__gradient_unsupported(d, "for its class weights ");
    PLIM_TRY(plim__gradient_become(d, "LinearCrossEntropy", 4));
    plim_value inputs[8] = {[3] = plim__gradient_output(d, 3), plim__gradient_output(d, 1), dloss};
    for (size_t i = 0; i < 5; i++) inputs[i < 3 ? i : i + 3] = plim__gradient_input(d, i);
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "LinearCrossEntropyGrad", inputs, 8, 0);
    plim__gradient_copy_attributes(d, node);
    for (size_t i = 0; i < 3; i++)
        plim__node_add_output(d->graph, node,
                              plim__gradient_wanted(d, from[i])
                                  ? plim__graph_add_value(d->graph, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE,
                                                          &PLIM_SHAPE_UNKNOWN)
                                  : PLIM_NO_VALUE);
    plim__gradient_end(d, node);
    PLIM_TRY(plim_graph_status(d->graph, d->error));
    for (size_t i = 0; i < 3; i++)
        if (plim__gradient_wanted(d, from[i]))
            PLIM_TRY(plim__gradient_set(d, from[i], plim_graph_node_output(d->graph, node, i)));
    return PLIM_OK;
}

plim_status plim__gradient_element_loss(plim__gradient *d);
plim_status plim__gradient_element_loss(plim__gradient *d) {
    if (plim__gradient_wanted(d, 1)) return plim__gradient_unsupported(d, "for its targets ");
    plim_value inputs[] = {plim__gradient_input(d, 0), plim__gradient_input(d, 1), plim__gradient_of_output(d, 0)};
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "ElementLossGrad", inputs, 3, 1);
    plim__gradient_copy_attributes(d, node);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}
