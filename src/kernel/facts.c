/* One walk over the nodes of a graph, when the first of them asks. */
#include "kernel/facts.h"

#include "kernel/channels_last.h"
#include "kernel/onednn.h"
#include "ops/op.h"

static double activation_bytes(const plim_graph *g, plim_value v) {
    const plim__value *value = v < 0 ? NULL : &g->values.items[v];
    if (!value || (value->kind != PLIM__VALUE_NODE && value->kind != PLIM__VALUE_INPUT)) return 0;
    size_t bytes = 0;
    plim_dtype_bytes(value->dtype, plim__shape_product(&value->shape, 0, value->shape.rank), &bytes);
    if (value->shape.rank < 4 || value->shape.dims[1] < 1) return (double)bytes;
    return (double)bytes * plim__channels_in_blocks(value->shape.dims[1]) / (double)value->shape.dims[1];
}

static double node_bytes(const plim_graph *g, const plim__node *node) {
    double bytes = 0;
    for (size_t i = 0; i < node->inputs.count; i++) bytes += activation_bytes(g, node->inputs.items[i]);
    for (size_t i = 0; i < node->outputs.count; i++) bytes += activation_bytes(g, node->outputs.items[i]);
    return bytes;
}

/* The first node of the forward pass whose result, or 0 where an input of the graph, a node of the backward pass reads. */
static int32_t first_read(const plim_graph *g, const plim__node *node) {
    int32_t first = INT32_MAX;
    for (size_t i = 0; i < node->inputs.count; i++) {
        const plim__value *value = node->inputs.items[i] < 0 ? NULL : &g->values.items[node->inputs.items[i]];
        if (!value) continue;
        if (value->kind == PLIM__VALUE_INPUT) return 0;
        if (value->kind != PLIM__VALUE_NODE || value->producer < 0) continue;
        if (g->nodes.items[value->producer].phase == PLIM__FORWARD && value->producer < first) first = value->producer;
    }
    return first;
}

static void look_up(const plim_graph *g, const plim__engine *like, plim__facts *facts) {
    bool trains = false;
    facts->trained_from = INT32_MAX;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (node->dead) continue;
        if (node->phase == PLIM__FORWARD) {
            double bytes = node_bytes(g, node);
            if (bytes > facts->largest_bytes) facts->largest_bytes = bytes;
        } else if (node->phase == PLIM__BACKWARD) {
            trains = true;
            int32_t first = node->op->flags & PLIM__OP_PRODUCT ? first_read(g, node) : INT32_MAX;
            if (first < facts->trained_from) facts->trained_from = first;
        }
    }
    /* evaluation beside training finds weights as training left them */
    if (!trains && like && like->facts.trained_from == 0) facts->trained_from = 0;
    facts->channels_last = plim__channels_last_pay(g);
    facts->known = true;
}

const plim__facts *plim__lower_facts(const plim__lower *l) {
    plim__engine *engine = plim__lower_engine(l);
    if (!engine->facts.known) look_up(plim__lower_graph(l), plim__lower_like(l), &engine->facts);
    return &engine->facts;
}
