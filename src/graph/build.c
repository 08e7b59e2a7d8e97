/* Building graphs: values, nodes, attributes. The first failure sticks; later calls do nothing. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/str.h"
#include "graph/graph.h"

plim_graph *plim_graph_create(void) {
    plim_graph *g = plim__alloc_zero(1, sizeof *g);
    if (!g) return NULL;
    g->info.ir_version = 8;
    if (!plim__graph_set_opset(g, "", PLIM__DEFAULT_OPSET)) {
        plim_graph_free(g);
        return NULL;
    }
    return g;
}

void plim__attribute_free(plim__attribute *a) {
    plim__free(a->name);
    plim__free(a->s);
    plim__free(a->ints);
    plim__free(a->floats);
    for (size_t i = 0; a->strings && i < a->length; i++) plim__free(a->strings[i]);
    plim__free(a->strings);
    plim__tensor_release(a->tensor);
    plim_graph_free(a->graph);
    *a = (plim__attribute){0};
}

static void free_node(plim__node *node) {
    plim__free(node->name);
    plim__free(node->op_name);
    plim__free(node->domain);
    for (size_t i = 0; i < node->attributes.count; i++) plim__attribute_free(&node->attributes.items[i]);
    plim__vec_free(&node->attributes);
    plim__vec_free(&node->inputs);
    plim__vec_free(&node->outputs);
}

static void free_info(plim__model_info *info) {
    plim__free(info->producer_name);
    plim__free(info->producer_version);
    plim__free(info->model_domain);
    plim__free(info->doc);
    plim__free(info->graph_name);
    plim__free(info->signature);
    for (size_t i = 0; i < info->opsets.count; i++) plim__free(info->opsets.items[i].domain);
    plim__vec_free(&info->opsets);
    for (size_t i = 0; i < info->properties.count; i++) {
        plim__free(info->properties.items[i].key);
        plim__free(info->properties.items[i].value);
    }
    plim__vec_free(&info->properties);
}

void plim_graph_free(plim_graph *g) {
    if (!g) return;
    plim__readers_drop(g);
    for (size_t i = 0; i < g->values.count; i++) {
        plim__free(g->values.items[i].name);
        plim__tensor_release(g->values.items[i].tensor);
    }
    for (size_t i = 0; i < g->nodes.count; i++) free_node(&g->nodes.items[i]);
    for (size_t i = 0; i < g->symbols.count; i++) plim__free(g->symbols.items[i]);
    plim__vec_free(&g->values);
    plim__vec_free(&g->nodes);
    plim__vec_free(&g->inputs);
    plim__vec_free(&g->outputs);
    plim__vec_free(&g->symbols);
    plim__map_free(&g->names);
    for (size_t i = 0; i < g->remarks.count; i++) plim__free(g->remarks.items[i].text);
    plim__vec_free(&g->remarks);
    free_info(&g->info);
    plim__free(g);
}

plim_status plim_graph_status(const plim_graph *g, plim_error *error) {
    if (!g) return plim__fail_memory(error, "a graph", sizeof *g);
    if (g->failure.status != PLIM_OK && error) *error = g->failure;
    return g->failure.status;
}

#undef plim__graph_fail
plim_status plim__graph_fail(plim_graph *g, plim_status status, const char *format, ...) {
    if (g->failure.status != PLIM_OK) return g->failure.status;
    va_list args;
    va_start(args, format);
    vsnprintf(g->failure.message, sizeof g->failure.message, format, args);
    va_end(args);
    plim__error_clean(g->failure.message);
    return g->failure.status = status;
}

plim_status plim__graph_remark(plim_graph *g, plim_remark_kind kind, const char *format, ...) {
    plim__str text = {0};
    va_list args;
    va_start(args, format);
    plim__str_vaddf(&text, format, args);
    va_end(args);
    if (text.data) plim__error_clean(text.data);
    if (!text.failed && plim__vec_push(&g->remarks, (struct plim__remark){kind, text.data})) return PLIM_OK;
    plim__str_free(&text);
    return plim__graph_fail(g, PLIM_NO_MEMORY, "out of memory while reading the exporter's metadata");
}

static bool broken(const plim_graph *g) { return !g || g->failure.status != PLIM_OK; }

static bool no_memory(plim_graph *g) {
    plim__graph_fail(g, PLIM_NO_MEMORY, "out of memory while building the graph");
    return false;
}

/* An argument of the caller that makes no sense; -1, which is no value and no node. */
static int32_t misused(plim_graph *g, const char *function, const char *why) {
    plim__graph_fail(g, PLIM_INVALID, "%s: %s", function, why);
    return -1;
}

int64_t plim_graph_symbol(plim_graph *g, const char *name) {
    if (broken(g)) return -1;
    if (!name) return misused(g, __func__, "name is NULL");
    for (size_t i = 0; i < g->symbols.count; i++)
        if (strcmp(g->symbols.items[i], name) == 0) return -1 - (int64_t)i;
    char *copy = plim__strdup(name);
    if (!copy || !plim__vec_push(&g->symbols, copy)) {
        plim__free(copy);
        no_memory(g);
        return -1;
    }
    return -(int64_t)g->symbols.count;
}

const char *plim_graph_symbol_name(const plim_graph *g, int64_t dim) {
    return g && dim < 0 && (uint64_t)(-1 - dim) < g->symbols.count ? g->symbols.items[-1 - dim] : NULL;
}

plim_value plim__graph_add_value(plim_graph *g, const char *name, plim__value_kind kind, plim_dtype dtype,
                                 const plim__shape *shape) {
    if (broken(g)) return PLIM_NO_VALUE;
    char unique[32];
    if (!name || !*name) {
        size_t number = g->values.count;
        do snprintf(unique, sizeof unique, "v%zu", number++);
        while (plim__map_get(&g->names, unique, -1) >= 0);
        name = unique;
    } else if (plim__map_get(&g->names, name, -1) >= 0) {
        plim__graph_fail(g, PLIM_CORRUPT, "the value '%s' is defined twice", name);
        return PLIM_NO_VALUE;
    }
    plim__value value = {.name = plim__strdup(name), .kind = kind, .dtype = dtype, .shape = *shape, .producer = -1};
    plim_value id = (plim_value)g->values.count;
    if (!value.name || !plim__map_put(&g->names, name, id) || !plim__vec_push(&g->values, value)) {
        plim__map_remove(&g->names, name);
        plim__free(value.name);
        no_memory(g);
        return PLIM_NO_VALUE;
    }
    return id;
}

plim_value plim__graph_add_tensor(plim_graph *g, const char *name, plim__value_kind kind, plim__tensor *tensor) {
    plim_value id = tensor ? plim__graph_add_value(g, name, kind, tensor->dtype, &tensor->shape) : PLIM_NO_VALUE;
    if (id == PLIM_NO_VALUE)
        plim__tensor_release(tensor);
    else
        g->values.items[id].tensor = tensor;
    return id;
}

static bool check_dims(plim_graph *g, const char *name, int rank, const int64_t *dims, bool symbols) {
    if (rank < 0 || rank > PLIM_MAX_RANK) {
        plim__graph_fail(g, PLIM_UNSUPPORTED, "'%s' has rank %d; up to %d is supported", name, rank, PLIM_MAX_RANK);
        return false;
    }
    if (rank > 0 && !dims) {
        plim__graph_fail(g, PLIM_INVALID, "'%s' has rank %d, but dims is NULL", name, rank);
        return false;
    }
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0 && (!symbols || !plim_graph_symbol_name(g, dims[i]))) {
            plim__graph_fail(g, PLIM_SHAPE, "'%s' has a negative dimension %lld", name, (long long)dims[i]);
            return false;
        }
    return true;
}

plim_value plim_graph_input(plim_graph *g, const char *name, plim_dtype dtype, int rank, const int64_t *dims) {
    if (broken(g) || !check_dims(g, name ? name : "input", rank, dims, true)) return PLIM_NO_VALUE;
    if (dtype <= PLIM_DTYPE_NONE || dtype >= PLIM_DTYPE_COUNT) return misused(g, __func__, "dtype is none");
    plim__shape shape = plim__shape_of(rank, dims);
    plim_value id = plim__graph_add_value(g, name, PLIM__VALUE_INPUT, dtype, &shape);
    if (id != PLIM_NO_VALUE && !plim__vec_push(&g->inputs, id)) no_memory(g);
    return id;
}

static bool data_shape(plim_graph *g, const char *name, int rank, const int64_t *dims, plim__shape *shape) {
    if (broken(g) || !check_dims(g, name ? name : "constant", rank, dims, false)) return false;
    *shape = plim__shape_of(rank, dims);
    return true;
}

static plim_value add_data(plim_graph *g, const char *name, plim__value_kind kind, plim_dtype dtype,
                           const plim__shape *shape, const void *data) {
    plim__tensor *tensor;
    plim_error error;
    if (plim__tensor_create(dtype, shape, &tensor, &error) != PLIM_OK) {
        plim__graph_fail(g, error.status, "'%s': %s", name ? name : "constant", error.message);
        return PLIM_NO_VALUE;
    }
    if (data)
        memcpy(tensor->data, data, tensor->bytes);
    else
        memset(tensor->data, 0, tensor->bytes);
    return plim__graph_add_tensor(g, name, kind, tensor);
}

plim_value plim_graph_parameter(plim_graph *g, const char *name, plim_dtype dtype, int rank, const int64_t *dims,
                                const void *data) {
    plim__shape shape;
    if (!data_shape(g, name, rank, dims, &shape)) return PLIM_NO_VALUE;
    return add_data(g, name, PLIM__VALUE_PARAMETER, dtype, &shape, data);
}

plim_value plim_graph_constant(plim_graph *g, const char *name, plim_dtype dtype, int rank, const int64_t *dims,
                               const void *data) {
    plim__shape shape;
    if (!data_shape(g, name, rank, dims, &shape)) return PLIM_NO_VALUE;
    return add_data(g, name, PLIM__VALUE_CONSTANT, dtype, &shape, data);
}

plim_value plim_graph_parameter_take(plim_graph *g, const char *name, plim_dtype dtype, int rank, const int64_t *dims,
                                     void *data) {
    if (!broken(g) && !data) return misused(g, __func__, "data is NULL");
    if (broken(g) || !check_dims(g, name ? name : "parameter", rank, dims, false)) {
        plim__free(data);
        return PLIM_NO_VALUE;
    }
    plim__shape shape = plim__shape_of(rank, dims);
    plim__tensor *tensor;
    plim_error error;
    if (plim__tensor_take(dtype, &shape, data, &tensor, &error) != PLIM_OK) {
        plim__graph_fail(g, error.status, "'%s': %s", name ? name : "parameter", error.message);
        return PLIM_NO_VALUE;
    }
    return plim__graph_add_tensor(g, name, PLIM__VALUE_PARAMETER, tensor);
}

int32_t plim__graph_add_node(plim_graph *g, const char *domain, const char *op_name, const char *name, int version) {
    if (broken(g)) return -1;
    if (strcmp(domain, "ai.onnx") == 0) domain = "";
    plim__node node = {.version = version};
    node.name = plim__strdup(name ? name : "");
    node.op_name = plim__strdup(op_name);
    node.domain = plim__strdup(domain);
    if (!node.name || !node.op_name || !node.domain || !plim__vec_push(&g->nodes, node)) {
        free_node(&node);
        no_memory(g);
        return -1;
    }
    return (int32_t)g->nodes.count - 1;
}

plim_status plim__node_become(plim_graph *g, int32_t node, const char *op) {
    char *name = plim__strdup(op), *domain = plim__strdup(PLIM__DOMAIN);
    if (!name || !domain) {
        plim__free(name);
        plim__free(domain);
        no_memory(g);
        return g->failure.status;
    }
    plim__node *n = &g->nodes.items[node];
    plim__free(n->op_name);
    plim__free(n->domain);
    n->op_name = name;
    n->domain = domain;
    n->version = 1;
    n->op = NULL;
    return PLIM_OK;
}

bool plim__node_add_input(plim_graph *g, int32_t node, plim_value value) {
    if (broken(g) || node < 0) return false;
    if (!plim__vec_push(&g->nodes.items[node].inputs, value)) return no_memory(g);
    plim__readers_add(g, node, g->nodes.items[node].inputs.count - 1, value);
    return true;
}

bool plim__node_add_output(plim_graph *g, int32_t node, plim_value value) {
    if (broken(g) || node < 0) return false;
    if (value != PLIM_NO_VALUE) g->values.items[value].producer = node;
    return plim__vec_push(&g->nodes.items[node].outputs, value) || no_memory(g);
}

bool plim__node_set_attribute(plim_graph *g, int32_t node, plim__attribute attribute) {
    if (broken(g) || node < 0 || !attribute.name) {
        plim__attribute_free(&attribute);
        return !broken(g) && node >= 0 ? no_memory(g) : false;
    }
    plim__node *n = &g->nodes.items[node];
    for (size_t i = 0; i < n->attributes.count; i++)
        if (strcmp(n->attributes.items[i].name, attribute.name) == 0) {
            plim__attribute_free(&n->attributes.items[i]);
            n->attributes.items[i] = attribute;
            return true;
        }
    if (plim__vec_push(&n->attributes, attribute)) return true;
    plim__attribute_free(&attribute);
    return no_memory(g);
}

#define MOST_ENDS ((size_t)1 << 16) /* inputs or outputs of a node */

/* "domain::Name" or "Name". */
static int32_t add_named_node(plim_graph *g, const char *op, const char *name) {
    const char *colons = strstr(op, "::");
    if (!colons) return plim__graph_add_node(g, "", op, name, plim__graph_opset(g, ""));
    char domain[64];
    snprintf(domain, sizeof domain, "%.*s", (int)(colons - op), op);
    if (!plim__graph_opset(g, domain) && !plim__graph_set_opset(g, domain, 1)) return no_memory(g), -1;
    return plim__graph_add_node(g, domain, colons + 2, name, plim__graph_opset(g, domain));
}

int32_t plim__graph_node(plim_graph *g, const char *op, const char *name, const plim_value *inputs, size_t input_count,
                         size_t output_count) {
    if (broken(g)) return -1;
    for (size_t i = 0; i < input_count; i++)
        if (inputs[i] < PLIM_NO_VALUE || inputs[i] >= (plim_value)g->values.count) {
            plim__graph_fail(g, PLIM_INVALID, "input %zu of a %s node is not a value of this graph", i, op);
            return -1;
        }
    int32_t node = add_named_node(g, op, name);
    for (size_t i = 0; i < input_count; i++) plim__node_add_input(g, node, inputs[i]);
    for (size_t i = 0; node >= 0 && i < output_count; i++) {
        char text[256]; /* "conv1_output", or "Relu_17" for a node without a name */
        if (name && *name)
            snprintf(text, sizeof text, i ? "%s_output_%zu" : "%s_output", name, i);
        else
            snprintf(text, sizeof text, i ? "%s_%d_%zu" : "%s_%d", g->nodes.items[node].op_name, node, i);
        const char *value_name = plim__map_get(&g->names, text, -1) < 0 ? text : NULL;
        plim__node_add_output(
            g, node, plim__graph_add_value(g, value_name, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN));
    }
    return broken(g) ? -1 : node;
}

int32_t plim_graph_node(plim_graph *g, const char *op, const char *name, const plim_value *inputs, size_t input_count,
                        size_t output_count) {
    static const char own[] = PLIM__DOMAIN "::";
    if (broken(g)) return -1;
    if (!op) return misused(g, __func__, "op is NULL");
    if (input_count && !inputs) return misused(g, __func__, "inputs is NULL");
    if (input_count > MOST_ENDS || output_count > MOST_ENDS)
        return misused(g, __func__, "more inputs or outputs than any operator has");
    if (strncmp(op, own, strlen(own)) == 0) { /* they trust those who make them */
        plim__graph_fail(g, PLIM_UNSUPPORTED, "unsupported: operator %.100s, which only the library adds to graphs",
                         op);
        return -1;
    }
    return plim__graph_node(g, op, name, inputs, input_count, output_count);
}

plim_value plim_graph_node_output(const plim_graph *g, int32_t node, size_t index) {
    return broken(g) || node < 0 || (size_t)node >= g->nodes.count ? PLIM_NO_VALUE
                                                                   : plim__node_out(&g->nodes.items[node], index);
}

plim_value plim_graph_apply(plim_graph *g, const char *op, const plim_value *inputs, size_t count) {
    return plim_graph_node_output(g, plim_graph_node(g, op, NULL, inputs, count, 1), 0);
}

plim_value plim__graph_apply(plim_graph *g, const char *op, const plim_value *inputs, size_t count) {
    return plim_graph_node_output(g, plim__graph_node(g, op, NULL, inputs, count, 1), 0);
}

/* Whether an attribute can be set: the graph, the node and what is said of it are there. */
static bool can_set(plim_graph *g, int32_t node, const char *name, bool has_values) {
    if (broken(g)) return false;
    if (node < 0 || (size_t)node >= g->nodes.count)
        misused(g, "plim_graph_set", "an attribute of a node that is not there");
    else if (!name)
        misused(g, "plim_graph_set", "an attribute's name is NULL");
    else if (!has_values)
        plim__graph_fail(g, PLIM_INVALID, "plim_graph_set: the value of attribute '%s' is NULL", name);
    else
        return true;
    return false;
}

void plim_graph_set_int(plim_graph *g, int32_t node, const char *name, int64_t value) {
    if (!can_set(g, node, name, true)) return;
    plim__node_set_attribute(g, node,
                             (plim__attribute){.name = plim__strdup(name), .type = PLIM__ATTRIBUTE_INT, .i = value});
}

void plim_graph_set_float(plim_graph *g, int32_t node, const char *name, float value) {
    if (!can_set(g, node, name, true)) return;
    plim__node_set_attribute(g, node,
                             (plim__attribute){.name = plim__strdup(name), .type = PLIM__ATTRIBUTE_FLOAT, .f = value});
}

void plim_graph_set_string(plim_graph *g, int32_t node, const char *name, const char *value) {
    if (!can_set(g, node, name, value != NULL)) return;
    plim__attribute a = {
        .name = plim__strdup(name), .type = PLIM__ATTRIBUTE_STRING, .s = plim__strdup(value), .length = strlen(value)};
    if (!a.s) {
        plim__free(a.name);
        a.name = NULL;
    }
    plim__node_set_attribute(g, node, a);
}

void plim_graph_set_ints(plim_graph *g, int32_t node, const char *name, const int64_t *values, size_t count) {
    if (!can_set(g, node, name, values || !count)) return;
    plim__attribute a = {
        .type = PLIM__ATTRIBUTE_INTS, .length = count, .ints = plim__alloc_array(count, sizeof *values)};
    if (a.ints) {
        if (count) memcpy(a.ints, values, count * sizeof *values);
        a.name = plim__strdup(name);
    }
    plim__node_set_attribute(g, node, a);
}

void plim_graph_set_floats(plim_graph *g, int32_t node, const char *name, const float *values, size_t count) {
    if (!can_set(g, node, name, values || !count)) return;
    plim__attribute a = {
        .type = PLIM__ATTRIBUTE_FLOATS, .length = count, .floats = plim__alloc_array(count, sizeof *values)};
    if (a.floats) {
        if (count) memcpy(a.floats, values, count * sizeof *values);
        a.name = plim__strdup(name);
    }
    plim__node_set_attribute(g, node, a);
}

void plim_graph_set_strings(plim_graph *g, int32_t node, const char *name, const char *const *values, size_t count) {
    bool complete = values || !count;
    for (size_t i = 0; complete && i < count; i++) complete = values[i] != NULL;
    if (!can_set(g, node, name, complete)) return;
    plim__attribute a = {
        .type = PLIM__ATTRIBUTE_STRINGS, .length = count, .strings = plim__alloc_zero(count, sizeof *a.strings)};
    bool ok = a.strings != NULL;
    for (size_t i = 0; ok && i < count; i++) ok = (a.strings[i] = plim__strdup(values[i])) != NULL;
    if (ok) a.name = plim__strdup(name); /* without a name it fails below */
    plim__node_set_attribute(g, node, a);
}

void plim_graph_set_value_name(plim_graph *g, plim_value value, const char *name) {
    if (broken(g)) return;
    if (value < 0 || (size_t)value >= g->values.count || !name) {
        misused(g, __func__, name ? "this is not a value of the graph" : "name is NULL");
        return;
    }
    if (strcmp(g->values.items[value].name, name) == 0) return;
    if (plim__map_get(&g->names, name, -1) >= 0) {
        plim__graph_fail(g, PLIM_CORRUPT, "the value '%s' is defined twice", name);
        return;
    }
    char *copy = plim__strdup(name);
    if (!copy || !plim__map_put(&g->names, name, value)) {
        plim__free(copy);
        no_memory(g);
        return;
    }
    plim__map_remove(&g->names, g->values.items[value].name);
    plim__free(g->values.items[value].name);
    g->values.items[value].name = copy;
}

void plim_graph_output(plim_graph *g, plim_value value, const char *name) {
    if (broken(g)) return;
    if (value < 0 || (size_t)value >= g->values.count) {
        plim__graph_fail(g, PLIM_INVALID, "an output is not a value of this graph");
        return;
    }
    if (name) plim_graph_set_value_name(g, value, name);
    if (!broken(g) && !plim__vec_push(&g->outputs, value)) no_memory(g);
}

int plim__graph_opset(const plim_graph *g, const char *domain) {
    for (size_t i = 0; i < g->info.opsets.count; i++)
        if (strcmp(g->info.opsets.items[i].domain, domain) == 0) return (int)g->info.opsets.items[i].version;
    return 0;
}

bool plim__graph_set_opset(plim_graph *g, const char *domain, int64_t version) {
    for (size_t i = 0; i < g->info.opsets.count; i++)
        if (strcmp(g->info.opsets.items[i].domain, domain) == 0) {
            g->info.opsets.items[i].version = version;
            return true;
        }
    struct plim__opset row = {plim__strdup(domain), version};
    if (row.domain && plim__vec_push(&g->info.opsets, row)) return true;
    plim__free(row.domain);
    return false;
}
