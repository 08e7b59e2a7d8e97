/* Losses that training adds to a model: shapes. */
#include <math.h>

#include "ops/op.h"

/* A number for each of the first axes of `shape`. */
static plim_status check_rows(plim__infer *ctx, size_t input, const plim__shape *shape, const char *what) {
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    const plim__shape *rows = plim__infer_shape(ctx, input);
    bool fits = plim__infer_dtype(ctx, input) == PLIM_F32 && rows->rank <= shape->rank;
    for (int i = 0; fits && i < rows->rank; i++) fits = rows->dims[i] == shape->dims[i];
    return fits ? PLIM_OK
                : plim__infer_fail(ctx, PLIM_SHAPE, "%s %s %s", plim__shape_text(rows, NULL, a), what,
                                   plim__shape_text(shape, NULL, b));
}

/* scores with classes on attribute "axis", targets without that axis, weights (C), weights of the targets' first axes → loss,
 * weight, correct: scalars;
 * (2, targets): the peak of each position and the sum of e^(x - peak). */
plim_status plim__infer_cross_entropy(plim__infer *ctx) {
    const plim__shape *x = plim__infer_shape(ctx, 0), *t = plim__infer_shape(ctx, 1);
    int axis = (int)plim__node_int(ctx->node, "axis", 1), rank = x->rank;
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    if (plim__infer_dtype(ctx, 0) != PLIM_F32)
        return plim__infer_fail(ctx, PLIM_DTYPE, "scores are %s, not float32",
                                plim_dtype_name(plim__infer_dtype(ctx, 0)));
    if (plim__infer_dtype(ctx, 1) != PLIM_I64 && plim__infer_dtype(ctx, 1) != PLIM_I32)
        return plim__infer_fail(ctx, PLIM_DTYPE, "targets are %s, not int32 or int64",
                                plim_dtype_name(plim__infer_dtype(ctx, 1)));
    if (axis < 0 || axis >= rank) return plim__infer_fail(ctx, PLIM_SHAPE, "the scores have no axis %d", axis);
    plim__shape expected = {.rank = rank - 1}, kept = {.rank = rank, .dims = {2}}, scalar = {.rank = 0};
    for (int i = 0; i < rank - 1; i++) expected.dims[i] = kept.dims[i + 1] = x->dims[i < axis ? i : i + 1];
    if (!plim__shape_equal(&expected, t))
        return plim__infer_fail(ctx, PLIM_SHAPE, "targets %s do not fit scores %s", plim__shape_text(t, NULL, a),
                                plim__shape_text(x, NULL, b));
    if (plim__infer_has(ctx, 2)) {
        const plim__shape *w = plim__infer_shape(ctx, 2);
        if (w->rank != 1 || w->dims[0] != x->dims[axis] || plim__infer_dtype(ctx, 2) != PLIM_F32)
            return plim__infer_fail(ctx, PLIM_SHAPE, "class weights %s for %lld classes", plim__shape_text(w, NULL, a),
                                    (long long)x->dims[axis]);
    }
    if (plim__infer_has(ctx, 3)) PLIM_TRY(check_rows(ctx, 3, t, "cannot weigh targets"));
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__infer_output(ctx, i, PLIM_F32, &scalar));
    return plim__infer_output(ctx, 3, PLIM_F32, &kept);
}

/* x (..., K), w (K, C) or with transB (C, K), targets with an element for each row of x, bias and class weights (C) →
 * loss, weight, correct: scalars; (2, rows) as above. */
plim_status plim__infer_linear_cross_entropy(plim__infer *ctx) {
    const plim__shape *x = plim__infer_shape(ctx, 0), *w = plim__infer_shape(ctx, 1), *t = plim__infer_shape(ctx, 2);
    bool turned = plim__node_int(ctx->node, "transB", 0) != 0;
    if (plim__infer_dtype(ctx, 0) != PLIM_F32 || plim__infer_dtype(ctx, 1) != PLIM_F32)
        return plim__infer_fail(ctx, PLIM_DTYPE, "the factors are not float32");
    if (plim__infer_dtype(ctx, 2) != PLIM_I64 && plim__infer_dtype(ctx, 2) != PLIM_I32)
        return plim__infer_fail(ctx, PLIM_DTYPE, "targets are not int32 or int64");
    if (x->rank < 2 || w->rank != 2 || x->dims[x->rank - 1] != w->dims[turned ? 1 : 0])
        return plim__infer_fail(ctx, PLIM_SHAPE, "the factors do not fit");
    int64_t rows = plim__shape_product(x, 0, x->rank - 1), classes = w->dims[turned ? 0 : 1];
    if (plim__shape_elements(t) != rows) return plim__infer_fail(ctx, PLIM_SHAPE, "targets do not fit the rows");
    for (size_t i = 3; i < 5; i++)
        if (plim__infer_has(ctx, i) && (plim__infer_dtype(ctx, i) != PLIM_F32 || plim__infer_shape(ctx, i)->rank != 1 ||
                                        plim__infer_shape(ctx, i)->dims[0] != classes))
            return plim__infer_fail(ctx, PLIM_SHAPE, "input %zu is not a float32 for each class", i);
    plim__shape scalar = {.rank = 0}, kept = {.rank = 2, .dims = {2, rows}};
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__infer_output(ctx, i, PLIM_F32, &scalar));
    return plim__infer_output(ctx, 3, PLIM_F32, &kept);
}

/* dx, dw, dbias like x, w and bias. */
plim_status plim__infer_linear_cross_entropy_grad(plim__infer *ctx) {
    static const size_t like[] = {0, 1, 6};
    for (size_t i = 0; i < 3; i++)
        if (plim__infer_has(ctx, like[i]))
            PLIM_TRY(plim__infer_output(ctx, i, PLIM_F32, plim__infer_shape(ctx, like[i])));
    return PLIM_OK;
}

/* loss, weight, correct: scalars; dx, dw, dbias like x, w and bias. */
plim_status plim__infer_linear_cross_entropy_train(plim__infer *ctx) {
    static const size_t like[] = {0, 1, 3};
    PLIM_TRY(plim__infer_linear_cross_entropy(ctx));
    for (size_t i = 0; i < 3; i++)
        if (plim__infer_has(ctx, like[i]))
            PLIM_TRY(plim__infer_output(ctx, 3 + i, PLIM_F32, plim__infer_shape(ctx, like[i])));
    return PLIM_OK;
}

/* One product for s, which backward computes again, and one for each of dx and dw. Every chunk of rows reads w again, and
 * reads and writes dw. */
void plim__cost_linear_cross_entropy(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    const plim__shape *x = &g->values.items[node->inputs.items[0]].shape,
                      *w = &g->values.items[node->inputs.items[1]].shape;
    double products = 1, passes = 1, rows = (double)plim__shape_product(x, 0, x->rank - 1);
    double chunks = ceil(rows / fmax(1, (double)plim__node_int(node, "chunk", 1)));
    for (size_t i = 0; i < node->outputs.count; i++) { /* dx and dw are the outputs like x and w */
        plim_value v = node->outputs.items[i];
        if (v < 0) continue;
        bool dx = plim__shape_equal(&g->values.items[v].shape, x), dw = plim__shape_equal(&g->values.items[v].shape, w);
        products += dx || dw;
        passes += dw ? 2 : dx;
    }
    cost->flops = products * 2 * rows * (double)plim__shape_elements(w);
    cost->bytes += fmax(0, chunks - 1) * passes * (double)plim__shape_elements(w) * sizeof(float);
}

/* scores and targets of the same shape, how many of the first elements count (int64, all where it is not given), which of
 * them (1 or 0 for their first axes), and their weights (for their first axes) → scalars. */
plim_status plim__infer_element_loss(plim__infer *ctx) {
    const plim__shape *x = plim__infer_shape(ctx, 0), *t = plim__infer_shape(ctx, 1);
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    if (plim__infer_dtype(ctx, 0) != PLIM_F32 || plim__infer_dtype(ctx, 1) != PLIM_F32)
        return plim__infer_fail(ctx, PLIM_DTYPE, "scores are %s and targets %s, not float32",
                                plim_dtype_name(plim__infer_dtype(ctx, 0)), plim_dtype_name(plim__infer_dtype(ctx, 1)));
    if (!plim__shape_equal(x, t))
        return plim__infer_fail(ctx, PLIM_SHAPE, "targets %s do not fit scores %s", plim__shape_text(t, NULL, a),
                                plim__shape_text(x, NULL, b));
    if (plim__infer_has(ctx, 2) &&
        (plim__infer_dtype(ctx, 2) != PLIM_I64 || plim__shape_elements(plim__infer_shape(ctx, 2)) != 1))
        return plim__infer_fail(ctx, PLIM_SHAPE, "how many elements count is not one int64");
    if (plim__infer_has(ctx, 3)) PLIM_TRY(check_rows(ctx, 3, x, "cannot say which count of the scores"));
    if (plim__infer_has(ctx, 4)) PLIM_TRY(check_rows(ctx, 4, x, "cannot weigh the scores"));
    plim__shape scalar = {.rank = 0};
    PLIM_TRY(plim__infer_output(ctx, 1, PLIM_F32, &scalar));
    return plim__infer_output(ctx, 0, PLIM_F32, &scalar);
}
