/* Products with a matrix in few bits (graph/packed.h). */
#include "ops/packed.h"

#include "ops/batch.h"
#include "ops/op.h"

plim__packed plim__packed_of(const plim__node *node) {
    return (plim__packed){plim__packed_find(plim__node_string(node, "packing", NULL)), plim__node_int(node, "rows", 0),
                          plim__node_int(node, "columns", 0)};
}

/* (..., K) times a matrix that lies there as (K, N), or with transB as (N, K). */
plim_status plim__infer_packed_matmul(plim__infer *ctx) {
    plim__packed p = plim__packed_of(ctx->node);
    bool turned = plim__node_int(ctx->node, "transB", 0) != 0;
    plim__shape out = *plim__infer_shape(ctx, 0);
    const plim__shape *packed = plim__infer_shape(ctx, 1);
    bool file = p.packing == PLIM__PACKED_FILE,
         known = p.packing && p.rows > 0 && p.columns > 0 && p.rows < INT32_MAX && p.columns < INT32_MAX;
    if (file)
        known &= plim__infer_dtype(ctx, 1) == PLIM_F32 && packed->rank == 2 && packed->dims[0] == p.rows &&
                 packed->dims[1] == p.columns && plim__graph_constant_tensor(ctx->graph, plim__node_in(ctx->node, 1));
    else
        known = known && plim__infer_dtype(ctx, 1) == PLIM_U8 && packed->rank == 1 &&
                packed->dims[0] == (int64_t)plim__packed_bytes(&p);
    if (!known || plim__infer_dtype(ctx, 0) != PLIM_F32)
        return plim__infer_fail(ctx, PLIM_CORRUPT, "the matrix is not packed as its attributes say");
    if (out.rank < 1 || out.dims[out.rank - 1] != (turned ? p.columns : p.rows))
        return plim__infer_fail(ctx, PLIM_SHAPE, "the input does not fit a packed matrix of %lld x %lld",
                                (long long)p.rows, (long long)p.columns);
    out.dims[out.rank - 1] = turned ? p.rows : p.columns;
    return plim__infer_output(ctx, 0, PLIM_F32, &out);
}

void plim__cost_packed_matmul(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__packed p = plim__packed_of(node);
    plim__cost_pointwise(g, node, cost);
    cost->flops *= 2.0 * (double)(plim__node_int(node, "transB", 0) ? p.columns : p.rows);
    cost->bytes += (double)(p.rows * p.columns) * sizeof(float); /* what is unpacked */
    if (p.packing == PLIM__PACKED_FILE) cost->read = (double)(p.rows * p.columns) * sizeof(float);
}

/* Rows of a table that stays in its file. */
plim_status plim__infer_file_gather(plim__infer *ctx) {
    if (!plim__graph_constant_tensor(ctx->graph, plim__node_in(ctx->node, 0)) ||
        plim__infer_dtype(ctx, 0) != PLIM_F32 || plim__infer_shape(ctx, 0)->rank != 2)
        return plim__infer_fail(ctx, PLIM_CORRUPT, "the table is not one that could be in a file");
    return plim__infer_gather(ctx);
}

void plim__cost_file_gather(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    cost->read = cost->bytes / 2;
}

/* Rows of all axes but the last, each for itself. */
void plim__batch_packed_matmul(plim__batch_rule *r) {
    const plim__batch *in = plim__batch_in(r, 0);
    if (plim__batch_is_axis(r, 0) && plim__batch_are_fixed(r, 1) && in->axis < plim__batch_shape(r, 0)->rank - 1)
        plim__batch_set(r, 0, *in);
}
