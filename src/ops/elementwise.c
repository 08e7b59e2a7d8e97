/* Shapes and types of elementwise operators. */
#include "ops/expand.h"

#include <string.h>

static plim_status not_broadcastable(plim__infer *ctx, const plim__shape *a, const plim__shape *b) {
    char left[PLIM_SHAPE_TEXT], right[PLIM_SHAPE_TEXT];
    return plim__infer_fail(ctx, PLIM_SHAPE, "shapes %s and %s do not broadcast", plim__shape_text(a, NULL, left),
                            plim__shape_text(b, NULL, right));
}

/* The second input's axes match the first's from `axis` on; each is the same or 1. */
static plim_status check_aligned(plim__infer *ctx, const plim__shape *a, const plim__shape *b) {
    int axis;
    if (!plim__axis_normalize(plim__node_int(ctx->node, "axis", 0), a->rank, &axis) || axis + b->rank > a->rank)
        return not_broadcastable(ctx, a, b);
    for (int i = 0; i < b->rank; i++)
        if (b->dims[i] != 1 && b->dims[i] != a->dims[axis + i]) return not_broadcastable(ctx, a, b);
    return PLIM_OK;
}

/* Two inputs as opsets before 7 (`broadcast`, `axis`) and since then combine them. */
static plim_status broadcast_shape(plim__infer *ctx, plim__shape *shape) {
    const plim__shape *a = plim__infer_shape(ctx, 0), *b = plim__infer_shape(ctx, 1);
    *shape = *a;
    if (ctx->node->version < 7 && plim__node_attribute(ctx->node, "axis") && plim__node_int(ctx->node, "broadcast", 0))
        return check_aligned(ctx, a, b);
    if (!plim__shape_broadcast(a, b, shape)) return not_broadcastable(ctx, a, b);
    return PLIM_OK;
}

plim_status plim__infer_binary(plim__infer *ctx) {
    plim__shape shape;
    PLIM_TRY(plim__infer_same_types(ctx, 0, 1));
    PLIM_TRY(broadcast_shape(ctx, &shape));
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

/* The exponent may have another type. */
plim_status plim__infer_pow(plim__infer *ctx) {
    plim__shape shape;
    PLIM_TRY(broadcast_shape(ctx, &shape));
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

plim_status plim__infer_compare(plim__infer *ctx) {
    plim__shape shape;
    PLIM_TRY(plim__infer_same_types(ctx, 0, 1));
    PLIM_TRY(broadcast_shape(ctx, &shape));
    return plim__infer_output(ctx, 0, PLIM_BOOL, &shape);
}

plim_status plim__infer_logic(plim__infer *ctx) {
    if (plim__infer_dtype(ctx, 0) != PLIM_BOOL)
        return plim__infer_fail(ctx, PLIM_DTYPE, "inputs are %s, expected bool",
                                plim_dtype_name(plim__infer_dtype(ctx, 0)));
    return ctx->node->inputs.count > 1 ? plim__infer_compare(ctx) : plim__infer_same(ctx);
}

plim_status plim__infer_question(plim__infer *ctx) {
    return plim__infer_output(ctx, 0, PLIM_BOOL, plim__infer_shape(ctx, 0));
}

/* The slope broadcasts to the input; before opset 7 a vector is one slope a channel. */
plim_status plim__infer_prelu(plim__infer *ctx) {
    const plim__shape *x = plim__infer_shape(ctx, 0), *slope = plim__infer_shape(ctx, 1);
    plim__shape shape;
    PLIM_TRY(plim__infer_same_types(ctx, 0, 1));
    bool by_channel = ctx->node->version < 7 && slope->rank == 1 && x->rank > 1;
    bool fits = by_channel ? slope->dims[0] == 1 || slope->dims[0] == x->dims[1]
                           : plim__shape_broadcast(x, slope, &shape) && plim__shape_equal(x, &shape);
    return fits ? plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), x) : not_broadcastable(ctx, x, slope);
}

plim_status plim__infer_where(plim__infer *ctx) {
    plim__shape shape;
    PLIM_TRY(plim__infer_same_types(ctx, 1, 2));
    if (plim__infer_dtype(ctx, 0) != PLIM_BOOL)
        return plim__infer_fail(ctx, PLIM_DTYPE, "the condition is %s, expected bool",
                                plim_dtype_name(plim__infer_dtype(ctx, 0)));
    if (!plim__shape_broadcast(plim__infer_shape(ctx, 1), plim__infer_shape(ctx, 2), &shape))
        return not_broadcastable(ctx, plim__infer_shape(ctx, 1), plim__infer_shape(ctx, 2));
    plim__shape values = shape;
    if (!plim__shape_broadcast(plim__infer_shape(ctx, 0), &values, &shape))
        return not_broadcastable(ctx, plim__infer_shape(ctx, 0), &values);
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 1), &shape);
}

/* Bounds that are inputs have one element and the type of the data. */
plim_status plim__infer_clip(plim__infer *ctx) {
    for (size_t i = 1; i < 3; i++) {
        if (!plim__infer_has(ctx, i)) continue;
        PLIM_TRY(plim__infer_same_types(ctx, 0, i));
        if (plim__shape_elements(plim__infer_shape(ctx, i)) != 1)
            return plim__infer_fail(ctx, PLIM_SHAPE, "input %zu is not a scalar", i);
    }
    return plim__infer_same(ctx);
}

/* `to` is a number, or before opset 6 a word. */
plim_status plim__infer_cast(plim__infer *ctx) {
    const char *word = plim__node_string(ctx->node, "to", NULL);
    int64_t to = word ? plim_dtype_from_name(word) : plim__node_int(ctx->node, "to", PLIM_DTYPE_NONE);
    if (to <= PLIM_DTYPE_NONE || to >= PLIM_DTYPE_COUNT)
        return plim__infer_fail(ctx, PLIM_CORRUPT, "'to' is not an element type");
    return plim__infer_output(ctx, 0, (plim_dtype)to, plim__infer_shape(ctx, 0));
}

/* Of a constant it is a Cast, and a constant too: only the type of the other input counts, whatever computes it. */
plim_status plim__infer_cast_like(plim__infer *ctx) {
    if (plim__graph_constant_tensor(ctx->graph, plim__node_in(ctx->node, 0))) {
        plim_value x = plim__node_in(ctx->node, 0);
        plim_dtype dtype = plim__infer_dtype(ctx, 1);
        plim__expand e = plim__expand_begin(ctx);
        plim_value cast = plim__expand_cast(&e, x, dtype);
        return plim__expand_end(&e, &cast, 1);
    }
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 1), plim__infer_shape(ctx, 0));
}
