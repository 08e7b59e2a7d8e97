/* Scatter, ScatterElements, ScatterND: a copy of the data (or the data itself, in place) and then the updates
 * in their order, so that duplicate indices give the same answer every time. */
#include <string.h>

#include "core/scalar.h"
#include "kernel/copies.h"
#include "kernel/forward/combine.h"
#include "kernel/indices.h"
#include "kernel/lowers.h"
#include "ops/movement.h"

struct scatter {
    plim_dtype dtype, index_type;
    plim__combination how;
    size_t bytes, element_size;
    int64_t updates;             /* elements, or tuples of ScatterND */
    int rank, axis;              /* ScatterElements */
    int depth;                   /* ScatterND: indices in a tuple */
    int64_t row;                 /* ScatterND: elements that a tuple names */
    int64_t dims[PLIM_MAX_RANK]; /* of the updates (elements), of the data (ND) */
    int64_t strides[PLIM_MAX_RANK];
    int64_t size;
};

static plim_status combination(plim__lower *l, plim_dtype dtype, plim__combination *how) {
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    const char *given = plim__node_string(plim__lower_node(l), "reduction", "none");
    for (int i = 0; i < 5; i++)
        if (strcmp(given, names[i]) == 0) {
            *how = (plim__combination)i;
            return i == 0 || plim__scalar_known(dtype)
                       ? PLIM_OK
                       : plim__lower_unsupported(l, "with a reduction of this element type");
        }
    return plim__lower_unsupported(l, "with this reduction");
}

static void begin(const struct scatter *s, const plim__call *call) {
    if (call->out[0] != call->in[0]) memcpy(call->out[0], call->in[0], s->bytes);
}

static plim_status run_scatter_elements(const plim__call *call) {
    const struct scatter *s = call->state;
    for (int64_t e = 0; e < s->updates; e++)
        if (plim__index_at(s->index_type, call->in[1], e, s->size) < 0)
            return plim__index_fail(call, s->index_type, call->in[1], e, s->size);
    begin(s, call);
    for (int64_t e = 0; e < s->updates; e++) {
        int64_t to = 0, rest = e;
        for (int a = s->rank - 1; a >= 0; a--) {
            int64_t at = a == s->axis ? plim__index_at(s->index_type, call->in[1], e, s->size) : rest % s->dims[a];
            to += at * s->strides[a];
            rest /= s->dims[a];
        }
        plim__combine(s->dtype, s->how, (char *)call->out[0] + (size_t)to * s->element_size,
                      (const char *)call->in[2] + (size_t)e * s->element_size, 1);
    }
    return PLIM_OK;
}

static plim_status run_scatter_nd(const plim__call *call) {
    const struct scatter *s = call->state;
    for (int64_t i = 0; i < s->updates * s->depth; i++)
        if (plim__index_at(s->index_type, call->in[1], i, s->dims[i % s->depth]) < 0)
            return plim__index_fail(call, s->index_type, call->in[1], i, s->dims[i % s->depth]);
    begin(s, call);
    for (int64_t t = 0; t < s->updates; t++) {
        int64_t to = 0;
        for (int k = 0; k < s->depth; k++)
            to = to * s->dims[k] + plim__index_at(s->index_type, call->in[1], t * s->depth + k, s->dims[k]);
        plim__combine(s->dtype, s->how, (char *)call->out[0] + (size_t)(to * s->row) * s->element_size,
                      (const char *)call->in[2] + (size_t)(t * s->row) * s->element_size, s->row);
    }
    return PLIM_OK;
}

static plim_status prepare(plim__lower *l, struct scatter **state) {
    struct scatter s = {.dtype = plim__lower_input_dtype(l, 0), .index_type = plim__lower_input_dtype(l, 1)};
    const plim__shape *data = plim__lower_input_shape(l, 0);
    PLIM_TRY(plim__lower_element_size(l, s.dtype, &s.element_size));
    PLIM_TRY(combination(l, s.dtype, &s.how));
    for (size_t i = 0; i < 3; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    plim__lower_inplace(l, 0, 0);
    s.bytes = (size_t)plim__shape_elements(data) * s.element_size;
    PLIM_TRY(plim__lower_state(l, sizeof **state, state));
    **state = s;
    return PLIM_OK;
}

plim_status plim__lower_scatter_elements(plim__lower *l) {
    plim__infer reading = plim__lower_reading(l);
    const plim__shape *data = plim__lower_input_shape(l, 0), *updates = plim__lower_input_shape(l, 2);
    struct scatter *s;
    int axis;
    PLIM_TRY(plim__axis_read(&reading, "axis", 0, data->rank, &axis));
    PLIM_TRY(prepare(l, &s));
    s->rank = data->rank;
    s->axis = axis;
    s->size = data->dims[axis];
    s->updates = plim__shape_elements(updates);
    memcpy(s->dims, updates->dims, sizeof s->dims);
    plim__dense_strides(data->dims, data->rank, s->strides);
    return plim__lower_emit(l, "ScatterElements", run_scatter_elements, s, plim__free);
}

plim_status plim__lower_scatter_nd(plim__lower *l) {
    const plim__shape *data = plim__lower_input_shape(l, 0), *indices = plim__lower_input_shape(l, 1);
    struct scatter *s;
    PLIM_TRY(prepare(l, &s));
    s->depth = (int)indices->dims[indices->rank - 1];
    s->updates = plim__shape_product(indices, 0, indices->rank - 1);
    s->row = plim__shape_product(data, s->depth, data->rank);
    memcpy(s->dims, data->dims, sizeof s->dims);
    return plim__lower_emit(l, "ScatterND", run_scatter_nd, s, plim__free);
}
