/* Dropout in training, and its gradient. */
#include <string.h>

#include "core/error.h"
#include "grad/gradient.h"

/* Before opset 12 the share that is dropped is an attribute, from then on an input. */
static plim_status read_ratio(plim_graph *g, const plim__node *node, double *ratio, plim_error *error) {
    *ratio = (double)plim__node_float(node, "ratio", 0.5f);
    plim_value input = node->version < 12 ? PLIM_NO_VALUE : plim__node_in(node, 1);
    if (node->version >= 12 && input < 0) *ratio = 0.5;
    if (input >= 0) {
        plim__tensor *tensor = plim__graph_constant_tensor(g, input);
        if (!tensor || plim__shape_elements(&tensor->shape) != 1)
            return plim__fail(error, PLIM_UNSUPPORTED,
                              "unsupported: operator Dropout whose ratio depends on data in "
                              "node '%s'",
                              plim__node_label(g, node));
        PLIM_TRY(plim__tensor_load(tensor, error));
        *ratio = plim__tensor_at(tensor, 0);
    }
    if (*ratio >= 0 && *ratio <= 1) return PLIM_OK;
    return plim__fail(error, PLIM_INVALID, "node '%s' (Dropout): the ratio is %g, expected 0 to 1",
                      plim__node_label(g, node), *ratio);
}

/* Exporters give every node a mask that nothing reads. */
static bool reads_mask(const plim_graph *g, const plim__node *node) {
    plim_value mask = plim__node_out(node, 1);
    for (size_t i = 0; mask >= 0 && i < g->outputs.count; i++)
        if (g->outputs.items[i] == mask) return true;
    for (size_t n = 0; mask >= 0 && n < g->nodes.count; n++)
        for (size_t i = 0; !g->nodes.items[n].dead && i < g->nodes.items[n].inputs.count; i++)
            if (g->nodes.items[n].inputs.items[i] == mask) return true;
    return false;
}

static plim_status to_training(plim_graph *g, int32_t n, double ratio, uint64_t seed, int64_t counter,
                               plim_error *error) {
    char *name = plim__strdup("DropoutTrain"), *domain = plim__strdup(PLIM__DOMAIN);
    if (!name || !domain) {
        plim__free(name);
        plim__free(domain);
        return plim__fail_memory(error, "a graph", sizeof "DropoutTrain");
    }
    plim__node *node = &g->nodes.items[n];
    bool float_mask = node->version < 10, mask_is_read = reads_mask(g, node);
    int64_t own_seed = plim__node_int(node, "seed", (int64_t)seed); /* a node may bring one of its own */
    plim__free(node->op_name);
    plim__free(node->domain);
    node->op_name = name;
    node->domain = domain;
    node->version = 1;
    node->inputs.count = 1;
    if (node->outputs.count > 1 && !mask_is_read) node->outputs.count = 1;
    node->op = plim__op_find(PLIM__DOMAIN, name, 1);
    plim_graph_set_float(g, n, "ratio", (float)ratio);
    plim_graph_set_int(g, n, "seed", own_seed);
    plim_graph_set_int(g, n, "counter", counter);
    plim_graph_set_int(g, n, "float_mask", float_mask);
    PLIM_TRY(plim_graph_status(g, error));
    plim__infer ctx = {g, &g->nodes.items[n], error};
    return ctx.node->op->infer(&ctx);
}

plim_status plim__dropouts_to_training_mode(plim_graph *g, uint64_t seed, plim_error *error) {
    int64_t counter = 0;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        double ratio;
        if (!node->dead && !*node->domain && node->op && node->op->flags & PLIM__OP_RANDOM)
            plim_graph_set_int(g, (int32_t)n, "plimsoll.seed", (int64_t)seed); /* where it brings none of its own */
        if (node->dead || *node->domain || strcmp(node->op_name, "Dropout") != 0) continue;
        PLIM_TRY(read_ratio(g, node, &ratio, error));
        PLIM_TRY(to_training(g, (int32_t)n, ratio, seed, counter++, error));
    }
    return plim_graph_status(g, error);
}

/* The same elements of the gradient are dropped: the same counters draw the same numbers. */
plim_status plim__gradient_dropout_train(plim__gradient *d) {
    plim_value dy = plim__gradient_of_output(d, 0);
    if (dy < 0) return PLIM_OK;
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "DropoutTrain", &dy, 1, 1);
    plim__gradient_copy_attributes(d, node);
    return plim__gradient_set(d, 0, plim__gradient_end(d, node));
}
