/* Einsum. Every operand is seen as strides by label (a label that occurs twice adds its strides: a diagonal; one
 * that is broadcast has stride 0). Float32 operands are contracted pair by pair:
 *
 *     a [batch, m, k]  ·  b [batch, k, n]  →  c [batch, m, n]
 *
 * batch: labels that both have and that are still needed, k: both have, not needed any more, m and n: only
 * one has. Labels that only one has, not needed later, are summed while packing. A single pair whose strides already
 * have this form goes to oneDNN without packing. Other types take one plain loop over all labels. */
#include "kernel/forward/einsum.h"

#include <string.h>

#include "core/scalar.h"
#include "kernel/copies.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"

/* --- terms ---------------------------------------------------------------------------------------------------- */

void plim__einsum_term(const plim__einsum *e, int input, const int64_t *strides, plim__term *t) {
    memset(t, 0, sizeof *t);
    for (int i = 0; i < e->rank[input]; i++) {
        int label = e->labels[input][i];
        t->has[label] = true;
        t->stride[label] += strides[i];
    }
}

/* An axis of one element that stands for a longer one does not move. */
static void term_of_layout(const plim__einsum *e, int input, const plim__layout *x, plim__term *t) {
    int64_t strides[PLIM_MAX_RANK] = {0};
    for (int i = 0; i < x->shape.rank; i++)
        strides[i] = x->shape.dims[i] == 1 && e->size[e->labels[input][i]] != 1 ? 0 : x->strides[i];
    plim__einsum_term(e, input, strides, t);
}

static bool in_output(const plim__einsum *e, int label) {
    for (int i = 0; i < e->out_rank; i++)
        if (e->out_labels[i] == label) return true;
    return false;
}

/* --- the plain loop ------------------------------------------------------------------------------------------- */

typedef struct loop_axis {
    int64_t size, stride[PLIM__EINSUM_INPUTS];
} loop_axis;

struct plain {
    plim_dtype dtype;
    int inputs, kept, summed, threads;
    loop_axis axes[PLIM__EINSUM_LABELS]; /* the kept ones in the order of the output, then the summed ones */
    int64_t out_elements, sum_elements;
};

static void offsets_at(const struct plain *s, int first, int last, int64_t index, int64_t *offsets) {
    for (int a = last - 1; a >= first; a--) {
        int64_t i = index % s->axes[a].size;
        index /= s->axes[a].size;
        for (int k = 0; k < s->inputs; k++) offsets[k] += i * s->axes[a].stride[k];
    }
}

static plim_status run_plain(const plim__call *call) {
    const struct plain *s = call->state;
    int threads = plim__copy_threads(s->out_elements * s->sum_elements, s->threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t o = 0; o < s->out_elements; o++) {
        int64_t base[PLIM__EINSUM_INPUTS] = {0};
        double sum = 0;
        offsets_at(s, 0, s->kept, o, base);
        for (int64_t r = 0; r < s->sum_elements; r++) {
            int64_t at[PLIM__EINSUM_INPUTS];
            double product = 1;
            memcpy(at, base, sizeof at);
            offsets_at(s, s->kept, s->kept + s->summed, r, at);
            for (int k = 0; k < s->inputs; k++) product *= plim__scalar_get(s->dtype, call->in[k], at[k]);
            sum += product;
        }
        plim__scalar_set(s->dtype, call->out[0], o, sum);
    }
    return PLIM_OK;
}

static void add_axis(struct plain *s, const plim__einsum *e, const plim__term *terms, int label) {
    loop_axis *axis = &s->axes[s->kept + s->summed];
    axis->size = e->size[label];
    for (int k = 0; k < e->inputs; k++) axis->stride[k] = terms[k].stride[label];
}

static plim_status einsum_plain(plim__lower *l, const plim__einsum *e, const plim__term *terms) {
    struct plain *s;
    if (!plim__scalar_known(plim__lower_output_dtype(l, 0)))
        return plim__lower_unsupported(l, "with this element type");
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct plain){.dtype = plim__lower_output_dtype(l, 0),
                        .inputs = e->inputs,
                        .threads = plim__lower_threads(l),
                        .out_elements = 1,
                        .sum_elements = 1};
    for (int i = 0; i < e->out_rank; i++) {
        add_axis(s, e, terms, e->out_labels[i]);
        s->out_elements *= e->size[e->out_labels[i]];
        s->kept++;
    }
    for (int label = 0; label < PLIM__EINSUM_LABELS; label++) {
        if (e->size[label] < 0 || in_output(e, label)) continue;
        add_axis(s, e, terms, label);
        s->sum_elements *= e->size[label];
        s->summed++;
    }
    return plim__lower_emit(l, "Einsum", run_plain, s, plim__free);
}

/* --- pairs ---------------------------------------------------------------------------------------------------- */

bool plim__einsum_chain_make(const plim__einsum *e, const plim__term *terms, plim__chain *chain) {
    memset(chain, 0, sizeof *chain);
    plim__term current = terms[0];
    for (int next = 1; next < e->inputs; next++) {
        bool needed[PLIM__EINSUM_LABELS] = {false};
        for (int i = 0; i < e->out_rank; i++) needed[e->out_labels[i]] = true;
        for (int later = next + 1; later < e->inputs; later++)
            for (int i = 0; i < PLIM__EINSUM_LABELS; i++) needed[i] |= terms[later].has[i];
        plim__pair *pair = &chain->pairs[chain->count++];
        if (!plim__einsum_pair_make(e, &current, &terms[next], needed, pair)) return false;
        current = pair->result;
    }
    int labels[PLIM__COPY_MAX_RANK], count = 0;
    for (int i = 0; i < e->out_rank; i++) labels[count++] = e->out_labels[i];
    return plim__einsum_pack_make(e, &current, labels, count, &chain->last);
}

static plim_status run_chain(const plim__call *call) {
    const plim__chain *c = call->state;
    float *scratch = call->scratch;
    const float *current = call->in[0];
    for (int i = 0; i < c->count; i++) {
        const plim__pair *p = &c->pairs[i];
        float *result = scratch + c->result_at[i & 1];
        plim__einsum_pack(&p->pack_a, current, scratch + c->a_at, c->threads);
        plim__einsum_pack(&p->pack_b, call->in[i + 1], scratch + c->b_at, c->threads);
        if (!plim__einsum_multiply(p, scratch + c->a_at, scratch + c->b_at, result, c->threads)) return PLIM_INTERNAL;
        current = result;
    }
    plim__einsum_pack(&c->last, current, call->out[0], c->threads);
    return PLIM_OK;
}

static int64_t largest(int64_t a, int64_t b) { return a > b ? a : b; }

static plim_status einsum_chain(plim__lower *l, const plim__einsum *e, const plim__term *terms) {
    plim__chain *c;
    PLIM_TRY(plim__lower_state(l, sizeof *c, &c));
    if (!plim__einsum_chain_make(e, terms, c)) {
        plim__free(c);
        return einsum_plain(l, e, terms);
    }
    c->threads = plim__lower_threads(l);
    int64_t a = 0, b = 0, results[2] = {0, 0};
    for (int i = 0; i < c->count; i++) {
        const plim__pair *p = &c->pairs[i];
        a = largest(a, p->batch * p->m * p->k);
        b = largest(b, p->batch * p->k * p->n);
        results[i & 1] = largest(results[i & 1], p->batch * p->m * p->n);
    }
    c->a_at = 0;
    c->b_at = a;
    c->result_at[0] = a + b;
    c->result_at[1] = a + b + results[0];
    plim_status status = plim__lower_output(l, 0, NULL);
    for (int i = 0; status == PLIM_OK && i < c->count; i++) {
        const plim__pair *p = &c->pairs[i];
        status = plim__lower_product(l, (plim__product){'N', 'N', p->batch > 1, p->m, p->n, p->k, p->k, p->n, p->n});
    }
    if (status == PLIM_OK) status = plim__lower_scratch(l, (size_t)(a + b + results[0] + results[1]) * sizeof(float));
    if (status == PLIM_OK) return plim__lower_emit(l, "Einsum", run_chain, c, plim__free);
    plim__free(c);
    return status;
}

/* --- a pair that oneDNN takes as it is ------------------------------------------------------------------------ */

typedef struct group {
    int count;
    int labels[PLIM_MAX_RANK];
} group;

/* The labels of a group as one axis; false when the strides do not nest. */
static bool merged(const plim__einsum *e, const plim__term *t, const group *g, int64_t *size, int64_t *stride) {
    *size = 1;
    *stride = 1;
    for (int i = g->count - 1; i >= 0; i--) {
        int label = g->labels[i];
        if (e->size[label] == 1) continue;
        if (*size == 1)
            *stride = t->stride[label];
        else if (t->stride[label] != *stride * *size)
            return false;
        *size *= e->size[label];
    }
    return *stride > 0;
}

/* Of a product (batch, m, k) · (batch, k, n). */
struct groups {
    group batch, m, n, k;
};

/* Sorts the labels; false when one is summed alone. m must come before n in the output. */
static bool sort_labels(const plim__einsum *e, const plim__term *a, const plim__term *b, struct groups *to) {
    int stage = 0;
    for (int i = 0; i < e->out_rank; i++) {
        int label = e->out_labels[i], kind = a->has[label] && b->has[label] ? 0 : a->has[label] ? 1 : 2;
        group *g = kind == 0 ? &to->batch : kind == 1 ? &to->m : &to->n;
        if (kind < stage) return false;
        stage = kind;
        g->labels[g->count++] = label;
    }
    for (int label = 0; label < PLIM__EINSUM_LABELS; label++) {
        if (e->size[label] < 0 || in_output(e, label)) continue;
        if (!a->has[label] || !b->has[label] || to->k.count == PLIM_MAX_RANK) return false;
        to->k.labels[to->k.count++] = label;
    }
    return true;
}

static bool matrix_md(const plim__einsum *e, const plim__term *t, const group *batch, const group *rows,
                      const group *columns, dnnl_memory_desc_t *md) {
    dnnl_dims_t dims, strides;
    int rank = batch->count;
    for (int i = 0; i < rank; i++) {
        dims[i] = e->size[batch->labels[i]];
        strides[i] = t->stride[batch->labels[i]];
        if (dims[i] == 1) strides[i] = 1;
        if (strides[i] <= 0) return false;
    }
    if (!merged(e, t, rows, &dims[rank], &strides[rank]) || !merged(e, t, columns, &dims[rank + 1], &strides[rank + 1]))
        return false;
    if (dims[rank] == 1)
        strides[rank] = dims[rank + 1] * strides[rank + 1]; /* oneDNN wants a row to hold its columns */
    if (strides[rank] != 1 && strides[rank + 1] != 1) return false;
    return dnnl_memory_desc_init_by_strides(md, rank + 2, dims, dnnl_f32, strides) == dnnl_success;
}

static plim_status einsum_matmul(plim__lower *l, const plim__einsum *e, const plim__term *a, const plim__term *b,
                                 int a_operand, bool *done) {
    struct groups g = {0};
    dnnl_memory_desc_t mds[3];
    plim__term out = {0};
    *done = false;
    for (int i = 0; i < PLIM__EINSUM_LABELS; i++)
        if (e->size[i] == 0) return PLIM_OK;
    int64_t dims[PLIM_MAX_RANK], strides[PLIM_MAX_RANK];
    for (int i = 0; i < e->out_rank; i++) dims[i] = e->size[e->out_labels[i]];
    plim__dense_strides(dims, e->out_rank, strides);
    for (int i = 0; i < e->out_rank; i++) out.stride[e->out_labels[i]] = strides[i];
    if (!sort_labels(e, a, b, &g) || !matrix_md(e, a, &g.batch, &g.m, &g.k, &mds[0]) ||
        !matrix_md(e, b, &g.batch, &g.k, &g.n, &mds[1]) || !matrix_md(e, &out, &g.batch, &g.m, &g.n, &mds[2]))
        return PLIM_OK;
    dnnl_matmul_desc_t desc;
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t pd;
    if (dnnl_matmul_desc_init(&desc, &mds[0], &mds[1], NULL, &mds[2]) != dnnl_success) return PLIM_OK;
    PLIM_TRY(plim__lower_attr(l, &attr));
    dnnl_status_t made = dnnl_primitive_desc_create(&pd, &desc, attr, plim__lower_dnnl_engine(l), NULL);
    dnnl_primitive_attr_destroy(attr);
    if (made != dnnl_success) return PLIM_OK;
    plim_status status = plim__lower_output(l, 0, NULL);
    if (status != PLIM_OK) {
        dnnl_primitive_desc_destroy(pd);
        return status;
    }
    *done = true;
    plim__argument arguments[] = {{DNNL_ARG_SRC, mds[0], a_operand},
                                  {DNNL_ARG_WEIGHTS, mds[1], 1 - a_operand},
                                  {DNNL_ARG_DST, mds[2], PLIM__OUT(0)}};
    return plim__lower_primitive(l, "Einsum", pd, arguments, 3);
}

plim_status plim__lower_einsum(plim__lower *l) {
    plim__infer reading = plim__lower_reading(l);
    plim__einsum e;
    plim__term terms[PLIM__EINSUM_INPUTS];
    PLIM_TRY(plim__einsum_read(&reading, &e));
    for (int i = 0; i < e.inputs; i++) {
        plim__layout x;
        PLIM_TRY(plim__lower_input(l, (size_t)i, PLIM__STRIDED, &x));
        term_of_layout(&e, i, &x, &terms[i]);
    }
    if (plim__lower_output_dtype(l, 0) != PLIM_F32) return einsum_plain(l, &e, terms);
    bool done = false;
    if (e.inputs == 2) PLIM_TRY(einsum_matmul(l, &e, &terms[0], &terms[1], 0, &done));
    if (e.inputs == 2 && !done) PLIM_TRY(einsum_matmul(l, &e, &terms[1], &terms[0], 1, &done));
    return done ? PLIM_OK : einsum_chain(l, &e, terms);
}
