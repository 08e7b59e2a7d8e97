/* Backward of attention without the T×T matrix: a thread takes a head, and a block of its queries after the other. The
 * weights P of a block are computed again; then, with dP = dy·vᵀ and D the row sums of P∘dP,
 *
 *   dS = scale · P∘(dP - D)     dq = dS·kᵀ     dk += qᵀ·dS     dv += Pᵀ·dy
 *
 * Where weights are dropped, those of dv and dP are, in the same places.
 *
 *   scratch:  | thread 0: P, ROWS × Tk | dS, ROWS × Tk | keys, for scores | values, for dP | keys, for dq | ROWS × E of q
 *             |           or dy, packed | thread 1 | ...
 *
 * Blocks of a head follow each other in a fixed order, so that the sums are the same every time. */
#include <omp.h>
#include <string.h>

#include "kernel/forward/attention.h"
#include "kernel/lowers.h"
#include "kernel/simd/panels.h"

struct backward {
    plim__attention forward;
    plim__matrices dy, dq, dk, dv; /* of dk, row is the step from key to key; its elements lie side by side */
};

static void clear_rows(float *to, int64_t rows, int64_t step, int64_t width) {
    for (int64_t i = 0; i < rows; i++) memset(to + i * step, 0, (size_t)width * sizeof *to);
}

/* What a thread has of its own. */
struct worker {
    float *p, *ds;
    float *keys, *values, *queries_keys, *rows; /* packed factors; rows: of a block of queries */
};

static size_t rows_floats(const plim__attention *s) {
    return plim__panels_floats(PLIM__ATTENTION_ROWS, s->depth > s->width ? s->depth : s->width);
}

static size_t worker_floats(const plim__attention *s) {
    return 2 * s->scores + s->packed_keys + plim__panels_floats(s->width, s->keys) +
           plim__panels_floats(s->keys, s->depth) + rows_floats(s);
}

static struct worker worker_in(const plim__attention *s, float *memory) {
    struct worker w = {.p = memory, .ds = memory + s->scores};
    w.keys = w.ds + s->scores;
    w.values = w.keys + s->packed_keys;
    w.queries_keys = w.values + plim__panels_floats(s->width, s->keys);
    w.rows = w.queries_keys + plim__panels_floats(s->keys, s->depth);
    return w;
}

static void pack_head(const plim__attention *s, const float *k, const float *v, const struct worker *w) {
    const plim__simd_panels *panels = plim__panels();
    plim__attention_pack_keys(s, k, w->keys);
    panels->pack_turned(s->width, s->keys, v, s->v.row, s->width, w->values);
    if (s->k.column == 1)
        panels->pack_turned(s->keys, s->depth, k, s->k.row, s->keys, w->queries_keys);
    else /* keys stored row by row */
        panels->pack(s->keys, s->depth, k, s->k.column, s->keys, w->queries_keys);
}

/* What the keys of a block get: to (visible × width) += weightsᵀ·x, x being rows of the block's queries. */
struct share {
    const float *x;
    int64_t x_row, width;
    float *to;
    int64_t to_row;
};

static void add_to_keys(const plim__queries *b, const struct worker *w, const float *weights, struct share s) {
    plim__panels()->pack(b->rows, s.width, s.x, s.x_row, b->rows, w->rows);
    plim__panels()->multiply(&(plim__panels_product){.m = b->visible,
                                                     .n = s.width,
                                                     .k = b->rows,
                                                     .scale = 1,
                                                     .a = weights,
                                                     .a_row = 1,
                                                     .a_column = b->visible,
                                                     .panels = w->rows,
                                                     .step = b->rows,
                                                     .c = s.to,
                                                     .c_row = s.to_row,
                                                     .add = true});
}

static void one_head(const struct backward *b, const plim__call *call, int64_t head, const struct worker *w) {
    const plim__attention *s = &b->forward;
    const float *dy = (const float *)call->in[0] + plim__matrices_offset(s, &b->dy, head);
    const float *q = (const float *)call->in[1] + plim__matrices_offset(s, &s->q, head);
    const float *k = (const float *)call->in[2] + plim__matrices_offset(s, &s->k, head);
    const float *v = (const float *)call->in[3] + plim__matrices_offset(s, &s->v, head);
    const float *mask = s->has_mask ? (const float *)call->in[4] + plim__matrices_offset(s, &s->mask, head) : NULL;
    float *dq = (float *)call->out[0] + plim__matrices_offset(s, &b->dq, head);
    float *dk = (float *)call->out[1] + plim__matrices_offset(s, &b->dk, head);
    float *dv = (float *)call->out[2] + plim__matrices_offset(s, &b->dv, head);
    clear_rows(dk, s->keys, b->dk.row, s->depth);
    clear_rows(dv, s->keys, b->dv.row, s->width);
    pack_head(s, k, v, w);
    for (int64_t first = 0; first < s->queries; first += PLIM__ATTENTION_ROWS) {
        int64_t rows = s->queries - first < PLIM__ATTENTION_ROWS ? s->queries - first : PLIM__ATTENTION_ROWS;
        int64_t visible = plim__attention_visible(s, first, rows);
        const float *dy_rows = dy + first * b->dy.row;
        plim__queries block = {q, w->keys, mask, first, rows, visible};
        plim__attention_weights(s, &block, w->p);
        if (s->drops) plim__attention_drop(s, call, head, &block, w->p, w->ds); /* ds holds nothing yet */
        add_to_keys(&block, w, s->drops ? w->ds : w->p, (struct share){dy_rows, b->dy.row, s->width, dv, b->dv.row});
        plim__panels_product to_scores = {.m = rows,
                                          .n = visible,
                                          .k = s->width,
                                          .scale = 1,
                                          .a = dy_rows,
                                          .a_row = b->dy.row,
                                          .a_column = 1,
                                          .panels = w->values,
                                          .step = s->width,
                                          .c = w->ds,
                                          .c_row = visible};
        plim__panels()->multiply(&to_scores);
        if (s->drops) plim__attention_drop(s, call, head, &block, w->ds, w->ds);
        for (int64_t i = 0; i < rows; i++)
            plim__panels()->softmax_grad(visible, w->p + i * visible, w->ds + i * visible, s->scale);
        plim__panels_product to_queries = {.m = rows,
                                           .n = s->depth,
                                           .k = visible,
                                           .scale = 1,
                                           .a = w->ds,
                                           .a_row = visible,
                                           .a_column = 1,
                                           .panels = w->queries_keys,
                                           .step = s->keys,
                                           .c = dq + first * b->dq.row,
                                           .c_row = b->dq.row};
        plim__panels()->multiply(&to_queries);
        add_to_keys(&block, w, w->ds, (struct share){q + first * s->q.row, s->q.row, s->depth, dk, b->dk.row});
    }
}

static plim_status run_backward(const plim__call *call) {
    const struct backward *b = call->state;
    const plim__attention *s = &b->forward;
#pragma omp parallel num_threads(s->threads)
    {
        struct worker w = worker_in(s, (float *)call->scratch + (size_t)omp_get_thread_num() * worker_floats(s));
#pragma omp for schedule(dynamic)
        for (int64_t head = 0; head < s->heads; head++) one_head(b, call, head, &w);
    }
    return PLIM_OK;
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

plim_status plim__lower_attention_grad(plim__lower *l) {
    struct backward made;
    PLIM_TRY(plim__attention_take(l, 0, false, &made.dy));
    PLIM_TRY(plim__attention_read(l, 1, &made.forward));
    PLIM_TRY(rows_output(l, 0, &made.dq));
    PLIM_TRY(keys_output(l, &made.dk));
    PLIM_TRY(rows_output(l, 2, &made.dv));
    PLIM_TRY(plim__lower_scratch(l, worker_floats(&made.forward) * sizeof(float) * (size_t)made.forward.threads));
    struct backward *b = plim__alloc(sizeof *b);
    if (b) *b = made;
    return plim__lower_emit(l, "AttentionGrad", run_backward, b, plim__free);
}
