/* Cross entropy of a linear layer whose scores never exist as a whole: rows are taken a chunk at a time, and the scores
 * of a chunk live in scratch only.
 *
 *   x (rows, K)   w (K, C), or (C, K) with transB   bias (C)   s = x·w + bias, a chunk of rows: (m, C)
 *   forward:   s of a chunk, then the loss of its rows
 *   backward:  s again, ds over it, dx = ds·wᵀ, dw += xᵀ·ds, dbias += Σ ds
 *   train:     both at once, so that s is computed once; for a gradient that is known before: of the loss, or of the
 *              loss times the weight of its targets. That weight follows from the targets alone.
 *
 *   scratch:  | chunk × C scores | forward, train: what cross entropy needs |
 *
 * Chunks follow each other in a fixed order and each product is oneDNN's, so that the sums are the same every time. */
#include <string.h>

#include "kernel/copies.h"
#include "kernel/forward/cross_entropy.h"
#include "kernel/loops.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"

struct linear {
    plim__entropy entropy;
    int64_t depth, chunk;
    bool transposed;  /* w lies as (C, K) in memory */
    int64_t w_row;    /* from one row of w to the next, in memory */
    size_t s_scratch; /* bytes of the scores of a chunk */
    bool sum;         /* train: the gradient is that of the sum over all targets, not of their mean */
};

/* Where gradients go; each may be NULL. */
struct gradients {
    float *dx, *dw, *dbias;
};

static plim_status failed(dnnl_status_t status) {
    return status == dnnl_success ? PLIM_OK : status == dnnl_out_of_memory ? PLIM_NO_MEMORY : PLIM_INTERNAL;
}

/* The scores of m rows. */
static plim_status chunk_scores(const struct linear *k, const float *x, const float *w, int64_t m, float *s) {
    return failed(dnnl_sgemm('N', k->transposed ? 'T' : 'N', m, k->entropy.classes, k->depth, 1, x, k->depth, w,
                             k->w_row, 0, s, k->entropy.classes));
}

static int64_t rows_left(const struct linear *k, int64_t first) {
    return k->entropy.count - first < k->chunk ? k->entropy.count - first : k->chunk;
}

/* dbias += the sum of m rows, in their order. */
static void add_rows(const plim__simd_loss *loops, const float *ds, int64_t m, int64_t classes, float *dbias) {
    int64_t piece = 4096, pieces = (classes + piece - 1) / piece;
    int threads = plim__loop_threads(m * classes);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t t = 0; t < pieces; t++) {
        int64_t from = t * piece, n = classes - from < piece ? classes - from : piece;
        for (int64_t i = 0; i < m; i++) loops->add(dbias + from, ds + i * classes + from, n);
    }
}

/* What m rows from `first` on contribute, whose scores have become ds. The first chunk begins dw. */
static plim_status chunk_gradients(const plim__call *call, const plim__simd_loss *loops, int64_t first, int64_t m,
                                   const struct gradients *to) {
    const struct linear *k = call->state;
    const float *x = call->in[0], *w = call->in[1], *ds = call->scratch;
    int64_t classes = k->entropy.classes, depth = k->depth;
    float onto = first > 0;
    dnnl_status_t status = dnnl_success;
    x += first * depth;
    if (to->dx)
        status = dnnl_sgemm('N', k->transposed ? 'N' : 'T', m, depth, classes, 1, ds, classes, w, k->w_row, 0,
                            to->dx + first * depth, depth);
    if (status == dnnl_success && to->dw && k->transposed)
        status = dnnl_sgemm('T', 'N', classes, depth, m, 1, ds, classes, x, depth, onto, to->dw, depth);
    else if (status == dnnl_success && to->dw)
        status = dnnl_sgemm('T', 'N', depth, classes, m, 1, x, depth, ds, classes, onto, to->dw, classes);
    if (to->dbias) add_rows(loops, ds, m, classes, to->dbias);
    return failed(status);
}

/* Chunk after chunk: their losses (forward), their gradients, or both. */
static plim_status run_chunks(const plim__call *call, const struct linear *k, const plim__entropy_parts *p,
                              const float *bias, bool forward, const struct gradients *to) {
    int64_t classes = k->entropy.classes;
    const float *x = call->in[0], *w = call->in[1];
    float *s = call->scratch;
    if (to && to->dbias) memset(to->dbias, 0, (size_t)classes * sizeof *to->dbias);
    for (int64_t first = 0; first < k->entropy.count; first += k->chunk) {
        int64_t m = rows_left(k, first);
        int threads = plim__loop_threads(m * classes * 4);
        PLIM_TRY(chunk_scores(k, x + first * k->depth, w, m, s));
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
        for (int64_t i = 0; i < m; i++) {
            float *row = s + i * classes;
            if (bias) p->loops->add(row, bias, classes);
            if (forward) plim__entropy_row(&k->entropy, p, first + i, row);
            if (to) plim__entropy_row_backward(&k->entropy, p, first + i, row, row);
        }
        if (to) PLIM_TRY(chunk_gradients(call, p->loops, first, m, to));
    }
    return PLIM_OK;
}

static plim_status run_forward(const plim__call *call) {
    const struct linear *k = call->state;
    plim__entropy_parts p = {.labels = call->in[2], .w = call->in[4]};
    PLIM_TRY(plim__entropy_begin(call, &k->entropy, (char *)call->scratch + k->s_scratch, call->out[3], &p));
    PLIM_TRY(run_chunks(call, k, &p, call->in[3], true, NULL));
    plim__entropy_finish(&k->entropy, &p, call->out[0], call->out[1], call->out[2]);
    return PLIM_OK;
}

static plim_status run_backward(const plim__call *call) {
    const struct linear *k = call->state;
    float weight = *(const float *)call->in[4], dloss = *(const float *)call->in[5];
    plim__entropy_parts p = {.labels = call->in[2], .w = call->in[7]};
    PLIM_TRY(plim__entropy_begin_backward(call, &k->entropy, call->in[3], weight, dloss, &p));
    return run_chunks(call, k, &p, call->in[6], false, &(struct gradients){call->out[0], call->out[1], call->out[2]});
}

static plim_status run_train(const plim__call *call) {
    const struct linear *k = call->state;
    plim__entropy_parts p = {.labels = call->in[2], .w = call->in[4]};
    float weight;
    PLIM_TRY(plim__entropy_begin(call, &k->entropy, (char *)call->scratch + k->s_scratch, NULL, &p));
    memset(p.values, 0, (size_t)k->entropy.count * sizeof *p.values);
    memset(p.right, 0, (size_t)k->entropy.count);
    plim__entropy_finish(&k->entropy, &p, NULL, &weight, NULL);
    p.share = weight == 0 ? 0 : k->sum ? 1 : 1 / (double)weight;
    PLIM_TRY(run_chunks(call, k, &p, call->in[3], true, &(struct gradients){call->out[3], call->out[4], call->out[5]}));
    plim__entropy_finish(&k->entropy, &p, call->out[0], call->out[1], call->out[2]);
    return PLIM_OK;
}

/* --- lowering ------------------------------------------------------------------------------------------------- */

/* w in memory as (K, C) or (C, K), with rows that may lie apart; anything else is made dense. */
static plim_status weight_input(plim__lower *l, struct linear *k) {
    bool turned = plim__node_int(plim__lower_node(l), "transB", 0) != 0;
    plim__layout w = *plim__lower_peek(l, 1);
    const int64_t *d = w.shape.dims, *s = w.strides;
    bool rows = !w.blocked && s[1] == 1 && s[0] >= d[1], columns = !w.blocked && s[0] == 1 && s[1] >= d[0];
    PLIM_TRY(plim__lower_input(l, 1, rows || columns ? PLIM__STRIDED : PLIM__DENSE, &w));
    columns &= !rows;
    k->w_row = columns ? w.strides[1] : d[0] > 1 ? w.strides[0] : d[1];
    k->transposed = turned != columns;
    return PLIM_OK;
}

static plim_status read_linear(plim__lower *l, struct linear *k) {
    const plim__shape *x = plim__lower_input_shape(l, 0), *w = plim__lower_input_shape(l, 1);
    bool turned = plim__node_int(plim__lower_node(l), "transB", 0) != 0;
    *k = (struct linear){.entropy = plim__entropy_read(l, 2, w->dims[turned ? 0 : 1]),
                         .depth = x->dims[x->rank - 1],
                         .chunk = plim__node_int(plim__lower_node(l), "chunk", 64),
                         .sum = plim__node_int(plim__lower_node(l), "sum", 0) != 0};
    if (k->chunk < 1) k->chunk = 1;
    if (k->chunk > k->entropy.count) k->chunk = k->entropy.count > 0 ? k->entropy.count : 1;
    k->s_scratch = ((size_t)k->chunk * (size_t)k->entropy.classes * sizeof(float) + 63) / 64 * 64;
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    return weight_input(l, k);
}

/* As chunk_scores and chunk_gradients make them. */
static plim_status list_products(plim__lower *l, const struct linear *k, bool gradients) {
    int64_t m = k->chunk, classes = k->entropy.classes, depth = k->depth;
    bool turned = k->transposed;
    PLIM_TRY(plim__lower_product(
        l, (plim__product){'N', turned ? 'T' : 'N', false, m, classes, depth, depth, k->w_row, classes}));
    if (!gradients) return PLIM_OK;
    PLIM_TRY(plim__lower_product(
        l, (plim__product){'N', turned ? 'N' : 'T', false, m, depth, classes, classes, k->w_row, depth}));
    return plim__lower_product(l, turned
                                      ? (plim__product){'T', 'N', false, classes, depth, m, classes, depth, depth}
                                      : (plim__product){'T', 'N', false, depth, classes, m, depth, classes, classes});
}

static plim_status emit(plim__lower *l, const char *label, plim__kernel kernel, const struct linear *made) {
    struct linear *k;
    PLIM_TRY(plim__lower_state(l, sizeof *k, &k));
    *k = *made;
    plim_status status = list_products(l, k, kernel != run_forward);
    if (status != PLIM_OK) {
        plim__free(k);
        return status;
    }
    return plim__lower_emit(l, label, kernel, k, plim__free);
}

plim_status plim__lower_linear_cross_entropy(plim__lower *l) {
    struct linear k;
    PLIM_TRY(read_linear(l, &k));
    for (size_t i = 2; i < 5; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < 4; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    PLIM_TRY(plim__lower_scratch(l, k.s_scratch + plim__entropy_scratch((size_t)k.entropy.count)));
    return emit(l, "LinearCrossEntropy", run_forward, &k);
}

/* dw lies in memory as w does: the gradient of a transposed embedding turns back without moving. */
static plim_status weight_output(plim__lower *l, size_t i, const struct linear *k) {
    bool turned = plim__node_int(plim__lower_node(l), "transB", 0) != 0;
    plim__layout layout = plim__layout_dense(PLIM_F32, plim__lower_input_shape(l, 1));
    if (turned != k->transposed) {
        layout.strides[0] = 1;
        layout.strides[1] = layout.shape.dims[0];
    }
    return plim__lower_output(l, i, &layout);
}

plim_status plim__lower_linear_cross_entropy_grad(plim__lower *l) {
    struct linear k;
    PLIM_TRY(read_linear(l, &k));
    for (size_t i = 2; i < 8; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(weight_output(l, 1, &k));
    PLIM_TRY(plim__lower_output(l, 2, NULL));
    PLIM_TRY(plim__lower_scratch(l, k.s_scratch));
    return emit(l, "LinearCrossEntropyGrad", run_backward, &k);
}

plim_status plim__lower_linear_cross_entropy_train(plim__lower *l) {
    struct linear k;
    PLIM_TRY(read_linear(l, &k));
    for (size_t i = 2; i < 5; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < 4; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    PLIM_TRY(weight_output(l, 4, &k));
    PLIM_TRY(plim__lower_output(l, 5, NULL));
    PLIM_TRY(plim__lower_scratch(l, k.s_scratch + plim__entropy_scratch((size_t)k.entropy.count)));
    return emit(l, "LinearCrossEntropyTrain", run_train, &k);
}
