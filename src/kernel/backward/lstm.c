/* Backward of LSTM.
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
    if (k) return p->part + (plim__backward_time(p, k - 1) * f->batch + b) * f->row;
    return p->c0 ? p->c0 + b * f->hidden : NULL;
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

/* Sample b of step k, n units from `from` on. */
static void row_backward(const plim__backward_pass *p, int64_t k, int64_t b, int64_t from, int64_t n) {
    const plim__recurrent *f = &p->s->forward;
    int64_t h = f->hidden, t = plim__backward_time(p, k), to = from + n;
    float *gate = p->gates + (t * f->batch + b) * f->row;
    const float *c = p->part + (t * f->batch + b) * f->row, *last = cell_before(p, k, b);
    if (!plim__backward_runs(p, t, b)) {
        for (int g = 0; g < 4; g++) memset(gate + g * h + from, 0, (size_t)n * sizeof *gate);
        return;
    }
    if (f->standard) {
        plim__simd_recurrent_table()->lstm_grad(n, &(plim__lstm_grad){.i = gate + from,
                                                                      .o = gate + h + from,
                                                                      .f = gate + 2 * h + from,
                                                                      .g = gate + 3 * h + from,
                                                                      .c = c + from,
                                                                      .last = last ? last + from : p->zeros,
                                                                      .dy = plim__backward_dy(p, t, b, from),
                                                                      .dh = p->dh + b * h + from,
                                                                      .dc = p->other + b * h + from});
        return;
    }
    struct row row = {.c = c,
                      .last = last,
                      .dy = p->dy ? p->dy + plim__backward_row(p, t, b) : NULL,
                      .gate = gate,
                      .dh = p->dh + b * h,
                      .dc = p->other + b * h};
    for (int64_t u = from; u < to; u += BLOCK) cell_backward(p, &row, u, u + BLOCK < to ? u + BLOCK : to);
}

static void step(const plim__backward_pass *p, int64_t k, struct plim__units units) {
    const plim__recurrent *f = &p->s->forward;
    for (int64_t b = units.first; b < units.last; b++) row_backward(p, k, b, units.from, units.to - units.from);
    plim__recurrent_meet(f);
    if (k == 0 && !p->wants_dh0) return;
    plim__backward_recur(p,
                         &(struct plim__recurrence){.x = p->gates + plim__backward_time(p, k) * f->batch * f->row,
                                                    .x_step = f->row,
                                                    .gates = 4,
                                                    .y = p->dh,
                                                    .add = true},
                         units);
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
            const float *gate = p->gates + row * f->row, *c = p->part + row * f->row, *last = cell_before(p, k, b);
            for (int64_t u = 0; u < h; u++) {
                dpeepholes[u] += last ? gate[u] * last[u] : 0;
                dpeepholes[h + u] += gate[h + u] * c[u];
                dpeepholes[2 * h + u] += last ? gate[2 * h + u] * last[u] : 0;
            }
        }
    return dnnl_success;
}

plim_status plim__lower_lstm_grad(plim__lower *l) {
    static const plim__cell_backward cell = {step, finish, true};
    return plim__lower_recurrent_grad(l, PLIM__CELL_LSTM, &cell);
}
