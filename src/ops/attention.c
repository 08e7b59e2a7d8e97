/* Attention, as the fusing pass makes it:  y = softmax(scale · q·k + mask) · v
 *
 *   q (..., Tq, D)   k (..., D, Tk)   v (..., Tk, E)   mask broadcasts to (..., Tq, Tk)   ->   y (..., Tq, E)
 * With `causal`, query i sees keys 0 to i + Tk - Tq. With `guarded`, a query that sees nothing gives zeros. With `ratio`,
 * weights are dropped by counters, as DropoutTrain does. */
#include "ops/op.h"

plim_status plim__infer_attention(plim__infer *ctx) {
    const plim__shape *q = plim__infer_shape(ctx, 0), *k = plim__infer_shape(ctx, 1), *v = plim__infer_shape(ctx, 2);
    int r = q->rank;
    bool fits =
        r >= 2 && k->rank == r && v->rank == r && q->dims[r - 1] == k->dims[r - 2] && k->dims[r - 1] == v->dims[r - 2];
    for (int i = 0; fits && i < r - 2; i++) fits = q->dims[i] == k->dims[i] && q->dims[i] == v->dims[i];
    if (!fits) return plim__infer_fail(ctx, PLIM_SHAPE, "queries, keys and values do not fit");
    plim__shape y = *q;
    y.dims[r - 1] = v->dims[r - 1];
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &y);
}

void plim__cost_attention(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    const plim__shape *q = &g->values.items[node->inputs.items[0]].shape,
                      *v = &g->values.items[node->inputs.items[2]].shape;
    int r = q->rank;
    double pairs = (double)plim__shape_product(q, 0, r - 1) * (double)v->dims[r - 2];
    if (plim__node_int(node, "causal", 0)) pairs /= 2;
    cost->flops = 2 * pairs * (double)(q->dims[r - 1] + v->dims[r - 1]);
}
