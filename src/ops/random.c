/* Shapes of random numbers, and where their samples lie. */
#include "ops/batch.h"

static plim_status number_type(plim__infer *ctx, plim_dtype missing, plim_dtype *dtype) {
    *dtype = (plim_dtype)plim__node_int(ctx->node, "dtype", missing);
    if (plim_dtype_bits(*dtype) > 0) return PLIM_OK;
    return plim__infer_fail(ctx, PLIM_INVALID, "its dtype is no type of numbers");
}

plim_status plim__infer_random_shaped(plim__infer *ctx) {
    size_t rank;
    plim_dtype dtype;
    const int64_t *dims = plim__node_ints(ctx->node, "shape", &rank);
    if (!dims || rank > PLIM_MAX_RANK) return plim__infer_fail(ctx, PLIM_CORRUPT, "its shape is missing or too long");
    PLIM_TRY(number_type(ctx, PLIM_F32, &dtype));
    plim__shape shape = plim__shape_of((int)rank, dims);
    return plim__infer_output(ctx, 0, dtype, &shape);
}

plim_status plim__infer_random_like(plim__infer *ctx) {
    plim_dtype dtype;
    PLIM_TRY(number_type(ctx, plim__infer_dtype(ctx, 0), &dtype));
    return plim__infer_output(ctx, 0, dtype, plim__infer_shape(ctx, 0));
}

plim_status plim__infer_multinomial(plim__infer *ctx) {
    const plim__shape *x = plim__infer_shape(ctx, 0);
    int64_t draws = plim__node_int(ctx->node, "sample_size", 1);
    plim_dtype dtype;
    if (x->rank != 2 || x->dims[1] < 1 || draws < 0)
        return plim__infer_fail(ctx, PLIM_SHAPE, "it wants rows of scores, and how many draws");
    PLIM_TRY(number_type(ctx, PLIM_I32, &dtype));
    return plim__infer_output(ctx, 0, dtype, &(plim__shape){.rank = 2, .dims = {x->dims[0], draws}});
}

/* Samples lie where those of the input do. Numbers do not scale with the batch, whatever the input does. */
void plim__batch_random(plim__batch_rule *r) {
    plim__batch batch = *plim__batch_in(r, 0);
    batch.power = 0;
    if (batch.kind == PLIM__BATCH_AXIS || batch.kind == PLIM__BATCH_NONE) plim__batch_set(r, 0, batch);
}
