/* Losses over classes, and one step of an optimizer. */
#include <string.h>

#include "ops/op.h"

static bool is_real(plim_dtype dtype) {
    return dtype == PLIM_F32 || dtype == PLIM_F64 || dtype == PLIM_F16 || dtype == PLIM_BF16;
}

/* scores (N, C, ...), labels (N, ...), weights (C). loss: a scalar, or (N, ...) when nothing is reduced; log_prob
 * like the scores. */
plim_status plim__infer_class_loss(plim__infer *ctx) {
    const plim__shape *scores = plim__infer_shape(ctx, 0), *labels = plim__infer_shape(ctx, 1);
    plim_dtype dtype = plim__infer_dtype(ctx, 0), label_type = plim__infer_dtype(ctx, 1);
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    if (!is_real(dtype)) return plim__infer_fail(ctx, PLIM_DTYPE, "scores are %s", plim_dtype_name(dtype));
    if (label_type != PLIM_I32 && label_type != PLIM_I64)
        return plim__infer_fail(ctx, PLIM_DTYPE, "labels are %s, not int32 or int64", plim_dtype_name(label_type));
    plim__shape expected = {.rank = scores->rank - 1};
    for (int i = 0; i < expected.rank; i++) expected.dims[i] = scores->dims[i < 1 ? i : i + 1];
    if (scores->rank < 2 || !plim__shape_equal(&expected, labels))
        return plim__infer_fail(ctx, PLIM_SHAPE, "labels %s do not fit scores %s", plim__shape_text(labels, NULL, a),
                                plim__shape_text(scores, NULL, b));
    if (plim__infer_has(ctx, 2)) {
        const plim__shape *weights = plim__infer_shape(ctx, 2);
        if (weights->rank != 1 || weights->dims[0] != scores->dims[1])
            return plim__infer_fail(ctx, PLIM_SHAPE, "weights %s for %lld classes", plim__shape_text(weights, NULL, a),
                                    (long long)scores->dims[1]);
        if (plim__infer_dtype(ctx, 2) != dtype)
            return plim__infer_fail(ctx, PLIM_DTYPE, "weights are %s, scores %s",
                                    plim_dtype_name(plim__infer_dtype(ctx, 2)), plim_dtype_name(dtype));
    }
    const char *reduction = plim__node_string(ctx->node, "reduction", "mean");
    bool none = strcmp(reduction, "none") == 0;
    if (!none && strcmp(reduction, "mean") != 0 && strcmp(reduction, "sum") != 0)
        return plim__infer_fail(ctx, PLIM_CORRUPT, "reduction '%.40s' is none of none, mean, sum", reduction);
    plim__shape scalar = {.rank = 0};
    PLIM_TRY(plim__infer_output(ctx, 0, dtype, none ? labels : &scalar));
    return plim__infer_output(ctx, 1, dtype, scores);
}

/* Inputs: values for the tensors named in "xs", then for those in "zs". Output i is like input i. */
plim_status plim__infer_gradient_operator(plim__infer *ctx) {
    const plim__attribute *xs = plim__node_attribute(ctx->node, "xs"), *zs = plim__node_attribute(ctx->node, "zs");
    size_t targets = xs && xs->strings ? xs->length : 0, others = zs && zs->strings ? zs->length : 0;
    if (ctx->node->inputs.count != targets + others || ctx->node->outputs.count > targets)
        return plim__infer_fail(ctx, PLIM_CORRUPT, "%zu inputs and %zu outputs for %zu xs and %zu zs",
                                ctx->node->inputs.count, ctx->node->outputs.count, targets, others);
    for (size_t i = 0; i < targets; i++) {
        if (!plim__infer_has(ctx, i)) return plim__infer_fail(ctx, PLIM_CORRUPT, "input %zu is missing", i);
        if (!is_real(plim__infer_dtype(ctx, i)))
            return plim__infer_fail(ctx, PLIM_DTYPE, "input %zu is %s, which has no gradient", i,
                                    plim_dtype_name(plim__infer_dtype(ctx, i)));
        PLIM_TRY(plim__infer_output(ctx, i, plim__infer_dtype(ctx, i), plim__infer_shape(ctx, i)));
    }
    return PLIM_OK;
}

/* Inputs: rate, step, then n weights, n gradients and n of each kind of state. Outputs: n weights, n of each state. */
plim_status plim__infer_optimizer(plim__infer *ctx) {
    size_t kinds = (size_t)ctx->node->op->min_in - 2, inputs = ctx->node->inputs.count - 2, n = inputs / kinds;
    if (inputs % kinds != 0 || ctx->node->outputs.count != n * (kinds - 1))
        return plim__infer_fail(ctx, PLIM_CORRUPT,
                                "%zu tensors in and %zu out are not %zu in and %zu out for each weight", inputs,
                                ctx->node->outputs.count, kinds, kinds - 1);
    for (size_t i = 0; i < 2; i++)
        if (plim__shape_elements(plim__infer_shape(ctx, i)) != 1)
            return plim__infer_fail(ctx, PLIM_SHAPE, "input %zu is not one number", i);
    if (!is_real(plim__infer_dtype(ctx, 0)) || plim__infer_dtype(ctx, 1) != PLIM_I64)
        return plim__infer_fail(ctx, PLIM_DTYPE, "the rate must be a real number and the step an int64");
    for (size_t i = 2; i < ctx->node->inputs.count; i++) {
        size_t weight = 2 + (i - 2) % n;
        if (!plim__infer_has(ctx, i)) return plim__infer_fail(ctx, PLIM_CORRUPT, "input %zu is missing", i);
        if (!plim__shape_equal(plim__infer_shape(ctx, i), plim__infer_shape(ctx, weight)))
            return plim__infer_fail(ctx, PLIM_SHAPE, "input %zu has not the shape of its weight", i);
        if (plim__infer_dtype(ctx, i) != plim__infer_dtype(ctx, weight))
            return plim__infer_fail(ctx, PLIM_DTYPE, "input %zu has not the type of its weight", i);
    }
    for (size_t i = 0; i < ctx->node->outputs.count; i++)
        PLIM_TRY(plim__infer_output(ctx, i, plim__infer_dtype(ctx, 2 + i % n), plim__infer_shape(ctx, 2 + i % n)));
    return PLIM_OK;
}
