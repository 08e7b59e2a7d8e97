/* Backward of GRU through time. Only Y is kept from the forward pass: with every h known, the gates of all steps are large
 * products again; a walk backward gives the gradients of the gates, and large products those of X, W and R.
 *
 *   z, r = sigmoid     g = tanh(X·Whᵀ + Wbh + r ⊙ (h·Rhᵀ + Rbh))     resets after the product
 *                      g = tanh(X·Whᵀ + Wbh + (r ⊙ h)·Rhᵀ + Rbh)     resets before it
 *   h' = (1 - z) ⊙ g + z ⊙ h
 *
 *   scratch:  gates (T, B, 3H)  |  hidden part (T, B, H)  |  h before each step (T, B, H)  |  dh, reset (B, H) each
 *
 * The hidden part is h·Rhᵀ + Rbh, or r ⊙ h; the walk turns it into what R's last third needs: the gradient of the former,
 * or r ⊙ h itself. In operands: dY, dY_h, X, W, R, B, h0, Y; out: dX, dW, dR, dB, dh0. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "kernel/copies.h"

enum { DY, DYH, X, W, R, BIAS, H0, Y };
enum { DX, DW, DR, DB, DH0 };

struct gru {
    int64_t steps, batch, inputs, hidden, directions;
    bool reverse[2], after; /* resets after the product */
};

struct pass {
    const struct gru *s;
    int direction;
    bool reverse;
    float *gates, *part, *before, *dh, *reset;
    const float *w, *r, *bias, *h0;
};

static int64_t time_of(const struct pass *p, int64_t k) { return p->reverse ? p->s->steps - 1 - k : k; }
static int64_t row_of(const struct pass *p, int64_t t) {
    return (t * p->s->directions + p->direction) * p->s->batch * p->s->hidden;
}
static float sigmoid(float x) { return 1 / (1 + expf(-x)); }

static void gather_before(const struct pass *p, const float *y) {
    int64_t size = p->s->batch * p->s->hidden;
    for (int64_t k = 0; k < p->s->steps; k++) {
        float *to = p->before + time_of(p, k) * size;
        const float *from = k ? y + row_of(p, time_of(p, k - 1)) : p->h0;
        if (from)
            memcpy(to, from, (size_t)size * sizeof *to);
        else
            memset(to, 0, (size_t)size * sizeof *to);
    }
}

/* The gates as the forward pass had them. */
static dnnl_status_t make_gates(const struct pass *p, const float *x) {
    const struct gru *s = p->s;
    int64_t rows = s->steps * s->batch, h = s->hidden, units = 3 * h;
    const float *wb = p->bias, *rb = p->bias ? p->bias + units : NULL, *rh = p->r + 2 * h * h;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t u = 0; u < units; u++)
            p->gates[i * units + u] = !wb ? 0 : wb[u] + (u < 2 * h || !s->after ? rb[u] : 0);
    dnnl_status_t status =
        dnnl_sgemm('N', 'T', rows, units, s->inputs, 1, x, s->inputs, p->w, s->inputs, 1, p->gates, units);
    if (status == dnnl_success)
        status = dnnl_sgemm('N', 'T', rows, 2 * h, h, 1, p->before, h, p->r, h, 1, p->gates, units);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t u = 0; u < 2 * h; u++) p->gates[i * units + u] = sigmoid(p->gates[i * units + u]);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t u = 0; u < h; u++)
            p->part[i * h + u] =
                s->after ? (rb ? rb[2 * h + u] : 0) : p->gates[i * units + h + u] * p->before[i * h + u];
    if (status == dnnl_success)
        status = s->after ? dnnl_sgemm('N', 'T', rows, h, h, 1, p->before, h, rh, h, 1, p->part, h)
                          : dnnl_sgemm('N', 'T', rows, h, h, 1, p->part, h, rh, h, 1, p->gates + 2 * h, units);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t u = 0; u < h; u++) {
            float *gate = p->gates + i * units;
            gate[2 * h + u] = tanhf(gate[2 * h + u] + (s->after ? gate[h + u] * p->part[i * h + u] : 0));
        }
    return status;
}

/* One step: the gates become their gradients, dh that of h before the step. */
static dnnl_status_t step_backward(const struct pass *p, int64_t t, const float *dy) {
    const struct gru *s = p->s;
    int64_t h = s->hidden, units = 3 * h, first = t * s->batch;
    float *gates = p->gates + first * units, *part = p->part + first * h;
    const float *before = p->before + first * h, *rh = p->r + 2 * h * h;
    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t u = 0; u < h; u++) {
            float *gate = gates + b * units, z = gate[u], g = gate[2 * h + u],
                  d = p->dh[b * h + u] + (dy ? dy[row_of(p, t) + b * h + u] : 0);
            gate[2 * h + u] = d * (1 - z) * (1 - g * g);
            gate[u] = d * (before[b * h + u] - g) * z * (1 - z);
            p->dh[b * h + u] = d * z;
        }
    if (s->after) {
        for (int64_t b = 0; b < s->batch; b++)
            for (int64_t u = 0; u < h; u++) {
                float *gate = gates + b * units, r = gate[h + u], a = gate[2 * h + u];
                gate[h + u] = a * part[b * h + u] * r * (1 - r);
                part[b * h + u] = a * r;
            }
        dnnl_status_t status = dnnl_sgemm('N', 'N', s->batch, h, h, 1, part, h, rh, h, 1, p->dh, h);
        return status != dnnl_success ? status
                                      : dnnl_sgemm('N', 'N', s->batch, h, 2 * h, 1, gates, units, p->r, h, 1, p->dh, h);
    }
    dnnl_status_t status =
        dnnl_sgemm('N', 'N', s->batch, h, h, 1, gates + 2 * h, units, rh, h, 0, p->reset, h); /* of r ⊙ h */
    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t u = 0; u < h; u++) {
            float *gate = gates + b * units, r = gate[h + u], d = p->reset[b * h + u];
            gate[h + u] = d * before[b * h + u] * r * (1 - r);
            p->dh[b * h + u] += d * r;
        }
    return status != dnnl_success ? status
                                  : dnnl_sgemm('N', 'N', s->batch, h, 2 * h, 1, gates, units, p->r, h, 1, p->dh, h);
}

static void sum_columns(const float *from, int64_t rows, int64_t step, int64_t columns, float *to) {
    for (int64_t u = 0; u < columns; u++) {
        double sum = 0;
        for (int64_t i = 0; i < rows; i++) sum += (double)from[i * step + u];
        to[u] = (float)sum;
    }
}

static dnnl_status_t finish(const struct pass *p, const plim__call *call) {
    const struct gru *s = p->s;
    int64_t rows = s->steps * s->batch, h = s->hidden, units = 3 * h, d = p->direction;
    dnnl_status_t status = dnnl_success;
    if (call->out[DX])
        status = dnnl_sgemm('N', 'N', rows, s->inputs, units, 1, p->gates, units, p->w, s->inputs, d ? 1 : 0,
                            call->out[DX], s->inputs);
    if (status == dnnl_success && call->out[DW])
        status = dnnl_sgemm('T', 'N', units, s->inputs, rows, 1, p->gates, units, call->in[X], s->inputs, 0,
                            (float *)call->out[DW] + d * units * s->inputs, s->inputs);
    if (call->out[DR]) {
        float *dr = (float *)call->out[DR] + d * units * h;
        if (status == dnnl_success)
            status = dnnl_sgemm('T', 'N', 2 * h, h, rows, 1, p->gates, units, p->before, h, 0, dr, h);
        if (status == dnnl_success)
            status = s->after ? dnnl_sgemm('T', 'N', h, h, rows, 1, p->part, h, p->before, h, 0, dr + 2 * h * h, h)
                              : dnnl_sgemm('T', 'N', h, h, rows, 1, p->gates + 2 * h, units, p->part, h, 0,
                                           dr + 2 * h * h, h);
    }
    if (call->out[DB]) {
        float *db = (float *)call->out[DB] + d * 2 * units;
        sum_columns(p->gates, rows, units, units, db);
        memcpy(db + units, db, (size_t)units * sizeof *db);
        if (s->after) sum_columns(p->part, rows, h, h, db + units + 2 * h);
    }
    size_t state = (size_t)(s->batch * h);
    if (call->out[DH0]) memcpy((float *)call->out[DH0] + (size_t)d * state, p->dh, state * sizeof(float));
    return status;
}

static plim_status run_gru(const plim__call *call) {
    const struct gru *s = call->state;
    int64_t state = s->batch * s->hidden, units = 3 * s->hidden;
    for (int d = 0; d < s->directions; d++) {
        struct pass p = {.s = s, .direction = d, .reverse = s->reverse[d], .gates = call->scratch};
        p.part = p.gates + s->steps * s->batch * units;
        p.before = p.part + s->steps * state;
        p.dh = p.before + s->steps * state;
        p.reset = p.dh + state;
        p.w = (const float *)call->in[W] + d * units * s->inputs;
        p.r = (const float *)call->in[R] + d * units * s->hidden;
        p.bias = call->in[BIAS] ? (const float *)call->in[BIAS] + d * 2 * units : NULL;
        p.h0 = call->in[H0] ? (const float *)call->in[H0] + d * state : NULL;
        if (call->in[DYH])
            memcpy(p.dh, (const float *)call->in[DYH] + d * state, (size_t)state * sizeof(float));
        else
            memset(p.dh, 0, (size_t)state * sizeof(float));
        gather_before(&p, call->in[Y]);
        dnnl_status_t status = make_gates(&p, call->in[X]);
        for (int64_t k = s->steps - 1; status == dnnl_success && k >= 0; k--)
            status = step_backward(&p, time_of(&p, k), call->in[DY]);
        if (status == dnnl_success) status = finish(&p, call);
        if (status != dnnl_success)
            return plim__fail(call->error, status == dnnl_out_of_memory ? PLIM_NO_MEMORY : PLIM_INTERNAL,
                              "a matrix product failed in oneDNN");
    }
    return PLIM_OK;
}

plim_status plim__lower_gru_grad(plim__lower *l);
plim_status plim__lower_gru_grad(plim__lower *l) {
    const plim__shape *x = plim__lower_input_shape(l, X), *r = plim__lower_input_shape(l, R);
    const char *direction = plim__node_string(plim__lower_node(l), "direction", "forward");
    struct gru *s;
    if (plim__lower_input_dtype(l, X) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    for (size_t i = 0; i <= Y; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i <= DH0; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    int64_t rows = x->dims[0] * x->dims[1], hidden = r->dims[2];
    PLIM_TRY(plim__lower_scratch(l, (size_t)(rows * 5 * hidden + 2 * x->dims[1] * hidden) * sizeof(float)));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct gru){.steps = x->dims[0],
                      .batch = x->dims[1],
                      .inputs = x->dims[2],
                      .hidden = hidden,
                      .directions = r->dims[0],
                      .after = plim__node_int(plim__lower_node(l), "linear_before_reset", 0) != 0};
    s->reverse[0] = strcmp(direction, "reverse") == 0;
    s->reverse[1] = true;
    return plim__lower_emit(l, "GruGrad", run_gru, s, plim__free);
}
