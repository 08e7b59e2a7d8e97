/* fuse-loss: the logarithm of a softmax and the loss that reads it become one operator, which never holds the
 * probabilities of every class at once. */
#include "graph/pass_case.h"

static void build_loss_as(plim_graph *g, int64_t axis, const char *reduction, bool seen) {
    plim_value x = input_of(g, "x", 2, DIMS(6, 3)), labels = plim_graph_input(g, "labels", PLIM_I64, 1, DIMS(6));
    plim_value logs = with_int(g, "LogSoftmax", x, "axis", axis);
    int32_t loss = plim_graph_node(g, "NegativeLogLikelihoodLoss", NULL, (plim_value[]){logs, labels}, 2, 1);
    plim_graph_set_string(g, loss, "reduction", reduction);
    plim_graph_output(g, plim_graph_node_output(g, loss, 0), "loss");
    if (seen) plim_graph_output(g, logs, "logs");
}
static void build_loss_mean(plim_graph *g) { build_loss_as(g, 1, "mean", false); }
static void build_loss_sum(plim_graph *g) { build_loss_as(g, -1, "sum", false); }
static void build_loss_none(plim_graph *g) { build_loss_as(g, 1, "none", false); }
static void build_loss_other_axis(plim_graph *g) { build_loss_as(g, 0, "mean", false); }
static void build_loss_seen(plim_graph *g) { build_loss_as(g, 1, "mean", true); }

static void build_loss_weighted(plim_graph *g) { /* pictures, weights of classes, a label that does not count */
    plim_value x = input_of(g, "x", 4, DIMS(2, 3, 4, 5)),
               labels = plim_graph_input(g, "labels", PLIM_I64, 3, DIMS(2, 4, 5));
    plim_value logs = with_int(g, "LogSoftmax", x, "axis", 1);
    int32_t loss = plim_graph_node(g, "NegativeLogLikelihoodLoss", NULL,
                                   (plim_value[]){logs, labels, weights_around(g, "w", 1, DIMS(3), 1)}, 3, 1);
    plim_graph_set_int(g, loss, "ignore_index", 2);
    plim_graph_output(g, plim_graph_node_output(g, loss, 0), "loss");
}

static void softmax_and_loss_become_one(void **state) {
    (void)state;
    check_pass(build_loss_mean, "fuse-loss", "SoftmaxCrossEntropyLoss", 1, NULL);
    check_pass(build_loss_sum, "fuse-loss", "SoftmaxCrossEntropyLoss", 1, NULL);
    check_pass(build_loss_none, "fuse-loss", "SoftmaxCrossEntropyLoss", 1, NULL);
    check_pass(build_loss_weighted, "fuse-loss", "SoftmaxCrossEntropyLoss", 1, NULL);
}

static void a_loss_over_another_axis_is_left_alone(void **state) {
    (void)state;
    check_pass(build_loss_other_axis, "fuse-loss", "SoftmaxCrossEntropyLoss", 0, NULL);
    check_pass(build_loss_seen, "fuse-loss", "LogSoftmax", 1, NULL); /* an output: it is computed anyway */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_and_loss_become_one),
        cmocka_unit_test(a_loss_over_another_axis_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
