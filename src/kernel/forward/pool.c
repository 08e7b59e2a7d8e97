/* Pools: on oneDNN for float32, on plain loops for other types, indices, and p-norms. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/scalar.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"
#include "ops/window.h"

enum pool_kind { POOL_MAX, POOL_AVERAGE, POOL_AVERAGE_PADDED, POOL_LP };

static void global_window(const plim__shape *x, plim__window *w) {
    *w = (plim__window){.axes = x->rank - 2};
    for (int i = 0; i < w->axes; i++) {
        w->kernel[i] = w->in[i] = x->dims[i + 2];
        w->stride[i] = w->dilation[i] = w->out[i] = 1;
    }
}

#define CODE_OF_COLUMN      ((size_t)64)
#define MOST_UNROLLED       ((int64_t)16384)
#define UNROLLED_FOR_LITTLE ((int64_t)512) /* columns whose code is in what every primitive counts */

plim_status plim__lower_pool_columns(plim__lower *l, int64_t columns, bool *unrolled) {
    *unrolled = columns <= MOST_UNROLLED;
    if (!*unrolled || columns <= UNROLLED_FOR_LITTLE) return PLIM_OK;
    return plim__lower_own(l, (size_t)columns * CODE_OF_COLUMN);
}

static plim_status lower_dnnl(plim__lower *l, const plim__window *w, enum pool_kind kind) {
    plim__layout x = *plim__lower_peek(l, 0);
    bool unrolled;
    PLIM_TRY(plim__lower_pool_columns(l, w->kernel[w->axes - 1], &unrolled));
    PLIM_TRY(plim__lower_input(l, 0, x.blocked && unrolled ? PLIM__ANY : PLIM__DENSE, &x));
    dnnl_memory_desc_t source, target;
    dnnl_dims_t y, kernel, stride, dilation, before, after;
    const plim__shape *out = plim__lower_output_shape(l, 0);
    for (int i = 0; i < out->rank; i++) y[i] = out->dims[i];
    for (int i = 0; i < w->axes; i++) {
        kernel[i] = w->kernel[i];
        stride[i] = w->stride[i];
        dilation[i] = w->dilation[i] - 1;
        before[i] = w->before[i];
        after[i] = (w->out[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 - w->in[i] - w->before[i];
    }
    plim__layout_md(&x, &source);
    dnnl_alg_kind_t algorithm = kind == POOL_MAX       ? dnnl_pooling_max
                                : kind == POOL_AVERAGE ? dnnl_pooling_avg_exclude_padding
                                                       : dnnl_pooling_avg_include_padding;
    PLIM_TRY(plim__lower_dnnl(l, dnnl_memory_desc_init_by_tag(&target, out->rank, y, dnnl_f32, dnnl_format_tag_any),
                              "pool"));
    dnnl_pooling_v2_desc_t desc;
    PLIM_TRY(plim__lower_dnnl(l,
                              dnnl_pooling_v2_forward_desc_init(&desc, dnnl_forward_inference, algorithm, &source,
                                                                &target, stride, kernel, dilation, before, after),
                              "pool"));
    dnnl_primitive_attr_t attr;
    PLIM_TRY(plim__lower_attr(l, &attr));
    dnnl_primitive_desc_t pd;
    dnnl_status_t status = dnnl_primitive_desc_create(&pd, &desc, attr, plim__lower_dnnl_engine(l), NULL);
    dnnl_primitive_attr_destroy(attr);
    PLIM_TRY(plim__lower_dnnl(l, status, "pool"));
    plim__argument arguments[] = {
        {DNNL_ARG_SRC, source, 0},
        {DNNL_ARG_DST, *dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0), PLIM__OUT(0)}};
    plim_status made = plim__lower_output_md(l, 0, &arguments[1].md);
    if (made != PLIM_OK) {
        dnnl_primitive_desc_destroy(pd);
        return made;
    }
    return plim__lower_primitive(l, plim__lower_node(l)->op_name, pd, arguments, 2);
}

/* --- plain loops ---------------------------------------------------------------------------------------------- */

struct plain {
    plim__window window;
    enum pool_kind kind;
    plim_dtype dtype;
    int64_t planes, in_size, out_size; /* N·C, and cells of one plane */
    double p;
    bool column_major; /* storage_order of the indices */
};

struct cell {
    double result;
    int64_t at; /* of the maximum inside the plane, -1 for none */
};

/* Taps of a window: the first that lies at `low` or behind it. */
static int64_t first_tap(int64_t start, int64_t dilation, int64_t low, int64_t taps) {
    int64_t first = start >= low ? 0 : (low - start + dilation - 1) / dilation;
    return first < taps ? first : taps;
}

/* One output cell of one plane. Only taps inside of the plane are visited: a file may ask for any window. */
static struct cell pool_cell(const struct plain *s, const void *data, int64_t plane, const int64_t *o) {
    const plim__window *w = &s->window;
    int64_t k[PLIM__MAX_SPATIAL] = {0}, from[PLIM__MAX_SPATIAL] = {0}, to[PLIM__MAX_SPATIAL] = {0},
            start[PLIM__MAX_SPATIAL] = {0}, count = 0;
    double covered = 1; /* ceil_mode may reach past the padding; that does not count */
    bool any = true;
    struct cell cell = {.result = s->kind == POOL_MAX ? -DBL_MAX : 0, .at = -1};
    for (int i = 0; i < w->axes; i++) {
        int64_t taps = w->kernel[i], dilation = w->dilation[i];
        start[i] = o[i] * w->stride[i] - w->before[i];
        k[i] = from[i] = first_tap(start[i], dilation, 0, taps);
        to[i] = first_tap(start[i], dilation, w->in[i], taps);
        covered *= (double)(first_tap(start[i], dilation, w->in[i] + w->after[i], taps) -
                            first_tap(start[i], dilation, -w->before[i], taps));
        any &= from[i] < to[i];
    }
    while (any) {
        int64_t at = 0;
        for (int i = 0; i < w->axes; i++) at = at * w->in[i] + start[i] + k[i] * w->dilation[i];
        double x = plim__scalar_get(s->dtype, data, plane * s->in_size + at);
        count++;
        if (s->kind == POOL_MAX && (cell.at < 0 || x > cell.result || isnan(x))) cell = (struct cell){x, at};
        if (s->kind == POOL_AVERAGE || s->kind == POOL_AVERAGE_PADDED) cell.result += x;
        if (s->kind == POOL_LP) cell.result += pow(fabs(x), s->p);
        int axis = w->axes - 1;
        while (axis >= 0 && ++k[axis] == to[axis]) {
            k[axis] = from[axis];
            axis--;
        }
        any = axis >= 0;
    }
    if (s->kind == POOL_AVERAGE) cell.result /= (double)(count ? count : 1);
    if (s->kind == POOL_AVERAGE_PADDED) cell.result /= covered > 0 ? covered : 1;
    if (s->kind == POOL_LP) cell.result = pow(cell.result, 1 / s->p);
    return cell;
}

static int64_t index_of(const struct plain *s, int64_t plane, int64_t at) {
    if (!s->column_major) return plane * s->in_size + at;
    int64_t index = 0, scale = 1, digits[PLIM__MAX_SPATIAL];
    for (int i = s->window.axes - 1; i >= 0; i--) {
        digits[i] = at % s->window.in[i];
        at /= s->window.in[i];
    }
    for (int i = 0; i < s->window.axes; i++) {
        index += digits[i] * scale;
        scale *= s->window.in[i];
    }
    return plane * s->in_size + index;
}

static plim_status run_plain(const plim__call *call) {
    const struct plain *s = call->state;
#pragma omp parallel for if (s->planes * s->out_size > 4096)
    for (int64_t plane = 0; plane < s->planes; plane++) {
        int64_t o[PLIM__MAX_SPATIAL] = {0};
        for (int64_t i = 0; i < s->out_size; i++) {
            struct cell cell = pool_cell(s, call->in[0], plane, o);
            plim__scalar_set(s->dtype, call->out[0], plane * s->out_size + i, cell.result);
            if (call->out[1]) ((int64_t *)call->out[1])[plane * s->out_size + i] = index_of(s, plane, cell.at);
            for (int axis = s->window.axes - 1; axis >= 0 && ++o[axis] == s->window.out[axis]; axis--) o[axis] = 0;
        }
    }
    return PLIM_OK;
}

static plim_status lower_plain(plim__lower *l, const plim__window *w, enum pool_kind kind) {
    plim_dtype dtype = plim__lower_input_dtype(l, 0);
    if (!plim__scalar_known(dtype)) return plim__lower_unsupported(l, "with this type");
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_output(l, 1, NULL));
    struct plain *s = plim__alloc_zero(1, sizeof *s);
    if (!s) return plim__lower_fail(l, PLIM_NO_MEMORY, "out of memory while planning");
    const plim__shape *x = plim__lower_input_shape(l, 0);
    *s = (struct plain){.window = *w,
                        .kind = kind,
                        .dtype = dtype,
                        .planes = x->dims[0] * x->dims[1],
                        .in_size = 1,
                        .out_size = 1,
                        .p = (double)plim__node_int(plim__lower_node(l), "p", 2),
                        .column_major = plim__node_int(plim__lower_node(l), "storage_order", 0) != 0};
    if (plim__lower_node(l)->version < 2) s->p = (double)plim__node_float(plim__lower_node(l), "p", 2);
    for (int i = 0; i < w->axes; i++) {
        s->in_size *= w->in[i];
        s->out_size *= w->out[i];
    }
    return plim__lower_emit(l, plim__lower_node(l)->op_name, run_plain, s, plim__free);
}

/* ceil_mode windows that reach past the padding count differently in oneDNN. */
static bool reaches_past(const plim__window *w) {
    for (int i = 0; i < w->axes; i++)
        if ((w->out[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 >
            w->in[i] + w->before[i] + w->after[i])
            return true;
    return false;
}

/* Windows that lie in the padding alone: oneDNN has none. */
static bool pads_whole_windows(const plim__window *w) {
    for (int i = 0; i < w->axes; i++) {
        int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        int64_t after = (w->out[i] - 1) * w->stride[i] + reach - w->in[i] - w->before[i];
        if (w->before[i] >= reach || after >= reach) return true;
    }
    return false;
}

static plim_status lower(plim__lower *l, const plim__window *w, enum pool_kind kind) {
    bool plain = plim__lower_input_dtype(l, 0) != PLIM_F32 || plim__lower_has_output(l, 1) || kind == POOL_LP ||
                 w->axes > 3 || plim__shape_elements(plim__lower_output_shape(l, 0)) == 0 ||
                 (kind == POOL_AVERAGE_PADDED && reaches_past(w)) || pads_whole_windows(w);
    return plain ? lower_plain(l, w, kind) : lower_dnnl(l, w, kind);
}

static plim_status lower_window(plim__lower *l, enum pool_kind kind) {
    plim__window w;
    PLIM_TRY(plim__window_read(plim__lower_node(l), plim__lower_input_shape(l, 0), NULL, &w, NULL));
    return lower(l, &w, kind);
}

static plim_status lower_global(plim__lower *l, enum pool_kind kind) {
    plim__window w;
    global_window(plim__lower_input_shape(l, 0), &w);
    return lower(l, &w, kind);
}

plim_status plim__lower_max_pool(plim__lower *l) { return lower_window(l, POOL_MAX); }
plim_status plim__lower_average_pool(plim__lower *l) {
    return lower_window(l, plim__node_int(plim__lower_node(l), "count_include_pad", 0) ? POOL_AVERAGE_PADDED
                                                                                       : POOL_AVERAGE);
}
plim_status plim__lower_lp_pool(plim__lower *l) { return lower_window(l, POOL_LP); }
plim_status plim__lower_global_max_pool(plim__lower *l) { return lower_global(l, POOL_MAX); }
plim_status plim__lower_global_average_pool(plim__lower *l) { return lower_global(l, POOL_AVERAGE); }
plim_status plim__lower_global_lp_pool(plim__lower *l) { return lower_global(l, POOL_LP); }

/* --- MaxUnpool: each value goes back to the place its index names --------------------------------------------- */

struct unpool {
    int64_t count, cells, pooled_cells;
    int rank;
    int64_t pooled[PLIM_MAX_RANK], out[PLIM_MAX_RANK]; /* the shape that the indices count in, and the output's */
};

static int64_t translate(const struct unpool *s, int64_t index) {
    int64_t at = 0, scale = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        at += index % s->pooled[i] * scale;
        index /= s->pooled[i];
        scale *= s->out[i];
    }
    return at;
}

static plim_status run_unpool(const plim__call *call) {
    const struct unpool *s = call->state;
    const float *x = call->in[0];
    const int64_t *index = call->in[1];
    memset(call->out[0], 0, (size_t)s->cells * sizeof *x);
    for (int64_t i = 0; i < s->count; i++) {
        int64_t at = index[i] < 0 || index[i] >= s->pooled_cells ? -1 : translate(s, index[i]);
        if (at < 0 || at >= s->cells) return PLIM_INVALID;
        ((float *)call->out[0])[at] = x[i];
    }
    return PLIM_OK;
}

plim_status plim__lower_max_unpool(plim__lower *l) {
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    const plim__shape *x = plim__lower_input_shape(l, 0), *y = plim__lower_output_shape(l, 0);
    plim__window w;
    PLIM_TRY(plim__window_read_transposed(plim__lower_node(l), x, NULL, &w, NULL));
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    struct unpool *s = plim__alloc_zero(1, sizeof *s);
    if (s) {
        s->rank = x->rank;
        s->count = plim__shape_elements(x);
        s->cells = plim__shape_elements(y);
        s->pooled_cells = 1;
        for (int i = 0; i < x->rank; i++) {
            s->out[i] = y->dims[i];
            s->pooled[i] = i < 2 ? x->dims[i] : w.out[i - 2];
            s->pooled_cells *= s->pooled[i];
        }
    }
    return plim__lower_emit(l, "MaxUnpool", run_unpool, s, plim__free);
}
