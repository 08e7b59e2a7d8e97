/* Backward of LSTM. A walk forward in time gives the cells again.
 *
 *   i, o, f = f(...)    g = g(...)    c' = f ⊙ c + i ⊙ g    h' = o ⊙ h(c')
 *   peepholes: i and f see c, o sees c'; input_forget: f = 1 - i
 *
 * Gates come in the order i, o, f, g; part is c' of every step, other is dc. */
#include <string.h>

#include "kernel/backward/recurrent.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"

/* c before step k of sample b; NULL for zeros. */
static const float *cell_before(const plim__backward_pass *p, int64_t k, int64_t b) {
    const plim__recurrent *f = &p->s->forward;
    if (k) return p->part + (plim__backward_time(p, k - 1) * f->batch + b) * f->hidden;
    return p->c0 ? p->c0 + b * f->hidden : NULL;
}

static void peep(float *gate, const float *weights, const float *c, int64_t n) {
    for (int64_t u = 0; weights && c && u < n; u++) gate[u] += weights[u] * c[u];
}

/* One sample at one step: activations, and the new cell. */
static void cell_forward(const plim__backward_pass *p, float *gate, const float *last, float *c) {
    const plim__recurrent *f = &p->s->forward;
    int64_t h = f->hidden;
    float *in = gate, *out = gate + h, *forget = gate + 2 * h, *fresh = gate + 3 * h;
    peep(in, p->peepholes, last, h);
    plim__backward_activate(p, 0, in, h);
    if (f->input_forget) {
        for (int64_t u = 0; u < h; u++) forget[u] = 1 - in[u];
    } else {
        peep(forget, p->peepholes ? p->peepholes + 2 * h : NULL, last, h);
        plim__backward_activate(p, 0, forget, h);
    }
    plim__backward_activate(p, 1, fresh, h);
    for (int64_t u = 0; u < h; u++) c[u] = forget[u] * (last ? last[u] : 0) + in[u] * fresh[u];
    peep(out, p->peepholes ? p->peepholes + h : NULL, c, h);
    plim__backward_activate(p, 0, out, h);
}

static dnnl_status_t again(const plim__backward_pass *p) {
    const plim__recurrent *f = &p->s->forward;
    int64_t h = f->hidden, rows = f->steps * f->batch;
    dnnl_status_t status = plim__backward_input_gates(p, 4 * h);
    if (status == dnnl_success)
        status =
            plim__backward_product(&(plim__gemm){'N', 'T', rows, 4 * h, h, p->before, h, p->r, h, 1, p->gates, 4 * h});
#pragma omp parallel for if (rows * h > 8192)
    for (int64_t b = 0; b < f->batch; b++)
        for (int64_t k = 0; k < f->steps; k++) {
            int64_t t = plim__backward_time(p, k), row = t * f->batch + b;
            const float *last = cell_before(p, k, b);
            float *c = p->part + row * h;
            if (plim__backward_runs(p, t, b))
                cell_forward(p, p->gates + row * 4 * h, last, c);
            else if (k || p->c0)
                memcpy(c, last, (size_t)h * sizeof *c);
            else
                memset(c, 0, (size_t)h * sizeof *c);
        }
    return status;
}

/* Units at a time, so that h(c') fits on the stack. */
#define BLOCK 64

/* One sample at one step. */
struct row {
    const float *c, *last, *dy; /* the cell after the step, and before it */
    float *gate, *dh, *dc;
};

/* Units [from, to): the gates become their gradients, dc that of c before the step. */
static void cell_backward(const plim__backward_pass *p, const struct row *row, int64_t from, int64_t to) {
    const plim__recurrent *f = &p->s->forward;
    const float *c = row->c, *last = row->last, *dy = row->dy;
    float *gate = row->gate, *dh = row->dh, *dc = row->dc;
    const float *pi = p->peepholes, *po = pi ? pi + f->hidden : NULL, *pf = pi ? pi + 2 * f->hidden : NULL;
    int64_t h = f->hidden;
    float seen[BLOCK]; /* h(c') */
    memcpy(seen, c + from, (size_t)(to - from) * sizeof *seen);
    plim__backward_activate(p, 2, seen, to - from);
    for (int64_t u = from; u < to; u++) {
        float i = gate[u], o = gate[h + u], g = gate[3 * h + u], keep = gate[2 * h + u], before = last ? last[u] : 0;
        float t = seen[u - from], d = dh[u] + (dy ? dy[u] : 0);
        float to_out = d * t * plim__cell_slope(p, 0, o);
        float e = dc[u] + d * o * plim__cell_slope(p, 2, t) + (po ? to_out * po[u] : 0);
        float to_in = e * (f->input_forget ? g - before : g) * plim__cell_slope(p, 0, i);
        float to_forget = f->input_forget ? 0 : e * before * plim__cell_slope(p, 0, keep);
        gate[u] = to_in;
        gate[h + u] = to_out;
        gate[2 * h + u] = to_forget;
        gate[3 * h + u] = e * i * plim__cell_slope(p, 1, g);
        dc[u] = e * keep + (pi ? to_in * pi[u] + to_forget * pf[u] : 0);
        dh[u] = 0;
    }
}

static dnnl_status_t step(const plim__backward_pass *p, int64_t k) {
    const plim__recurrent *f = &p->s->forward;
    int64_t h = f->hidden, t = plim__backward_time(p, k);
    float *gates = p->gates + t * f->batch * 4 * h;
#pragma omp parallel for if (f->batch * h > 4096)
    for (int64_t b = 0; b < f->batch; b++) {
        const float *dy = p->dy ? p->dy + plim__backward_row(p, t, b) : NULL;
        if (!plim__backward_runs(p, t, b)) {
            memset(gates + b * 4 * h, 0, (size_t)(4 * h) * sizeof *gates);
            continue;
        }
        struct row row = {.c = p->part + (t * f->batch + b) * h,
                          .last = cell_before(p, k, b),
                          .dy = dy,
                          .gate = gates + b * 4 * h,
                          .dh = p->dh + b * h,
                          .dc = p->other + b * h};
        for (int64_t u = 0; u < h; u += BLOCK) cell_backward(p, &row, u, u + BLOCK < h ? u + BLOCK : h);
    }
    return plim__backward_product(&(plim__gemm){'N', 'N', f->batch, h, 4 * h, gates, 4 * h, p->r, h, 1, p->dh, h});
}

/* Peepholes, in the order i, o, f: i and f saw the cell before the step, o the one after it. */
static dnnl_status_t finish(const plim__backward_pass *p, float *dr, float *db, float *dpeepholes) {
    const plim__recurrent *f = &p->s->forward;
    int64_t h = f->hidden;
    (void)dr, (void)db;
    if (!dpeepholes) return dnnl_success;
    memset(dpeepholes, 0, (size_t)(3 * h) * sizeof *dpeepholes);
    for (int64_t k = 0; k < f->steps; k++)
        for (int64_t b = 0; b < f->batch; b++) {
            int64_t row = plim__backward_time(p, k) * f->batch + b;
            const float *gate = p->gates + row * 4 * h, *c = p->part + row * h, *last = cell_before(p, k, b);
            for (int64_t u = 0; u < h; u++) {
                dpeepholes[u] += last ? gate[u] * last[u] : 0;
                dpeepholes[h + u] += gate[h + u] * c[u];
                dpeepholes[2 * h + u] += last ? gate[2 * h + u] * last[u] : 0;
            }
        }
    return dnnl_success;
}

plim_status plim__lower_lstm_grad(plim__lower *l) {
    static const plim__cell_backward cell = {again, step, finish, true};
    return plim__lower_recurrent_grad(l, PLIM__CELL_LSTM, &cell);
}
