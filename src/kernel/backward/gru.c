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

/* One sample at one step; pointers lead to the first of n units. */
struct row {
    float *z, *r, *g, *part, *dh;
    const float *before, *dy, *dreset;
};

/* z and g become their gradients, dh what h' passes on directly. */
static void blend_backward(const plim__backward_pass *p, const struct row *row, int64_t n) {
    if (p->s->forward.standard) {
        plim__simd_recurrent_table()->gru_blend_grad(n, row->z, row->g, row->before, row->dy, row->dh);
        return;
    }
    for (int64_t u = 0; u < n; u++) {
        float z = row->z[u], g = row->g[u], d = row->dh[u] + row->dy[u];
        row->g[u] = d * (1 - z) * plim__cell_slope(p, 1, g);
        row->z[u] = d * (row->before[u] - g) * plim__cell_slope(p, 0, z);
        row->dh[u] = d * z;
    }
}

/* r becomes its gradient. */
static void reset_backward(const plim__backward_pass *p, const struct row *row, int64_t n) {
    bool after = p->s->forward.reset_after;
    const float *d = after ? row->g : row->dreset, *factor = after ? row->part : row->before;
    float *passed = after ? row->part : row->dh;
    if (p->s->forward.standard) {
        plim__simd_recurrent_table()->gru_reset_grad(n, row->r, d, factor, passed, !after);
        return;
    }
    for (int64_t u = 0; u < n; u++) {
        float r = row->r[u], slope = plim__cell_slope(p, 0, r);
        row->r[u] = d[u] * factor[u] * slope;
        passed[u] = (after ? 0 : passed[u]) + d[u] * r;
    }
}

/* Sample b at time t, from unit `from` on. */
static struct row row_of(const plim__backward_pass *p, int64_t t, int64_t b, int64_t from) {
    const plim__recurrent *f = &p->s->forward;
    int64_t h = f->hidden, row = t * f->batch + b;
    float *gate = p->gates + row * f->row + from;
    return (struct row){.z = gate,
                        .r = gate + h,
                        .g = gate + 2 * h,
                        .part = p->part + row * f->row + from,
                        .dh = p->dh + b * h + from,
                        .before = plim__backward_before(p, t, b) + from,
                        .dy = plim__backward_dy(p, t, b, from),
                        .dreset = p->other + b * h + from};
}

static void blend_all(const plim__backward_pass *p, int64_t t, struct plim__units units) {
    int64_t n = units.to - units.from;
    for (int64_t b = units.first; b < units.last; b++) {
        struct row row = row_of(p, t, b, units.from);
        if (plim__backward_runs(p, t, b)) {
            blend_backward(p, &row, n);
            continue;
        }
        float *const ended[] = {row.z, row.r, row.g, row.part};
        for (size_t e = 0; e < sizeof ended / sizeof *ended; e++) memset(ended[e], 0, (size_t)n * sizeof(float));
    }
}

static void reset_all(const plim__backward_pass *p, int64_t t, struct plim__units units) {
    for (int64_t b = units.first; b < units.last; b++) {
        struct row row = row_of(p, t, b, units.from);
        if (plim__backward_runs(p, t, b)) reset_backward(p, &row, units.to - units.from);
    }
}

static void step(const plim__backward_pass *p, int64_t k, struct plim__units units) {
    const plim__recurrent *f = &p->s->forward;
    int64_t h = f->hidden, t = plim__backward_time(p, k), first = t * f->batch;
    const float *gates = p->gates + first * f->row;
    blend_all(p, t, units);
    if (!f->reset_after) { /* the gradient of r ⊙ h needs g of all units */
        plim__recurrent_meet(f);
        plim__backward_recur(
            p, &(struct plim__recurrence){.x = gates + 2 * h, .x_step = f->row, .gate = 2, .gates = 1, .y = p->other},
            units);
    }
    reset_all(p, t, units);
    plim__recurrent_meet(f);
    if (k == 0 && !p->wants_dh0) return;
    if (f->reset_after)
        plim__backward_recur(
            p,
            &(struct plim__recurrence){
                .x = p->part + first * f->row, .x_step = f->row, .gate = 2, .gates = 1, .y = p->dh, .add = true},
            units);
    plim__backward_recur(
        p, &(struct plim__recurrence){.x = gates, .x_step = f->row, .gates = 2, .y = p->dh, .add = true}, units);
}

/* Rh was multiplied with h and then reset, or with what was reset. */
static dnnl_status_t finish(const plim__backward_pass *p, float *dr, float *db, float *dpeepholes) {
    const plim__recurrent *f = &p->s->forward;
    int64_t rows = f->steps * f->batch, h = f->hidden, units = 3 * h;
    (void)dpeepholes;
    for (int64_t u = 0; db && f->reset_after && u < h; u++) db[units + 2 * h + u] = (float)p->sums[units + u];
    if (!dr) return dnnl_success;
    dr += 2 * h * h;
    if (f->reset_after) return plim__backward_product_before(p, p->part, h, dr);
    return plim__backward_product(
        &(plim__gemm){'T', 'N', h, h, rows, p->gates + 2 * h, f->row, p->part, f->row, 0, dr, h});
}

plim_status plim__lower_gru_grad(plim__lower *l) {
    static const plim__cell_backward cell = {step, finish, true};
    return plim__lower_recurrent_grad(l, PLIM__CELL_GRU, &cell);
}
