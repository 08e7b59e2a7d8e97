/* Backward of recurrent networks: directions, the large products, the lowering. */
#include "kernel/backward/recurrent.h"

#include <omp.h>
#include <string.h>

#include "core/error.h"
#include "kernel/copies.h"
#include "kernel/indices.h"
#include "kernel/loops.h"
#include "kernel/onednn.h"

dnnl_status_t plim__backward_product(const plim__gemm *p) {
    if (p->m == 0 || p->n == 0) return dnnl_success;
    if (p->k > 0)
        return dnnl_sgemm(p->ta, p->tb, p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb, p->beta, p->c, p->ldc);
    for (int64_t i = 0; p->beta == 0 && i < p->m; i++) memset(p->c + i * p->ldc, 0, (size_t)p->n * sizeof *p->c);
    return dnnl_success;
}

dnnl_status_t plim__backward_product_before(const plim__backward_pass *p, const float *gates, int64_t units,
                                            float *to) {
    const plim__recurrent *f = &p->s->forward;
    int64_t rows = f->steps * f->batch, h = f->hidden, row = f->row;
    plim__gemm product = {'T', 'N', units, h, rows, gates, row, p->before, h, 0, to, h};
    if (!p->s->shifted || f->steps == 0) return plim__backward_product(&product);
    bool reverse = f->reverse[p->direction];
    const float *first = reverse ? gates + (rows - f->batch) * row : gates; /* the step that h0 is before */
    product.k = rows - f->batch;
    product.a = reverse ? gates : gates + f->batch * row;
    product.b = reverse ? p->y + f->batch * h : p->y;
    dnnl_status_t status = plim__backward_product(&product);
    if (status != dnnl_success || !p->h0) return status;
    return plim__backward_product(&(plim__gemm){'T', 'N', units, h, f->batch, first, row, p->h0, h, 1, to, h});
}

/* --- the walk -------------------------------------------------------------------------------------------------- */

/* The units of a thread, in columns of whole vectors where they divide evenly. */
static struct plim__units units_of(const plim__recurrent *f, int thread, int threads) {
    int64_t width = plim__simd_recurrent_table()->width;
    struct plim__units u;
    plim__loop_part(f->padded / width, thread, threads, &u.from, &u.to);
    u.from *= width;
    u.to = u.to * width < f->hidden ? u.to * width : f->hidden;
    int64_t n = u.to - u.from;
    u.first = 0;
    u.last = f->batch;
    u.columns = n % (4 * width) == 0 ? 4 : n % (2 * width) == 0 ? 2 : 1;
    u.height = n / u.columns;
    return u;
}

/* Columns of R (G H, H), one matrix a gate so that a step can use some of them:
 * [G][units' height / width][H][columns][width], padded with zeros where there is one column. */
static void pack(const plim__backward_pass *p, struct plim__units u) {
    const plim__recurrent *f = &p->s->forward;
    int64_t h = f->hidden, width = plim__simd_recurrent_table()->width, blocks = (u.height + width - 1) / width;
    for (int64_t i = 0; i < f->gates * blocks; i++) {
        int64_t first = i % blocks * width, n = u.height - first < width ? u.height - first : width;
        const float *from = p->r + i / blocks * h * h + u.from + first;
        float *to = p->packed + (i / blocks * f->padded + u.from) * h + i % blocks * h * u.columns * width;
        for (int64_t k = 0; k < h * u.columns; k++, to += width) {
            memcpy(to, from + k / u.columns * h + k % u.columns * u.height, (size_t)n * sizeof *to);
            memset(to + n, 0, (size_t)(width - n) * sizeof *to);
        }
    }
}

void plim__backward_recur(const plim__backward_pass *p, const struct plim__recurrence *r, struct plim__units u) {
    const plim__recurrent *f = &p->s->forward;
    for (int g = 0; g < r->gates; g++) {
        plim__cell_product product = {.rows = u.last - u.first,
                                      .depth = f->hidden,
                                      .x = r->x + u.first * r->x_step + g * f->hidden,
                                      .x_step = r->x_step,
                                      .packed = p->packed + ((r->gate + g) * f->padded + u.from) * f->hidden,
                                      .all_gates = u.columns,
                                      .gates = u.columns,
                                      .bias = p->zeros};
        for (int c = 0; c < u.columns; c++)
            product.to[c] =
                (plim__cell_target){r->y + u.first * f->hidden + u.from + c * u.height, f->hidden, r->add || g > 0};
        plim__simd_recurrent_table()->product(&product, 0, u.height);
    }
}

/* Adds the gradients of the gates, and of the part of a GRU, at time t, while they are in the cache. */
static void sum_bias(const plim__backward_pass *p, int64_t t, struct plim__units u) {
    const plim__recurrent *f = &p->s->forward;
    const float *gates = p->gates + t * f->batch * f->row + u.from;
    for (int64_t g = 0; g < f->gates + (f->cell == PLIM__CELL_GRU); g++)
        plim__simd_recurrent_table()->sum_rows(gates + g * f->hidden, f->batch, f->row, u.to - u.from,
                                               p->sums + g * f->hidden + u.from);
}

/* Each thread with samples of its own; the sums over all of them come afterwards, by units. */
static void walk_by_samples(const plim__backward_pass *p) {
    const plim__recurrent *f = &p->s->forward;
    const struct plim__units all = units_of(f, 0, 1);
    pack(p, all);
#pragma omp parallel num_threads(f->threads)
    {
        struct plim__units own = all;
        plim__loop_part(f->batch, omp_get_thread_num(), omp_get_num_threads(), &own.first, &own.last);
        for (int64_t k = f->steps - 1; k >= 0; k--) p->s->cell->step(p, k, own);
    }
    if (!p->wants_db) return;
#pragma omp parallel num_threads(f->threads)
    {
        struct plim__units units = units_of(f, omp_get_thread_num(), omp_get_num_threads());
        for (int64_t k = f->steps - 1; k >= 0; k--) sum_bias(p, plim__backward_time(p, k), units);
    }
}

static void walk(const plim__backward_pass *p) {
    const plim__recurrent *f = &p->s->forward;
    if (f->batch == 0 || f->hidden == 0) return;
    if (f->by_samples) {
        walk_by_samples(p);
        return;
    }
#pragma omp parallel num_threads(f->threads) if (f->threads > 1)
    {
        struct plim__units units = units_of(f, omp_get_thread_num(), omp_get_num_threads());
        pack(p, units);
        for (int64_t k = f->steps - 1; k >= 0; k--) {
            p->s->cell->step(p, k, units);
            if (p->wants_db) sum_bias(p, plim__backward_time(p, k), units);
        }
    }
}

/* h before each step, at the step's own time. */
static void gather_before(const plim__backward_pass *p) {
    const plim__recurrent *f = &p->s->forward;
    size_t bytes = (size_t)f->hidden * sizeof(float);
#pragma omp parallel for if (f->steps * f->batch * f->hidden > 32768)
    for (int64_t b = 0; b < f->batch; b++)
        for (int64_t k = 0; k < f->steps; k++) {
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

#define ADDED_COLUMNS 256 /* at a time: the sums stay in the cache */

/* The gradient of the table's products: those of the gates, added up by the row that they took. Columns are independent, so
 * that the number of threads changes nothing. */
static void add_by_row(const plim__backward_pass *p, float *sums) {
    const plim__recurrent *f = &p->s->forward;
    int64_t units = f->gates * f->hidden, step = f->directions * units, rows = f->steps * f->batch;
    sums += p->direction * units;
#pragma omp parallel for schedule(static) if (rows * units > 32768)
    for (int64_t from = 0; from < units; from += ADDED_COLUMNS) {
        int64_t n = units - from < ADDED_COLUMNS ? units - from : ADDED_COLUMNS;
        for (int64_t v = 0; v < f->table; v++) memset(sums + v * step + from, 0, (size_t)n * sizeof *sums);
        for (int64_t r = 0; r < rows; r++) {
            int64_t row = plim__index_at(f->taken, p->taken, r, f->table); /* the forward pass has checked them */
            plim__simd_recurrent_table()->add(n, p->gates + r * f->row + from, sums + row * step + from);
        }
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
    if (dx && p->taken) add_by_row(p, dx);
    if (dx && !p->taken)
        status = plim__backward_product(&(plim__gemm){'N', 'N', rows, f->inputs, units, p->gates, f->row, p->w,
                                                      f->inputs, d ? 1 : 0, dx, f->inputs});
    if (status == dnnl_success && dw)
        status = plim__backward_product(
            &(plim__gemm){'T', 'N', units, f->inputs, rows, p->gates, f->row, p->x, f->inputs, 0, dw, f->inputs});
    if (status == dnnl_success && dr) status = plim__backward_product_before(p, p->gates, units, dr);
    for (int64_t u = 0; db && u < units; u++) db[u] = db[units + u] = (float)p->sums[u]; /* both halves are added */
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
                             .x = call->in[PLIM__X],
                             .y = call->in[PLIM__Y],
                             .dy = call->in[PLIM__DY],
                             .taken = f->table > 0 ? call->in[PLIM__W] : NULL,
                             .w = f->table > 0 ? NULL : (const float *)call->in[PLIM__W] + d * units * f->inputs,
                             .r = (const float *)call->in[PLIM__R] + d * units * f->hidden,
                             .bias = part_of(call, PLIM__BIAS, d * 2 * units),
                             .h0 = part_of(call, PLIM__H0, d * state),
                             .c0 = part_of(call, PLIM__C0, d * state),
                             .peepholes = part_of(call, PLIM__PEEPHOLES, d * 3 * f->hidden),
                             .lengths = call->in[PLIM__LENGTHS]};
    p.before = call->scratch;
    p.dh = p.before + (s->shifted ? 0 : f->steps * state);
    p.wants_dh0 = call->out[PLIM__DH0] != NULL;
    p.wants_db = call->out[PLIM__DB] != NULL;
    p.other = p.dh + state;
    p.packed = p.other + state + (p.other + state - p.before) % 2; /* sums are aligned */
    p.sums = (double *)(p.packed + units * f->padded);
    p.zeros = (float *)(p.sums + f->row);
    memset(p.sums, 0, (size_t)f->row * sizeof *p.sums);
    memset(p.zeros, 0, (size_t)(4 * f->padded) * sizeof *p.zeros);
    p.gates =
        s->cell->saved ? (float *)call->out[PLIM__DGATES] + d * f->steps * f->batch * f->row : p.zeros + 4 * f->padded;
    p.part = p.gates + units;
    return p;
}

static plim_status run_backward(const plim__call *call) {
    const plim__recurrent_grad *s = call->state;
    const plim__recurrent *f = &s->forward;
    int64_t state = f->batch * f->hidden;
    if (s->cell->saved && call->out[PLIM__DGATES] != call->in[PLIM__GATES])
        memcpy(call->out[PLIM__DGATES], call->in[PLIM__GATES],
               (size_t)(f->directions * f->steps * f->batch * f->row) * sizeof(float));
    for (int d = 0; d < f->directions; d++) {
        plim__backward_pass p = pass_of(call, d);
        start(p.dh, call->in[PLIM__DYH], d * state, (size_t)state);
        start(p.other, call->in[PLIM__DYC], d * state, (size_t)state);
        if (!s->shifted) gather_before(&p);
        walk(&p);
        dnnl_status_t status = finish(&p, call);
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
           floats = (double)f->hidden * (rows * 2 + 2 * (double)f->batch) +
                    (double)f->padded * ((double)f->gates * (double)f->hidden + 16);
    if (floats > 0x1p58)
        return plim__lower_fail(l, PLIM_OVERFLOW, "its scratch memory would be more bytes than fit in 63 bits");
    int64_t each = !s->cell->saved + !s->shifted;
    int64_t states = f->hidden * (f->steps * f->batch * each + 2 * f->batch);
    int64_t weights = f->padded * (f->gates * f->hidden + 4) + 2 * f->row + 1;
    return plim__lower_scratch(l, (size_t)(states + weights) * sizeof(float));
}

/* The large ones; of a GRU some are smaller. */
static plim_status list_products(plim__lower *l, const plim__recurrent *f) {
    int64_t rows = f->steps * f->batch, units = f->gates * f->hidden, h = f->hidden, in = f->inputs;
    const plim__product all[] = {{'N', 'N', false, rows, in, units, f->row, in, in},
                                 {'T', 'N', false, units, in, rows, f->row, in, in},
                                 {'T', 'N', false, units, h, rows, f->row, h, h}};
    for (size_t i = f->table > 0 ? 2 : 0; i < sizeof all / sizeof *all; i++) PLIM_TRY(plim__lower_product(l, all[i]));
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
    s->shifted = s->forward.directions == 1 && !plim__lower_has_input(l, PLIM__LENGTHS);
    s->forward.row = (s->forward.gates + s->cell->saved) * s->forward.hidden;
    for (size_t i = 0; i < PLIM__RECURRENT_IN; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < PLIM__RECURRENT_OUT; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    plim__lower_inplace(l, PLIM__GATES, PLIM__DGATES);
    PLIM_TRY(list_products(l, &s->forward));
    return plan_scratch(l, s);
}

plim_status plim__lower_recurrent_grad(plim__lower *l, plim__cell kind, const plim__cell_backward *cell) {
    plim__recurrent_grad *s;
    if (plim__lower_input_dtype(l, PLIM__R) != PLIM_F32)
        return plim__lower_unsupported(l, "with another type than float32");
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    s->cell = cell;
    plim_status status = fill(l, kind, s);
    if (status == PLIM_OK) return plim__lower_emit(l, plim__lower_node(l)->op->name, run_backward, s, plim__free);
    plim__free(s);
    return status;
}
