/* Resize and Upsample. Nearest is a copy through index tables. Linear and cubic are separable: every axis that
 * changes is one pass over [outer, in, inner] → [outer, out, inner], each output line a weighted sum of a few
 * input lines. Blocked float32 goes to oneDNN where it means the same. */
#include "kernel/forward/resize.h"

#include <math.h>
#include <string.h>

#include "kernel/copies.h"
#include "kernel/forward/pad.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"

/* --- weights -------------------------------------------------------------------------------------------------- */

static double cubic_weight(double x, double a) {
    x = fabs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    return 0;
}

static double tap_weight(const plim__resize *r, double distance) {
    if (r->mode == PLIM__RESIZE_CUBIC) return cubic_weight(distance, (double)r->cubic_a);
    distance = fabs(distance);
    return distance < 1 ? 1 - distance : 0;
}

/* How much the filter widens when it shrinks an axis. */
static double filter_scale(const plim__resize *r, int axis) {
    return r->antialias && r->scale[axis] < 1 ? r->scale[axis] : 1;
}

int plim__resize_tap_count(const plim__resize *r, int axis) {
    double reach = r->mode == PLIM__RESIZE_CUBIC ? 2 : 1;
    return 2 * (int)ceil(fmin(reach / filter_scale(r, axis), 1e6)) + 1;
}

bool plim__resize_taps(const plim__resize *r, int axis, int64_t in, int64_t x, plim__taps to) {
    double at = plim__resize_coordinate(r, axis, in, x), scale = filter_scale(r, axis), sum = 0;
    if (r->coordinates == PLIM__TF_CROP_AND_RESIZE && !(at >= 0 && at <= (double)(in - 1))) return false;
    int64_t first = (int64_t)floor(at) - (to.count - 1) / 2;
    for (int k = 0; k < to.count; k++) {
        int64_t i = first + k;
        double weight = tap_weight(r, ((double)i - at) * scale);
        if (r->exclude_outside && (i < 0 || i >= in)) weight = 0;
        to.indices[k] = i < 0 ? 0 : i >= in ? in - 1 : i;
        to.weights[k] = (float)weight;
        sum += weight;
    }
    if (r->exclude_outside || scale < 1)
        for (int k = 0; k < to.count && sum != 0; k++) to.weights[k] = (float)((double)to.weights[k] / sum);
    return true;
}

/* --- passes --------------------------------------------------------------------------------------------------- */

struct pass {
    int64_t outer, in, out, inner;
    int taps;
    int64_t *indices; /* [out, taps] */
    float *weights;
};

struct resize_state {
    plim_dtype dtype;
    int pass_count, threads, rank;
    struct pass passes[PLIM_MAX_RANK];
    int64_t in_elements, out_elements, half; /* half: floats in each of the two scratch buffers */
    bool convert;
    float extrapolation;
    bool *outside[PLIM_MAX_RANK]; /* per axis, NULL when nothing is outside */
    int64_t dims[PLIM_MAX_RANK];
};

static void release_resize(void *state) {
    struct resize_state *s = state;
    for (int i = 0; i < s->pass_count; i++) {
        plim__free(s->passes[i].indices);
        plim__free(s->passes[i].weights);
    }
    for (int i = 0; i < PLIM_MAX_RANK; i++) plim__free(s->outside[i]);
    plim__free(s);
}

static void resize_line(const struct pass *p, const float *from, float *to, int64_t o) {
    const int64_t *indices = p->indices + o * p->taps;
    const float *weights = p->weights + o * p->taps;
    if (p->inner == 1) {
        float sum = 0;
        for (int k = 0; k < p->taps; k++) sum += weights[k] * from[indices[k]];
        *to = sum;
        return;
    }
    bool first = true;
    for (int k = 0; k < p->taps; k++) {
        const float *line = from + indices[k] * p->inner, weight = weights[k];
        if (weight == 0 && !(first && k == p->taps - 1)) continue;
        if (first)
            for (int64_t i = 0; i < p->inner; i++) to[i] = weight * line[i];
        else
            for (int64_t i = 0; i < p->inner; i++) to[i] += weight * line[i];
        first = false;
    }
}

static void run_pass(const struct pass *p, const float *from, float *to, int threads) {
    int64_t lines = p->outer * p->out;
    threads = plim__copy_threads(lines * p->inner, threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t line = 0; line < lines; line++)
        resize_line(p, from + line / p->out * p->in * p->inner, to + line * p->inner, line % p->out);
}

static void fill_outside(const struct resize_state *s, float *y) {
    for (int64_t i = 0; i < s->out_elements; i++) {
        bool outside = false;
        for (int a = s->rank - 1, once = 1; a >= 0 && once; a--) {
            int64_t inner = 1;
            for (int b = a + 1; b < s->rank; b++) inner *= s->dims[b];
            outside |= s->outside[a] && s->outside[a][i / inner % s->dims[a]];
        }
        if (outside) y[i] = s->extrapolation;
    }
}

/* Passes alternate between two halves of the scratch; the last one writes the output when it is float32. */
static plim_status run_resize(const plim__call *call) {
    const struct resize_state *s = call->state;
    float *halves[2] = {call->scratch, (float *)call->scratch + s->half};
    const float *from = call->in[0];
    int next = 0;
    bool any_outside = false;
    for (int a = 0; a < s->rank; a++) any_outside |= s->outside[a] != NULL;
    if (s->convert) {
        for (int64_t i = 0; i < s->in_elements; i++) halves[0][i] = (float)plim__scalar_get(s->dtype, call->in[0], i);
        from = halves[0];
        next = 1;
    }
    for (int i = 0; i < s->pass_count; i++, next = 1 - next) {
        float *to = i == s->pass_count - 1 && !s->convert ? call->out[0] : halves[next];
        run_pass(&s->passes[i], from, to, s->threads);
        from = to;
    }
    if (!s->convert && s->pass_count == 0) memcpy(call->out[0], from, (size_t)s->out_elements * sizeof(float));
    float *result = s->convert ? (float *)from : call->out[0];
    if (any_outside) fill_outside(s, result);
    bool whole = s->dtype != PLIM_F16 && s->dtype != PLIM_BF16 && s->dtype != PLIM_F64;
    for (int64_t i = 0; s->convert && i < s->out_elements; i++)
        plim__scalar_set(s->dtype, call->out[0], i, whole ? nearbyint((double)result[i]) : (double)result[i]);
    return PLIM_OK;
}

/* --- lowering ------------------------------------------------------------------------------------------------- */

static plim_status add_pass(plim__lower *l, struct resize_state *s, const plim__resize *r, plim__shape *shape,
                            int axis) {
    struct pass *p = &s->passes[s->pass_count++];
    int64_t in = shape->dims[axis], out = r->out.dims[axis];
    *p =
        (struct pass){plim__shape_product(shape, 0, axis), in,   out, plim__shape_product(shape, axis + 1, shape->rank),
                      plim__resize_tap_count(r, axis),     NULL, NULL};
    int64_t entries;
    if (__builtin_mul_overflow(out, p->taps, &entries))
        return plim__lower_fail(l, PLIM_OVERFLOW, "an axis is too long");
    PLIM_TRY(plim__lower_table(l, entries, sizeof *p->indices, &p->indices));
    PLIM_TRY(plim__lower_table(l, entries, sizeof *p->weights, &p->weights));
    for (int64_t x = 0; x < out; x++) {
        int64_t at = x * p->taps;
        if (plim__resize_taps(r, axis, in, x, (plim__taps){p->taps, p->indices + at, p->weights + at})) continue;
        if (!s->outside[axis]) s->outside[axis] = plim__alloc_zero((size_t)out, sizeof(bool));
        if (!s->outside[axis]) return plim__lower_fail(l, PLIM_NO_MEMORY, "out of memory while planning");
        s->outside[axis][x] = true;
        memset(p->indices + at, 0, (size_t)p->taps * sizeof *p->indices);
        memset(p->weights + at, 0, (size_t)p->taps * sizeof *p->weights);
    }
    shape->dims[axis] = out;
    int64_t elements = plim__shape_elements(shape);
    if (elements > s->half) s->half = elements;
    return PLIM_OK;
}

/* The axes that shrink most come first: less is left for the others. */
static int next_axis(const plim__resize *r, const plim__shape *shape, unsigned done) {
    int best = -1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        bool changes =
            shape->dims[i] != r->out.dims[i] || r->scale[i] != 1 || r->coordinates == PLIM__TF_CROP_AND_RESIZE;
        if (done >> i & 1 || !changes || shape->dims[i] == 0) continue;
        if (best < 0 || r->scale[i] < r->scale[best]) best = i;
    }
    return best;
}

static plim_status resize_smooth(plim__lower *l, const plim__resize *r) {
    struct resize_state *s;
    plim_dtype dtype = plim__lower_input_dtype(l, 0);
    if (!plim__scalar_known(dtype)) return plim__lower_unsupported(l, "with this element type");
    plim__shape shape = *plim__lower_input_shape(l, 0);
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    s->dtype = dtype;
    s->threads = plim__lower_threads(l);
    s->rank = shape.rank;
    memcpy(s->dims, r->out.dims, sizeof s->dims);
    s->in_elements = plim__shape_elements(&shape);
    s->out_elements = plim__shape_elements(&r->out);
    s->convert = dtype != PLIM_F32;
    s->extrapolation = r->extrapolation;
    if (s->convert) s->half = s->in_elements;
    plim_status status = PLIM_OK;
    unsigned done = 0;
    for (int axis; status == PLIM_OK && (axis = next_axis(r, &shape, done)) >= 0; done |= 1u << axis)
        status = add_pass(l, s, r, &shape, axis);
    if (status == PLIM_OK && (s->convert || s->pass_count > 1))
        status = plim__lower_scratch(l, (size_t)s->half * 2 * sizeof(float) + 64);
    if (status == PLIM_OK) return plim__lower_emit(l, "Resize", run_resize, s, release_resize);
    release_resize(s);
    return status;
}

static plim_status resize_nearest(plim__lower *l, const plim__resize *r) {
    plim__layout x;
    plim__mapped *m;
    PLIM_TRY(plim__lower_input(l, 0, PLIM__STRIDED, &x));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__mapped_create(l, &x, &r->out, &m));
    m->fill_operand = -1;
    plim__scalar_set(x.dtype, m->fill, 0, (double)r->extrapolation);
    for (int a = 0; a < r->out.rank; a++)
        for (int64_t i = 0; i < r->out.dims[a]; i++) m->table[a][i] = plim__resize_nearest(r, a, x.shape.dims[a], i);
    return plim__lower_emit(l, "Resize", plim__run_mapped, m, plim__free);
}

/* Beyond it an axis is not worth comparing: its tables are refused. */
#define MOST_COMPARED ((int64_t)1 << 26)

/* oneDNN's meaning: half pixels with the exact ratio; nearest rounds to the closest. */
static bool dnnl_agrees(const plim__resize *r, const plim__shape *in) {
    if (in->rank < 3 || in->rank > 5 || in->dims[0] != r->out.dims[0] || in->dims[1] != r->out.dims[1]) return false;
    if (r->mode == PLIM__RESIZE_CUBIC || r->antialias || r->exclude_outside) return false;
    for (int a = 2; a < in->rank; a++) {
        int64_t from = in->dims[a], to = r->out.dims[a];
        if (from == 0 || to == 0 || to > MOST_COMPARED) return false;
        for (int64_t x = 0; x < to; x++) {
            double expected = ((double)x + 0.5) * (double)from / (double)to - 0.5;
            if (r->mode == PLIM__RESIZE_NEAREST &&
                plim__resize_nearest(r, a, from, x) != (int64_t)fmax(0, round(expected)))
                return false;
            if (r->mode == PLIM__RESIZE_LINEAR &&
                fabs(plim__resize_coordinate(r, a, from, x) - expected) > 1e-6 * (double)from)
                return false;
        }
    }
    return r->coordinates != PLIM__TF_CROP_AND_RESIZE;
}

static plim_status resize_blocked(plim__lower *l, const plim__resize *r, bool *done) {
    *done = false;
    const plim__layout *x = plim__lower_peek(l, 0);
    if (!x->blocked || x->dtype != PLIM_F32 || plim__md(x)->ndims != x->shape.rank || !dnnl_agrees(r, &x->shape))
        return PLIM_OK;
    dnnl_memory_desc_t source = *plim__md(x), target;
    dnnl_resampling_desc_t desc;
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t pd;
    dnnl_alg_kind_t algorithm = r->mode == PLIM__RESIZE_NEAREST ? dnnl_resampling_nearest : dnnl_resampling_linear;
    dnnl_dims_t dims = {0};
    memcpy(dims, r->out.dims, (size_t)r->out.rank * sizeof *dims);
    if (dnnl_memory_desc_init_by_tag(&target, r->out.rank, dims, dnnl_f32, dnnl_format_tag_any) != dnnl_success)
        return PLIM_OK;
    if (dnnl_resampling_forward_desc_init(&desc, dnnl_forward_inference, algorithm, NULL, &source, &target) !=
        dnnl_success)
        return PLIM_OK;
    PLIM_TRY(plim__lower_attr(l, &attr));
    dnnl_status_t made = dnnl_primitive_desc_create(&pd, &desc, attr, plim__lower_dnnl_engine(l), NULL);
    dnnl_primitive_attr_destroy(attr);
    if (made != dnnl_success) return PLIM_OK;
    *done = true;
    target = *dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
    plim_status status = plim__lower_input(l, 0, PLIM__ANY, NULL);
    if (status == PLIM_OK) status = plim__lower_output_md(l, 0, &target);
    if (status != PLIM_OK) {
        dnnl_primitive_desc_destroy(pd);
        return status;
    }
    plim__argument arguments[] = {{DNNL_ARG_SRC, source, 0}, {DNNL_ARG_DST, target, PLIM__OUT(0)}};
    return plim__lower_primitive(l, "Resize", pd, arguments, 2);
}

plim_status plim__lower_resize(plim__lower *l) {
    if (plim__lower_is_empty(l)) return plim__lower_output(l, 0, NULL);
    plim__infer reading = plim__lower_reading(l);
    plim__resize r;
    bool done;
    PLIM_TRY(plim__resize_read(&reading, &r));
    PLIM_TRY(resize_blocked(l, &r, &done));
    if (done) return PLIM_OK;
    return r.mode == PLIM__RESIZE_NEAREST ? resize_nearest(l, &r) : resize_smooth(l, &r);
}
