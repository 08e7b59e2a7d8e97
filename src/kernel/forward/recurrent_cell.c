/* One time step of an RNN, GRU or LSTM, for some of the hidden units.
 *
 *   RNN:   h = f(X·Wᵀ + h·Rᵀ + b)
 *   GRU:   z, r = f(...)    a = g(X·Whᵀ + (r ⊙ h)·Rhᵀ + b)         h = (1 - z) ⊙ a + z ⊙ h
 *          reset after:     a = g(X·Whᵀ + Wbh + r ⊙ (h·Rhᵀ + Rbh))
 *   LSTM:  i, o, f = f(...)    c = f ⊙ c + i ⊙ g(...)    h = o ⊙ h(c)     peepholes: i, f see the old c, o the new one */
#include <string.h>

#include "kernel/forward/recurrent.h"

static bool runs(const plim__recurrent_pass *pass, int64_t t, int64_t b) {
    return !pass->lengths || t < pass->lengths[b];
}

/* What a GRU resets, and how far it is from sample to sample: beside the gates where they are saved. */
static int64_t reset_step(const plim__recurrent *s) { return s->saves ? s->row : s->hidden; }
static float *reset_of(const plim__recurrent_pass *pass, float *gates) {
    const plim__recurrent *s = pass->s;
    return s->saves ? gates + s->gates * s->hidden : pass->reset;
}

/* Gates `first` and on of x·Rᵀ + bias, added to X·Wᵀ; that of a GRU that resets after it goes to where reset is. */
static void product(const plim__recurrent_pass *pass, const float *x, int first, int count, float *gates,
                    plim__recurrent_share share) {
    const plim__recurrent *s = pass->s;
    int64_t x_step = first > 0 ? reset_step(s) : s->hidden;
    plim__cell_product p = {.rows = share.last - share.first,
                            .depth = s->hidden,
                            .x = x + share.first * x_step,
                            .x_step = x_step,
                            .packed = pass->packed,
                            .all_gates = s->gates,
                            .first_gate = first,
                            .gates = count,
                            .bias = pass->bias + first * s->hidden};
    for (int g = 0; g < count; g++)
        p.to[g] = (plim__cell_target){gates + share.first * s->row + (first + g) * s->hidden, s->row, true};
    if (s->reset_after)
        p.to[2] = (plim__cell_target){reset_of(pass, gates) + share.first * reset_step(s), reset_step(s), false};
    pass->loops->product(&p, share.from, share.to);
}

/* --- cells: one sample, n units from `from` on ---------------------------------------------------------------- */

static void rnn_row(const plim__recurrent_pass *pass, float *gates, float *h, int64_t n) {
    pass->loops->activate(&pass->s->functions[pass->direction][0], gates, n);
    memcpy(h, gates, (size_t)n * sizeof *h);
}

/* r, and what it resets: into `a` where that comes after the product, else into reset for the product to come. */
static void gru_reset(const plim__recurrent_pass *pass, float *gates, float *reset, const float *h, int64_t from,
                      int64_t n) {
    const plim__recurrent *s = pass->s;
    float *r = gates + s->hidden + from, *a = gates + 2 * s->hidden + from;
    const float *bias = pass->bias + s->gates * s->hidden + from;
    pass->loops->activate(&s->functions[pass->direction][0], r, n);
    if (s->reset_after) {
        for (int64_t k = 0; k < n; k++) a[k] += bias[k] + r[k] * reset[k];
    } else {
        for (int64_t k = 0; k < n; k++) reset[k] = r[k] * h[k];
    }
}

static void gru_row(const plim__recurrent_pass *pass, float *gates, const float *before, float *h, int64_t n) {
    const plim__recurrent *s = pass->s;
    float *z = gates, *a = gates + 2 * s->hidden;
    if (s->standard) {
        pass->loops->gru(n, z, a, before, h, s->saves);
        return;
    }
    pass->loops->activate(&s->functions[pass->direction][0], z, n);
    pass->loops->activate(&s->functions[pass->direction][1], a, n);
    for (int64_t k = 0; k < n; k++) h[k] = (1 - z[k]) * a[k] + z[k] * before[k];
}

static void peep(float *gate, const float *weights, const float *c, int64_t n) {
    for (int64_t k = 0; weights && k < n; k++) gate[k] += weights[k] * c[k];
}

/* c before a step and after it, and h. */
struct lstm_state {
    const float *last;
    float *c, *h;
};

static void lstm_row(const plim__recurrent_pass *pass, float *gates, struct lstm_state state, int64_t from, int64_t n) {
    const float *last = state.last;
    float *c = state.c, *h = state.h;
    const plim__recurrent *s = pass->s;
    const plim__cell_function *f = s->functions[pass->direction];
    int64_t units = s->hidden;
    float *in = gates, *out = gates + units, *forget = gates + 2 * units, *fresh = gates + 3 * units;
    if (s->standard) {
        pass->loops->lstm(n, (plim__lstm_gates){in, out, forget, fresh}, last, c, h, s->saves);
        return;
    }
    const float *p = pass->peepholes ? pass->peepholes + from : NULL;
    peep(in, p, last, n);
    pass->loops->activate(&f[0], in, n);
    if (s->input_forget) {
        for (int64_t k = 0; k < n; k++) forget[k] = 1 - in[k];
    } else {
        peep(forget, p ? p + 2 * units : NULL, last, n);
        pass->loops->activate(&f[0], forget, n);
    }
    pass->loops->activate(&f[1], fresh, n);
    for (int64_t k = 0; k < n; k++) h[k] = c[k] = forget[k] * last[k] + in[k] * fresh[k];
    peep(out, p ? p + units : NULL, c, n);
    pass->loops->activate(&f[0], out, n);
    pass->loops->activate(&f[2], h, n);
    for (int64_t k = 0; k < n; k++) h[k] *= out[k];
}

/* --- a step --------------------------------------------------------------------------------------------------- */

static void products(const plim__recurrent_pass *pass, const plim__recurrent_moment *m, plim__recurrent_share share) {
    const plim__recurrent *s = pass->s;
    float *reset = reset_of(pass, m->gates);
    int64_t from = share.from, n = share.to - from;
    bool twice = s->cell == PLIM__CELL_GRU && !s->reset_after;
    product(pass, m->h, 0, twice ? 2 : s->gates, m->gates, share);
    if (s->cell != PLIM__CELL_GRU) return;
    for (int64_t b = share.first; b < share.last && n > 0; b++)
        if (runs(pass, m->t, b))
            gru_reset(pass, m->gates + b * s->row, reset + b * reset_step(s) + from, m->h + b * s->hidden + from, from,
                      n);
    if (!twice) return;
    plim__recurrent_meet(s);
    product(pass, reset, 2, 1, m->gates, share);
}

static void write_y(const plim__recurrent_pass *pass, int64_t t, int64_t b, const float *h, int64_t from, int64_t n) {
    const plim__recurrent *s = pass->s;
    if (!pass->y) return;
    int64_t row = s->batch_first ? (b * s->steps + t) * s->directions + pass->direction
                                 : (t * s->directions + pass->direction) * s->batch + b;
    float *y = pass->y + row * s->hidden + from;
    if (h)
        memcpy(y, h, (size_t)n * sizeof *y);
    else
        memset(y, 0, (size_t)n * sizeof *y);
}

/* After its end, or, in reverse, before its start: states go on as they were. */
static void skip_row(const plim__recurrent_pass *pass, const plim__recurrent_moment *m, int64_t b, int64_t from,
                     int64_t n) {
    const plim__recurrent *s = pass->s;
    int64_t at = b * s->hidden + from;
    memcpy(m->next_h + at, m->h + at, (size_t)n * sizeof *m->h);
    write_y(pass, m->t, b, NULL, from, n);
    if (s->cell == PLIM__CELL_LSTM && m->c != m->next_c)
        memcpy(m->next_c + b * m->next_c_step + from, m->c + b * m->c_step + from, (size_t)n * sizeof *m->c);
}

void plim__recurrent_step(const plim__recurrent_pass *pass, const plim__recurrent_moment *m,
                          plim__recurrent_share share) {
    const plim__recurrent *s = pass->s;
    int64_t from = share.from, n = share.to - from;
    products(pass, m, share);
    for (int64_t b = share.first; b < share.last && n > 0; b++) {
        int64_t at = b * s->hidden + from;
        float *gates = m->gates + b * s->row + from, *h = m->next_h + at;
        if (!runs(pass, m->t, b)) {
            skip_row(pass, m, b, from, n);
            continue;
        }
        switch (s->cell) {
        case PLIM__CELL_RNN: rnn_row(pass, gates, h, n); break;
        case PLIM__CELL_GRU: gru_row(pass, gates, m->h + at, h, n); break;
        case PLIM__CELL_LSTM:
            lstm_row(pass, gates,
                     (struct lstm_state){m->c + b * m->c_step + from, m->next_c + b * m->next_c_step + from, h}, from,
                     n);
            break;
        }
        if (!s->through_y) write_y(pass, m->t, b, h, from, n);
    }
}
