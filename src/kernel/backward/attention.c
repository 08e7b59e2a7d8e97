/* Backward of attention without the T×T matrix: a thread takes a head, and a block of its queries after the other. The
 * weights P of a block are computed again; then, with dP = dy·vᵀ and D the row sums of P∘dP,
 *
 *   dS = scale · P∘(dP - D)     dq = dS·kᵀ     dk += qᵀ·dS     dv += Pᵀ·dy
 *
 * Where weights are dropped, those of dv and dP are, in the same places.
 *
 *   scratch:  | thread 0: P, ROWS × Tk | dS, ROWS × Tk | thread 1 | ...
 *
 * Blocks of a head follow each other in a fixed order, so that the sums are the same every time. */
#include <omp.h>
#include <string.h>

#include "kernel/forward/attention.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"

struct backward {
    plim__attention forward;
    plim__matrices dy, dq, dk, dv; /* of dk, row is the step from key to key; its elements lie side by side */
};

/* Turns dP into dS. */
static void scores_gradient(const float *p, float *ds, int64_t rows, int64_t visible, float scale) {
    for (int64_t i = 0; i < rows; i++, p += visible, ds += visible) {
        double sum = 0;
        for (int64_t j = 0; j < visible; j++) sum += (double)p[j] * (double)ds[j];
        float mean = (float)sum;
        for (int64_t j = 0; j < visible; j++) ds[j] = scale * p[j] * (ds[j] - mean);
    }
}

static void clear_rows(float *to, int64_t rows, int64_t step, int64_t width) {
    for (int64_t i = 0; i < rows; i++) memset(to + i * step, 0, (size_t)width * sizeof *to);
}

static int one_head(const struct backward *b, const plim__call *call, int64_t head, float *p, float *ds) {
    const plim__attention *s = &b->forward;
    const float *dy = (const float *)call->in[0] + plim__matrices_offset(s, &b->dy, head);
    const float *q = (const float *)call->in[1] + plim__matrices_offset(s, &s->q, head);
    const float *k = (const float *)call->in[2] + plim__matrices_offset(s, &s->k, head);
    const float *v = (const float *)call->in[3] + plim__matrices_offset(s, &s->v, head);
    const float *mask = s->has_mask ? (const float *)call->in[4] + plim__matrices_offset(s, &s->mask, head) : NULL;
    float *dq = (float *)call->out[0] + plim__matrices_offset(s, &b->dq, head);
    float *dk = (float *)call->out[1] + plim__matrices_offset(s, &b->dk, head);
    float *dv = (float *)call->out[2] + plim__matrices_offset(s, &b->dv, head);
    bool transposed = s->k.column != 1; /* keys stored row by row */
    int failed = 0;
    clear_rows(dk, s->keys, b->dk.row, s->depth);
    clear_rows(dv, s->keys, b->dv.row, s->width);
    for (int64_t first = 0; first < s->queries; first += PLIM__ATTENTION_ROWS) {
        int64_t rows = s->queries - first < PLIM__ATTENTION_ROWS ? s->queries - first : PLIM__ATTENTION_ROWS;
        int64_t visible = plim__attention_visible(s, first, rows);
        const float *dy_rows = dy + first * b->dy.row;
        plim__queries block = {q, k, mask, first, rows, visible};
        failed |= plim__attention_weights(s, &block, p);
        if (s->drops) plim__attention_drop(s, call, head, &block, p, ds); /* ds holds nothing yet */
        failed |= (int)dnnl_sgemm('T', 'N', visible, s->width, rows, 1, s->drops ? ds : p, visible, dy_rows, b->dy.row,
                                  1, dv, b->dv.row);
        failed |=
            (int)dnnl_sgemm('N', 'T', rows, visible, s->width, 1, dy_rows, b->dy.row, v, s->v.row, 0, ds, visible);
        if (s->drops) plim__attention_drop(s, call, head, &block, ds, ds);
        scores_gradient(p, ds, rows, visible, s->scale);
        failed |= (int)dnnl_sgemm('N', transposed ? 'N' : 'T', rows, s->depth, visible, 1, ds, visible, k,
                                  transposed ? s->k.column : s->k.row, 0, dq + first * b->dq.row, b->dq.row);
        failed |= (int)dnnl_sgemm('T', 'N', visible, s->depth, rows, 1, ds, visible, q + first * s->q.row, s->q.row, 1,
                                  dk, b->dk.row);
    }
    return failed;
}

static plim_status run_backward(const plim__call *call) {
    const struct backward *b = call->state;
    size_t half = b->forward.scratch;
    int failed = 0;
#pragma omp parallel for schedule(dynamic) num_threads(b->forward.threads) reduction(| : failed)
    for (int64_t head = 0; head < b->forward.heads; head++) {
        float *mine = (float *)call->scratch + (size_t)omp_get_thread_num() * 2 * half;
        failed |= one_head(b, call, head, mine, mine + half);
    }
    return plim__attention_status(call, failed);
}

/* Output i with heads side by side in memory. */
static plim_status rows_output(plim__lower *l, size_t i, plim__matrices *m) {
    plim__layout layout = plim__attention_layout(plim__lower_output_shape(l, i));
    *m = plim__matrices_of(&layout);
    if (layout.shape.dims[layout.shape.rank - 2] == 1) m->row = layout.shape.dims[layout.shape.rank - 1];
    return plim__lower_output(l, i, &layout);
}

/* dk is (..., E, T) like k, in memory (..., T, E). */
static plim_status keys_output(plim__lower *l, plim__matrices *m) {
    plim__shape shape = *plim__lower_output_shape(l, 1), flipped = shape;
    int r = shape.rank;
    flipped.dims[r - 1] = shape.dims[r - 2];
    flipped.dims[r - 2] = shape.dims[r - 1];
    plim__layout rows = plim__attention_layout(&flipped), layout = rows;
    *m = plim__matrices_of(&rows);
    if (flipped.dims[r - 2] == 1) m->row = flipped.dims[r - 1];
    layout.shape = shape;
    layout.strides[r - 1] = rows.strides[r - 2];
    layout.strides[r - 2] = rows.strides[r - 1];
    return plim__lower_output(l, 1, &layout);
}

/* As one_head makes them. */
static plim_status list_products(plim__lower *l, const struct backward *b) {
    const plim__attention *s = &b->forward;
    bool transposed = s->k.column != 1;
    int64_t rows = s->queries < PLIM__ATTENTION_ROWS ? s->queries : PLIM__ATTENTION_ROWS, all = s->keys;
    int64_t k_row = transposed ? s->k.column : s->k.row;
    const plim__product products[] = {{'N', transposed ? 'T' : 'N', true, rows, all, s->depth, s->q.row, k_row, all},
                                      {'T', 'N', true, all, s->width, rows, all, b->dy.row, b->dv.row},
                                      {'N', 'T', true, rows, all, s->width, b->dy.row, s->v.row, all},
                                      {'N', transposed ? 'N' : 'T', true, rows, s->depth, all, all, k_row, b->dq.row},
                                      {'T', 'N', true, all, s->depth, rows, all, s->q.row, b->dk.row}};
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) PLIM_TRY(plim__lower_product(l, products[i]));
    return PLIM_OK;
}

plim_status plim__lower_attention_grad(plim__lower *l) {
    struct backward made;
    PLIM_TRY(plim__attention_take(l, 0, false, &made.dy));
    PLIM_TRY(plim__attention_read(l, 1, &made.forward));
    PLIM_TRY(rows_output(l, 0, &made.dq));
    PLIM_TRY(keys_output(l, &made.dk));
    PLIM_TRY(rows_output(l, 2, &made.dv));
    PLIM_TRY(plim__lower_scratch(l, 2 * made.forward.scratch * sizeof(float) * (size_t)made.forward.threads));
    PLIM_TRY(list_products(l, &made));
    struct backward *b = plim__alloc(sizeof *b);
    if (b) *b = made;
    return plim__lower_emit(l, "AttentionGrad", run_backward, b, plim__free);
}
