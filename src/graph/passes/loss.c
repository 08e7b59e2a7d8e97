/* fuse-loss: the logarithm of a softmax over the classes, and the loss that picks from it, become one operator:
 * the probabilities of all classes are never held beside the scores.
 *
 *   NegativeLogLikelihoodLoss(LogSoftmax(x), labels [, weights])  →  SoftmaxCrossEntropyLoss(x, labels [, weights])
 */
#include "graph/pass.h"
#include "graph/passes/match.h"

/* LogSoftmax over axis 1, where losses have their classes. Before opset 13 it ran over all axes from there on. */
static bool is_over_classes(const plim_graph *g, const plim__node *softmax) {
    int rank = g->values.items[softmax->inputs.items[0]].shape.rank, axis;
    if (!plim__axis_normalize(plim__node_int(softmax, "axis", softmax->version < 13 ? 1 : -1), rank, &axis))
        return false;
    return axis == 1 && (softmax->version >= 13 || rank == 2);
}

static plim_status fuse(plim_graph *g, int32_t n, bool *changed) {
    const plim__node *loss = &g->nodes.items[n];
    const plim__node *softmax = plim__match_producer(g, loss->inputs.items[0], "LogSoftmax");
    if (!softmax || plim__graph_only_user(g, loss->inputs.items[0]) != n || !is_over_classes(g, softmax))
        return PLIM_OK;
    plim_value inputs[3] = {softmax->inputs.items[0], loss->inputs.items[1], plim__node_in(loss, 2)},
               old = loss->outputs.items[0];
    int32_t made = plim__match_build(g, (plim__made){"", "SoftmaxCrossEntropyLoss", loss->version}, loss->name, inputs,
                                     inputs[2] >= 0 ? 3 : 2, old);
    if (made < 0) return g->failure.status;
    loss = &g->nodes.items[n]; /* nodes may have moved */
    const char *reduction = plim__node_string(loss, "reduction", "mean");
    plim_graph_set_string(g, made, "reduction", reduction);
    if (plim__node_attribute(loss, "ignore_index"))
        plim_graph_set_int(g, made, "ignore_index", plim__node_int(loss, "ignore_index", 0));
    *changed = true;
    return plim__match_replace(g, old, made);
}

plim_status plim__pass_loss(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    for (size_t n = 0; n < g->nodes.count; n++)
        if (plim__match_op(&g->nodes.items[n], "NegativeLogLikelihoodLoss") && fuse(g, (int32_t)n, changed) != PLIM_OK)
            return g->failure.status;
    return PLIM_OK;
}
