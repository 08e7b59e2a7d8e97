/* Puts the last linear layer into the loss, so that the scores of all classes never exist as a whole.
 *
 *   CrossEntropy(x·w + bias, targets [, class weights])  →  LinearCrossEntropy(x, w, targets [, bias, class weights])
 *
 * Sums over rows are taken in another order, a chunk at a time, and the chunks keep products from being as large as they
 * could be: no model has that as a default. */
#include <string.h>

#include "core/error.h"
#include "grad/training.h"
#include "graph/passes/match.h"
#include "ops/op.h"

/* What makes the scores. */
struct layer {
    plim_value x, w, bias;
    bool transposed;
};

static bool is_view(const plim__node *node) {
    return plim__match_op(node, "Reshape") || plim__match_op(node, "Identity");
}

/* Over views of the rows that leave the classes last: the value that the linear layer made, PLIM_NO_VALUE when somebody
 * else reads it. */
static plim_value scores_of(const plim_graph *g, plim_value v, int32_t reader) {
    for (;;) {
        if (plim__graph_only_user(g, v) != reader || g->values.items[v].producer < 0) return PLIM_NO_VALUE;
        int32_t producer = g->values.items[v].producer;
        const plim__node *node = &g->nodes.items[producer];
        if (!is_view(node)) return v;
        const plim__shape *to = &g->values.items[v].shape, *from = &g->values.items[node->inputs.items[0]].shape;
        if (to->rank < 1 || from->rank < 1 || to->dims[to->rank - 1] != from->dims[from->rank - 1])
            return PLIM_NO_VALUE;
        v = node->inputs.items[0];
        reader = producer;
    }
}

static bool is_one_product(const plim_graph *g, const struct layer *layer) {
    const plim__value *x = &g->values.items[layer->x], *w = &g->values.items[layer->w];
    if (x->dtype != PLIM_F32 || w->dtype != PLIM_F32 || x->shape.rank < 2 || w->shape.rank != 2) return false;
    if (plim__shape_elements(&x->shape) == 0 || plim__shape_elements(&w->shape) == 0) return false;
    if (layer->bias < 0) return true;
    const plim__value *bias = &g->values.items[layer->bias];
    return bias->dtype == PLIM_F32 && bias->shape.rank == 1 &&
           bias->shape.dims[0] == w->shape.dims[layer->transposed ? 0 : 1];
}

static bool find_layer(const plim_graph *g, plim_value scores, struct layer *layer) {
    const plim__node *node = &g->nodes.items[g->values.items[scores].producer];
    bool own = strcmp(node->domain, PLIM__DOMAIN) == 0, linear = own && strcmp(node->op_name, "Linear") == 0,
         gemm = plim__match_op(node, "Gemm");
    if (node->dead || (!linear && !gemm && !plim__match_op(node, "MatMul"))) return false;
    if (linear && (plim__node_in(node, 3) >= 0 || plim__node_string(node, "activation", NULL))) return false;
    if (gemm && (plim__node_int(node, "transA", 0) || plim__node_float(node, "alpha", 1) != 1 ||
                 plim__node_float(node, "beta", 1) != 1))
        return false;
    *layer = (struct layer){.x = node->inputs.items[0],
                            .w = node->inputs.items[1],
                            .bias = plim__node_in(node, 2),
                            .transposed = gemm && plim__node_int(node, "transB", 0) != 0};
    return is_one_product(g, layer);
}

/* The layer and the views behind it, which nothing reads any more. */
static void bury(plim_graph *g, plim_value v) {
    plim__node *node = &g->nodes.items[g->values.items[v].producer];
    bool view = is_view(node);
    node->dead = true;
    g->values.items[v].producer = -1;
    if (view) bury(g, node->inputs.items[0]);
}

static plim_status become_linear(plim_graph *g, int32_t n, const struct layer *layer, int64_t chunk_rows,
                                 plim_error *error) {
    char *name = plim__strdup("LinearCrossEntropy");
    if (!name) return plim__fail_memory(error, "a graph", sizeof "LinearCrossEntropy");
    plim__node *node = &g->nodes.items[n];
    bury(g, node->inputs.items[0]);
    plim_value inputs[] = {layer->x, layer->w, node->inputs.items[1], layer->bias, plim__node_in(node, 2)};
    plim__free(node->op_name);
    node->op_name = name;
    node->op = plim__op_find(PLIM__DOMAIN, name, 1);
    node->inputs.count = 0;
    if (node->outputs.count > 3) node->outputs.count = 3; /* what a backward pass keeps comes with that */
    for (size_t i = 0; i < 5; i++) plim__node_add_input(g, n, inputs[i]);
    plim_graph_set_int(g, n, "chunk", chunk_rows);
    if (layer->transposed) plim_graph_set_int(g, n, "transB", 1);
    PLIM_TRY(plim_graph_status(g, error));
    plim__infer ctx = {g, &g->nodes.items[n], error};
    return ctx.node->op->infer(&ctx);
}

plim_status plim__linear_losses_fuse(plim_graph *g, int64_t chunk_rows, plim_error *error) {
    if (chunk_rows < 1)
        return plim__fail(error, PLIM_INVALID, "the loss cannot take %lld rows at a time", (long long)chunk_rows);
    PLIM_TRY(plim_graph_status(g, error));
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (node->dead || strcmp(node->domain, PLIM__DOMAIN) != 0 || strcmp(node->op_name, "CrossEntropy") != 0)
            continue;
        if (plim__node_in(node, 3) >= 0) continue; /* weights of samples: not in the linear layer's loss */
        const plim__shape *shape = &g->values.items[node->inputs.items[0]].shape;
        plim_value scores = scores_of(g, node->inputs.items[0], (int32_t)n);
        struct layer layer;
        if (plim__node_int(node, "axis", 1) != shape->rank - 1 || scores < 0 || !find_layer(g, scores, &layer))
            continue;
        PLIM_TRY(become_linear(g, (int32_t)n, &layer, chunk_rows, error));
    }
    return PLIM_OK;
}
