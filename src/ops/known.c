/* Operators whose answer is known as soon as shapes are: constants, shapes, ranges. Their outputs become
 * constants of the graph during inference, so nothing is left to run. */
#include <math.h>
#include <string.h>

#include "ops/movement.h"

static plim_status constant_ints(plim__infer *ctx, size_t output, const int64_t *values, int rank, int64_t count) {
    plim__shape shape = plim__shape_of(rank, &count);
    plim__tensor *tensor;
    PLIM_TRY(plim__tensor_create(PLIM_I64, &shape, &tensor, ctx->error));
    if (count > 0) memcpy(tensor->data, values, (size_t)count * sizeof *values);
    return plim__infer_constant(ctx, output, tensor);
}

static plim_status constant_floats(plim__infer *ctx, const float *values, int rank, int64_t count) {
    plim__shape shape = plim__shape_of(rank, &count);
    plim__tensor *tensor;
    PLIM_TRY(plim__tensor_create(PLIM_F32, &shape, &tensor, ctx->error));
    if (count > 0) memcpy(tensor->data, values, (size_t)count * sizeof *values);
    return plim__infer_constant(ctx, 0, tensor);
}

plim_status plim__infer_constant_node(plim__infer *ctx) {
    const plim__node *node = ctx->node;
    const plim__attribute *a = plim__node_attribute(node, "value");
    if (a && a->type == PLIM__ATTRIBUTE_TENSOR && a->tensor)
        return plim__infer_constant(ctx, 0, plim__tensor_retain(a->tensor));
    if ((a = plim__node_attribute(node, "value_float"))) return constant_floats(ctx, &a->f, 0, 1);
    if ((a = plim__node_attribute(node, "value_floats"))) return constant_floats(ctx, a->floats, 1, (int64_t)a->length);
    if ((a = plim__node_attribute(node, "value_int"))) return constant_ints(ctx, 0, &a->i, 0, 1);
    if ((a = plim__node_attribute(node, "value_ints"))) return constant_ints(ctx, 0, a->ints, 1, (int64_t)a->length);
    return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator Constant with strings or sparse data");
}

static int64_t shape_end(int64_t index, int rank) {
    if (index < 0) index += rank;
    return index < 0 ? 0 : index > rank ? rank : index;
}

plim_status plim__infer_shape_of(plim__infer *ctx) {
    const plim__shape *in = plim__infer_shape(ctx, 0);
    int64_t start = shape_end(plim__node_int(ctx->node, "start", 0), in->rank);
    int64_t end = shape_end(plim__node_int(ctx->node, "end", in->rank), in->rank);
    return constant_ints(ctx, 0, in->dims + start, 1, end > start ? end - start : 0);
}

plim_status plim__infer_size_of(plim__infer *ctx) {
    int64_t elements = plim__shape_elements(plim__infer_shape(ctx, 0));
    return constant_ints(ctx, 0, &elements, 0, 1);
}

plim_status plim__infer_constant_of_shape(plim__infer *ctx) {
    int64_t dims[PLIM_MAX_RANK];
    size_t count;
    PLIM_TRY(plim__infer_ints(ctx, 0, dims, PLIM_MAX_RANK, &count));
    const plim__attribute *value = plim__node_attribute(ctx->node, "value");
    if (value && (!value->tensor || plim__shape_elements(&value->tensor->shape) != 1))
        return plim__infer_fail(ctx, PLIM_CORRUPT, "the value is not one element");
    plim__shape shape = plim__shape_of((int)count, dims);
    return plim__infer_output(ctx, 0, value ? value->tensor->dtype : PLIM_F32, &shape);
}

/* --- Range ---------------------------------------------------------------------------------------------------- */

/* A scalar that is known now. */
static plim_status scalar_input(plim__infer *ctx, size_t i, plim__tensor **tensor) {
    *tensor = plim__graph_tensor(ctx->graph, plim__node_in(ctx->node, i));
    if (!*tensor)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator %s whose output size depends on data",
                                ctx->node->op_name);
    if (plim__shape_elements(&(*tensor)->shape) != 1)
        return plim__infer_fail(ctx, PLIM_SHAPE, "input %zu is not a scalar", i);
    return plim__tensor_load(*tensor, ctx->error);
}

static int64_t exact(const plim__tensor *t) {
    return t->dtype == PLIM_I64 ? ((const int64_t *)t->data)[0] : (int64_t)plim__tensor_at(t, 0);
}

/* How many steps of `delta` lie between: unsigned arithmetic, since the distance may not fit a signed number. */
static int64_t range_length(int64_t start, int64_t limit, int64_t delta) {
    uint64_t span = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    if (delta > 0 ? limit <= start : limit >= start) return 0;
    uint64_t count = (span - 1) / step + 1;
    return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

static plim_status range_of_ints(plim__infer *ctx, int64_t start, int64_t limit, int64_t delta, plim_dtype dtype) {
    int64_t dim = range_length(start, limit, delta);
    plim__shape shape = plim__shape_of(1, &dim);
    plim__tensor *tensor;
    PLIM_TRY(plim__tensor_create(dtype, &shape, &tensor, ctx->error));
    for (int64_t i = 0; i < dim; i++) {
        int64_t value = start + i * delta;
        if (dtype == PLIM_I64)
            ((int64_t *)tensor->data)[i] = value;
        else if (dtype == PLIM_I32)
            ((int32_t *)tensor->data)[i] = (int32_t)value;
        else
            ((int16_t *)tensor->data)[i] = (int16_t)value;
    }
    return plim__infer_constant(ctx, 0, tensor);
}

static plim_status range_of_floats(plim__infer *ctx, double start, double limit, double delta, plim_dtype dtype) {
    double count = ceil((limit - start) / delta);
    if (!(count < 9e15))
        return plim__infer_fail(ctx, PLIM_OVERFLOW, "from %g to %g by %g is too long", start, limit, delta);
    int64_t dim = count > 0 ? (int64_t)count : 0;
    plim__shape shape = plim__shape_of(1, &dim);
    plim__tensor *tensor;
    PLIM_TRY(plim__tensor_create(dtype, &shape, &tensor, ctx->error));
    for (int64_t i = 0; i < dim; i++) {
        if (dtype == PLIM_F64)
            ((double *)tensor->data)[i] = start + (double)i * delta;
        else
            ((float *)tensor->data)[i] = (float)(start + (double)i * delta);
    }
    return plim__infer_constant(ctx, 0, tensor);
}

plim_status plim__infer_range(plim__infer *ctx) {
    plim__tensor *start, *limit, *delta;
    PLIM_TRY(scalar_input(ctx, 0, &start));
    PLIM_TRY(scalar_input(ctx, 1, &limit));
    PLIM_TRY(scalar_input(ctx, 2, &delta));
    plim_dtype dtype = start->dtype;
    if (limit->dtype != dtype || delta->dtype != dtype)
        return plim__infer_fail(ctx, PLIM_DTYPE, "start, limit and delta differ in type");
    if (plim__tensor_at(delta, 0) == 0) return plim__infer_fail(ctx, PLIM_INVALID, "delta is 0");
    if (dtype == PLIM_F32 || dtype == PLIM_F64)
        return range_of_floats(ctx, plim__tensor_at(start, 0), plim__tensor_at(limit, 0), plim__tensor_at(delta, 0),
                               dtype);
    if (dtype == PLIM_I16 || dtype == PLIM_I32 || dtype == PLIM_I64)
        return range_of_ints(ctx, exact(start), exact(limit), exact(delta), dtype);
    return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator Range of %s", plim_dtype_name(dtype));
}
