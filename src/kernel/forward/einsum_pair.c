/* Packing terms of an Einsum into matrices, and their product. */
#include <oneapi/dnnl/dnnl.h>
#include <string.h>

#include "kernel/forward/einsum.h"
#include "kernel/onednn.h"

/* --- packing -------------------------------------------------------------------------------------------------- */

bool plim__einsum_pack_make(const plim__einsum *e, const plim__term *term, const int *labels, int count,
                            plim__packing *p) {
    memset(p, 0, sizeof *p);
    p->elements = p->sum_elements = 1;
    bool named[PLIM__EINSUM_LABELS] = {false};
    if (count > PLIM__COPY_MAX_RANK) return false;
    for (int i = 0; i < count; i++) {
        named[labels[i]] = true;
        p->dims[p->rank] = e->size[labels[i]];
        p->strides[p->rank++] = term->stride[labels[i]];
        p->elements *= e->size[labels[i]];
    }
    for (int label = 0; label < PLIM__EINSUM_LABELS; label++) {
        if (!term->has[label] || named[label]) continue;
        if (p->sum_rank == PLIM__COPY_MAX_RANK) return false;
        p->sum_dims[p->sum_rank] = e->size[label];
        p->sum_strides[p->sum_rank++] = term->stride[label];
        p->sum_elements *= e->size[label];
    }
    return true;
}

static int64_t offset_at(int64_t index, const int64_t *dims, const int64_t *strides, int rank) {
    int64_t offset = 0;
    for (int i = rank - 1; i >= 0; i--) {
        offset += index % dims[i] * strides[i];
        index /= dims[i];
    }
    return offset;
}

void plim__einsum_pack(const plim__packing *p, const float *from, float *to, int threads) {
    if (p->sum_rank == 0) {
        int64_t dense[PLIM__COPY_MAX_RANK];
        plim__dense_strides(p->dims, p->rank, dense);
        plim__copy_strided(to, from, &(plim__strided){p->rank, p->dims, dense, p->strides, sizeof(float)}, threads);
        return;
    }
    threads = plim__copy_threads(p->elements * p->sum_elements, threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t o = 0; o < p->elements; o++) {
        const float *base = from + offset_at(o, p->dims, p->strides, p->rank);
        double sum = 0;
        for (int64_t r = 0; r < p->sum_elements; r++)
            sum += (double)base[offset_at(r, p->sum_dims, p->sum_strides, p->sum_rank)];
        to[o] = (float)sum;
    }
}

/* --- products ------------------------------------------------------------------------------------------------- */

bool plim__einsum_pair_make(const plim__einsum *e, const plim__term *a, const plim__term *b, const bool *needed,
                            plim__pair *p) {
    enum { BATCH, M, N, K };
    int labels[4][PLIM__EINSUM_LABELS], count[4] = {0};
    memset(p, 0, sizeof *p);
    int64_t *sizes[4] = {&p->batch, &p->m, &p->n, &p->k};
    p->batch = p->m = p->n = p->k = 1;
    for (int label = 0; label < PLIM__EINSUM_LABELS; label++) {
        bool in_a = a->has[label], in_b = b->has[label];
        if (!in_a && !in_b) continue;
        if (!needed[label] && !(in_a && in_b)) continue; /* summed while packing */
        int kind = in_a && in_b ? needed[label] ? BATCH : K : in_a ? M : N;
        labels[kind][count[kind]++] = label;
        *sizes[kind] *= e->size[label];
    }
    int order[3 * PLIM__EINSUM_LABELS], total = 0, result[3 * PLIM__EINSUM_LABELS], result_count = 0;
    static const int in_a_order[] = {BATCH, M, K}, in_b_order[] = {BATCH, K, N}, in_c_order[] = {BATCH, M, N};
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < count[in_a_order[g]]; i++) order[total++] = labels[in_a_order[g]][i];
    if (!plim__einsum_pack_make(e, a, order, total, &p->pack_a)) return false;
    total = 0;
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < count[in_b_order[g]]; i++) order[total++] = labels[in_b_order[g]][i];
    if (!plim__einsum_pack_make(e, b, order, total, &p->pack_b)) return false;
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < count[in_c_order[g]]; i++) result[result_count++] = labels[in_c_order[g]][i];
    int64_t step = 1;
    for (int i = result_count - 1; i >= 0; i--) {
        p->result.has[result[i]] = true;
        p->result.stride[result[i]] = step;
        step *= e->size[result[i]];
    }
    return true;
}

static bool multiply_one(const plim__pair *p, const float *a, const float *b, float *c) {
    return dnnl_sgemm('N', 'N', p->m, p->n, p->k, 1, a, p->k, b, p->n, 0, c, p->n) == dnnl_success;
}

bool plim__einsum_multiply(const plim__pair *p, const float *a, const float *b, float *c, int threads) {
    int64_t a_size = p->m * p->k, b_size = p->k * p->n, c_size = p->m * p->n;
    if (p->batch * c_size == 0) return true;
    if (p->k == 0) {
        memset(c, 0, (size_t)(p->batch * c_size) * sizeof *c);
        return true;
    }
    if (p->m == 1 && p->n == 1 && p->k == 1) { /* elementwise */
        for (int64_t i = 0; i < p->batch; i++) c[i] = a[i] * b[i];
        return true;
    }
    bool fine = true;
    bool split = threads > 1 && p->batch >= threads && p->batch * a_size * p->n >= 32768;
#pragma omp parallel for num_threads(threads) if (split) schedule(static) reduction(&& : fine)
    for (int64_t i = 0; i < p->batch; i++)
        fine = multiply_one(p, a + i * a_size, b + i * b_size, c + i * c_size) && fine;
    return fine;
}
