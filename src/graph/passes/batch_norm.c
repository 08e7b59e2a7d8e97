/* fold-batch-norm: where weights no longer change, a batch norm after a convolution becomes part of its
 * weights:  w' = w · s,  b' = (b - mean) · s + bias,  with s = scale / sqrt(variance + ε) for each channel.
 * fuse-batch-norm: one that stays takes a following ReLU along. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "graph/pass.h"
#include "graph/passes/activation.h"
#include "graph/passes/match.h"

struct statistics {
    plim__tensor *scale, *bias, *mean, *variance;
    double epsilon;
};

static bool read_statistics(const plim_graph *g, const plim__node *norm, struct statistics *s) {
    plim__tensor **all[] = {&s->scale, &s->bias, &s->mean, &s->variance};
    for (size_t i = 0; i < 4; i++) {
        *all[i] = plim__graph_tensor(g, plim__node_in(norm, i + 1));
        if (!*all[i] || !plim__match_load(g, *all[i])) return false;
    }
    s->epsilon = (double)plim__node_float(norm, "epsilon", 1e-5f);
    bool statistics_out = false;
    for (size_t i = 1; i < norm->outputs.count; i++) statistics_out |= norm->outputs.items[i] >= 0;
    return !statistics_out && !plim__node_int(norm, "training_mode", 0) && plim__node_int(norm, "spatial", 1);
}

static plim_status fold(plim_graph *g, plim__node *conv, const plim__node *norm, const struct statistics *s,
                        plim_error *error) {
    plim__tensor *weights = plim__graph_tensor(g, conv->inputs.items[1]),
                 *bias = plim__graph_tensor(g, plim__node_in(conv, 2));
    int64_t channels = weights->shape.dims[0];
    double *factors = plim__alloc_array((size_t)channels, sizeof *factors);
    plim__tensor *new_bias = NULL, *new_weights = NULL;
    plim__shape row = {.rank = 1, .dims = {channels}};
    plim_status status = factors ? plim__tensor_create(PLIM_F32, &row, &new_bias, error)
                                 : plim__fail_memory(error, "folding", (size_t)channels * sizeof *factors);
    if (status == PLIM_OK && bias) status = plim__tensor_load(bias, error);
    for (int64_t c = 0; status == PLIM_OK && c < channels; c++) {
        double factor = plim__tensor_at(s->scale, c) / sqrt(plim__tensor_at(s->variance, c) + s->epsilon);
        factors[c] = factor;
        ((float *)new_bias->data)[c] =
            (float)(((bias ? plim__tensor_at(bias, c) : 0) - plim__tensor_at(s->mean, c)) * factor +
                    plim__tensor_at(s->bias, c));
    }
    if (status == PLIM_OK) status = plim__tensor_scaled(weights, factors, &new_weights, error);
    plim__free(factors);
    if (status != PLIM_OK) {
        plim__tensor_release(new_bias);
        return status;
    }
    int32_t index = (int32_t)(conv - g->nodes.items);
    plim_value y = conv->outputs.items[0], out = norm->outputs.items[0];
    plim_value w = plim__graph_add_tensor(g, NULL, PLIM__VALUE_CONSTANT, new_weights);
    plim_value b = plim__graph_add_tensor(g, NULL, PLIM__VALUE_CONSTANT, new_bias);
    if (w < 0 || b < 0) return plim_graph_status(g, error);
    conv = &g->nodes.items[index];
    if (plim__graph_swap_names(g, conv->inputs.items[1], w) != PLIM_OK) return plim_graph_status(g, error);
    plim__node_set_input(g, index, 1, w);
    if (conv->inputs.count > 2)
        plim__node_set_input(g, index, 2, b);
    else
        plim__node_add_input(g, index, b);
    int32_t dead = g->values.items[out].producer;
    g->nodes.items[dead].dead = true;
    g->values.items[out].producer = -1;
    return plim__graph_replace(g, out, y);
}

plim_status plim__pass_fold_batch_norm(plim_graph *g, bool *changed, plim_error *error) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        plim__node *conv = &g->nodes.items[n];
        if (!plim__match_op(conv, "Conv") || !plim__graph_tensor(g, conv->inputs.items[1])) continue;
        if (g->values.items[conv->inputs.items[1]].dtype != PLIM_F32) continue;
        if (plim__node_in(conv, 2) >= 0 && !plim__graph_tensor(g, plim__node_in(conv, 2))) continue;
        const plim__node *norm = plim__match_user(g, conv->outputs.items[0], "BatchNormalization");
        struct statistics s;
        if (!norm || norm->inputs.items[0] != conv->outputs.items[0] || !read_statistics(g, norm, &s)) continue;
        PLIM_TRY(fold(g, conv, norm, &s, error));
        *changed = true;
    }
    return PLIM_OK;
}

plim_status plim__pass_fuse_batch_norm(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *norm = &g->nodes.items[n];
        struct statistics s;
        plim__activation activation;
        if (!plim__match_op(norm, "BatchNormalization") || !read_statistics(g, norm, &s)) continue;
        if (!plim__activation_of(g, norm->outputs.items[0], &activation) || strcmp(activation.name, "relu") != 0 ||
            activation.alpha != 0)
            continue;
        plim_value inputs[5];
        memcpy(inputs, norm->inputs.items, sizeof inputs);
        float epsilon = (float)s.epsilon;
        int32_t made = plim__match_build(g, (plim__made){PLIM__DOMAIN, "FusedBatchNorm", 1}, norm->name, inputs, 5,
                                         activation.output);
        plim_graph_set_float(g, made, "epsilon", epsilon);
        if (made >= 0) plim__activation_set(g, made, &activation);
        if (plim__match_replace(g, activation.output, made) != PLIM_OK) return g->failure.status;
        *changed = true;
    }
    return PLIM_OK;
}
