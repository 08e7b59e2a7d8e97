/* Spelling operators out as others. */
#include "ops/expand.h"

#include <string.h>

#include "core/scalar.h"

plim__expand plim__expand_begin(plim__infer *ctx) {
    return (plim__expand){ctx, ctx->graph, (int32_t)(ctx->node - ctx->graph->nodes.items)};
}

int32_t plim__expand_node(plim__expand *e, const char *op, const plim_value *inputs, size_t count, size_t outputs) {
    if (e->g->nodes.count >= PLIM__EXPAND_MOST)
        plim__graph_fail(e->g, PLIM_UNSUPPORTED, "unsupported: operator %s that becomes more than %zu nodes",
                         e->g->nodes.items[e->node].op_name, PLIM__EXPAND_MOST);
    char name[256]; /* nodes move while one is added */
    strncpy(name, e->g->nodes.items[e->node].name, sizeof name - 1);
    name[sizeof name - 1] = 0;
    int32_t node = plim__graph_add_node(e->g, "", op, name, PLIM__EXPAND_OPSET);
    for (size_t i = 0; i < count; i++) plim__node_add_input(e->g, node, inputs[i]);
    for (size_t i = 0; i < outputs; i++)
        plim__node_add_output(
            e->g, node, plim__graph_add_value(e->g, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN));
    return e->g->failure.status == PLIM_OK ? node : -1;
}

plim_value plim__expand_value(plim__expand *e, const char *op, const plim_value *inputs, size_t count) {
    return plim__expand_out(e, plim__expand_node(e, op, inputs, count, 1), 0);
}

plim_value plim__expand_one(plim__expand *e, const char *op, plim_value x) { return plim__expand_value(e, op, &x, 1); }

plim_value plim__expand_two(plim__expand *e, const char *op, plim_value a, plim_value b) {
    return plim__expand_value(e, op, (plim_value[]){a, b}, 2);
}

/* --- constants ------------------------------------------------------------------------------------------------ */

static plim_value add_constant(plim__expand *e, plim_dtype dtype, const plim__shape *shape, plim__tensor **tensor) {
    plim_error error;
    if (plim__tensor_create(dtype, shape, tensor, &error) == PLIM_OK)
        return plim__graph_add_tensor(e->g, NULL, PLIM__VALUE_CONSTANT, *tensor);
    plim__graph_fail(e->g, error.status, "%s", error.message);
    return PLIM_NO_VALUE;
}

plim_value plim__expand_ints(plim__expand *e, const int64_t *values, size_t count) {
    plim__tensor *tensor;
    plim_value v = add_constant(e, PLIM_I64, &(plim__shape){.rank = 1, .dims = {(int64_t)count}}, &tensor);
    if (v >= 0 && count) memcpy(tensor->data, values, count * sizeof *values);
    return v;
}

plim_value plim__expand_number(plim__expand *e, plim_dtype dtype, double value) {
    plim__tensor *tensor;
    plim_value v = add_constant(e, dtype, &(plim__shape){.rank = 0}, &tensor);
    if (v >= 0) plim__scalar_set(dtype, tensor->data, 0, value);
    return v;
}

/* --- nodes that are needed often -------------------------------------------------------------------------------- */

plim_value plim__expand_reshape(plim__expand *e, plim_value x, const int64_t *dims, size_t rank) {
    return plim__expand_two(e, "Reshape", x, plim__expand_ints(e, dims, rank));
}

plim_value plim__expand_transpose(plim__expand *e, plim_value x, const int64_t *order, size_t rank) {
    int32_t node = plim__expand_node(e, "Transpose", &x, 1, 1);
    plim_graph_set_ints(e->g, node, "perm", order, rank);
    return plim__expand_out(e, node, 0);
}

plim_value plim__expand_cast(plim__expand *e, plim_value x, plim_dtype dtype) {
    int32_t node = plim__expand_node(e, "Cast", &x, 1, 1);
    plim_graph_set_int(e->g, node, "to", dtype);
    return plim__expand_out(e, node, 0);
}

plim_value plim__expand_concat(plim__expand *e, const plim_value *parts, size_t count, int64_t axis) {
    int32_t node = plim__expand_node(e, "Concat", parts, count, 1);
    plim_graph_set_int(e->g, node, "axis", axis);
    return plim__expand_out(e, node, 0);
}

plim_value plim__expand_slice(plim__expand *e, plim_value x, int64_t axis, int64_t start, int64_t end) {
    plim_value inputs[] = {x, plim__expand_ints(e, &start, 1), plim__expand_ints(e, &end, 1),
                           plim__expand_ints(e, &axis, 1)};
    return plim__expand_value(e, "Slice", inputs, 4);
}

int32_t plim__expand_split(plim__expand *e, plim_value x, int64_t axis, const int64_t *sizes, size_t count) {
    plim_value inputs[] = {x, plim__expand_ints(e, sizes, count)};
    int32_t node = plim__expand_node(e, "Split", inputs, 2, count);
    plim_graph_set_int(e->g, node, "axis", axis);
    return node;
}

plim_status plim__expand_end(plim__expand *e, const plim_value *outputs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        plim_value out = plim__node_out(&e->g->nodes.items[e->node], i);
        if (out < 0) continue;
        int32_t identity = plim__graph_add_node(e->g, "", "Identity", "", PLIM__EXPAND_OPSET);
        plim__node_add_input(e->g, identity, outputs[i]);
        plim__node_add_output(e->g, identity, out);
    }
    e->g->nodes.items[e->node].dead = true;
    return plim_graph_status(e->g, e->ctx->error);
}

/* --- sequences ------------------------------------------------------------------------------------------------ */

const plim__node *plim__sequence_of(const plim_graph *g, plim_value value) {
    int32_t producer = value < 0 ? -1 : g->values.items[value].producer;
    const plim__node *node = producer < 0 ? NULL : &g->nodes.items[producer];
    return node && !node->dead && !*node->domain && strcmp(node->op_name, "SequenceConstruct") == 0 ? node : NULL;
}
