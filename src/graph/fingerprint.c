/* What a model is, as one number. Names are part of it, since optimizer state belongs to names. */
#include <string.h>

#include "core/error.h"
#include "core/hash.h"
#include "graph/graph.h"

enum { SMALL = 1024 }; /* bytes of a constant that belongs to the structure: axes, shapes, scalars */

static void add_type(plim__hash *hash, plim_dtype dtype, const plim__shape *shape) {
    plim__hash_add_number(hash, (int64_t)dtype);
    plim__hash_add_number(hash, shape->rank);
    for (int i = 0; i < shape->rank; i++) /* symbols are numbered by chance */
        plim__hash_add_number(hash, shape->dims[i] < 0 ? -1 : shape->dims[i]);
}

static plim_status add_tensor(plim__hash *hash, const plim__tensor *tensor, plim_error *error) {
    unsigned char data[SMALL];
    add_type(hash, tensor->dtype, &tensor->shape);
    if (tensor->bytes > sizeof data) return PLIM_OK;
    PLIM_TRY(plim__tensor_read(tensor, data, error));
    plim__hash_add(hash, data, tensor->bytes);
    return PLIM_OK;
}

static plim_status add_attribute(plim__hash *hash, const plim__attribute *a, plim_error *error) {
    plim__hash_add_text(hash, a->name);
    plim__hash_add_number(hash, (int64_t)a->type);
    plim__hash_add_number(hash, a->i);
    plim__hash_add(hash, &a->f, sizeof a->f);
    plim__hash_add_number(hash, (int64_t)a->length);
    if (a->s) plim__hash_add(hash, a->s, a->length);
    if (a->ints) plim__hash_add(hash, a->ints, a->length * sizeof *a->ints);
    if (a->floats) plim__hash_add(hash, a->floats, a->length * sizeof *a->floats);
    for (size_t i = 0; a->strings && i < a->length; i++) plim__hash_add_text(hash, a->strings[i]);
    return a->tensor ? add_tensor(hash, a->tensor, error) : PLIM_OK;
}

static void add_names(plim__hash *hash, const plim_graph *g, const plim_value *values, size_t count) {
    plim__hash_add_number(hash, (int64_t)count);
    for (size_t i = 0; i < count; i++) plim__hash_add_text(hash, values[i] < 0 ? "" : g->values.items[values[i]].name);
}

static plim_status add_node(plim__hash *hash, const plim_graph *g, const plim__node *node, plim_error *error) {
    plim__hash_add_text(hash, node->domain);
    plim__hash_add_text(hash, node->op_name);
    plim__hash_add_number(hash, node->version);
    add_names(hash, g, node->inputs.items, node->inputs.count);
    add_names(hash, g, node->outputs.items, node->outputs.count);
    plim__hash_add_number(hash, (int64_t)node->attributes.count);
    for (size_t i = 0; i < node->attributes.count; i++)
        PLIM_TRY(add_attribute(hash, &node->attributes.items[i], error));
    return PLIM_OK;
}

static plim_status add_value(plim__hash *hash, const plim__value *value, plim_error *error) {
    plim__hash_add_text(hash, value->name);
    plim__hash_add_number(hash, (int64_t)value->kind);
    if (value->kind == PLIM__VALUE_CONSTANT && value->tensor) return add_tensor(hash, value->tensor, error);
    add_type(hash, value->dtype, &value->shape);
    return PLIM_OK;
}

/* A sum, since a file lists them in another order than the one they were made in. */
static plim_status add_values(plim__hash *hash, const plim_graph *g, const int32_t *uses, plim_error *error) {
    uint64_t sum = 0;
    for (size_t v = 0; v < g->values.count; v++) {
        const plim__value *value = &g->values.items[v];
        if (value->kind == PLIM__VALUE_NODE || (value->kind != PLIM__VALUE_INPUT && uses[v] == 0)) continue;
        plim__hash one = PLIM_HASH_START;
        PLIM_TRY(add_value(&one, value, error));
        sum += plim__hash_value(&one);
    }
    plim__hash_add_number(hash, (int64_t)sum);
    return PLIM_OK;
}

plim_status plim__graph_fingerprint(const plim_graph *g, uint64_t *fingerprint, plim_error *error) {
    PLIM_TRY(plim_graph_status(g, error));
    int32_t *uses = plim__graph_uses(g);
    if (!uses) return plim__fail_memory(error, "the fingerprint of a model", g->values.count * sizeof *uses);
    plim__hash hash = PLIM_HASH_START;
    plim_status status = add_values(&hash, g, uses, error);
    plim__free(uses);
    for (size_t n = 0; n < g->nodes.count && status == PLIM_OK; n++)
        if (!g->nodes.items[n].dead) status = add_node(&hash, g, &g->nodes.items[n], error);
    add_names(&hash, g, g->outputs.items, g->outputs.count);
    *fingerprint = plim__hash_value(&hash);
    return status;
}
