/* Batch norm in training and its backward pass, with the ReLU or Clip behind it.
 *
 *   z = (x - mean) / deviation · scale + bias        y = z between low and high
 *   dz = dy where nothing was clipped                dbias = Σ dz        dscale = Σ dz (x - mean) / deviation
 *   dx = scale / deviation · (dz - dbias / n - (x - mean) / deviation · dscale / n)
 *
 * Channels in blocks stay in their blocks. Backward computes z again: what was clipped is not saved. A thread takes
 * whole groups of channels, so that sums do not depend on the number of threads. */
#include <math.h>

#include "kernel/copies.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"
#include "kernel/simd/batch_norm.h"

struct batch {
    int64_t samples, channels, groups, pixels, width; /* of a group */
    bool channels_last;
    float epsilon, low, high;
};

/* Images whose channels lie in blocks of 8 or 16, everything else row-major; 0 for any other layout. */
static int64_t block_of(const plim__layout *x) {
    if (!x->blocked) return 0;
    const dnnl_blocking_desc_t *b = &plim__md(x)->format_desc.blocking;
    int64_t block = b->inner_blks[0], step = block;
    if (b->inner_nblks != 1 || b->inner_idxs[0] != 1 || (block != 8 && block != 16)) return 0;
    for (int i = x->shape.rank - 1; i >= 2; step *= x->shape.dims[i], i--)
        if (b->strides[i] != step) return 0;
    return b->strides[1] == step && b->strides[0] == plim__md(x)->padded_dims[1] / block * step ? block : 0;
}

/* Every pixel's channels side by side, pixel after pixel. */
static bool has_channels_last(const plim__layout *x) {
    int64_t step = x->shape.dims[1];
    if (x->blocked || x->shape.rank < 3 || step < 2 || x->strides[1] != 1) return false;
    for (int i = x->shape.rank - 1; i >= 2; step *= x->shape.dims[i], i--)
        if (x->shape.dims[i] != 1 && x->strides[i] != step) return false;
    return x->shape.dims[0] == 1 || x->strides[0] == step;
}

/* The state for x, node input i, in a layout that the loops know: *layout. */
static plim_status read_batch(plim__lower *l, size_t i, plim__layout *layout, struct batch **s) {
    const plim__shape *x = plim__lower_input_shape(l, i);
    const plim__node *node = plim__lower_node(l);
    *layout = *plim__lower_peek(l, i);
    int64_t block = block_of(layout);
    bool last = has_channels_last(layout);
    if (!block && !last) *layout = plim__layout_dense(PLIM_F32, x);
    if (plim__lower_input_dtype(l, i) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    PLIM_TRY(plim__lower_state(l, sizeof **s, s));
    **s = (struct batch){.samples = x->dims[0],
                         .channels = x->dims[1],
                         .pixels = plim__shape_product(x, 2, x->rank),
                         .width = block  ? block
                                  : last ? PLIM__NORM_WIDTH
                                         : 1,
                         .channels_last = last,
                         .epsilon = plim__node_float(node, "epsilon", 1e-5f),
                         .low = plim__node_float(node, "low", -INFINITY),
                         .high = plim__node_float(node, "high", INFINITY)};
    (*s)->groups = ((*s)->channels + (*s)->width - 1) / (*s)->width;
    return PLIM_OK;
}

static int variant_of(const struct batch *s) {
    return s->channels_last ? 3 : s->width == 8 ? 0 : s->width == 16 ? 1 : 2;
}

/* Group k; lanes after the last channel stay 0. */
static plim__norm_group group_of(const struct batch *s, int64_t k, const float *bias, int64_t *first, int64_t *count) {
    plim__norm_group g = {.planes = s->samples,
                          .pixels = s->pixels,
                          .step = (s->channels_last ? s->channels : s->groups * s->width) * s->pixels,
                          .apart = s->channels,
                          .low = s->low,
                          .high = s->high};
    *first = k * s->width;
    *count = g.lanes = s->channels - *first < s->width ? s->channels - *first : s->width;
    for (int64_t c = 0; bias && c < *count; c++) g.bias[c] = bias[*first + c];
    return g;
}

/* Where group k begins. */
static int64_t start_of(const struct batch *s, int64_t k) { return k * s->width * (s->channels_last ? 1 : s->pixels); }

/* in: x, scale, bias; out: y, mean, variance */
static plim_status run_forward(const plim__call *call) {
    const struct batch *s = call->state;
    const plim__simd_batch_norm *loops = plim__simd_batch_norm_table();
    const float *scale = call->in[1];
    float *means = call->out[1], *variances = call->out[2];
    int v = variant_of(s);
#pragma omp parallel for schedule(static) if (s->samples * s->channels * s->pixels > 32768)
    for (int64_t k = 0; k < s->groups; k++) {
        int64_t first, count, at = start_of(s, k);
        plim__norm_group g = group_of(s, k, call->in[2], &first, &count);
        loops->moments[v](&g, (const float *)call->in[0] + at);
        for (int64_t c = 0; c < count; c++) {
            g.factor[c] = (float)((double)scale[first + c] / sqrt((double)g.variance[c] + (double)s->epsilon));
            means[first + c] = g.mean[c];
            variances[first + c] = g.variance[c];
        }
        loops->apply[v](&g, (const float *)call->in[0] + at, (float *)call->out[0] + at);
    }
    return PLIM_OK;
}

/* What dx is made of, from the sums. */
static void slopes_of(plim__norm_group *g, int64_t c, double inverse) {
    double count = (double)(g->planes * g->pixels), factor = (double)g->factor[c];
    g->constant[c] = (float)(factor * g->sums[c] / count);
    g->slope[c] = (float)(factor * inverse * inverse * g->products[c] / count);
}

/* in: dy, x, scale, mean, variance, bias (where something was clipped); out: dx, dscale, dbias */
static plim_status run_backward(const plim__call *call) {
    const struct batch *s = call->state;
    const plim__simd_batch_norm *loops = plim__simd_batch_norm_table();
    const float *x = call->in[1], *scale = call->in[2], *means = call->in[3], *variances = call->in[4];
    float *dscale = call->out[1], *dbias = call->out[2];
    int v = variant_of(s);
#pragma omp parallel for schedule(static) if (s->samples * s->channels * s->pixels > 32768)
    for (int64_t k = 0; k < s->groups; k++) {
        int64_t first, count, at = start_of(s, k);
        double inverse[PLIM__NORM_WIDTH];
        plim__norm_group g = group_of(s, k, call->in[5], &first, &count);
        for (int64_t c = 0; c < count; c++) {
            inverse[c] = 1 / sqrt((double)variances[first + c] + (double)s->epsilon);
            g.mean[c] = means[first + c];
            g.factor[c] = (float)((double)scale[first + c] / sqrt((double)variances[first + c] + (double)s->epsilon));
        }
        loops->sums[v](&g, x + at, (const float *)call->in[0] + at);
        for (int64_t c = 0; c < count; c++) {
            slopes_of(&g, c, inverse[c]);
            if (dscale) dscale[first + c] = (float)(g.products[c] * inverse[c]);
            if (dbias) dbias[first + c] = (float)g.sums[c];
        }
        if (call->out[0]) loops->back[v](&g, x + at, (const float *)call->in[0] + at, (float *)call->out[0] + at);
    }
    return PLIM_OK;
}

/* Input i in the layout of x. */
static plim_status input_as(plim__lower *l, size_t i, const plim__layout *layout) {
    dnnl_memory_desc_t md;
    if (!layout->blocked && !has_channels_last(layout)) return plim__lower_input(l, i, PLIM__DENSE, NULL);
    if (!plim__layout_md(layout, &md)) return plim__lower_unsupported(l, "with this layout");
    return plim__lower_input_md(l, i, &md);
}

static plim_status forward_operands(plim__lower *l, const plim__layout *layout) {
    PLIM_TRY(input_as(l, 0, layout));
    for (size_t i = 1; i < 3; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, layout));
    for (size_t i = 1; i < 3; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    return PLIM_OK;
}

static plim_status backward_operands(plim__lower *l, const plim__layout *layout) {
    for (size_t i = 0; i < 2; i++) PLIM_TRY(input_as(l, i, layout));
    for (size_t i = 2; i < 6; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, layout));
    for (size_t i = 1; i < 3; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    plim__lower_inplace(l, 0, 0);
    return PLIM_OK;
}

static plim_status lower_batch(plim__lower *l, size_t x, const char *label, plim__kernel run,
                               plim_status (*operands)(plim__lower *, const plim__layout *)) {
    plim__layout layout;
    struct batch *s = NULL;
    PLIM_TRY(read_batch(l, x, &layout, &s));
    plim_status status = operands(l, &layout);
    if (status == PLIM_OK) return plim__lower_emit(l, label, run, s, plim__free);
    plim__free(s);
    return status;
}

plim_status plim__lower_batch_norm_train(plim__lower *l) {
    return lower_batch(l, 0, "BatchNormTrain", run_forward, forward_operands);
}
plim_status plim__lower_batch_norm_grad(plim__lower *l) {
    return lower_batch(l, 1, "BatchNormGrad", run_backward, backward_operands);
}
