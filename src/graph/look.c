/* Reading graphs: counts, names, shapes, attributes. */
#include <string.h>

#include "graph/graph.h"

size_t plim_graph_input_count(const plim_graph *g) { return g ? g->inputs.count : 0; }
size_t plim_graph_output_count(const plim_graph *g) { return g ? g->outputs.count : 0; }

size_t plim_graph_node_count(const plim_graph *g) {
    size_t count = 0;
    for (size_t i = 0; g && i < g->nodes.count; i++) count += !g->nodes.items[i].dead;
    return count;
}

void plim_graph_get_weights(const plim_graph *g, plim_graph_weights *weights) {
    if (!weights) return;
    *weights = (plim_graph_weights){0};
    for (size_t v = 0; g && v < g->values.count; v++) {
        const plim__value *value = &g->values.items[v];
        if (value->kind != PLIM__VALUE_PARAMETER || !value->tensor) continue;
        weights->tensors++;
        weights->elements += plim__shape_elements(&value->shape);
        weights->bytes += value->tensor->bytes;
    }
}

plim_value plim_graph_weight_at(const plim_graph *g, size_t index, plim_graph_weight *weight) {
    if (weight) *weight = (plim_graph_weight){0};
    for (size_t v = 0; g && v < g->values.count; v++) {
        const plim__value *value = &g->values.items[v];
        if (value->kind != PLIM__VALUE_PARAMETER || !value->tensor || index-- > 0) continue;
        if (weight)
            *weight = (plim_graph_weight){value->tensor->bytes, plim__role_trained(value->role),
                                          plim__role_reason(value->role)};
        return (plim_value)v;
    }
    return PLIM_NO_VALUE;
}

size_t plim_graph_remark_count(const plim_graph *g) { return g ? g->remarks.count : 0; }

const char *plim_graph_remark_at(const plim_graph *g, size_t index, plim_remark_kind *kind) {
    if (kind) *kind = PLIM_REMARK_COUNT;
    if (!g || index >= g->remarks.count) return NULL;
    if (kind) *kind = g->remarks.items[index].kind;
    return g->remarks.items[index].text;
}

plim_value plim_graph_input_at(const plim_graph *g, size_t index) {
    return g && index < g->inputs.count ? g->inputs.items[index] : PLIM_NO_VALUE;
}

plim_value plim_graph_output_at(const plim_graph *g, size_t index) {
    return g && index < g->outputs.count ? g->outputs.items[index] : PLIM_NO_VALUE;
}

plim_value plim_graph_find(const plim_graph *g, const char *name) {
    return g && name ? (plim_value)plim__map_get(&g->names, name, PLIM_NO_VALUE) : PLIM_NO_VALUE;
}

static const plim__value *value_at(const plim_graph *g, plim_value v) {
    return g && v >= 0 && (size_t)v < g->values.count ? &g->values.items[v] : NULL;
}

const char *plim_graph_value_name(const plim_graph *g, plim_value v) {
    const plim__value *value = value_at(g, v);
    return value ? value->name : NULL;
}

plim_dtype plim_graph_value_dtype(const plim_graph *g, plim_value v) {
    const plim__value *value = value_at(g, v);
    return value ? value->dtype : PLIM_DTYPE_NONE;
}

int plim_graph_value_shape(const plim_graph *g, plim_value v, int64_t dims[PLIM_MAX_RANK]) {
    const plim__value *value = value_at(g, v);
    if (!value) return -1;
    for (int i = 0; dims && i < value->shape.rank; i++) dims[i] = value->shape.dims[i];
    return value->shape.rank;
}

plim__tensor *plim__graph_tensor(const plim_graph *g, plim_value v) {
    const plim__value *value = value_at(g, v);
    return value ? value->tensor : NULL;
}

plim__tensor *plim__graph_constant_tensor(const plim_graph *g, plim_value v) {
    const plim__value *value = value_at(g, v);
    return value && value->kind == PLIM__VALUE_CONSTANT ? value->tensor : NULL;
}

const plim__attribute *plim__node_attribute(const plim__node *node, const char *name) {
    for (size_t i = 0; i < node->attributes.count; i++)
        if (strcmp(node->attributes.items[i].name, name) == 0) return &node->attributes.items[i];
    return NULL;
}

int64_t plim__node_int(const plim__node *node, const char *name, int64_t missing) {
    const plim__attribute *a = plim__node_attribute(node, name);
    return a && a->type == PLIM__ATTRIBUTE_INT ? a->i : missing;
}

float plim__node_float(const plim__node *node, const char *name, float missing) {
    const plim__attribute *a = plim__node_attribute(node, name);
    return a && a->type == PLIM__ATTRIBUTE_FLOAT ? a->f : missing;
}

const char *plim__node_string(const plim__node *node, const char *name, const char *missing) {
    const plim__attribute *a = plim__node_attribute(node, name);
    return a && a->type == PLIM__ATTRIBUTE_STRING ? a->s : missing;
}

const int64_t *plim__node_ints(const plim__node *node, const char *name, size_t *count) {
    const plim__attribute *a = plim__node_attribute(node, name);
    bool there = a && a->type == PLIM__ATTRIBUTE_INTS;
    *count = there ? a->length : 0;
    return there ? a->ints : NULL;
}

const float *plim__node_floats(const plim__node *node, const char *name, size_t *count) {
    const plim__attribute *a = plim__node_attribute(node, name);
    bool there = a && a->type == PLIM__ATTRIBUTE_FLOATS;
    *count = there ? a->length : 0;
    return there ? a->floats : NULL;
}
