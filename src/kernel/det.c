/* Determinants, by elimination in doubles with the largest pivot of each column. */
#include <math.h>

#include "core/scalar.h"
#include "kernel/copies.h"

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

plim_status plim__lower_det(plim__lower *l);
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
