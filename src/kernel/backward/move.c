/* Backward of slices, pads, resizes and gathers on float32: zeros, and what comes back added to them. Every element of
 * the result is summed by one thread in a fixed order, so that results do not depend on the number of threads. */
#include <omp.h>
#include <string.h>

#include "kernel/copies.h"
#include "kernel/forward/resize.h"
#include "kernel/indices.h"
#include "kernel/lowers.h"

static plim_status need_f32(plim__lower *l) {
    return plim__lower_input_dtype(l, 0) == PLIM_F32 ? PLIM_OK
                                                     : plim__lower_unsupported(l, "with another type than float32");
}

static void clear(float *to, int64_t count, int threads) {
    float zero = 0;
    plim__fill(to, &zero, count, sizeof zero, threads);
}

/* --- slices --------------------------------------------------------------------------------------------------- */

struct slice {
    int rank, threads;
    int64_t elements, offset;
    int64_t dims[PLIM_MAX_RANK], to[PLIM_MAX_RANK], from[PLIM_MAX_RANK];
};

static plim_status run_slice(const plim__call *call) {
    const struct slice *s = call->state;
    clear(call->out[0], s->elements, s->threads);
    plim__strided how = {s->rank, s->dims, s->to, s->from, sizeof(float)};
    plim__copy_strided((float *)call->out[0] + s->offset, call->in[0], &how, s->threads);
    return PLIM_OK;
}

plim_status plim__lower_slice_grad(plim__lower *l) {
    const plim__shape *out = plim__lower_output_shape(l, 0);
    size_t count;
    const int64_t *start = plim__node_ints(plim__lower_node(l), "start", &count),
                  *step = plim__node_ints(plim__lower_node(l), "step", &count);
    plim__layout dy;
    struct slice *s;
    PLIM_TRY(need_f32(l));
    PLIM_TRY(plim__lower_input(l, 0, PLIM__STRIDED, &dy));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct slice){.rank = out->rank, .threads = plim__lower_threads(l), .elements = plim__shape_elements(out)};
    plim__dense_strides(out->dims, out->rank, s->to);
    for (int i = 0; i < out->rank; i++) {
        s->offset += start[i] * s->to[i];
        s->to[i] *= step[i];
        s->from[i] = dy.strides[i];
        s->dims[i] = dy.shape.dims[i];
    }
    if (plim__shape_elements(&dy.shape) == 0) s->offset = 0;
    return plim__lower_emit(l, "SliceGrad", run_slice, s, plim__free);
}

/* --- tables along axes: pads and resizes ---------------------------------------------------------------------- */

/* One axis: [outer, out, inner] → [outer, in, inner]. Input index i gets weights[k] · row rows[k] for k in
 * first[i] .. first[i + 1] - 1. */
struct pass {
    int64_t outer, in, out, inner;
    int64_t *first, *rows;
    float *weights;
};

struct passes {
    int count, threads;
    int64_t elements; /* of dy */
    int64_t half;     /* floats of each of the two scratch buffers */
    struct pass items[PLIM_MAX_RANK];
};

static void release_passes(void *state) {
    struct passes *s = state;
    for (int i = 0; i < PLIM_MAX_RANK; i++) {
        plim__free(s->items[i].first);
        plim__free(s->items[i].rows);
        plim__free(s->items[i].weights);
    }
    plim__free(s);
}

static void run_pass(const struct pass *p, const float *from, float *to, int threads) {
    int64_t lines = p->outer * p->in;
    threads = plim__copy_threads(lines * p->inner, threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t line = 0; line < lines; line++) {
        const float *block = from + line / p->in * p->out * p->inner;
        float *sum = to + line * p->inner;
        memset(sum, 0, (size_t)p->inner * sizeof *sum);
        for (int64_t k = p->first[line % p->in]; k < p->first[line % p->in + 1]; k++) {
            const float *row = block + p->rows[k] * p->inner, weight = p->weights[k];
            for (int64_t i = 0; i < p->inner; i++) sum[i] += weight * row[i];
        }
    }
}

static plim_status run_passes(const plim__call *call) {
    const struct passes *s = call->state;
    float *halves[2] = {call->scratch, call->scratch}; /* of several passes; one alone goes from input to output */
    if (s->count > 1) halves[1] += s->half;
    const float *from = call->in[0];
    for (int i = 0; i < s->count; i++) {
        float *to = i == s->count - 1 ? call->out[0] : halves[i & 1];
        run_pass(&s->items[i], from, to, s->threads);
        from = to;
    }
    if (s->count == 0 && s->elements) memcpy(call->out[0], from, (size_t)s->elements * sizeof *from);
    return PLIM_OK;
}

/* Turns the taps of each output index ([out, taps]) into lists of each input index. */
static bool fill_pass(struct pass *p, int taps, const int64_t *indices, const float *weights) {
    p->first = plim__alloc_zero((size_t)p->in + 1, sizeof *p->first);
    p->rows = plim__alloc_array((size_t)(p->out * taps), sizeof *p->rows);
    p->weights = plim__alloc_array((size_t)(p->out * taps), sizeof *p->weights);
    if (!p->first || !p->rows || !p->weights) return false;
    for (int64_t k = 0; k < p->out * taps; k++)
        if (weights[k] != 0) p->first[indices[k] + 1]++;
    for (int64_t i = 0; i < p->in; i++) p->first[i + 1] += p->first[i];
    for (int64_t k = 0; k < p->out * taps; k++)
        if (weights[k] != 0) {
            int64_t at = p->first[indices[k]]++;
            p->rows[at] = k / taps;
            p->weights[at] = weights[k];
        }
    for (int64_t i = p->in; i > 0; i--) p->first[i] = p->first[i - 1];
    p->first[0] = 0;
    return true;
}

/* What the axes of a node take from: how many taps an axis has, and those of an output index. */
struct source {
    const void *geometry;
    int (*count)(const void *geometry, int axis);
    void (*give)(const void *geometry, int axis, int64_t in, int64_t x, plim__taps to);
};

static plim_status add_pass(plim__lower *l, struct passes *s, const struct source *source, int axis,
                            const plim__shape *now) {
    struct pass *p = &s->items[s->count];
    int taps = source->count(source->geometry, axis);
    int64_t in = plim__lower_output_shape(l, 0)->dims[axis], entries, bytes;
    if (__builtin_mul_overflow(now->dims[axis], taps, &entries) ||
        __builtin_mul_overflow(entries, 2 * (sizeof *p->rows + sizeof *p->weights), &bytes) ||
        __builtin_add_overflow(bytes, (in + 1) * (int64_t)sizeof *p->first, &bytes))
        return plim__lower_fail(l, PLIM_OVERFLOW, "axis %d is too long", axis);
    PLIM_TRY(plim__lower_own(l, (size_t)bytes));
    *p = (struct pass){plim__shape_product(now, 0, axis),
                       in,
                       now->dims[axis],
                       plim__shape_product(now, axis + 1, now->rank),
                       NULL,
                       NULL,
                       NULL};
    int64_t *indices = plim__alloc_array((size_t)entries, sizeof *indices);
    float *weights = plim__alloc_array((size_t)entries, sizeof *weights);
    bool ok = indices && weights;
    for (int64_t x = 0; ok && x < p->out; x++)
        source->give(source->geometry, axis, in, x, (plim__taps){taps, indices + x * taps, weights + x * taps});
    ok = ok && fill_pass(p, taps, indices, weights);
    plim__free(indices);
    plim__free(weights);
    s->count++;
    return ok ? PLIM_OK : plim__lower_fail(l, PLIM_NO_MEMORY, "no memory for its tables");
}

static plim_status lower_passes(plim__lower *l, const char *label, const struct source *source) {
    plim__shape now = *plim__lower_input_shape(l, 0);
    const plim__shape *x = plim__lower_output_shape(l, 0);
    struct passes *s;
    PLIM_TRY(need_f32(l));
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct passes){.threads = plim__lower_threads(l), .elements = plim__shape_elements(&now)};
    plim_status status = PLIM_OK;
    for (int axis = 0; status == PLIM_OK && axis < x->rank; axis++) {
        if (source->count(source->geometry, axis) == 0) continue;
        status = add_pass(l, s, source, axis, &now);
        now.dims[axis] = x->dims[axis];
        if (plim__shape_elements(&now) > s->half) s->half = plim__shape_elements(&now);
    }
    if (status == PLIM_OK && s->count > 1) status = plim__lower_scratch(l, 2 * (size_t)s->half * sizeof(float));
    if (status != PLIM_OK) {
        release_passes(s);
        return status;
    }
    return plim__lower_emit(l, label, run_passes, s, release_passes);
}

struct pad_geometry {
    const int64_t *before;
    plim__pad_mode mode;
    plim__shape in, out;
};

static int pad_taps(const void *geometry, int axis) {
    const struct pad_geometry *g = geometry;
    return g->before[axis] != 0 || g->in.dims[axis] != g->out.dims[axis];
}

/* The source of output index x. */
static void pad_source(const void *geometry, int axis, int64_t in, int64_t x, plim__taps to) {
    const struct pad_geometry *g = geometry;
    int64_t at = x - g->before[axis];
    if (g->mode == PLIM__PAD_EDGE) at = at < 0 ? 0 : at >= in ? in - 1 : at;
    if (g->mode == PLIM__PAD_WRAP) at = ((at % in) + in) % in;
    if (g->mode == PLIM__PAD_REFLECT) {
        int64_t period = in > 1 ? 2 * (in - 1) : 1;
        at = ((at % period) + period) % period;
        if (at >= in) at = period - at;
    }
    *to.indices = at;
    *to.weights = 1;
}

plim_status plim__lower_pad_grad(plim__lower *l) {
    size_t count;
    struct pad_geometry g = {.before = plim__node_ints(plim__lower_node(l), "before", &count),
                             .mode = (plim__pad_mode)plim__node_int(plim__lower_node(l), "mode", 0),
                             .in = *plim__lower_output_shape(l, 0),
                             .out = *plim__lower_input_shape(l, 0)};
    return lower_passes(l, "PadGrad", &(struct source){&g, pad_taps, pad_source});
}

struct resize_geometry {
    plim__resize resize;
    plim__shape in;
};

static int resize_taps(const void *geometry, int axis) {
    const struct resize_geometry *g = geometry;
    if (g->in.dims[axis] == g->resize.out.dims[axis] && g->resize.scale[axis] == 1) return 0;
    return g->resize.mode == PLIM__RESIZE_NEAREST ? 1 : plim__resize_tap_count(&g->resize, axis);
}

static void resize_source(const void *geometry, int axis, int64_t in, int64_t x, plim__taps to) {
    const struct resize_geometry *g = geometry;
    bool inside = true;
    if (g->resize.mode == PLIM__RESIZE_NEAREST) {
        to.indices[0] = plim__resize_nearest(&g->resize, axis, in, x);
        to.weights[0] = 1;
        inside = to.indices[0] >= 0;
    } else {
        inside = plim__resize_taps(&g->resize, axis, in, x, to);
    }
    for (int k = 0; !inside && k < to.count; k++) /* a constant came from there */
        to.indices[k] = 0, to.weights[k] = 0;
}

plim_status plim__lower_resize_grad(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    size_t count;
    const float *scale = plim__node_floats(node, "scale", &count),
                *starts = plim__node_floats(node, "roi_start", &count),
                *ends = plim__node_floats(node, "roi_end", &count);
    const int64_t *how = plim__node_ints(node, "how", &count);
    struct resize_geometry g = {.in = *plim__lower_output_shape(l, 0)};
    g.resize = (plim__resize){.out = *plim__lower_input_shape(l, 0),
                              .mode = (plim__resize_mode)how[0],
                              .coordinates = (plim__resize_coordinates)how[1],
                              .rounding = (plim__resize_rounding)how[2],
                              .antialias = how[3] != 0,
                              .exclude_outside = how[4] != 0,
                              .cubic_a = plim__node_float(node, "cubic_a", -0.75f)};
    for (int i = 0; i < g.in.rank; i++) {
        g.resize.scale[i] = (double)scale[i];
        g.resize.roi_start[i] = (double)starts[i];
        g.resize.roi_end[i] = (double)ends[i];
    }
    return lower_passes(l, "ResizeGrad", &(struct source){&g, resize_taps, resize_source});
}

/* --- gathers -------------------------------------------------------------------------------------------------- */

/* dy [outer, count, inner] into dx [outer, size, inner]. */
struct gather {
    plim_dtype index_type;
    int threads;
    int64_t outer, size, inner, count;
};

/* Columns from..to of every row, so that no two threads meet in an element. */
static void add_columns(const struct gather *s, const plim__call *call, int64_t from, int64_t to) {
    const float *dy = call->in[0];
    float *dx = call->out[0];
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t k = 0; k < s->count; k++) {
            int64_t at = plim__index_at(s->index_type, call->in[1], k, s->size);
            const float *row = dy + (o * s->count + k) * s->inner;
            float *sum = dx + (o * s->size + at) * s->inner;
            for (int64_t i = from; i < to; i++) sum[i] += row[i];
        }
}

static plim_status run_gather(const plim__call *call) {
    const struct gather *s = call->state;
    for (int64_t k = 0; k < s->count; k++)
        if (plim__index_at(s->index_type, call->in[1], k, s->size) < 0)
            return plim__index_fail(call, s->index_type, call->in[1], k, s->size);
    if (!call->in[2])
        clear(call->out[0], s->outer * s->size * s->inner, s->threads);
    else if (call->in[2] != call->out[0])
        memcpy(call->out[0], call->in[2], (size_t)(s->outer * s->size * s->inner) * sizeof(float));
    int64_t pieces = s->outer * s->count * s->inner < 32768 ? 1 : s->threads, width = (s->inner + pieces - 1) / pieces;
#pragma omp parallel for num_threads((int)pieces) if (pieces > 1) schedule(static)
    for (int64_t p = 0; p < pieces; p++) {
        int64_t from = p * width, to = from + width < s->inner ? from + width : s->inner;
        if (from < to) add_columns(s, call, from, to);
    }
    return PLIM_OK;
}

plim_status plim__lower_gather_grad(plim__lower *l) {
    const plim__shape *x = plim__lower_output_shape(l, 0);
    struct gather *s;
    int axis = 0;
    PLIM_TRY(need_f32(l));
    plim__axis_normalize(plim__node_int(plim__lower_node(l), "axis", 0), x->rank, &axis);
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_input(l, 2, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    if (plim__lower_has_input(l, 2)) plim__lower_inplace(l, 2, 0);
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct gather){plim__lower_input_dtype(l, 1),
                         plim__lower_threads(l),
                         plim__shape_product(x, 0, axis),
                         x->dims[axis],
                         plim__shape_product(x, axis + 1, x->rank),
                         plim__shape_elements(plim__lower_input_shape(l, 1))};
    return plim__lower_emit(l, "GatherGrad", run_gather, s, plim__free);
}
