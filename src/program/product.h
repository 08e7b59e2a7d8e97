/* A matrix product that a step computes with a library which packs its factors into memory of its own. Only a run tells
 * how many bytes that takes, so a program lists its products and its device measures them (device.h). */
#ifndef PLIM_PROGRAM_PRODUCT_H
#define PLIM_PROGRAM_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

/* c (m, n) = a (m, k) · b (k, n), row by row, 'T' for a factor that lies transposed. */
typedef struct plim__product {
    char ta, tb;
    bool alone; /* by one thread, while others may do the same */
    int64_t m, n, k, lda, ldb, ldc;
} plim__product;

static inline bool plim__product_equal(const plim__product *a, const plim__product *b) {
    return a->ta == b->ta && a->tb == b->tb && a->alone == b->alone && a->m == b->m && a->n == b->n && a->k == b->k &&
           a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc;
}

#endif
