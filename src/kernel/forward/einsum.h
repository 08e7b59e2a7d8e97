/* The parts of an Einsum in float32: packing terms into matrices and multiplying them. */
#ifndef PLIM_KERNEL_FORWARD_EINSUM_H
#define PLIM_KERNEL_FORWARD_EINSUM_H

#include "kernel/copy.h"
#include "ops/movement.h"

/* An operand by label. */
typedef struct plim__term {
    bool has[PLIM__EINSUM_LABELS];
    int64_t stride[PLIM__EINSUM_LABELS];
} plim__term;
/* `strides` are those of the operand's axes. */
void plim__einsum_term(const plim__einsum *e, int input, const int64_t *strides, plim__term *term);

/* Copies a term into a dense array of the given labels and sums over its other labels. */
typedef struct plim__packing {
    int rank, sum_rank;
    int64_t dims[PLIM__COPY_MAX_RANK], strides[PLIM__COPY_MAX_RANK];
    int64_t sum_dims[PLIM__COPY_MAX_RANK], sum_strides[PLIM__COPY_MAX_RANK];
    int64_t elements, sum_elements;
} plim__packing;
/* False when there are too many axes. */
bool plim__einsum_pack_make(const plim__einsum *e, const plim__term *term, const int *labels, int count,
                            plim__packing *packing);
void plim__einsum_pack(const plim__packing *packing, const float *from, float *to, int threads);

/* Two terms become one. */
typedef struct plim__pair {
    int64_t batch, m, n, k;
    plim__packing pack_a, pack_b; /* to [batch, m, k] and [batch, k, n] */
    plim__term result;            /* [batch, m, n] */
} plim__pair;
bool plim__einsum_pair_make(const plim__einsum *e, const plim__term *a, const plim__term *b, const bool *needed,
                            plim__pair *pair);
/* False when the matrix product fails. */
bool plim__einsum_multiply(const plim__pair *pair, const float *a, const float *b, float *c, int threads);

/* The whole sum: pair after pair from the left, then the result into the order of the output. Offsets in floats:
 *
 *     scratch: | packed a | packed b | result of even pairs | result of odd pairs | */
typedef struct plim__chain {
    int count, threads;
    plim__pair pairs[PLIM__EINSUM_INPUTS];
    plim__packing last;
    int64_t a_at, b_at, result_at[2];
} plim__chain;
bool plim__einsum_chain_make(const plim__einsum *e, const plim__term *terms, plim__chain *chain);

#endif
