/* Building blocks of gradient functions: nodes, constants, reshapes, sums. */
#include <string.h>

#include "core/error.h"
#include "grad/gradient.h"

plim__shape plim__gradient_shape(const plim__gradient *d, plim_value v) {
    return v < 0 ? PLIM_SHAPE_UNKNOWN : d->graph->values.items[v].shape;
}

plim_dtype plim__gradient_dtype(const plim__gradient *d, plim_value v) {
    return v < 0 ? PLIM_DTYPE_NONE : d->graph->values.items[v].dtype;
}

plim__infer plim__gradient_reading(const plim__gradient *d) {
    return (plim__infer){d->graph, plim__gradient_self(d), d->error};
}

int32_t plim__gradient_begin(plim__gradient *d, const char *domain, const char *op, const plim_value *inputs,
                             size_t count, size_t outputs) {
    plim_graph *g = d->graph;
    /* named after the node whose gradient it is part of: reports and messages tell the layer */
    const char *layer = d->node >= 0 ? plim__node_label(g, plim__gradient_self(d)) : NULL;
    int32_t node = plim__graph_add_node(g, domain, op, layer, *domain ? 1 : PLIM__GRADIENT_OPSET);
    if (node >= 0) g->nodes.items[node].phase = PLIM__BACKWARD;
    for (size_t i = 0; i < count; i++) plim__node_add_input(g, node, inputs[i]);
    for (size_t i = 0; node >= 0 && i < outputs; i++)
        plim__node_add_output(g, node,
                              plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN));
    return g->failure.status == PLIM_OK ? node : -1;
}

/* A node whose result is known already is not needed. */
static void drop_if_known(plim_graph *g, int32_t n) {
    plim__node *node = &g->nodes.items[n];
    for (size_t i = 0; i < node->outputs.count; i++)
        if (node->outputs.items[i] >= 0 && !plim__graph_constant_tensor(g, node->outputs.items[i])) return;
    node->dead = true;
    for (size_t i = 0; i < node->outputs.count; i++)
        if (node->outputs.items[i] >= 0) g->values.items[node->outputs.items[i]].producer = -1;
}

static plim_status infer(plim__gradient *d, int32_t n) {
    plim_graph *g = d->graph;
    plim__node *node = &g->nodes.items[n];
    plim_error detail = {0};
    node->op = plim__op_find(node->domain, node->op_name, node->version);
    if (!node->op)
        return plim__graph_fail(g, PLIM_INTERNAL, "a gradient needs operator %s, which does not exist", node->op_name);
    plim__infer ctx = {g, node, &detail};
    plim_status status = node->op->infer(&ctx);
    if (status != PLIM_OK)
        return plim__graph_fail(g, status, "in the gradient of node '%s': %s",
                                plim__node_label(g, plim__gradient_self(d)), detail.message);
    drop_if_known(g, n);
    return PLIM_OK;
}

plim_value plim__gradient_end(plim__gradient *d, int32_t node) {
    if (node < 0 || d->graph->failure.status != PLIM_OK || infer(d, node) != PLIM_OK) return PLIM_NO_VALUE;
    return plim__node_out(&d->graph->nodes.items[node], 0);
}

/* An input that could not be made makes the node impossible too. */
static bool all_there(const plim_value *inputs, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (inputs[i] < 0) return false;
    return true;
}

plim_value plim__gradient_node(plim__gradient *d, const char *domain, const char *op, const plim_value *inputs,
                               size_t count) {
    if (!all_there(inputs, count)) return PLIM_NO_VALUE;
    return plim__gradient_end(d, plim__gradient_begin(d, domain, op, inputs, count, 1));
}

plim_value plim__gradient_one(plim__gradient *d, const char *op, plim_value x) {
    return plim__gradient_node(d, "", op, &x, 1);
}

plim_value plim__gradient_two(plim__gradient *d, const char *op, plim_value a, plim_value b) {
    return plim__gradient_node(d, "", op, (plim_value[]){a, b}, 2);
}

static void copy_attribute(plim_graph *g, int32_t to, const plim__attribute *a) {
    switch (a->type) {
    case PLIM__ATTRIBUTE_INT: plim_graph_set_int(g, to, a->name, a->i); break;
    case PLIM__ATTRIBUTE_FLOAT: plim_graph_set_float(g, to, a->name, a->f); break;
    case PLIM__ATTRIBUTE_STRING: plim_graph_set_string(g, to, a->name, a->s); break;
    case PLIM__ATTRIBUTE_INTS: plim_graph_set_ints(g, to, a->name, a->ints, a->length); break;
    case PLIM__ATTRIBUTE_FLOATS: plim_graph_set_floats(g, to, a->name, a->floats, a->length); break;
    case PLIM__ATTRIBUTE_STRINGS:
        plim_graph_set_strings(g, to, a->name, (const char *const *)a->strings, a->length);
        break;
    default: break; /* tensors and graphs: no operator with a gradient has them */
    }
}

void plim__gradient_copy_attributes(plim__gradient *d, int32_t to) {
    if (to < 0) return;
    for (size_t i = 0; i < plim__gradient_self(d)->attributes.count; i++)
        copy_attribute(d->graph, to, &plim__gradient_self(d)->attributes.items[i]);
}

plim_status plim__gradient_become(plim__gradient *d, const char *op, size_t outputs) {
    plim_graph *g = d->graph;
    if (plim__node_become(g, d->node, op) != PLIM_OK) return plim_graph_status(g, d->error);
    for (size_t i = 0; i < outputs; i++) plim__gradient_need_output(d, i, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN);
    if (g->failure.status == PLIM_OK) infer(d, d->node);
    return plim_graph_status(g, d->error);
}

plim_value plim__gradient_need_output(plim__gradient *d, size_t i, plim_dtype dtype, const plim__shape *shape) {
    if (plim__gradient_output(d, i) >= 0) return plim__gradient_output(d, i);
    plim_graph *g = d->graph;
    plim_value v = plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, dtype, shape);
    while (v >= 0 && g->nodes.items[d->node].outputs.count < i)
        if (!plim__node_add_output(g, d->node, PLIM_NO_VALUE)) return PLIM_NO_VALUE;
    if (i >= g->nodes.items[d->node].outputs.count) {
        plim__node_add_output(g, d->node, v);
    } else if (v >= 0) {
        g->nodes.items[d->node].outputs.items[i] = v;
        g->values.items[v].producer = d->node;
    }
    return v;
}

/* --- constants ------------------------------------------------------------------------------------------------ */

plim_value plim__gradient_scalar(plim__gradient *d, plim_dtype dtype, double value) {
    float single = (float)value;
    if (dtype == PLIM_F32) return plim_graph_constant(d->graph, NULL, dtype, 0, NULL, &single);
    if (dtype == PLIM_F64) return plim_graph_constant(d->graph, NULL, dtype, 0, NULL, &value);
    return plim__gradient_cast_to(d, plim_graph_constant(d->graph, NULL, PLIM_F32, 0, NULL, &single), dtype);
}

plim_value plim__gradient_ints(plim__gradient *d, const int64_t *values, size_t count) {
    return plim_graph_constant(d->graph, NULL, PLIM_I64, 1, (int64_t[]){(int64_t)count}, values);
}

plim_value plim__gradient_zeros(plim__gradient *d, plim_value like) {
    plim__shape shape = plim__gradient_shape(d, like);
    return plim__gradient_expand(d, plim__gradient_scalar(d, plim__gradient_dtype(d, like), 0), &shape);
}

/* --- shapes --------------------------------------------------------------------------------------------------- */

static plim_value with_shape(plim__gradient *d, const char *op, plim_value x, const plim__shape *shape) {
    plim_value dims = plim__gradient_ints(d, shape->dims, (size_t)shape->rank), inputs[] = {x, dims};
    if (x < 0 || dims < 0) return PLIM_NO_VALUE;
    int32_t node = plim__gradient_begin(d, "", op, inputs, 2, 1);
    if (strcmp(op, "Reshape") == 0) plim_graph_set_int(d->graph, node, "allowzero", 1); /* an axis may be empty */
    return plim__gradient_end(d, node);
}

plim_value plim__gradient_reshape(plim__gradient *d, plim_value x, const plim__shape *shape) {
    if (x < 0 || plim__shape_equal(&d->graph->values.items[x].shape, shape)) return x;
    return with_shape(d, "Reshape", x, shape);
}

plim_value plim__gradient_expand(plim__gradient *d, plim_value x, const plim__shape *shape) {
    if (x < 0 || plim__shape_equal(&d->graph->values.items[x].shape, shape)) return x;
    return with_shape(d, "Expand", x, shape);
}

plim_value plim__gradient_transpose(plim__gradient *d, plim_value x, const int *order) {
    int64_t list[PLIM_MAX_RANK];
    int rank = plim__gradient_shape(d, x).rank;
    for (int i = 0; i < rank; i++) list[i] = order[i];
    if (x < 0) return x;
    int32_t node = plim__gradient_begin(d, "", "Transpose", &x, 1, 1);
    plim_graph_set_ints(d->graph, node, "perm", list, (size_t)rank);
    return plim__gradient_end(d, node);
}

plim_value plim__gradient_cast_to(plim__gradient *d, plim_value x, plim_dtype dtype) {
    if (x < 0 || plim__gradient_dtype(d, x) == dtype) return x;
    int32_t node = plim__gradient_begin(d, "", "Cast", &x, 1, 1);
    plim_graph_set_int(d->graph, node, "to", dtype);
    return plim__gradient_end(d, node);
}

plim_value plim__gradient_choose(plim__gradient *d, plim_value condition, plim_value a, plim_value b) {
    return plim__gradient_node(d, "", "Where", (plim_value[]){condition, a, b}, 3);
}

plim_value plim__gradient_embed(plim__gradient *d, plim_value x, const plim__shape *shape, const int64_t *start,
                                const int64_t *step) {
    if (x < 0) return x;
    int32_t node = plim__gradient_begin(d, PLIM__DOMAIN, "SliceGrad", &x, 1, 1);
    plim_graph_set_ints(d->graph, node, "shape", shape->dims, (size_t)shape->rank);
    plim_graph_set_ints(d->graph, node, "start", start, (size_t)shape->rank);
    plim_graph_set_ints(d->graph, node, "step", step, (size_t)shape->rank);
    return plim__gradient_end(d, node);
}

plim_value plim__gradient_cut(plim__gradient *d, plim_value x, const int64_t *start, const int64_t *end) {
    size_t rank = x < 0 ? 0 : (size_t)plim__gradient_shape(d, x).rank;
    if (rank == 0) return x;
    plim_value inputs[] = {x, plim__gradient_ints(d, start, rank), plim__gradient_ints(d, end, rank)};
    return plim__gradient_node(d, "", "Slice", inputs, 3);
}

plim_value plim__gradient_sum(plim__gradient *d, plim_value x, const bool *axes, bool keep) {
    int64_t list[PLIM_MAX_RANK];
    size_t count = 0;
    int rank = plim__gradient_shape(d, x).rank;
    for (int i = 0; i < rank; i++)
        if (axes[i]) list[count++] = i;
    if (x < 0 || count == 0) return x;
    plim_value which = plim__gradient_ints(d, list, count), inputs[] = {x, which};
    int32_t node = plim__gradient_begin(d, "", "ReduceSum", inputs, 2, 1);
    plim_graph_set_int(d->graph, node, "keepdims", keep);
    return plim__gradient_end(d, node);
}

plim_value plim__gradient_scale(plim__gradient *d, plim_value x, double factor) {
    if (x < 0 || factor == 1) return x;
    return plim__gradient_two(d, "Mul", x, plim__gradient_scalar(d, plim__gradient_dtype(d, x), factor));
}

plim_value plim__gradient_unbroadcast(plim__gradient *d, plim_value gradient, plim_value like) {
    if (gradient < 0) return gradient;
    plim__shape from = plim__gradient_shape(d, gradient), to = plim__gradient_shape(d, like);
    bool axes[PLIM_MAX_RANK] = {false};
    int more = from.rank - to.rank;
    for (int i = 0; i < from.rank; i++) axes[i] = i < more || (to.dims[i - more] == 1 && from.dims[i] != 1);
    return plim__gradient_reshape(d, plim__gradient_sum(d, gradient, axes, false), &to);
}
