/* Determinants and their gradients, by elimination in doubles with the largest pivot of each column. */
#include <math.h>

#include "core/scalar.h"
#include "kernel/copies.h"
#include "kernel/lowers.h"

struct det {
    plim_dtype dtype;
    int64_t matrices, n;
};

static double determinant(double *m, int64_t n) {
    double product = 1;
    for (int64_t c = 0; c < n; c++) {
        int64_t pivot = c;
        for (int64_t r = c + 1; r < n; r++)
            if (fabs(m[r * n + c]) > fabs(m[pivot * n + c])) pivot = r;
        if (m[pivot * n + c] == 0) return 0;
        for (int64_t k = c; k < n && pivot != c; k++) {
            double swap = m[c * n + k];
            m[c * n + k] = m[pivot * n + k];
            m[pivot * n + k] = swap;
        }
        product *= pivot == c ? m[c * n + c] : -m[c * n + c];
        for (int64_t r = c + 1; r < n; r++) {
            double factor = m[r * n + c] / m[c * n + c];
            for (int64_t k = c + 1; k < n; k++) m[r * n + k] -= factor * m[c * n + k];
        }
    }
    return product;
}

static plim_status run_det(const plim__call *call) {
    const struct det *s = call->state;
    double *m = call->scratch;
    int64_t size = s->n * s->n;
    for (int64_t i = 0; i < s->matrices; i++) {
        for (int64_t k = 0; k < size; k++) m[k] = plim__scalar_get(s->dtype, call->in[0], i * size + k);
        plim__scalar_set(s->dtype, call->out[0], i, determinant(m, s->n));
    }
    return PLIM_OK;
}

plim_status plim__lower_det(plim__lower *l) {
    const plim__shape *x = plim__lower_input_shape(l, 0);
    plim_dtype dtype = plim__lower_input_dtype(l, 0);
    struct det *s;
    if (dtype != PLIM_F32 && dtype != PLIM_F64 && dtype != PLIM_F16 && dtype != PLIM_BF16)
        return plim__lower_unsupported(l, "with another type than real numbers");
    int64_t n = x->dims[x->rank - 1];
    plim__shape matrix = {.rank = 2, .dims = {n, n}};
    size_t bytes;
    PLIM_TRY(plim__shape_bytes(&matrix, PLIM_F64, &bytes, plim__lower_error(l)));
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_scratch(l, bytes));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct det){dtype, plim__shape_product(x, 0, x->rank - 2), n};
    return plim__lower_emit(l, "Det", run_det, s, plim__free);
}

/* --- backward: dx = dy · det(x) · x⁻ᵀ, the matrix of cofactors ------------------------------------------------- */

/* The inverse of m into inverse by elimination in both at once; false for a matrix without one. m is spoilt. */
static bool invert(double *m, double *inverse, int64_t n) {
    for (int64_t i = 0; i < n * n; i++) inverse[i] = i % (n + 1) == 0;
    for (int64_t c = 0; c < n; c++) {
        int64_t pivot = c;
        for (int64_t r = c + 1; r < n; r++)
            if (fabs(m[r * n + c]) > fabs(m[pivot * n + c])) pivot = r;
        if (m[pivot * n + c] == 0) return false;
        double unit = 1 / m[pivot * n + c];
        for (int64_t k = 0; k < n; k++) {
            double a = m[pivot * n + k], b = inverse[pivot * n + k];
            m[pivot * n + k] = m[c * n + k];
            inverse[pivot * n + k] = inverse[c * n + k];
            m[c * n + k] = a * unit;
            inverse[c * n + k] = b * unit;
        }
        for (int64_t r = 0; r < n; r++) {
            double factor = m[r * n + c];
            for (int64_t k = 0; r != c && k < n; k++) {
                m[r * n + k] -= factor * m[c * n + k];
                inverse[r * n + k] -= factor * inverse[c * n + k];
            }
        }
    }
    return true;
}

/* The determinant without row r and column c, with its sign. */
static double cofactor(const struct det *s, const void *x, int64_t first, int64_t r, int64_t c, double *minor) {
    int64_t at = 0, n = s->n;
    for (int64_t i = 0; i < n * n; i++)
        if (i / n != r && i % n != c) minor[at++] = plim__scalar_get(s->dtype, x, first + i);
    return ((r + c) % 2 ? -1 : 1) * determinant(minor, n - 1);
}

static plim_status run_det_grad(const plim__call *call) {
    const struct det *s = call->state;
    int64_t size = s->n * s->n;
    double *m = call->scratch, *inverse = m + size;
    for (int64_t i = 0; i < s->matrices; i++) {
        double dy = plim__scalar_get(s->dtype, call->in[0], i);
        for (int64_t k = 0; k < size; k++) m[k] = plim__scalar_get(s->dtype, call->in[1], i * size + k);
        bool regular = invert(m, inverse, s->n);
        for (int64_t k = 0; k < size; k++) m[k] = plim__scalar_get(s->dtype, call->in[1], i * size + k);
        double whole = regular ? determinant(m, s->n) : 0;
        for (int64_t k = 0; k < size; k++) {
            int64_t r = k / s->n, c = k % s->n;
            double slope = regular ? whole * inverse[c * s->n + r] : cofactor(s, call->in[1], i * size, r, c, m);
            plim__scalar_set(s->dtype, call->out[0], i * size + k, dy * slope);
        }
    }
    return PLIM_OK;
}

plim_status plim__lower_det_grad(plim__lower *l) {
    const plim__shape *x = plim__lower_input_shape(l, 1);
    int64_t n = x->dims[x->rank - 1];
    plim__shape matrices = {.rank = 3, .dims = {2, n, n}};
    size_t bytes;
    struct det *s;
    PLIM_TRY(plim__shape_bytes(&matrices, PLIM_F64, &bytes, plim__lower_error(l)));
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_scratch(l, bytes));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct det){plim__lower_input_dtype(l, 1), plim__shape_product(x, 0, x->rank - 2), n};
    return plim__lower_emit(l, "DetGrad", run_det_grad, s, plim__free);
}
