/* Attention without the T×T matrix: a thread takes a block of queries of one head, computes their scores into
 * its own scratch, turns them into weights and mixes the values. Keys that a causal block cannot see are not
 * computed. A thread packs the keys and values of a head once for all blocks of it that it takes.
 *
 *   scratch:  | thread 0: PLIM__ATTENTION_ROWS × Tk scores | keys, packed | values, packed | thread 1 | ...
 *
 * The output is laid out (batch, T, head, E), so that putting the heads side by side again moves nothing. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernel/forward/attention.h"
#include "kernel/lowers.h"
#include "kernel/simd/panels.h"
#include "kernel/simd/reduce.h"

int64_t plim__matrices_offset(const plim__attention *s, const plim__matrices *m, int64_t head) {
    int64_t offset = 0;
    for (int i = s->leading - 1; i >= 0; i--) {
        offset += head % s->dims[i] * m->batch[i];
        head /= s->dims[i];
    }
    return offset;
}

static void add_mask(const plim__attention *s, const plim__queries *b, float *scores) {
    for (int64_t i = 0; i < b->rows; i++, scores += b->visible) {
        const float *mask = b->mask + (b->first + i) * s->mask.row;
        if (s->mask.column == 1) { /* nearly always; the compiler makes vectors of it */
#pragma omp simd
            for (int64_t j = 0; j < b->visible; j++) scores[j] += mask[j];
        } else {
            for (int64_t j = 0; j < b->visible; j++) scores[j] += mask[j * s->mask.column];
        }
    }
}

int64_t plim__attention_visible(const plim__attention *s, int64_t first, int64_t rows) {
    int64_t last = first + rows + s->keys - s->queries;
    return s->causal && last < s->keys ? last : s->keys;
}

void plim__attention_pack_keys(const plim__attention *s, const float *k, float *to) {
    if (s->k.column == 1)
        plim__panels()->pack(s->depth, s->keys, k, s->k.row, s->depth, to);
    else /* keys stored row by row */
        plim__panels()->pack_turned(s->depth, s->keys, k, s->k.column, s->depth, to);
}

void plim__attention_weights(const plim__attention *s, const plim__queries *b, float *weights) {
    int64_t shift = s->keys - s->queries, first = b->first, rows = b->rows, visible = b->visible;
    plim__panels()->multiply(&(plim__panels_product){.m = rows,
                                                     .n = visible,
                                                     .k = s->depth,
                                                     .scale = s->scale,
                                                     .a = b->q + first * s->q.row,
                                                     .a_row = s->q.row,
                                                     .a_column = 1,
                                                     .panels = b->keys,
                                                     .step = s->depth,
                                                     .c = weights,
                                                     .c_row = visible});
    if (s->has_mask) add_mask(s, b, weights);
    for (int64_t i = 0; i < rows; i++) {
        int64_t seen = s->causal && first + i + 1 + shift < visible ? first + i + 1 + shift : visible;
        float *row = weights + i * visible;
        plim__simd_reduce_table()->softmax(row, row, seen);
        if (s->guarded && seen > 0 && isnan(row[0])) memset(row, 0, (size_t)seen * sizeof *row);
        memset(row + seen, 0, (size_t)(visible - seen) * sizeof *row);
    }
}

void plim__attention_drop(const plim__attention *s, const plim__call *call, int64_t head, const plim__queries *b,
                          const float *from, float *to) {
    if (s->dropout.all) {
        memset(to, 0, (size_t)(b->rows * b->visible) * sizeof *to);
        return;
    }
    plim__dropout_draw draw = plim__dropout_key(&s->dropout, call);
    int64_t sample = s->dropout.batch ? call->sample : 0;
    for (int64_t i = 0; i < b->rows; i++) {
        int64_t n = plim__dropout_number(&s->dropout, (head * s->queries + b->first + i) * s->keys, sample);
        plim__dropout_run(&draw, from + i * b->visible, to + i * b->visible, n, n + b->visible);
    }
}

/* What a thread has of its own: the head whose keys and values are packed, and where. */
struct worker {
    int64_t head;
    float *scores, *keys, *values;
};

static void take_head(const plim__attention *s, const plim__call *call, int64_t head, struct worker *w) {
    if (w->head == head) return;
    const float *k = (const float *)call->in[1] + plim__matrices_offset(s, &s->k, head),
                *v = (const float *)call->in[2] + plim__matrices_offset(s, &s->v, head);
    plim__attention_pack_keys(s, k, w->keys);
    plim__panels()->pack(s->keys, s->width, v, s->v.row, s->keys, w->values);
    w->head = head;
}

/* One block of queries. */
static void attend(const plim__attention *s, const plim__call *call, int64_t head, int64_t first, struct worker *w) {
    int64_t rows = s->queries - first < PLIM__ATTENTION_ROWS ? s->queries - first : PLIM__ATTENTION_ROWS,
            visible = plim__attention_visible(s, first, rows);
    const float *q = (const float *)call->in[0] + plim__matrices_offset(s, &s->q, head);
    const float *mask = s->has_mask ? (const float *)call->in[3] + plim__matrices_offset(s, &s->mask, head) : NULL;
    float *y = (float *)call->out[0] + plim__matrices_offset(s, &s->y, head) + first * s->y.row;
    take_head(s, call, head, w);
    plim__queries block = {q, w->keys, mask, first, rows, visible};
    plim__attention_weights(s, &block, w->scores);
    if (s->drops) plim__attention_drop(s, call, head, &block, w->scores, w->scores);
    plim__panels()->multiply(&(plim__panels_product){.m = rows,
                                                     .n = s->width,
                                                     .k = visible,
                                                     .scale = 1,
                                                     .a = w->scores,
                                                     .a_row = visible,
                                                     .a_column = 1,
                                                     .panels = w->values,
                                                     .step = s->keys,
                                                     .c = y,
                                                     .c_row = s->y.row});
}

static size_t worker_floats(const plim__attention *s) {
    return s->scores + s->packed_keys + plim__panels_floats(s->keys, s->width);
}

static plim_status run_attention(const plim__call *call) {
    const plim__attention *s = call->state;
    int64_t blocks = (s->queries + PLIM__ATTENTION_ROWS - 1) / PLIM__ATTENTION_ROWS;
#pragma omp parallel num_threads(s->threads)
    {
        float *mine = (float *)call->scratch + (size_t)omp_get_thread_num() * worker_floats(s);
        struct worker w = {-1, mine, mine + s->scores, mine + s->scores + s->packed_keys};
#pragma omp for collapse(2) schedule(dynamic)
        for (int64_t head = 0; head < s->heads; head++)
            for (int64_t block = blocks - 1; block >= 0; block--) /* long ones first */
                attend(s, call, head, block * PLIM__ATTENTION_ROWS, &w);
    }
    return PLIM_OK;
}

plim__matrices plim__matrices_of(const plim__layout *layout) {
    plim__matrices m = {0};
    int r = layout->shape.rank;
    for (int i = 0; i < r - 2; i++) m.batch[i] = layout->shape.dims[i] == 1 ? 0 : layout->strides[i];
    m.row = layout->strides[r - 2];
    m.column = layout->strides[r - 1];
    return m;
}

/* Rows must be contiguous (columns, for keys), or the whole is made dense. */
plim_status plim__attention_take(plim__lower *l, size_t i, bool keys, plim__matrices *m) {
    const plim__layout *seen = plim__lower_peek(l, i);
    int r = seen->shape.rank;
    bool rows = !seen->blocked && seen->strides[r - 1] == 1, columns = !seen->blocked && seen->strides[r - 2] == 1;
    for (int k = 0; k < r; k++) rows &= seen->blocked || seen->shape.dims[k] == 1 || seen->strides[k] > 0;
    plim__layout layout;
    PLIM_TRY(plim__lower_input(l, i, rows || (keys && columns) ? PLIM__STRIDED : PLIM__DENSE, &layout));
    *m = plim__matrices_of(&layout);
    /* a stride of a single row or column means nothing, but must be large enough for the product */
    if (layout.shape.dims[r - 2] == 1 && m->column == 1) m->row = layout.shape.dims[r - 1];
    if (keys && layout.shape.dims[r - 1] == 1 && m->column != 1) m->column = layout.shape.dims[r - 2];
    return PLIM_OK;
}

/* The mask with ones in front of its shape. */
static plim_status take_mask(plim__lower *l, size_t i, int rank, plim__matrices *m) {
    plim__layout layout;
    PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, &layout));
    int more = rank - layout.shape.rank;
    *m = (plim__matrices){0};
    for (int k = 0; k < rank; k++) {
        int64_t stride = k < more || layout.shape.dims[k - more] == 1 ? 0 : layout.strides[k - more];
        if (k < rank - 2)
            m->batch[k] = stride;
        else if (k == rank - 2)
            m->row = stride;
        else
            m->column = stride;
    }
    return PLIM_OK;
}

plim__layout plim__attention_layout(const plim__shape *y) {
    plim__layout layout = plim__layout_dense(PLIM_F32, y);
    if (y->rank < 4) return layout;
    int h = y->rank - 3; /* (..., H, T, E) in memory as (..., T, H, E) */
    layout.strides[h] = y->dims[h + 2];
    layout.strides[h + 1] = y->dims[h] * y->dims[h + 2];
    return layout;
}

plim_status plim__attention_read(plim__lower *l, size_t first, plim__attention *s) {
    const plim__shape *q = plim__lower_input_shape(l, first), *v = plim__lower_input_shape(l, first + 2);
    const plim__node *node = plim__lower_node(l);
    int r = q->rank;
    *s = (plim__attention){.leading = r - 2,
                           .heads = plim__shape_product(q, 0, r - 2),
                           .queries = q->dims[r - 2],
                           .keys = v->dims[r - 2],
                           .depth = q->dims[r - 1],
                           .width = v->dims[r - 1],
                           .scale = plim__node_float(node, "scale", 1),
                           .causal = plim__node_int(node, "causal", 0) != 0,
                           .has_mask = plim__lower_has_input(l, first + 3),
                           .guarded = plim__node_int(node, "guarded", 0) != 0,
                           .drops = plim__node_attribute(node, "ratio") != NULL,
                           .threads = plim__lower_threads(l)};
    s->dropout = plim__dropout_of(node, s->heads * s->queries * s->keys);
    for (int i = 0; i < r - 2; i++) s->dims[i] = q->dims[i];
    if (plim__lower_input_dtype(l, first) != PLIM_F32)
        return plim__lower_unsupported(l, "with another type than float32");
    PLIM_TRY(plim__attention_take(l, first, false, &s->q));
    PLIM_TRY(plim__attention_take(l, first + 1, true, &s->k));
    PLIM_TRY(plim__attention_take(l, first + 2, false, &s->v));
    if (s->has_mask) PLIM_TRY(take_mask(l, first + 3, r, &s->mask));
    s->scores =
        (size_t)(((s->queries < PLIM__ATTENTION_ROWS ? s->queries : PLIM__ATTENTION_ROWS) * s->keys + 15) / 16 * 16);
    s->packed_keys = plim__panels_floats(s->depth, s->keys);
    return PLIM_OK;
}

plim_status plim__lower_attention(plim__lower *l) {
    plim__attention made;
    PLIM_TRY(plim__attention_read(l, 0, &made));
    plim__layout y = plim__attention_layout(plim__lower_output_shape(l, 0));
    PLIM_TRY(plim__lower_output(l, 0, &y));
    made.y = plim__matrices_of(&y);
    if (made.queries == 1) made.y.row = made.width;
    PLIM_TRY(plim__lower_scratch(l, worker_floats(&made) * sizeof(float) * (size_t)made.threads));
    plim__attention *s = plim__alloc(sizeof *s);
    if (s) *s = made;
    return plim__lower_emit(l, "Attention", run_attention, s, plim__free);
}
