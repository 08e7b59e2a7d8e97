/* Max pools that keep where each maximum was, and backward of pools. A place is an index into the window, laid out like
 * the output. Images whose channels lie in blocks have loops of our own, the others are oneDNN's. */
#include "kernel/simd/pool.h"
#include "kernel/backward/backward.h"
#include "kernel/copies.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"
#include "ops/window.h"

struct window {
    dnnl_dims_t kernel, stride, dilation, before, after;
};

static plim_status read_window(plim__lower *l, const plim__shape *x, struct window *to) {
    plim__window w;
    if (plim__node_int(plim__lower_node(l), "global", 0)) {
        w = (plim__window){.axes = x->rank - 2};
        for (int i = 0; i < w.axes; i++) {
            w.kernel[i] = w.in[i] = x->dims[i + 2];
            w.stride[i] = w.dilation[i] = w.out[i] = 1;
        }
    } else {
        PLIM_TRY(plim__window_read(plim__lower_node(l), x, NULL, &w, NULL));
    }
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    if (w.axes > 3) return plim__lower_unsupported(l, "with more than three spatial axes");
    for (int i = 0; i < w.axes; i++) {
        int64_t extent = (w.kernel[i] - 1) * w.dilation[i] + 1;
        int64_t after = (w.out[i] - 1) * w.stride[i] + extent - w.in[i] - w.before[i];
        if (w.before[i] >= extent || after >= extent)
            return plim__lower_unsupported(l, "with windows that lie in the padding");
        to->kernel[i] = w.kernel[i];
        to->stride[i] = w.stride[i];
        to->dilation[i] = w.dilation[i] - 1;
        to->before[i] = w.before[i];
        to->after[i] = after;
        bool padded = plim__node_int(plim__lower_node(l), "count_include_pad", 0) != 0;
        if (padded && (w.out[i] - 1) * w.stride[i] + extent > w.in[i] + w.before[i] + w.after[i])
            return plim__lower_unsupported(l, "with windows that reach past a counted padding");
    }
    return PLIM_OK;
}

static plim_status forward_pd(plim__lower *l, dnnl_alg_kind_t algorithm, const struct window *w,
                              const dnnl_memory_desc_t *x, const dnnl_memory_desc_t *y, dnnl_primitive_desc_t *pd) {
    dnnl_pooling_v2_desc_t desc;
    PLIM_TRY(plim__lower_dnnl(l,
                              dnnl_pooling_v2_forward_desc_init(&desc, dnnl_forward_training, algorithm, x, y,
                                                                w->stride, w->kernel, w->dilation, w->before, w->after),
                              "pool"));
    return plim__backward_describe(l, "pool", &desc, NULL, pd);
}

/* --- blocks of channels --------------------------------------------------------------------------------------- */

struct planes {
    plim__pool_plane plane;
    int64_t count, block;
};

/* The block of an image (N, C, H, W) or a signal (N, C, W) in the layout of `like`, 0 when our loops do not know it. */
static int64_t block_of(const plim__layout *like, const struct window *w) {
    int rank = like->shape.rank, last = rank - 1;
    if (!like->blocked || rank < 3 || rank > 4 || w->kernel[0] * (rank == 4 ? w->kernel[1] : 1) > 255) return 0;
    const dnnl_blocking_desc_t *b = &plim__md(like)->format_desc.blocking;
    const dnnl_dim_t *padded = plim__md(like)->padded_dims;
    int64_t block = b->inner_blks[0], row = like->shape.dims[last] * block,
            plane = rank == 4 ? like->shape.dims[2] * row : row;
    bool usual = b->inner_nblks == 1 && b->inner_idxs[0] == 1 && (block == 8 || block == 16) &&
                 b->strides[last] == block && (rank == 3 || b->strides[2] == row) && b->strides[1] == plane &&
                 b->strides[0] == padded[1] / block * plane;
    return usual ? block : 0;
}

static plim_status make_planes(plim__lower *l, const plim__shape *x, const plim__shape *y, const struct window *w,
                               int64_t block, struct planes **s) {
    if (block == 0) return plim__lower_fail(l, PLIM_INTERNAL, "its layout is not known");
    PLIM_TRY(plim__lower_state(l, sizeof **s, s));
    (*s)->block = block;
    (*s)->count = x->dims[0] * ((x->dims[1] + block - 1) / block);
    (*s)->plane = (plim__pool_plane){{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}}; /* a signal is one row */
    for (int axis = 0, i = 4 - x->rank; i < 2; axis++, i++) {
        (*s)->plane.in[i] = x->dims[2 + axis];
        (*s)->plane.out[i] = y->dims[2 + axis];
        (*s)->plane.kernel[i] = w->kernel[axis];
        (*s)->plane.stride[i] = w->stride[axis];
        (*s)->plane.dilation[i] = w->dilation[axis] + 1;
        (*s)->plane.before[i] = w->before[axis];
    }
    return PLIM_OK;
}

static plim_status run_planes(const plim__call *call) {
    const struct planes *s = call->state;
    int64_t in = s->plane.in[0] * s->plane.in[1] * s->block, out = s->plane.out[0] * s->plane.out[1] * s->block;
#pragma omp parallel for schedule(static) if (s->count * in > 32768)
    for (int64_t i = 0; i < s->count; i++)
        plim__simd_pool_table()->max[s->block == 16](&s->plane, (const float *)call->in[0] + i * in,
                                                     (float *)call->out[0] + i * out,
                                                     (uint8_t *)call->out[1] + i * out);
    return PLIM_OK;
}

static plim_status run_planes_back(const plim__call *call) {
    const struct planes *s = call->state;
    int64_t in = s->plane.in[0] * s->plane.in[1] * s->block, out = s->plane.out[0] * s->plane.out[1] * s->block;
#pragma omp parallel for schedule(static) if (s->count * in > 32768)
    for (int64_t i = 0; i < s->count; i++)
        plim__simd_pool_table()->max_backward[s->block == 16](&s->plane, (const float *)call->in[0] + i * out,
                                                              (const uint8_t *)call->in[1] + i * out,
                                                              (float *)call->out[0] + i * in);
    return PLIM_OK;
}

static plim_status lower_planes(plim__lower *l, const struct window *w, int64_t block, const dnnl_memory_desc_t *y) {
    struct planes *s;
    dnnl_memory_desc_t places = *y;
    places.data_type = dnnl_u8;
    PLIM_TRY(plim__lower_output_md(l, 0, y));
    PLIM_TRY(plim__lower_output_md(l, 1, &places));
    PLIM_TRY(make_planes(l, plim__lower_input_shape(l, 0), plim__lower_output_shape(l, 0), w, block, &s));
    return plim__lower_emit(l, "MaxPool", run_planes, s, plim__free);
}

static plim_status lower_planes_back(plim__lower *l, const struct window *w, int64_t block) {
    struct planes *s;
    dnnl_memory_desc_t dx, dy;
    plim__layout places = *plim__lower_peek(l, 1);
    if (!plim__backward_layout_like(&places, dnnl_f32, plim__lower_output_shape(l, 0), &dx) ||
        !plim__backward_layout_like(&places, dnnl_f32, plim__lower_input_shape(l, 0), &dy))
        return plim__lower_fail(l, PLIM_INTERNAL, "its layout is not known");
    PLIM_TRY(plim__lower_input_md(l, 0, &dy));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__ANY, NULL));
    PLIM_TRY(plim__lower_output_md(l, 0, &dx));
    PLIM_TRY(make_planes(l, plim__lower_output_shape(l, 0), plim__lower_input_shape(l, 0), w, block, &s));
    return plim__lower_emit(l, "MaxPoolGrad", run_planes_back, s, plim__free);
}

/* --- oneDNN --------------------------------------------------------------------------------------------------- */

plim_status plim__lower_max_pool_train(plim__lower *l) {
    struct window w;
    plim__layout x = *plim__lower_peek(l, 0);
    const plim__shape *out = plim__lower_output_shape(l, 0);
    dnnl_memory_desc_t source, target;
    dnnl_primitive_desc_t pd;
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    PLIM_TRY(read_window(l, plim__lower_input_shape(l, 0), &w));
    bool unrolled, usual = plim__backward_layout_like(&x, dnnl_f32, out, &target);
    PLIM_TRY(plim__lower_pool_columns(l, w.kernel[out->rank - 3], &unrolled));
    PLIM_TRY(plim__lower_input(l, 0, usual && unrolled ? PLIM__ANY : PLIM__DENSE, &x));
    if (!plim__layout_md(&x, &source) || !plim__backward_layout_like(&x, dnnl_f32, out, &target))
        return plim__lower_fail(l, PLIM_INTERNAL, "its layout is not known");
    if (block_of(&x, &w)) return lower_planes(l, &w, block_of(&x, &w), &target);
    PLIM_TRY(forward_pd(l, dnnl_pooling_max, &w, &source, &target, &pd));
    plim__argument arguments[] = {
        {DNNL_ARG_SRC, source, 0},
        {DNNL_ARG_DST, target, PLIM__OUT(0)},
        {DNNL_ARG_WORKSPACE, *dnnl_primitive_desc_query_md(pd, dnnl_query_workspace_md, 0), PLIM__OUT(1)}};
    plim_status status = plim__lower_output_md(l, 0, &target);
    if (status == PLIM_OK) status = plim__lower_output_md(l, 1, &arguments[2].md);
    if (status == PLIM_OK) return plim__lower_primitive(l, "MaxPool", pd, arguments, 3);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* dx in the layout that `like` has; in operand 0 is dy, in operand 1 the workspace. */
static plim_status lower_grad(plim__lower *l, const char *label, dnnl_alg_kind_t algorithm, const plim__layout *like,
                              bool workspace) {
    struct window w;
    dnnl_memory_desc_t dx, dy;
    dnnl_primitive_desc_t hint, pd = NULL;
    dnnl_pooling_v2_desc_t desc;
    PLIM_TRY(read_window(l, plim__lower_output_shape(l, 0), &w));
    if (!plim__backward_layout_like(like, dnnl_f32, plim__lower_output_shape(l, 0), &dx) ||
        !plim__backward_layout_like(like, dnnl_f32, plim__lower_input_shape(l, 0), &dy))
        return plim__lower_fail(l, PLIM_INTERNAL, "its layout is not known");
    PLIM_TRY(forward_pd(l, algorithm, &w, &dx, &dy, &hint));
    plim_status status = plim__lower_dnnl(l,
                                          dnnl_pooling_v2_backward_desc_init(&desc, algorithm, &dx, &dy, w.stride,
                                                                             w.kernel, w.dilation, w.before, w.after),
                                          "pool");
    if (status == PLIM_OK) status = plim__backward_describe(l, "pool", &desc, hint, &pd);
    dnnl_primitive_desc_destroy(hint);
    PLIM_TRY(status);
    plim__argument arguments[] = {
        {DNNL_ARG_DIFF_DST, dy, 0}, {DNNL_ARG_DIFF_SRC, dx, PLIM__OUT(0)}, {.id = DNNL_ARG_WORKSPACE, .operand = 1}};
    status = plim__lower_input_md(l, 0, &dy);
    if (status == PLIM_OK && workspace) {
        arguments[2].md = *dnnl_primitive_desc_query_md(pd, dnnl_query_workspace_md, 0);
        status = plim__lower_input_md(l, 1, &arguments[2].md);
    }
    if (status == PLIM_OK) status = plim__lower_output_md(l, 0, &dx);
    if (status == PLIM_OK) return plim__lower_primitive(l, label, pd, arguments, workspace ? 3 : 2);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

plim_status plim__lower_max_pool_grad(plim__lower *l) {
    plim__layout places = *plim__lower_peek(l, 1);
    struct window w;
    PLIM_TRY(read_window(l, plim__lower_output_shape(l, 0), &w));
    if (block_of(&places, &w)) return lower_planes_back(l, &w, block_of(&places, &w));
    return lower_grad(l, "MaxPoolGrad", dnnl_pooling_max, &places, true);
}

plim_status plim__lower_average_pool_grad(plim__lower *l) {
    plim__layout dy = *plim__lower_peek(l, 0), dense = plim__layout_dense(PLIM_F32, plim__lower_input_shape(l, 0));
    dnnl_memory_desc_t md;
    bool padded = plim__node_int(plim__lower_node(l), "count_include_pad", 0) != 0;
    bool unrolled, usual = plim__backward_layout_like(&dy, dnnl_f32, plim__lower_input_shape(l, 0), &md);
    struct window w;
    PLIM_TRY(read_window(l, plim__lower_output_shape(l, 0), &w));
    PLIM_TRY(plim__lower_pool_columns(l, w.kernel[dy.shape.rank - 3], &unrolled));
    return lower_grad(l, "AveragePoolGrad",
                      padded ? dnnl_pooling_avg_include_padding : dnnl_pooling_avg_exclude_padding,
                      usual && unrolled ? &dy : &dense, false);
}
