/* Shapes of operators that move data by indices: gathers, scatters, selections. */
#include <string.h>

#include "ops/movement.h"

static plim_status need_indices(plim__infer *ctx, size_t i) {
    plim_dtype dtype = plim__infer_dtype(ctx, i);
    if (dtype == PLIM_I32 || dtype == PLIM_I64) return PLIM_OK;
    return plim__infer_fail(ctx, PLIM_DTYPE, "indices are %s, expected int32 or int64", plim_dtype_name(dtype));
}

static plim_status too_many_axes(plim__infer *ctx) {
    return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator %s to more than %d axes", ctx->node->op_name,
                            PLIM_MAX_RANK);
}

/* --- gathers -------------------------------------------------------------------------------------------------- */

plim_status plim__infer_gather(plim__infer *ctx) {
    const plim__shape *data = plim__infer_shape(ctx, 0), *indices = plim__infer_shape(ctx, 1);
    int axis;
    PLIM_TRY(plim__axis_read(ctx, "axis", 0, data->rank, &axis));
    PLIM_TRY(need_indices(ctx, 1));
    if (data->rank - 1 + indices->rank > PLIM_MAX_RANK) return too_many_axes(ctx);
    plim__shape shape = {.rank = 0};
    for (int i = 0; i < axis; i++) shape.dims[shape.rank++] = data->dims[i];
    for (int i = 0; i < indices->rank; i++) shape.dims[shape.rank++] = indices->dims[i];
    for (int i = axis + 1; i < data->rank; i++) shape.dims[shape.rank++] = data->dims[i];
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

/* Every axis but `axis` of `small` fits into `large`. */
static plim_status fits_besides(plim__infer *ctx, const plim__shape *small, const plim__shape *large, int axis) {
    bool fits = small->rank == large->rank;
    for (int i = 0; fits && i < small->rank; i++) fits = i == axis || small->dims[i] <= large->dims[i];
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    if (fits) return PLIM_OK;
    return plim__infer_fail(ctx, PLIM_SHAPE, "indices of %s do not fit data of %s", plim__shape_text(small, NULL, a),
                            plim__shape_text(large, NULL, b));
}

plim_status plim__infer_gather_elements(plim__infer *ctx) {
    const plim__shape *data = plim__infer_shape(ctx, 0), *indices = plim__infer_shape(ctx, 1);
    int axis;
    PLIM_TRY(plim__axis_read(ctx, "axis", 0, data->rank, &axis));
    PLIM_TRY(need_indices(ctx, 1));
    PLIM_TRY(fits_besides(ctx, indices, data, axis));
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), indices);
}

plim_status plim__infer_gather_nd(plim__infer *ctx) {
    const plim__shape *data = plim__infer_shape(ctx, 0), *indices = plim__infer_shape(ctx, 1);
    int64_t batch = plim__node_int(ctx->node, "batch_dims", 0);
    int64_t depth = indices->rank > 0 ? indices->dims[indices->rank - 1] : 0;
    PLIM_TRY(need_indices(ctx, 1));
    if (batch < 0 || batch >= indices->rank || batch >= data->rank || depth < 1 || depth > data->rank - batch)
        return plim__infer_fail(ctx, PLIM_SHAPE, "%lld batch axes and tuples of %lld do not fit ranks %d and %d",
                                (long long)batch, (long long)depth, data->rank, indices->rank);
    for (int i = 0; i < (int)batch; i++)
        if (data->dims[i] != indices->dims[i]) return plim__infer_fail(ctx, PLIM_SHAPE, "batch axis %d differs", i);
    int tail = (int)(batch + depth);
    if (indices->rank - 1 + data->rank - tail > PLIM_MAX_RANK) return too_many_axes(ctx);
    plim__shape shape = {.rank = 0};
    for (int i = 0; i < indices->rank - 1; i++) shape.dims[shape.rank++] = indices->dims[i];
    for (int i = tail; i < data->rank; i++) shape.dims[shape.rank++] = data->dims[i];
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

/* --- scatters ------------------------------------------------------------------------------------------------- */

static plim_status same_types(plim__infer *ctx, size_t a, size_t b) {
    if (plim__infer_dtype(ctx, a) == plim__infer_dtype(ctx, b)) return PLIM_OK;
    return plim__infer_fail(ctx, PLIM_DTYPE, "inputs are %s and %s", plim_dtype_name(plim__infer_dtype(ctx, a)),
                            plim_dtype_name(plim__infer_dtype(ctx, b)));
}

plim_status plim__infer_scatter_elements(plim__infer *ctx) {
    const plim__shape *data = plim__infer_shape(ctx, 0), *indices = plim__infer_shape(ctx, 1);
    int axis;
    PLIM_TRY(plim__axis_read(ctx, "axis", 0, data->rank, &axis));
    PLIM_TRY(need_indices(ctx, 1));
    PLIM_TRY(same_types(ctx, 0, 2));
    PLIM_TRY(fits_besides(ctx, indices, data, axis));
    if (!plim__shape_equal(indices, plim__infer_shape(ctx, 2)))
        return plim__infer_fail(ctx, PLIM_SHAPE, "indices and updates differ in shape");
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), data);
}

plim_status plim__infer_scatter_nd(plim__infer *ctx) {
    const plim__shape *data = plim__infer_shape(ctx, 0), *indices = plim__infer_shape(ctx, 1),
                      *updates = plim__infer_shape(ctx, 2);
    PLIM_TRY(need_indices(ctx, 1));
    PLIM_TRY(same_types(ctx, 0, 2));
    int64_t depth = indices->rank > 0 ? indices->dims[indices->rank - 1] : -1;
    bool fits = depth >= 0 && depth <= data->rank && updates->rank == indices->rank - 1 + data->rank - (int)depth;
    for (int i = 0; fits && i < updates->rank; i++)
        fits = updates->dims[i] ==
               (i < indices->rank - 1 ? indices->dims[i] : data->dims[i - indices->rank + 1 + (int)depth]);
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT], c[PLIM_SHAPE_TEXT];
    if (!fits)
        return plim__infer_fail(ctx, PLIM_SHAPE, "data %s, indices %s and updates %s do not fit together",
                                plim__shape_text(data, NULL, a), plim__shape_text(indices, NULL, b),
                                plim__shape_text(updates, NULL, c));
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), data);
}

/* --- selections ----------------------------------------------------------------------------------------------- */

plim_status plim__infer_top_k(plim__infer *ctx) {
    plim__shape shape = *plim__infer_shape(ctx, 0);
    int64_t k = plim__node_int(ctx->node, "k", -1);
    size_t count;
    int axis;
    if (ctx->node->version >= 10) PLIM_TRY(plim__infer_ints(ctx, 1, &k, 1, &count));
    PLIM_TRY(plim__axis_read(ctx, "axis", -1, shape.rank, &axis));
    if (k < 0 || k > shape.dims[axis])
        return plim__infer_fail(ctx, PLIM_SHAPE, "k is %lld, axis %d has %lld elements", (long long)k, axis,
                                (long long)shape.dims[axis]);
    shape.dims[axis] = k;
    PLIM_TRY(plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape));
    return plim__infer_output(ctx, 1, PLIM_I64, &shape);
}

plim_status plim__infer_one_hot(plim__infer *ctx) {
    const plim__shape *indices = plim__infer_shape(ctx, 0);
    int64_t depth;
    size_t count = 0;
    int axis;
    PLIM_TRY(plim__infer_ints(ctx, 1, &depth, 1, &count));
    if (count != 1 || depth < 0) return plim__infer_fail(ctx, PLIM_SHAPE, "the depth is not one number >= 0");
    if (plim__shape_elements(plim__infer_shape(ctx, 2)) != 2)
        return plim__infer_fail(ctx, PLIM_SHAPE, "values are not two elements");
    if (indices->rank == PLIM_MAX_RANK) return too_many_axes(ctx);
    PLIM_TRY(plim__axis_read(ctx, "axis", -1, indices->rank + 1, &axis));
    plim__shape shape = {.rank = indices->rank + 1};
    for (int i = 0, next = 0; i < shape.rank; i++) shape.dims[i] = i == axis ? depth : indices->dims[next++];
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 2), &shape);
}

/* The size depends on the condition, which therefore must be known. */
plim_status plim__infer_compress(plim__infer *ctx) {
    plim__shape shape = *plim__infer_shape(ctx, 0);
    plim__tensor *condition = plim__graph_constant_tensor(ctx->graph, plim__node_in(ctx->node, 1));
    if (!condition)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED,
                                "unsupported: operator Compress whose output size depends on data");
    PLIM_TRY(plim__tensor_load(condition, ctx->error));
    int axis = 0;
    bool flat = !plim__node_attribute(ctx->node, "axis");
    if (flat)
        shape = plim__shape_of(1, (int64_t[]){plim__shape_elements(&shape)});
    else
        PLIM_TRY(plim__axis_read(ctx, "axis", 0, shape.rank, &axis));
    int64_t length = plim__shape_elements(&condition->shape), kept = 0;
    for (int64_t i = 0; i < length && i < shape.dims[axis]; i++) kept += plim__tensor_at(condition, i) != 0;
    shape.dims[axis] = kept;
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

plim_status plim__infer_reverse_sequence(plim__infer *ctx) {
    const plim__shape *x = plim__infer_shape(ctx, 0), *lengths = plim__infer_shape(ctx, 1);
    int64_t time = plim__node_int(ctx->node, "time_axis", 0), batch = plim__node_int(ctx->node, "batch_axis", 1);
    if (x->rank < 2 || time + batch != 1 || time < 0 || batch < 0)
        return plim__infer_fail(ctx, PLIM_SHAPE, "time axis %lld and batch axis %lld, expected 0 and 1",
                                (long long)time, (long long)batch);
    if (lengths->rank != 1 || lengths->dims[0] != x->dims[batch] || plim__infer_dtype(ctx, 1) != PLIM_I64)
        return plim__infer_fail(ctx, PLIM_SHAPE, "the lengths are not one int64 for each of %lld sequences",
                                (long long)x->dims[batch]);
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), x);
}

plim_status plim__infer_trilu(plim__infer *ctx) {
    if (plim__infer_shape(ctx, 0)->rank < 2) return plim__infer_fail(ctx, PLIM_SHAPE, "the input is not a matrix");
    if (plim__infer_has(ctx, 1) &&
        (plim__infer_dtype(ctx, 1) != PLIM_I64 || plim__shape_elements(plim__infer_shape(ctx, 1)) != 1))
        return plim__infer_fail(ctx, PLIM_DTYPE, "the diagonal is not one int64");
    return plim__infer_same(ctx);
}

plim_status plim__infer_eye_like(plim__infer *ctx) {
    const plim__shape *in = plim__infer_shape(ctx, 0);
    if (in->rank != 2) return plim__infer_fail(ctx, PLIM_SHAPE, "the input is not a matrix");
    return plim__infer_output(ctx, 0, (plim_dtype)plim__node_int(ctx->node, "dtype", plim__infer_dtype(ctx, 0)), in);
}

/* --- questions about graphs ------------------------------------------------------------------------------------ */

/* Rows of what a node picks with its input 1; 0: it picks nothing. */
static int64_t rows_of(const plim_graph *g, const plim__node *node) {
    static const char *const ops[] = {"Gather",    "FileGather",    "TableRNN",      "TableGRU",
                                      "TableLSTM", "TableGruTrain", "TableLstmTrain"};
    bool picks = false;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) picks |= strcmp(node->op_name, ops[i]) == 0;
    if (!picks) return 0;
    const plim__shape *table = &g->values.items[plim__node_in(node, 0)].shape;
    int64_t axis = plim__node_int(node, "axis", 0);
    return axis >= 0 && axis < table->rank ? table->dims[axis] : 0;
}

static int64_t rows_picked(const plim_graph *g, plim_value indices, bool turned) {
    int64_t rows = 0;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (node->dead) continue;
        int64_t size = plim__node_in(node, 1) == indices ? rows_of(g, node) : 0;
        if (!turned && plim__node_in(node, 0) == indices && strcmp(node->op_name, "Transpose") == 0)
            size = rows_picked(g, plim__node_out(node, 0), true);
        if (size > 0 && (rows == 0 || size < rows)) rows = size;
    }
    return rows;
}

int64_t plim__op_rows_picked(const plim_graph *g, plim_value indices) { return rows_picked(g, indices, false); }
