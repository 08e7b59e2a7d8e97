/* Backward of GRU.
 *
 *   z, r = f(...)    g = g(X·Whᵀ + Wbh + r ⊙ (h·Rhᵀ + Rbh))     resets after the product
 *                    g = g(X·Whᵀ + Wbh + (r ⊙ h)·Rhᵀ + Rbh)     resets before it
 *   h' = (1 - z) ⊙ g + z ⊙ h
 *
 * part is h·Rhᵀ + Rbh, or r ⊙ h; the walk turns it into what R's last third needs: the gradient of the former, or r ⊙ h
 * itself. other is the gradient of r ⊙ h. */
#include <string.h>

#include "kernel/backward/recurrent.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"

static dnnl_status_t again(const plim__backward_pass *p) {
    const plim__recurrent *f = &p->s->forward;
    int64_t rows = f->steps * f->batch, h = f->hidden, units = 3 * h;
    const float *rb = p->bias ? p->bias + units : NULL, *rh = p->r + 2 * h * h;
    dnnl_status_t status = plim__backward_input_gates(p, f->reset_after ? 2 * h : units);
    if (status == dnnl_success)
        status =
            plim__backward_product(&(plim__gemm){'N', 'T', rows, 2 * h, h, p->before, h, p->r, h, 1, p->gates, units});
    for (int64_t i = 0; i < rows; i++) {
        float *gate = p->gates + i * units;
        plim__backward_activate(p, 0, gate, 2 * h);
        for (int64_t u = 0; u < h; u++)
            p->part[i * h + u] = f->reset_after ? (rb ? rb[2 * h + u] : 0) : gate[h + u] * p->before[i * h + u];
    }
    if (status == dnnl_success)
        status = f->reset_after
                     ? plim__backward_product(&(plim__gemm){'N', 'T', rows, h, h, p->before, h, rh, h, 1, p->part, h})
                     : plim__backward_product(
                           &(plim__gemm){'N', 'T', rows, h, h, p->part, h, rh, h, 1, p->gates + 2 * h, units});
    for (int64_t i = 0; i < rows; i++) {
        float *gate = p->gates + i * units;
        for (int64_t u = 0; f->reset_after && u < h; u++) gate[2 * h + u] += gate[h + u] * p->part[i * h + u];
        plim__backward_activate(p, 1, gate + 2 * h, h);
    }
    return status;
}

/* z and g of one sample become their gradients, dh what h' passes on directly. */
static void blend_backward(const plim__backward_pass *p, float *gate, const float *before, const float *dy, float *dh) {
    int64_t h = p->s->forward.hidden;
    for (int64_t u = 0; u < h; u++) {
        float z = gate[u], g = gate[2 * h + u], d = dh[u] + (dy ? dy[u] : 0);
        gate[2 * h + u] = d * (1 - z) * plim__cell_slope(p, 1, g);
        gate[u] = d * (before[u] - g) * plim__cell_slope(p, 0, z);
        dh[u] = d * z;
    }
}

/* r of one sample becomes its gradient. */
static void reset_backward(const plim__backward_pass *p, float *gate, float *part, const float *before,
                           const float *dreset, float *dh) {
    int64_t h = p->s->forward.hidden;
    for (int64_t u = 0; u < h; u++) {
        float r = gate[h + u], a = p->s->forward.reset_after ? gate[2 * h + u] : dreset[u];
        gate[h + u] = a * (p->s->forward.reset_after ? part[u] : before[u]) * plim__cell_slope(p, 0, r);
        if (p->s->forward.reset_after)
            part[u] = a * r;
        else
            dh[u] += a * r;
    }
}

static dnnl_status_t step(const plim__backward_pass *p, int64_t k) {
    const plim__recurrent *f = &p->s->forward;
    int64_t h = f->hidden, units = 3 * h, t = plim__backward_time(p, k), first = t * f->batch;
    float *gates = p->gates + first * units, *part = p->part + first * h;
    const float *before = p->before + first * h, *rh = p->r + 2 * h * h;
    for (int64_t b = 0; b < f->batch; b++) {
        if (plim__backward_runs(p, t, b)) {
            blend_backward(p, gates + b * units, before + b * h, p->dy ? p->dy + plim__backward_row(p, t, b) : NULL,
                           p->dh + b * h);
        } else {
            memset(gates + b * units, 0, (size_t)units * sizeof *gates);
            memset(part + b * h, 0, (size_t)h * sizeof *part);
        }
    }
    dnnl_status_t status = dnnl_success;
    if (!f->reset_after)
        status = plim__backward_product(
            &(plim__gemm){'N', 'N', f->batch, h, h, gates + 2 * h, units, rh, h, 0, p->other, h});
    for (int64_t b = 0; b < f->batch; b++)
        if (plim__backward_runs(p, t, b))
            reset_backward(p, gates + b * units, part + b * h, before + b * h, p->other + b * h, p->dh + b * h);
    if (status == dnnl_success && f->reset_after)
        status = plim__backward_product(&(plim__gemm){'N', 'N', f->batch, h, h, part, h, rh, h, 1, p->dh, h});
    return status != dnnl_success ? status
                                  : plim__backward_product(&(plim__gemm){'N', 'N', f->batch, h, 2 * h, gates, units,
                                                                         p->r, h, 1, p->dh, h});
}

/* Rh was multiplied with h and then reset, or with what was reset. */
static dnnl_status_t finish(const plim__backward_pass *p, float *dr, float *db, float *dpeepholes) {
    const plim__recurrent *f = &p->s->forward;
    int64_t rows = f->steps * f->batch, h = f->hidden, units = 3 * h;
    (void)dpeepholes;
    if (db && f->reset_after) plim__backward_sum_columns(p->part, rows, h, h, db + units + 2 * h);
    if (!dr) return dnnl_success;
    dr += 2 * h * h;
    return f->reset_after
               ? plim__backward_product(&(plim__gemm){'T', 'N', h, h, rows, p->part, h, p->before, h, 0, dr, h})
               : plim__backward_product(
                     &(plim__gemm){'T', 'N', h, h, rows, p->gates + 2 * h, units, p->part, h, 0, dr, h});
}

plim_status plim__lower_gru_grad(plim__lower *l) {
    static const plim__cell_backward cell = {again, step, finish, true};
    return plim__lower_recurrent_grad(l, PLIM__CELL_GRU, &cell);
}
