/* Weights by name, matched with the graph they belong to. */
#include "format/weights.h"

#include <inttypes.h>

#include "core/error.h"

plim_status plim__weight_bytes(const plim__weight *weight, size_t *bytes, plim_error *error) {
    plim_status status = plim__shape_bytes(&weight->shape, weight->dtype, bytes, error);
    return status == PLIM_OK ? PLIM_OK : plim__fail_context(error, status, "the weight '%.200s'", weight->name);
}

plim_status plim__weights_scratch(const plim__weights *weights, size_t *bytes, plim_error *error) {
    *bytes = 0;
    for (size_t i = 0; i < weights->count; i++) {
        size_t need;
        PLIM_TRY(plim__weight_bytes(&weights->items[i], &need, error));
        if (need > *bytes && !(weights->view && weights->view(weights->context, i))) *bytes = need;
    }
    return PLIM_OK;
}

plim_status plim__weights_data(const plim__weights *weights, size_t index, void *scratch, const void **data,
                               plim_error *error) {
    *data = weights->view ? weights->view(weights->context, index) : NULL;
    if (*data) return PLIM_OK;
    PLIM_TRY(weights->read(weights->context, index, scratch, error));
    *data = scratch;
    return PLIM_OK;
}

/* --- beside a graph ------------------------------------------------------------------------------------------- */

static plim_status match_one(const plim_graph *g, const plim__weight *weight, plim_value *value, plim_error *error) {
    *value = plim_graph_find(g, weight->name);
    const plim__value *found = *value < 0 ? NULL : &g->values.items[*value];
    if (!found || !found->tensor)
        return plim__fail(error, PLIM_INVALID, "the model has no weight '%.200s'", weight->name);
    const plim__tensor *tensor = found->tensor;
    if (tensor->dtype == weight->dtype && plim__shape_equal(&tensor->shape, &weight->shape)) return PLIM_OK;
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    return plim__fail(error, PLIM_INVALID, "the weight '%.200s' is %s%s in the model, not %s%s", weight->name,
                      plim_dtype_name(tensor->dtype), plim__shape_text(&tensor->shape, g, a),
                      plim_dtype_name(weight->dtype), plim__shape_text(&weight->shape, g, b));
}

plim_status plim__weights_match(const plim_graph *g, const plim__weights *weights, size_t **indices,
                                plim_error *error) {
    *indices = plim__alloc_array(g->values.count, sizeof **indices);
    if (!*indices) return plim__fail_memory(error, "the order of weights", g->values.count * sizeof **indices);
    for (size_t v = 0; v < g->values.count; v++) (*indices)[v] = PLIM__NO_WEIGHT;
    plim_status status = PLIM_OK;
    for (size_t i = 0; i < weights->count && status == PLIM_OK; i++) {
        plim_value value;
        status = match_one(g, &weights->items[i], &value, error);
        if (status != PLIM_OK) break;
        if ((*indices)[value] != PLIM__NO_WEIGHT)
            status = plim__fail(error, PLIM_INVALID, "the weight '%.200s' is given twice", weights->items[i].name);
        (*indices)[value] = i;
    }
    if (status == PLIM_OK) return PLIM_OK;
    plim__free(*indices);
    *indices = NULL;
    return status;
}

static size_t index_of(const plim__graph_weights *made, size_t item) {
    return made->indices ? made->indices[made->values[item]] : PLIM__NO_WEIGHT;
}

static const void *view(void *context, size_t item) {
    const plim__graph_weights *made = context;
    size_t index = index_of(made, item);
    if (index == PLIM__NO_WEIGHT) return made->g->values.items[made->values[item]].tensor->data;
    return made->changed->view ? made->changed->view(made->changed->context, index) : NULL;
}

static plim_status read_weight(void *context, size_t item, void *dense, plim_error *error) {
    const plim__graph_weights *made = context;
    size_t index = index_of(made, item);
    if (index == PLIM__NO_WEIGHT)
        return plim__tensor_read(made->g->values.items[made->values[item]].tensor, dense, error);
    return made->changed->read(made->changed->context, index, dense, error);
}

plim_status plim__graph_weights_make(plim__graph_weights *made, const plim_graph *g, const plim__weights *changed,
                                     plim_error *error) {
    *made = (plim__graph_weights){.g = g, .changed = changed};
    if (changed) PLIM_TRY(plim__weights_match(g, changed, &made->indices, error));
    int32_t *uses = plim__graph_uses(g);
    made->items = plim__alloc_array(g->values.count, sizeof *made->items);
    made->values = plim__alloc_array(g->values.count, sizeof *made->values);
    if (!uses || !made->items || !made->values) {
        plim__free(uses);
        plim__graph_weights_free(made);
        return plim__fail_memory(error, "a list of weights", g->values.count * sizeof *made->items);
    }
    size_t count = 0;
    for (size_t v = 0; v < g->values.count; v++) {
        const plim__value *value = &g->values.items[v];
        if (value->kind != PLIM__VALUE_PARAMETER || !value->tensor || uses[v] == 0) continue;
        made->values[count] = (plim_value)v;
        made->items[count++] = (plim__weight){value->name, value->tensor->dtype, value->tensor->shape};
    }
    plim__free(uses);
    made->weights = (plim__weights){made->items, count, made, view, read_weight};
    return PLIM_OK;
}

void plim__graph_weights_free(plim__graph_weights *made) {
    plim__free(made->indices);
    plim__free(made->items);
    plim__free(made->values);
    *made = (plim__graph_weights){0};
}
