/* Matrix products: MatMul, Gemm. */
#include "ops/op.h"

plim_status plim__infer_matmul(plim__infer *ctx) {
    plim__shape a = *plim__infer_shape(ctx, 0), b = *plim__infer_shape(ctx, 1), out;
    char left[PLIM_SHAPE_TEXT], right[PLIM_SHAPE_TEXT];
    PLIM_TRY(plim__infer_same_types(ctx, 0, 1));
    if (a.rank == 0 || b.rank == 0) return plim__infer_fail(ctx, PLIM_SHAPE, "a scalar has no matrix product");
    bool row = a.rank == 1, column = b.rank == 1; /* vectors gain an axis that the result loses again */
    int64_t k = a.dims[a.rank - 1], other = column ? b.dims[0] : b.dims[b.rank - 2];
    if (k != other)
        return plim__infer_fail(ctx, PLIM_SHAPE, "%s and %s have no matrix product", plim__shape_text(&a, NULL, left),
                                plim__shape_text(&b, NULL, right));
    plim__shape batch_a = {.rank = row ? 0 : a.rank - 2}, batch_b = {.rank = column ? 0 : b.rank - 2};
    for (int i = 0; i < batch_a.rank; i++) batch_a.dims[i] = a.dims[i];
    for (int i = 0; i < batch_b.rank; i++) batch_b.dims[i] = b.dims[i];
    if (!plim__shape_broadcast(&batch_a, &batch_b, &out))
        return plim__infer_fail(ctx, PLIM_SHAPE, "the batches of %s and %s do not broadcast",
                                plim__shape_text(&a, NULL, left), plim__shape_text(&b, NULL, right));
    if (!row) out.dims[out.rank++] = a.dims[a.rank - 2];
    if (!column) out.dims[out.rank++] = b.dims[b.rank - 1];
    if (plim__infer_dtype(ctx, 0) != plim__infer_dtype(ctx, 1))
        return plim__infer_fail(ctx, PLIM_DTYPE, "the factors have different types");
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &out);
}

void plim__cost_matmul(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    const plim__shape *a = &g->values.items[node->inputs.items[0]].shape;
    cost->flops *= 2.0 * (double)a->dims[a->rank - 1];
}

plim_status plim__infer_gemm(plim__infer *ctx) {
    const plim__shape *a = plim__infer_shape(ctx, 0), *b = plim__infer_shape(ctx, 1);
    bool ta = plim__node_int(ctx->node, "transA", 0) != 0, tb = plim__node_int(ctx->node, "transB", 0) != 0;
    PLIM_TRY(plim__infer_same_types(ctx, 0, 1));
    PLIM_TRY(plim__infer_same_types(ctx, 0, 2));
    if (a->rank != 2 || b->rank != 2)
        return plim__infer_fail(ctx, PLIM_SHAPE, "the factors have ranks %d and %d, expected 2", a->rank, b->rank);
    if (a->dims[ta ? 0 : 1] != b->dims[tb ? 1 : 0])
        return plim__infer_fail(ctx, PLIM_SHAPE, "the factors do not fit: inner sizes %lld and %lld",
                                (long long)a->dims[ta ? 0 : 1], (long long)b->dims[tb ? 1 : 0]);
    plim__shape out = {.rank = 2, .dims = {a->dims[ta ? 1 : 0], b->dims[tb ? 0 : 1]}}, sum;
    if (plim__infer_has(ctx, 2) &&
        (!plim__shape_broadcast(&out, plim__infer_shape(ctx, 2), &sum) || !plim__shape_equal(&out, &sum)))
        return plim__infer_fail(ctx, PLIM_SHAPE, "C does not broadcast to the product");
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &out);
}

void plim__cost_gemm(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    const plim__shape *a = &g->values.items[node->inputs.items[0]].shape;
    cost->flops *= 2.0 * (double)a->dims[plim__node_int(node, "transA", 0) ? 0 : 1];
}
