/* Backward of LSTM through time. Only Y is kept from the forward pass: with every h known, the gates of all steps are two
 * large products; a walk forward in time gives the cells, a walk backward the gradients of the gates, and three more
 * large products those of X, W and R.
 *
 *   scratch:  gates (T, B, 4H)  |  c (T, B, H)  |  h before each step (T, B, H)  |  dh (B, H)  |  dc (B, H)
 *
 * Gates come in the order i, o, f, g. In operands: dY, dY_h, dY_c, X, W, R, B, h0, c0, Y; out: dX, dW, dR, dB, dh0, dc0. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "kernel/copies.h"

enum { DY, DYH, DYC, X, W, R, BIAS, H0, C0, Y };
enum { DX, DW, DR, DB, DH0, DC0 };

struct lstm {
    int64_t steps, batch, inputs, hidden, directions;
    bool reverse[2];
};

/* One direction: pointers to its own parts. */
struct pass {
    const struct lstm *s;
    int direction;
    bool reverse;
    float *gates, *cells, *before, *dh, *dc;
    const float *w, *r, *bias, *h0, *c0;
};

/* Time steps in the order in which the direction goes. */
static int64_t time_of(const struct pass *p, int64_t k) { return p->reverse ? p->s->steps - 1 - k : k; }
/* Sample 0 of time t of Y or dY, (T, D, B, H). */
static int64_t row_of(const struct pass *p, int64_t t) {
    return (t * p->s->directions + p->direction) * p->s->batch * p->s->hidden;
}

static float sigmoid(float x) { return 1 / (1 + expf(-x)); }

/* h before each step, at the step's own time. */
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

static dnnl_status_t make_gates(const struct pass *p, const float *x) {
    const struct lstm *s = p->s;
    int64_t rows = s->steps * s->batch, units = 4 * s->hidden;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t u = 0; u < units; u++) p->gates[i * units + u] = p->bias ? p->bias[u] + p->bias[units + u] : 0;
    dnnl_status_t status =
        dnnl_sgemm('N', 'T', rows, units, s->inputs, 1, x, s->inputs, p->w, s->inputs, 1, p->gates, units);
    if (status == dnnl_success)
        status =
            dnnl_sgemm('N', 'T', rows, units, s->hidden, 1, p->before, s->hidden, p->r, s->hidden, 1, p->gates, units);
    return status;
}

/* Applies the activations and finds c of every step. */
static void walk_forward(const struct pass *p) {
    const struct lstm *s = p->s;
    int64_t h = s->hidden;
#pragma omp parallel for if (s->steps * s->batch * h > 8192)
    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t k = 0; k < s->steps; k++) {
            int64_t t = time_of(p, k);
            float *gate = p->gates + (t * s->batch + b) * 4 * h, *c = p->cells + (t * s->batch + b) * h;
            const float *last = k ? p->cells + (time_of(p, k - 1) * s->batch + b) * h : p->c0 ? p->c0 + b * h : NULL;
            for (int64_t u = 0; u < h; u++) {
                gate[u] = sigmoid(gate[u]);
                gate[h + u] = sigmoid(gate[h + u]);
                gate[2 * h + u] = sigmoid(gate[2 * h + u]);
                gate[3 * h + u] = tanhf(gate[3 * h + u]);
                c[u] = gate[2 * h + u] * (last ? last[u] : 0) + gate[u] * gate[3 * h + u];
            }
        }
}

/* The gates of one sample at one step become their gradients; dc goes on to the step before. */
static void cell_backward(int64_t h, float *gate, const float *c, const float *last, const float *dy, const float *dh,
                          float *dc) {
    for (int64_t u = 0; u < h; u++) {
        float i = gate[u], o = gate[h + u], f = gate[2 * h + u], g = gate[3 * h + u], t = tanhf(c[u]);
        float d = dh[u] + (dy ? dy[u] : 0), e = dc[u] + d * o * (1 - t * t);
        gate[u] = e * g * i * (1 - i);
        gate[h + u] = d * t * o * (1 - o);
        gate[2 * h + u] = e * (last ? last[u] : 0) * f * (1 - f);
        gate[3 * h + u] = e * i * (1 - g * g);
        dc[u] = e * f;
    }
}

static dnnl_status_t walk_backward(const struct pass *p, const float *dy) {
    const struct lstm *s = p->s;
    int64_t h = s->hidden;
    for (int64_t k = s->steps - 1; k >= 0; k--) {
        int64_t t = time_of(p, k);
        float *gates = p->gates + t * s->batch * 4 * h;
#pragma omp parallel for if (s->batch * h > 4096)
        for (int64_t b = 0; b < s->batch; b++) {
            const float *last = k ? p->cells + (time_of(p, k - 1) * s->batch + b) * h : p->c0 ? p->c0 + b * h : NULL;
            cell_backward(h, gates + b * 4 * h, p->cells + (t * s->batch + b) * h, last,
                          dy ? dy + row_of(p, t) + b * h : NULL, p->dh + b * h, p->dc + b * h);
        }
        dnnl_status_t status = dnnl_sgemm('N', 'N', s->batch, h, 4 * h, 1, gates, 4 * h, p->r, h, 0, p->dh, h);
        if (status != dnnl_success) return status;
    }
    return dnnl_success;
}

/* Large products over all steps. */
static dnnl_status_t finish(const struct pass *p, const plim__call *call) {
    const struct lstm *s = p->s;
    int64_t rows = s->steps * s->batch, units = 4 * s->hidden, d = p->direction;
    dnnl_status_t status = dnnl_success;
    if (call->out[DX])
        status = dnnl_sgemm('N', 'N', rows, s->inputs, units, 1, p->gates, units, p->w, s->inputs, d ? 1 : 0,
                            call->out[DX], s->inputs);
    if (status == dnnl_success && call->out[DW])
        status = dnnl_sgemm('T', 'N', units, s->inputs, rows, 1, p->gates, units, call->in[X], s->inputs, 0,
                            (float *)call->out[DW] + d * units * s->inputs, s->inputs);
    if (status == dnnl_success && call->out[DR])
        status = dnnl_sgemm('T', 'N', units, s->hidden, rows, 1, p->gates, units, p->before, s->hidden, 0,
                            (float *)call->out[DR] + d * units * s->hidden, s->hidden);
    for (int64_t u = 0; call->out[DB] && u < units;
         u++) { /* both halves of the bias are added: their gradients are the same */
        double sum = 0;
        for (int64_t i = 0; i < rows; i++) sum += (double)p->gates[i * units + u];
        ((float *)call->out[DB])[d * 2 * units + u] = ((float *)call->out[DB])[d * 2 * units + units + u] = (float)sum;
    }
    size_t state = (size_t)(s->batch * s->hidden);
    if (call->out[DH0]) memcpy((float *)call->out[DH0] + (size_t)d * state, p->dh, state * sizeof(float));
    if (call->out[DC0]) memcpy((float *)call->out[DC0] + (size_t)d * state, p->dc, state * sizeof(float));
    return status;
}

static void start(float *to, const float *from, int64_t offset, size_t count) {
    if (from)
        memcpy(to, from + offset, count * sizeof *to);
    else
        memset(to, 0, count * sizeof *to);
}

static plim_status run_lstm(const plim__call *call) {
    const struct lstm *s = call->state;
    int64_t state = s->batch * s->hidden, units = 4 * s->hidden;
    for (int d = 0; d < s->directions; d++) {
        struct pass p = {.s = s, .direction = d, .reverse = s->reverse[d], .gates = call->scratch};
        p.cells = p.gates + s->steps * s->batch * units;
        p.before = p.cells + s->steps * state;
        p.dh = p.before + s->steps * state;
        p.dc = p.dh + state;
        p.w = (const float *)call->in[W] + d * units * s->inputs;
        p.r = (const float *)call->in[R] + d * units * s->hidden;
        p.bias = call->in[BIAS] ? (const float *)call->in[BIAS] + d * 2 * units : NULL;
        p.h0 = call->in[H0] ? (const float *)call->in[H0] + d * state : NULL;
        p.c0 = call->in[C0] ? (const float *)call->in[C0] + d * state : NULL;
        start(p.dh, call->in[DYH], d * state, (size_t)state);
        start(p.dc, call->in[DYC], d * state, (size_t)state);
        gather_before(&p, call->in[Y]);
        dnnl_status_t status = make_gates(&p, call->in[X]);
        if (status == dnnl_success) walk_forward(&p);
        if (status == dnnl_success) status = walk_backward(&p, call->in[DY]);
        if (status == dnnl_success) status = finish(&p, call);
        if (status != dnnl_success)
            return plim__fail(call->error, status == dnnl_out_of_memory ? PLIM_NO_MEMORY : PLIM_INTERNAL,
                              "a matrix product failed in oneDNN");
    }
    return PLIM_OK;
}

plim_status plim__lower_lstm_grad(plim__lower *l);
plim_status plim__lower_lstm_grad(plim__lower *l) {
    const plim__shape *x = plim__lower_input_shape(l, X), *r = plim__lower_input_shape(l, R);
    const char *direction = plim__node_string(plim__lower_node(l), "direction", "forward");
    struct lstm *s;
    if (plim__lower_input_dtype(l, X) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    for (size_t i = 0; i <= Y; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i <= DC0; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    int64_t rows = x->dims[0] * x->dims[1], hidden = r->dims[2];
    PLIM_TRY(plim__lower_scratch(l, (size_t)(rows * 6 * hidden + 2 * x->dims[1] * hidden) * sizeof(float)));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct lstm){
        .steps = x->dims[0], .batch = x->dims[1], .inputs = x->dims[2], .hidden = hidden, .directions = r->dims[0]};
    s->reverse[0] = strcmp(direction, "reverse") == 0;
    s->reverse[1] = true;
    return plim__lower_emit(l, "LstmGrad", run_lstm, s, plim__free);
}
