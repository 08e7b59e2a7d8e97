/* Operators that make data out of little: ConstantOfShape, EyeLike, OneHot, Trilu, AffineGrid. */
#include <string.h>

#include "core/scalar.h"
#include "kernel/copies.h"
#include "kernel/lowers.h"
#include "ops/movement.h"

/* Inference turns these into constants; only a model that was not inferred gets here. */
plim_status plim__lower_known(plim__lower *l) {
    return plim__lower_unsupported(l, "whose output size depends on data");
}

/* --- ConstantOfShape ------------------------------------------------------------------------------------------ */

struct fill {
    uint64_t value[2];
    int64_t elements;
    size_t element_size;
    int threads;
};

static plim_status run_fill(const plim__call *call) {
    const struct fill *s = call->state;
    plim__fill(call->out[0], s->value, s->elements, s->element_size, s->threads);
    return PLIM_OK;
}

plim_status plim__lower_constant_of_shape(plim__lower *l) {
    const plim__attribute *value = plim__node_attribute(plim__lower_node(l), "value");
    size_t element_size;
    struct fill *s;
    PLIM_TRY(plim__lower_element_size(l, plim__lower_output_dtype(l, 0), &element_size));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct fill){.elements = plim__shape_elements(plim__lower_output_shape(l, 0)),
                       .element_size = element_size,
                       .threads = plim__lower_threads(l)};
    plim_status status = value ? plim__tensor_read(value->tensor, s->value, plim__lower_error(l)) : PLIM_OK;
    if (status == PLIM_OK) return plim__lower_emit(l, "ConstantOfShape", run_fill, s, plim__free);
    plim__free(s);
    return status;
}

/* --- EyeLike -------------------------------------------------------------------------------------------------- */

struct eye {
    plim_dtype dtype;
    int64_t rows, columns, k;
    size_t bytes;
};

static plim_status run_eye(const plim__call *call) {
    const struct eye *s = call->state;
    memset(call->out[0], 0, s->bytes);
    for (int64_t r = 0; r < s->rows; r++)
        if (r + s->k >= 0 && r + s->k < s->columns)
            plim__scalar_set(s->dtype, call->out[0], r * s->columns + r + s->k, 1);
    return PLIM_OK;
}

plim_status plim__lower_eye_like(plim__lower *l) {
    const plim__shape *out = plim__lower_output_shape(l, 0);
    plim_dtype dtype = plim__lower_output_dtype(l, 0);
    size_t element_size;
    struct eye *s;
    int64_t k = plim__node_int(plim__lower_node(l), "k", 0);
    if (!plim__scalar_known(dtype)) return plim__lower_unsupported(l, "with this element type");
    PLIM_TRY(plim__lower_element_size(l, dtype, &element_size));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    if (k > out->dims[1] || k < -out->dims[0]) k = out->dims[1]; /* nothing on the diagonal */
    *s = (struct eye){dtype, out->dims[0], out->dims[1], k, (size_t)plim__shape_elements(out) * element_size};
    return plim__lower_emit(l, "EyeLike", run_eye, s, plim__free);
}

/* --- OneHot: indices [outer, inner] → [outer, depth, inner] --------------------------------------------------- */

struct one_hot {
    plim_dtype index_type;
    int64_t outer, depth, inner;
    size_t element_size;
    int threads;
};

static plim_status run_one_hot(const plim__call *call) {
    const struct one_hot *s = call->state;
    const char *off = call->in[1], *on = off + s->element_size;
    plim__fill(call->out[0], off, s->outer * s->depth * s->inner, s->element_size, s->threads);
    for (int64_t e = 0; e < s->outer * s->inner; e++) {
        double given = plim__scalar_get(s->index_type, call->in[0], e);
        if (!(given >= -(double)s->depth && given < (double)s->depth)) continue; /* no place: all off */
        int64_t index = (int64_t)given;
        if (index < 0) index += s->depth;
        int64_t to = (e / s->inner * s->depth + index) * s->inner + e % s->inner;
        memcpy((char *)call->out[0] + (size_t)to * s->element_size, on, s->element_size);
    }
    return PLIM_OK;
}

plim_status plim__lower_one_hot(plim__lower *l) {
    plim__infer reading = plim__lower_reading(l);
    const plim__shape *out = plim__lower_output_shape(l, 0);
    size_t element_size;
    struct one_hot *s;
    int axis;
    if (!plim__scalar_known(plim__lower_input_dtype(l, 0))) return plim__lower_unsupported(l, "with this index type");
    PLIM_TRY(plim__lower_element_size(l, plim__lower_output_dtype(l, 0), &element_size));
    PLIM_TRY(plim__axis_read(&reading, "axis", -1, out->rank, &axis));
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_input(l, 2, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct one_hot){plim__lower_input_dtype(l, 0),
                          plim__shape_product(out, 0, axis),
                          out->dims[axis],
                          plim__shape_product(out, axis + 1, out->rank),
                          element_size,
                          plim__lower_threads(l)};
    return plim__lower_emit(l, "OneHot", run_one_hot, s, plim__free);
}

/* --- Trilu ---------------------------------------------------------------------------------------------------- */

struct trilu {
    bool upper;
    int64_t matrices, rows, columns;
    size_t element_size;
    int threads;
};

static plim_status run_trilu(const plim__call *call) {
    const struct trilu *s = call->state;
    int64_t k = call->in[1] ? *(const int64_t *)call->in[1] : 0;
    if (k > s->columns) k = s->columns;
    if (k < -s->rows) k = -s->rows;
    int threads = plim__copy_threads(s->matrices * s->rows * s->columns, s->threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t line = 0; line < s->matrices * s->rows; line++) {
        int64_t edge =
            line % s->rows + k + (s->upper ? 0 : 1); /* first column that is (upper) or is not (lower) kept */
        edge = edge < 0 ? 0 : edge > s->columns ? s->columns : edge;
        size_t before = (size_t)edge * s->element_size, all = (size_t)s->columns * s->element_size;
        char *to = (char *)call->out[0] + (size_t)line * all;
        const char *from = (const char *)call->in[0] + (size_t)line * all;
        if (s->upper) {
            memset(to, 0, before);
            if (to != from) memcpy(to + before, from + before, all - before);
        } else {
            if (to != from) memcpy(to, from, before);
            memset(to + before, 0, all - before);
        }
    }
    return PLIM_OK;
}

plim_status plim__lower_trilu(plim__lower *l) {
    const plim__shape *x = plim__lower_input_shape(l, 0);
    size_t element_size;
    struct trilu *s;
    PLIM_TRY(plim__lower_element_size(l, plim__lower_input_dtype(l, 0), &element_size));
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    plim__lower_inplace(l, 0, 0);
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct trilu){plim__node_int(plim__lower_node(l), "upper", 1) != 0,
                        plim__shape_product(x, 0, x->rank - 2),
                        x->dims[x->rank - 2],
                        x->dims[x->rank - 1],
                        element_size,
                        plim__lower_threads(l)};
    return plim__lower_emit(l, "Trilu", run_trilu, s, plim__free);
}

/* --- AffineGrid: theta [N, k, k + 1] → [N, D1..Dk, k], coordinates in the order x, y, z ----------------------- */

struct affine_grid {
    plim_dtype dtype;
    int axes;
    int64_t batch, dims[3];
    bool corners;
};

static plim_status run_affine_grid(const plim__call *call) {
    const struct affine_grid *s = call->state;
    int64_t points = 1;
    for (int a = 0; a < s->axes; a++) points *= s->dims[a];
    for (int64_t p = 0; p < s->batch * points; p++) {
        double at[4];
        int64_t rest = p % points, theta = p / points * s->axes * (s->axes + 1);
        for (int a = s->axes - 1, c = 0; a >= 0; a--, c++) {
            double i = (double)(rest % s->dims[a]), n = (double)s->dims[a];
            at[c] = s->corners ? (n > 1 ? -1 + 2 * i / (n - 1) : 0) : (2 * i + 1) / n - 1;
            rest /= s->dims[a];
        }
        at[s->axes] = 1;
        for (int row = 0; row < s->axes; row++) {
            double sum = 0;
            for (int c = 0; c <= s->axes; c++)
                sum += plim__scalar_get(s->dtype, call->in[0], theta + row * (s->axes + 1) + c) * at[c];
            plim__scalar_set(s->dtype, call->out[0], p * s->axes + row, sum);
        }
    }
    return PLIM_OK;
}

plim_status plim__lower_affine_grid(plim__lower *l) {
    const plim__shape *out = plim__lower_output_shape(l, 0);
    struct affine_grid *s;
    if (!plim__scalar_known(plim__lower_input_dtype(l, 0))) return plim__lower_unsupported(l, "with this element type");
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct affine_grid){.dtype = plim__lower_input_dtype(l, 0),
                              .axes = out->rank - 2,
                              .batch = out->dims[0],
                              .corners = plim__node_int(plim__lower_node(l), "align_corners", 0) != 0};
    for (int a = 0; a < s->axes; a++) s->dims[a] = out->dims[1 + a];
    return plim__lower_emit(l, "AffineGrid", run_affine_grid, s, plim__free);
}
