/* Backward of recurrent networks: directions, the large products, the lowering. */
#include "kernel/backward/recurrent.h"

#include <string.h>

#include "core/error.h"
#include "kernel/copies.h"
#include "kernel/onednn.h"

dnnl_status_t plim__backward_product(const plim__gemm *p) {
    if (p->m == 0 || p->n == 0) return dnnl_success;
    if (p->k > 0)
        return dnnl_sgemm(p->ta, p->tb, p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb, p->beta, p->c, p->ldc);
    for (int64_t i = 0; p->beta == 0 && i < p->m; i++) memset(p->c + i * p->ldc, 0, (size_t)p->n * sizeof *p->c);
    return dnnl_success;
}

void plim__backward_sum_columns(const float *from, int64_t rows, int64_t step, int64_t columns, float *to) {
    for (int64_t u = 0; u < columns; u++) {
        double sum = 0;
        for (int64_t i = 0; i < rows; i++) sum += (double)from[i * step + u];
        to[u] = (float)sum;
    }
}

dnnl_status_t plim__backward_input_gates(const plim__backward_pass *p, int64_t both) {
    const plim__recurrent *f = &p->s->forward;
    int64_t rows = f->steps * f->batch, units = f->gates * f->hidden;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t u = 0; u < units; u++)
            p->gates[i * units + u] = p->bias ? p->bias[u] + (u < both ? p->bias[units + u] : 0) : 0;
    return plim__backward_product(
        &(plim__gemm){'N', 'T', rows, units, f->inputs, p->x, f->inputs, p->w, f->inputs, 1, p->gates, units});
}

/* h before each step, at the step's own time. */
static void gather_before(const plim__backward_pass *p) {
    const plim__recurrent *f = &p->s->forward;
    size_t bytes = (size_t)f->hidden * sizeof(float);
    for (int64_t k = 0; k < f->steps; k++)
        for (int64_t b = 0; b < f->batch; b++) {
            int64_t t = plim__backward_time(p, k), last = k ? plim__backward_time(p, k - 1) : 0;
            const float *from = k == 0                            ? (p->h0 ? p->h0 + b * f->hidden : NULL)
                                : plim__backward_runs(p, last, b) ? p->y + plim__backward_row(p, last, b)
                                                                  : p->before + (last * f->batch + b) * f->hidden;
            float *to = p->before + (t * f->batch + b) * f->hidden;
            if (from)
                memcpy(to, from, bytes);
            else
                memset(to, 0, bytes);
        }
}

/* Large products over all steps. */
static dnnl_status_t finish(const plim__backward_pass *p, const plim__call *call) {
    const plim__recurrent *f = &p->s->forward;
    int64_t rows = f->steps * f->batch, units = f->gates * f->hidden, d = p->direction;
    float *dx = call->out[PLIM__DX], *dw = call->out[PLIM__DW], *dr = call->out[PLIM__DR], *db = call->out[PLIM__DB],
          *dp = call->out[PLIM__DPEEPHOLES];
    if (dw) dw += d * units * f->inputs;
    if (dr) dr += d * units * f->hidden;
    if (db) db += d * 2 * units;
    if (dp) dp += d * 3 * f->hidden;
    dnnl_status_t status = dnnl_success;
    if (dx)
        status = plim__backward_product(&(plim__gemm){'N', 'N', rows, f->inputs, units, p->gates, units, p->w,
                                                      f->inputs, d ? 1 : 0, dx, f->inputs});
    if (status == dnnl_success && dw)
        status = plim__backward_product(
            &(plim__gemm){'T', 'N', units, f->inputs, rows, p->gates, units, p->x, f->inputs, 0, dw, f->inputs});
    if (status == dnnl_success && dr)
        status = plim__backward_product(
            &(plim__gemm){'T', 'N', units, f->hidden, rows, p->gates, units, p->before, f->hidden, 0, dr, f->hidden});
    if (db) { /* both halves of the bias are added: their gradients are the same */
        plim__backward_sum_columns(p->gates, rows, units, units, db);
        memcpy(db + units, db, (size_t)units * sizeof *db);
    }
    return status == dnnl_success && p->s->cell->finish ? p->s->cell->finish(p, dr, db, dp) : status;
}

static void start(float *to, const float *from, int64_t offset, size_t count) {
    if (count == 0) return;
    if (from)
        memcpy(to, from + offset, count * sizeof *to);
    else
        memset(to, 0, count * sizeof *to);
}

static const float *part_of(const plim__call *call, int operand, int64_t offset) {
    return call->in[operand] ? (const float *)call->in[operand] + offset : NULL;
}

static plim__backward_pass pass_of(const plim__call *call, int d) {
    const plim__recurrent_grad *s = call->state;
    const plim__recurrent *f = &s->forward;
    int64_t state = f->batch * f->hidden, units = f->gates * f->hidden;
    plim__backward_pass p = {.s = s,
                             .direction = d,
                             .gates = call->scratch,
                             .x = call->in[PLIM__X],
                             .y = call->in[PLIM__Y],
                             .dy = call->in[PLIM__DY],
                             .w = part_of(call, PLIM__W, d * units * f->inputs),
                             .r = part_of(call, PLIM__R, d * units * f->hidden),
                             .bias = part_of(call, PLIM__BIAS, d * 2 * units),
                             .h0 = part_of(call, PLIM__H0, d * state),
                             .c0 = part_of(call, PLIM__C0, d * state),
                             .peepholes = part_of(call, PLIM__PEEPHOLES, d * 3 * f->hidden),
                             .lengths = call->in[PLIM__LENGTHS]};
    p.part = p.gates + f->steps * f->batch * units;
    p.before = p.part + (s->cell->has_part ? f->steps * state : 0);
    p.dh = p.before + f->steps * state;
    p.other = p.dh + state;
    return p;
}

static plim_status run_backward(const plim__call *call) {
    const plim__recurrent_grad *s = call->state;
    const plim__recurrent *f = &s->forward;
    int64_t state = f->batch * f->hidden;
    for (int d = 0; d < f->directions; d++) {
        plim__backward_pass p = pass_of(call, d);
        start(p.dh, call->in[PLIM__DYH], d * state, (size_t)state);
        start(p.other, call->in[PLIM__DYC], d * state, (size_t)state);
        gather_before(&p);
        dnnl_status_t status = s->cell->again(&p);
        for (int64_t k = f->steps - 1; status == dnnl_success && k >= 0; k--) status = s->cell->step(&p, k);
        if (status == dnnl_success) status = finish(&p, call);
        if (status != dnnl_success)
            return plim__fail(call->error, status == dnnl_out_of_memory ? PLIM_NO_MEMORY : PLIM_INTERNAL,
                              "a matrix product failed in oneDNN");
        if (call->out[PLIM__DH0]) start((float *)call->out[PLIM__DH0] + d * state, p.dh, 0, (size_t)state);
        if (call->out[PLIM__DC0]) start((float *)call->out[PLIM__DC0] + d * state, p.other, 0, (size_t)state);
    }
    return PLIM_OK;
}

static plim_status plan_scratch(plim__lower *l, const plim__recurrent_grad *s) {
    const plim__recurrent *f = &s->forward;
    double rows = (double)f->steps * (double)f->batch,
           floats = (double)f->hidden * (rows * (f->gates + 2) + 2 * (double)f->batch);
    if (floats > 0x1p58)
        return plim__lower_fail(l, PLIM_OVERFLOW, "its scratch memory would be more bytes than fit in 63 bits");
    int64_t each = f->gates + (s->cell->has_part ? 2 : 1);
    return plim__lower_scratch(l, (size_t)(f->hidden * (f->steps * f->batch * each + 2 * f->batch)) * sizeof(float));
}

/* The large ones; of a GRU some are smaller. */
static plim_status list_products(plim__lower *l, const plim__recurrent *f) {
    int64_t rows = f->steps * f->batch, units = f->gates * f->hidden, h = f->hidden, in = f->inputs;
    const plim__product all[] = {
        {'N', 'T', false, rows, units, in, in, in, units},  {'N', 'T', false, rows, units, h, h, h, units},
        {'N', 'N', false, f->batch, h, units, units, h, h}, {'N', 'N', false, rows, in, units, units, in, in},
        {'T', 'N', false, units, in, rows, units, in, in},  {'T', 'N', false, units, h, rows, units, h, h}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) PLIM_TRY(plim__lower_product(l, all[i]));
    return PLIM_OK;
}

static plim_status fill(plim__lower *l, plim__cell kind, plim__recurrent_grad *s) {
    PLIM_TRY(plim__recurrent_read(l, kind, PLIM__X, &s->forward));
    for (int d = 0; d < s->forward.directions; d++)
        for (int i = 0; i <= (int)kind; i++) {
            const plim__cell_function *f = &s->forward.functions[d][i];
            float *ends = s->ends[d][i];
            bool bends_twice = plim__functions[f->kind].sided && f->alpha < 0;
            if (bends_twice) return plim__lower_unsupported(l, "with an activation that falls and rises");
            ends[0] = isfinite(f->clip) ? -f->clip : NAN;
            ends[1] = isfinite(f->clip) ? f->clip : NAN;
            if (isfinite(f->clip)) plim__simd_recurrent_table()->activate(f, ends, 2);
        }
    for (size_t i = 0; i < PLIM__RECURRENT_IN; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < PLIM__RECURRENT_OUT; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    PLIM_TRY(list_products(l, &s->forward));
    return plan_scratch(l, s);
}

plim_status plim__lower_recurrent_grad(plim__lower *l, plim__cell kind, const plim__cell_backward *cell) {
    plim__recurrent_grad *s;
    if (plim__lower_input_dtype(l, PLIM__X) != PLIM_F32)
        return plim__lower_unsupported(l, "with another type than float32");
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    s->cell = cell;
    plim_status status = fill(l, kind, s);
    if (status == PLIM_OK) return plim__lower_emit(l, plim__lower_node(l)->op->name, run_backward, s, plim__free);
    plim__free(s);
    return status;
}
