/* Types and costs of updates, and the numbers in them. */
#include "ops/update.h"

#include <string.h>

#include "core/alloc.h"
#include "core/str.h"

void plim__update_set(plim_graph *g, int32_t node, const char *name, double value) {
    plim__attribute attribute = {.name = plim__strdup(name), .type = PLIM__ATTRIBUTE_TENSOR};
    plim_error error;
    if (plim__tensor_create(PLIM_F64, &(plim__shape){.rank = 0}, &attribute.tensor, &error) != PLIM_OK) {
        plim__free(attribute.name);
        plim__graph_fail(g, error.status, "%s", error.message);
        return;
    }
    memcpy(attribute.tensor->data, &value, sizeof value);
    plim__node_set_attribute(g, node, attribute);
}

double plim__update_get(const plim__node *node, const char *name) {
    const plim__attribute *attribute = plim__node_attribute(node, name);
    bool there = attribute && attribute->tensor && attribute->tensor->dtype == PLIM_F64 && attribute->tensor->data;
    return there ? plim__tensor_at(attribute->tensor, 0) : 0;
}

double plim__update_factor(const plim__node *node) {
    double factor = plim__update_get(node, "rate_factor");
    return factor != 0 ? factor : 1;
}

static plim_status check_persistent(plim__infer *ctx, size_t i) {
    plim__value_kind kind = ctx->graph->values.items[plim__node_in(ctx->node, i)].kind;
    if (kind == PLIM__VALUE_PARAMETER || kind == PLIM__VALUE_STATE || kind == PLIM__VALUE_SUM) return PLIM_OK;
    return plim__infer_fail(ctx, PLIM_INVALID, "'%s' is not persistent, so it cannot be changed",
                            ctx->graph->values.items[plim__node_in(ctx->node, i)].name);
}

static plim_status check_like(plim__infer *ctx, size_t i, size_t like) {
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    if (!plim__infer_has(ctx, i)) return plim__infer_fail(ctx, PLIM_CORRUPT, "input %zu is missing", i);
    if (plim__infer_dtype(ctx, i) != plim__infer_dtype(ctx, like))
        return plim__infer_fail(ctx, PLIM_DTYPE, "input %zu is %s, not %s", i,
                                plim_dtype_name(plim__infer_dtype(ctx, i)),
                                plim_dtype_name(plim__infer_dtype(ctx, like)));
    if (!plim__shape_equal(plim__infer_shape(ctx, i), plim__infer_shape(ctx, like)))
        return plim__infer_fail(ctx, PLIM_SHAPE, "input %zu has the shape %s, not %s", i,
                                plim__shape_text(plim__infer_shape(ctx, i), NULL, a),
                                plim__shape_text(plim__infer_shape(ctx, like), NULL, b));
    return PLIM_OK;
}

plim_status plim__infer_assign(plim__infer *ctx) {
    PLIM_TRY(check_persistent(ctx, 0));
    return check_like(ctx, 1, 0);
}

static plim_status check_number(plim__infer *ctx, size_t i, plim_dtype dtype, int64_t count) {
    if (plim__infer_has(ctx, i) && plim__infer_dtype(ctx, i) == dtype &&
        plim__shape_elements(plim__infer_shape(ctx, i)) == count)
        return PLIM_OK;
    return plim__infer_fail(ctx, PLIM_SHAPE, "input %zu must be %lld %s", i, (long long)count, plim_dtype_name(dtype));
}

/* {learning rate, number}, the scale, and a tensor in single precision. */
static plim_status check_common(plim__infer *ctx) {
    PLIM_TRY(check_number(ctx, PLIM__UPDATE_RATE, PLIM_F64, 2));
    if (plim__infer_has(ctx, PLIM__UPDATE_SCALE)) PLIM_TRY(check_number(ctx, PLIM__UPDATE_SCALE, PLIM_F32, 1));
    if (!plim__infer_has(ctx, 2)) return plim__infer_fail(ctx, PLIM_CORRUPT, "input 2 is missing");
    if (plim__infer_dtype(ctx, 2) != PLIM_F32)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator %s with %s", ctx->node->op_name,
                                plim_dtype_name(plim__infer_dtype(ctx, 2)));
    return PLIM_OK;
}

plim_status plim__infer_update(plim__infer *ctx) {
    PLIM_TRY(check_common(ctx));
    PLIM_TRY(check_persistent(ctx, PLIM__UPDATE_PARAMETER));
    PLIM_TRY(check_like(ctx, PLIM__UPDATE_GRADIENT, PLIM__UPDATE_PARAMETER));
    for (size_t i = PLIM__UPDATE_STATES; i < ctx->node->inputs.count; i++) {
        PLIM_TRY(check_like(ctx, i, PLIM__UPDATE_PARAMETER));
        PLIM_TRY(check_persistent(ctx, i));
    }
    return PLIM_OK;
}

plim_status plim__infer_update8(plim__infer *ctx) {
    PLIM_TRY(check_common(ctx));
    PLIM_TRY(check_persistent(ctx, PLIM__UPDATE_PARAMETER));
    PLIM_TRY(check_like(ctx, PLIM__UPDATE_GRADIENT, PLIM__UPDATE_PARAMETER));
    int64_t elements = plim__shape_elements(plim__infer_shape(ctx, PLIM__UPDATE_PARAMETER));
    for (size_t i = PLIM__UPDATE_STATES; i < ctx->node->inputs.count; i += 2) {
        PLIM_TRY(check_number(ctx, i, PLIM_U8, elements));
        PLIM_TRY(check_number(ctx, i + 1, PLIM_F32, plim__state8_blocks(elements)));
        PLIM_TRY(check_persistent(ctx, i));
        PLIM_TRY(check_persistent(ctx, i + 1));
    }
    return PLIM_OK;
}

static const plim__shape one_number = {.rank = 0};

plim_status plim__infer_gradient_squares(plim__infer *ctx) {
    if (plim__infer_dtype(ctx, 0) != PLIM_F32)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator %s with %s", ctx->node->op_name,
                                plim_dtype_name(plim__infer_dtype(ctx, 0)));
    return plim__infer_output(ctx, 0, PLIM_F64, &one_number);
}

plim_status plim__infer_gradient_scale(plim__infer *ctx) {
    if (plim__infer_has(ctx, 0)) PLIM_TRY(check_number(ctx, 0, PLIM_F32, 1));
    for (size_t i = 1; i < ctx->node->inputs.count; i++) PLIM_TRY(check_number(ctx, i, PLIM_F64, 1));
    return plim__infer_output(ctx, 0, PLIM_F32, &one_number);
}

plim__shape plim__adafactor_state(const plim__shape *gradient, int state) {
    plim__shape shape = *gradient;
    if (shape.rank > 1) shape.dims[state == 0 ? shape.rank - 1 : shape.rank - 2] = 1;
    return shape;
}

plim_status plim__infer_adafactor_direction(plim__infer *ctx) {
    PLIM_TRY(check_common(ctx));
    const plim__shape *gradient = plim__infer_shape(ctx, 2);
    int states = (int)ctx->node->inputs.count - 3;
    if (states != (gradient->rank > 1 ? 2 : 1)) return plim__infer_fail(ctx, PLIM_CORRUPT, "%d states", states);
    for (int i = 0; i < states; i++) {
        plim__shape expected = plim__adafactor_state(gradient, i);
        PLIM_TRY(check_number(ctx, 3 + (size_t)i, PLIM_F32, plim__shape_elements(&expected)));
        PLIM_TRY(check_persistent(ctx, 3 + (size_t)i));
    }
    PLIM_TRY(plim__infer_output(ctx, 0, PLIM_F32, gradient));
    return plim__infer_output(ctx, 1, PLIM_F64, &one_number);
}

plim_status plim__infer_adafactor_update(plim__infer *ctx) {
    PLIM_TRY(check_number(ctx, 0, PLIM_F64, 2));
    PLIM_TRY(check_number(ctx, 1, PLIM_F64, 1));
    PLIM_TRY(check_persistent(ctx, 2));
    return check_like(ctx, 3, 2);
}

/* Everything is read once; parameters and state are written once. */
void plim__cost_update(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    for (size_t i = 0; i < node->inputs.count; i++) {
        if (node->inputs.items[i] < 0) continue;
        const plim__value *value = &g->values.items[node->inputs.items[i]];
        size_t bytes = 0;
        plim__shape_bytes(&value->shape, value->dtype, &bytes, NULL);
        cost->flops += (value->dtype == PLIM_U8 ? 16 : 4) * (double)plim__shape_elements(&value->shape);
        if (value->kind == PLIM__VALUE_STATE || value->kind == PLIM__VALUE_PARAMETER || value->kind == PLIM__VALUE_SUM)
            cost->bytes += (double)bytes;
    }
}
