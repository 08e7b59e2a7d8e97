/* Gather, GatherElements, GatherND, Compress, ReverseSequence. Rows are memcpy'd in parallel; every index is
 * checked before it is used. */
#include <string.h>

#include "kernel/copies.h"
#include "kernel/forward/pad.h"
#include "kernel/indices.h"
#include "kernel/lowers.h"
#include "ops/movement.h"

/* --- Gather: data [outer, size, row] with n indices → [outer, n, row] -----------------------------------------------
 */

struct gather {
    plim_dtype index_type;
    int64_t outer, size, count;
    size_t row; /* bytes */
    int threads;
};

static plim_status run_gather(const plim__call *call) {
    const struct gather *s = call->state;
    const void *indices = call->in[1];
    for (int64_t i = 0; i < s->count; i++)
        if (plim__index_at(s->index_type, indices, i, s->size) < 0)
            return plim__index_fail(call, s->index_type, indices, i, s->size);
    int64_t rows = s->outer * s->count;
    int threads = plim__copy_threads(rows * (int64_t)s->row / 4, s->threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t r = 0; r < rows; r++) {
        int64_t index = plim__index_at(s->index_type, indices, r % s->count, s->size);
        memcpy((char *)call->out[0] + (size_t)r * s->row,
               (const char *)call->in[0] + (size_t)(r / s->count * s->size + index) * s->row, s->row);
    }
    return PLIM_OK;
}

/* One index that is known: a slice of one element, which is a view. */
static plim_status gather_view(plim__lower *l, int axis, int64_t index) {
    plim__layout x, y;
    size_t element_size;
    int index_rank = plim__lower_input_shape(l, 1)->rank;
    PLIM_TRY(plim__lower_element_size(l, plim__lower_input_dtype(l, 0), &element_size));
    PLIM_TRY(plim__lower_input(l, 0, PLIM__STRIDED, &x));
    y = (plim__layout){.dtype = x.dtype, .shape = *plim__lower_output_shape(l, 0)};
    for (int i = 0; i < y.shape.rank; i++)
        y.strides[i] = i < axis ? x.strides[i] : i < axis + index_rank ? 1 : x.strides[i - index_rank + 1];
    int64_t offset = plim__shape_elements(&y.shape) == 0 ? 0 : index * x.strides[axis];
    return plim__lower_view(l, 0, &y, offset * (int64_t)element_size);
}

plim_status plim__lower_gather(plim__lower *l) {
    plim__infer reading = plim__lower_reading(l);
    const plim__shape *data = plim__lower_input_shape(l, 0);
    int64_t count = plim__shape_elements(plim__lower_input_shape(l, 1));
    size_t element_size;
    struct gather *s;
    int axis;
    PLIM_TRY(plim__axis_read(&reading, "axis", 0, data->rank, &axis));
    PLIM_TRY(plim__lower_element_size(l, plim__lower_input_dtype(l, 0), &element_size));
    plim__tensor *known = count == 1 ? plim__lower_constant(l, 1) : NULL;
    if (known) {
        int64_t index = plim__index_at(known->dtype, known->data, 0, data->dims[axis]);
        if (index < 0)
            return plim__lower_fail(l, PLIM_INVALID, "index %.0f is out of range for an axis of %lld elements",
                                    plim__tensor_at(known, 0), (long long)data->dims[axis]);
        return gather_view(l, axis, index);
    }
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct gather){plim__lower_input_dtype(l, 1),
                         plim__shape_product(data, 0, axis),
                         data->dims[axis],
                         count,
                         (size_t)plim__shape_product(data, axis + 1, data->rank) * element_size,
                         plim__lower_threads(l)};
    return plim__lower_emit(l, "Gather", run_gather, s, plim__free);
}

/* --- GatherElements: output [dims] takes data at the same place, but for one axis ----------------------------- */

struct gather_elements {
    plim_dtype index_type;
    int rank, axis, threads;
    int64_t elements, dims[PLIM_MAX_RANK], strides[PLIM_MAX_RANK], size;
    size_t element_size;
};

static plim_status run_gather_elements(const plim__call *call) {
    const struct gather_elements *s = call->state;
    int64_t bad = -1;
    int threads = plim__copy_threads(s->elements, s->threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static) reduction(max : bad)
    for (int64_t e = 0; e < s->elements; e++) {
        int64_t from = 0, rest = e, index = plim__index_at(s->index_type, call->in[1], e, s->size);
        if (index < 0) {
            bad = e;
            continue;
        }
        for (int a = s->rank - 1; a >= 0; a--) {
            from += (a == s->axis ? index : rest % s->dims[a]) * s->strides[a];
            rest /= s->dims[a];
        }
        memcpy((char *)call->out[0] + (size_t)e * s->element_size,
               (const char *)call->in[0] + (size_t)from * s->element_size, s->element_size);
    }
    return bad < 0 ? PLIM_OK : plim__index_fail(call, s->index_type, call->in[1], bad, s->size);
}

plim_status plim__lower_gather_elements(plim__lower *l) {
    plim__infer reading = plim__lower_reading(l);
    struct gather_elements state = {.index_type = plim__lower_input_dtype(l, 1), .threads = plim__lower_threads(l)}, *s;
    const plim__shape *out = plim__lower_output_shape(l, 0);
    plim__layout x;
    PLIM_TRY(plim__axis_read(&reading, "axis", 0, out->rank, &state.axis));
    PLIM_TRY(plim__lower_element_size(l, plim__lower_input_dtype(l, 0), &state.element_size));
    PLIM_TRY(plim__lower_input(l, 0, PLIM__STRIDED, &x));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = state;
    s->rank = out->rank;
    s->elements = plim__shape_elements(out);
    s->size = x.shape.dims[s->axis];
    memcpy(s->dims, out->dims, sizeof s->dims);
    memcpy(s->strides, x.strides, sizeof s->strides);
    return plim__lower_emit(l, "GatherElements", run_gather_elements, s, plim__free);
}

/* --- GatherND: data [batch, d1..dk, row], tuples [batch, n, k] → [batch, n, row] ------------------------------ */

struct gather_nd {
    plim_dtype index_type;
    int depth, threads;
    int64_t batch, tuples, block; /* tuples and rows of data in one batch */
    int64_t dims[PLIM_MAX_RANK];  /* d1..dk */
    size_t row;
};

static plim_status run_gather_nd(const plim__call *call) {
    const struct gather_nd *s = call->state;
    int64_t total = s->batch * s->tuples, bad = -1;
    int threads = plim__copy_threads(total * (int64_t)s->row / 4, s->threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static) reduction(max : bad)
    for (int64_t t = 0; t < total; t++) {
        int64_t from = 0, missing = -1;
        for (int k = 0; k < s->depth; k++) {
            int64_t index = plim__index_at(s->index_type, call->in[1], t * s->depth + k, s->dims[k]);
            if (index < 0) missing = t * s->depth + k;
            from = from * s->dims[k] + index;
        }
        if (missing >= 0)
            bad = missing;
        else
            memcpy((char *)call->out[0] + (size_t)t * s->row,
                   (const char *)call->in[0] + (size_t)(t / s->tuples * s->block + from) * s->row, s->row);
    }
    return bad < 0 ? PLIM_OK : plim__index_fail(call, s->index_type, call->in[1], bad, s->dims[bad % s->depth]);
}

plim_status plim__lower_gather_nd(plim__lower *l) {
    const plim__shape *data = plim__lower_input_shape(l, 0), *indices = plim__lower_input_shape(l, 1);
    int batch = (int)plim__node_int(plim__lower_node(l), "batch_dims", 0),
        depth = (int)indices->dims[indices->rank - 1];
    size_t element_size;
    struct gather_nd *s;
    PLIM_TRY(plim__lower_element_size(l, plim__lower_input_dtype(l, 0), &element_size));
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct gather_nd){.index_type = plim__lower_input_dtype(l, 1),
                            .depth = depth,
                            .threads = plim__lower_threads(l),
                            .batch = plim__shape_product(data, 0, batch),
                            .tuples = plim__shape_product(indices, batch, indices->rank - 1),
                            .block = plim__shape_product(data, batch, batch + depth),
                            .row = (size_t)plim__shape_product(data, batch + depth, data->rank) * element_size};
    memcpy(s->dims, data->dims + batch, (size_t)depth * sizeof *s->dims);
    return plim__lower_emit(l, "GatherND", run_gather_nd, s, plim__free);
}

/* --- Compress: the kept indices are known when planning ------------------------------------------------------- */

plim_status plim__lower_compress(plim__lower *l) {
    if (plim__lower_is_empty(l)) return plim__lower_output(l, 0, NULL);
    plim__infer reading = plim__lower_reading(l);
    plim__tensor *condition = plim__lower_constant(l, 1);
    if (!condition) return plim__lower_unsupported(l, "whose output size depends on data");
    bool flat = !plim__node_attribute(plim__lower_node(l), "axis");
    plim__layout x;
    plim__mapped *m;
    int axis = 0;
    PLIM_TRY(plim__lower_input(l, 0, flat ? PLIM__DENSE : PLIM__STRIDED, &x));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    if (flat)
        x = plim__layout_dense(x.dtype, &(plim__shape){.rank = 1, .dims = {plim__shape_elements(&x.shape)}});
    else
        PLIM_TRY(plim__axis_read(&reading, "axis", 0, x.shape.rank, &axis));
    const plim__shape *out = plim__lower_output_shape(l, 0);
    PLIM_TRY(plim__mapped_create(l, &x, out, &m));
    m->fill_operand = -1;
    int64_t length = plim__shape_elements(&condition->shape);
    for (int a = 0; a < out->rank; a++)
        for (int64_t i = 0, next = 0; next < out->dims[a]; i++)
            if (a != axis || (i < length && plim__tensor_at(condition, i) != 0)) m->table[a][next++] = i;
    return plim__lower_emit(l, "Compress", plim__run_mapped, m, plim__free);
}

/* --- ReverseSequence: x [time, batch, row] or [batch, time, row] ---------------------------------------------- */

struct reverse {
    int64_t time, batch, time_stride, batch_stride; /* strides in rows */
    size_t row;
};

static plim_status run_reverse(const plim__call *call) {
    const struct reverse *s = call->state;
    const int64_t *lengths = call->in[1];
    for (int64_t b = 0; b < s->batch; b++)
        if (lengths[b] < 0 || lengths[b] > s->time)
            return plim__fail(call->error, PLIM_INVALID, "sequence %lld has length %lld, the time axis %lld",
                              (long long)b, (long long)lengths[b], (long long)s->time);
    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t t = 0; t < s->time; t++) {
            int64_t source = t < lengths[b] ? lengths[b] - 1 - t : t;
            memcpy((char *)call->out[0] + (size_t)(t * s->time_stride + b * s->batch_stride) * s->row,
                   (const char *)call->in[0] + (size_t)(source * s->time_stride + b * s->batch_stride) * s->row,
                   s->row);
        }
    return PLIM_OK;
}

plim_status plim__lower_reverse_sequence(plim__lower *l) {
    const plim__shape *x = plim__lower_input_shape(l, 0);
    int time = (int)plim__node_int(plim__lower_node(l), "time_axis", 0);
    size_t element_size;
    struct reverse *s;
    PLIM_TRY(plim__lower_element_size(l, plim__lower_input_dtype(l, 0), &element_size));
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct reverse){x->dims[time], x->dims[1 - time], time == 0 ? x->dims[1] : 1, time == 0 ? 1 : x->dims[1],
                          (size_t)plim__shape_product(x, 2, x->rank) * element_size};
    return plim__lower_emit(l, "ReverseSequence", run_reverse, s, plim__free);
}
