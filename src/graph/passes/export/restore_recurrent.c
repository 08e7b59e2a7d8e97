/* Weights of recurrent layers. The module has a tensor for each layer, direction and use; ONNX has them joined, and the gates in
 * another order; the exporter computed the joined ones.
 *
 *   call   lstm(%x, [%h, %c], [%p_weight_ih_l0, %p_weight_hh_l0, %p_bias_ih_l0, %p_bias_hh_l0], ...)    i f g o
 *   node   LSTM(x, W [directions, 4 · hidden, inputs], R, B)                                            i o f c
 *          → W = Unsqueeze(Gather(weight_ih_l0, order of rows)), joined over directions
 *
 * A call for several layers became as many nodes, which take their parameters in order. */
#include <string.h>

#include "core/error.h"
#include "graph/passes/export/names.h"
#include "graph/passes/export/restore.h"

enum { MOST = 64, MOST_LAYERS = 8, GATES = 4 };

/* Which block of the module's rows is block i of ONNX's. */
struct kind {
    const char *op;
    const char *calls[2];
    int gates, order[GATES];
};

static const struct kind kinds[] = {{"LSTM", {"lstm", "lstm"}, 4, {0, 3, 1, 2}},
                                    {"GRU", {"gru", "gru"}, 3, {1, 0, 2}},
                                    {"RNN", {"rnn_tanh", "rnn_relu"}, 1, {0}}};

struct layers {
    const struct kind *kind;
    int32_t nodes[MOST_LAYERS];
    size_t count;
    int64_t named[MOST]; /* lines of the signature, in order */
    size_t named_count;
    size_t directions, each; /* parameters of one direction of one layer: 4, or 2 without biases */
};

/* --- reading -------------------------------------------------------------------------------------------------------- */

static const struct kind *kind_of(const plim_graph *g, const plim__node_origin *origin, plim__call *call) {
    const plim__node *node = &g->nodes.items[origin->node];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!node->dead && !*node->domain && strcmp(node->op_name, kinds[i].op) == 0 && origin->call &&
            plim__call_read(origin->call, call) &&
            (plim__call_is(call, kinds[i].calls[0]) || plim__call_is(call, kinds[i].calls[1])))
            return &kinds[i];
    return NULL;
}

static bool is_folded(const plim_graph *g, plim_value v) {
    return v >= 0 && g->values.items[v].role == PLIM__ROLE_FOLDED && g->values.items[v].tensor &&
           g->values.items[v].dtype == PLIM_F32;
}

/* Whether the node's weights are three that the exporter computed, in shapes that fit each other. */
static bool fits(const plim_graph *g, const struct layers *l, const plim__node *node) {
    plim_value w = plim__node_in(node, 1), r = plim__node_in(node, 2), b = plim__node_in(node, 3);
    if (!is_folded(g, w) || !is_folded(g, r) || (b >= 0 && !is_folded(g, b))) return false;
    const plim__shape *shape = &g->values.items[w].shape, *other = &g->values.items[r].shape;
    if (shape->rank != 3 || other->rank != 3 || shape->dims[1] % l->kind->gates) return false;
    if (shape->dims[0] != (int64_t)l->directions || other->dims[0] != shape->dims[0] ||
        other->dims[1] != shape->dims[1])
        return false;
    if ((b >= 0) != (l->each == 4)) return false;
    const plim__shape *bias = b < 0 ? NULL : &g->values.items[b].shape;
    return !bias || (bias->rank == 2 && bias->dims[0] == shape->dims[0] && bias->dims[1] == 2 * shape->dims[1]);
}

/* The layers of the call that origin i is the first node of; false when they are not understood. */
static bool read_layers(const plim__restoring *r, size_t i, struct layers *l) {
    const plim__provenance *p = r->provenance;
    const char *text = p->nodes.items[i].call;
    size_t result = strcspn(text, " ") + 1;
    char name[PLIM__NAME_SIZE];
    for (size_t k = i; k < p->nodes.count; k++) {
        plim__call call;
        if (!p->nodes.items[k].call || strncmp(p->nodes.items[k].call, text, result) != 0 ||
            kind_of(r->g, &p->nodes.items[k], &call) != l->kind)
            continue;
        if (l->count == MOST_LAYERS) return false;
        l->nodes[l->count++] = p->nodes.items[k].node;
    }
    for (const char *at = text; plim__placeholder_next(&at, name);) {
        int64_t listed = plim__restoring_placeholder(r, name);
        if (listed < 0 || r->signature.items.items[listed].kind != PLIM__LISTED_PARAMETER) continue;
        if (l->named_count == MOST) return false;
        l->named[l->named_count++] = listed;
    }
    const plim__node *first = &r->g->nodes.items[l->nodes[0]];
    plim_value w = plim__node_in(first, 1);
    if (!is_folded(r->g, w) || r->g->values.items[w].shape.rank != 3) return false;
    l->directions = (size_t)r->g->values.items[w].shape.dims[0];
    l->each = plim__node_in(first, 3) >= 0 ? 4 : 2;
    if (l->directions < 1 || l->directions > 2 || l->named_count != l->count * l->directions * l->each) return false;
    for (size_t k = 0; k < l->count; k++)
        if (!fits(r->g, l, &r->g->nodes.items[l->nodes[k]])) return false;
    return true;
}

/* --- putting back --------------------------------------------------------------------------------------------------- */

/* Rows [from, from + rows) of a folded tensor's direction, in the module's order. */
static plim_status take_rows(plim__restoring *r, const struct layers *l, plim_value folded, int64_t from, int64_t rows,
                             plim__tensor **made) {
    plim__tensor *source = r->g->values.items[folded].tensor;
    const plim__shape *shape = &source->shape;
    int64_t width = shape->rank == 3 ? shape->dims[2] : 1, block = rows / l->kind->gates;
    plim__shape own = {.rank = shape->rank - 1, .dims = {rows, width}};
    PLIM_TRY(plim__tensor_load(source, r->error));
    PLIM_TRY(plim__tensor_create(PLIM_F32, &own, made, r->error));
    for (int k = 0; k < l->kind->gates; k++)
        memcpy((float *)(*made)->data + l->kind->order[k] * block * width,
               (const float *)source->data + (from + k * block) * width, (size_t)(block * width) * sizeof(float));
    return PLIM_OK;
}

/* The parameter with its rows in ONNX's order, as a node. PLIM_NO_VALUE after a failure, which the graph has. */
static plim_value reorder(plim_graph *g, const struct kind *kind, plim_value parameter, int64_t rows) {
    if (kind->gates == 1 || parameter < 0) return parameter;
    int64_t *order = plim__alloc_array((size_t)rows, sizeof *order), block = rows / kind->gates;
    if (!order) {
        plim__graph_fail(g, PLIM_NO_MEMORY, "the order of %lld rows", (long long)rows);
        return PLIM_NO_VALUE;
    }
    for (int64_t i = 0; i < rows; i++) order[i] = kind->order[i / block] * block + i % block;
    plim_value indices = plim_graph_constant(g, NULL, PLIM_I64, 1, &rows, order);
    plim__free(order);
    int32_t node = plim_graph_node(g, "Gather", NULL, (const plim_value[]){parameter, indices}, 2, 1);
    plim_graph_set_int(g, node, "axis", 0);
    return plim_graph_node_output(g, node, 0);
}

static plim_value join(plim_graph *g, const plim_value *parts, size_t count) {
    if (count == 1) return parts[0];
    int32_t node = plim_graph_node(g, "Concat", NULL, parts, count, 1);
    plim_graph_set_int(g, node, "axis", 0);
    return plim_graph_node_output(g, node, 0);
}

/* Input `index` (1: W, 2: R, 3: B) of layer k from its parameters. */
static plim_status restore_weight(plim__restoring *r, const struct layers *l, size_t k, size_t index) {
    plim_graph *g = r->g;
    plim_value folded = plim__node_in(&g->nodes.items[l->nodes[k]], index), directions[2];
    plim_value first = plim_graph_constant(g, NULL, PLIM_I64, 1, (const int64_t[]){1}, (const int64_t[]){0});
    size_t uses = index == 3 ? 2 : 1; /* a bias of the inputs and one of the state */
    int64_t rows = g->values.items[folded].shape.dims[1] / (int64_t)uses;
    for (size_t d = 0; d < l->directions; d++) {
        plim_value parts[2];
        for (size_t u = 0; u < uses; u++) {
            int64_t listed = l->named[(k * l->directions + d) * l->each + (index - 1) + u];
            plim_value parameter = plim_graph_find(g, r->signature.items.items[listed].target);
            if (parameter >= 0) { /* a layer that is used twice has it already */
                const plim__shape *all = &g->values.items[folded].shape;
                plim__shape own = {.rank = all->rank - 1, .dims = {rows, all->rank == 3 ? all->dims[2] : 0}};
                PLIM_TRY(plim__restoring_check(r, l->nodes[k], &parameter, &own));
                if (parameter < 0) return PLIM_OK;
            } else {
                plim__tensor *tensor;
                PLIM_TRY(take_rows(r, l, folded, ((int64_t)(d * uses + u)) * rows, rows, &tensor));
                parameter = plim__restoring_add(r, listed, PLIM__ROLE_VIEW, tensor);
                r->views++;
            }
            parts[u] = reorder(g, l->kind, parameter, rows);
        }
        directions[d] = plim_graph_apply(g, "Unsqueeze", (const plim_value[]){join(g, parts, uses), first}, 2);
    }
    plim_value joined = join(g, directions, l->directions);
    PLIM_TRY(plim_graph_status(g, r->error));
    g->nodes.items[l->nodes[k]].inputs.items[index] = joined;
    return PLIM_OK;
}

plim_status plim__restore_recurrent(plim__restoring *r) {
    if (plim__graph_opset(r->g, "") < 13) return PLIM_OK; /* older ones have other forms of what is added */
    for (size_t i = 0; i < r->provenance->nodes.count; i++) {
        plim__call call;
        struct layers l = {.kind = kind_of(r->g, &r->provenance->nodes.items[i], &call)};
        if (!l.kind || !read_layers(r, i, &l)) continue;
        for (size_t k = 0; k < l.count; k++)
            for (size_t index = 1; index <= (l.each == 4 ? 3 : 2); index++) PLIM_TRY(restore_weight(r, &l, k, index));
    }
    return PLIM_OK;
}
