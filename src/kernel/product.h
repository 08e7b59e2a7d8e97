/* Matrix products of oneDNN, and what they take from the heap: it packs factors in blocks, each thread its own, and only
 * a run tells how many bytes. So the products that a program makes are listed when it is lowered, and measured before
 * anybody relies on them. */
#ifndef PLIM_KERNEL_PRODUCT_H
#define PLIM_KERNEL_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

/* As dnnl_sgemm takes it: c (m, n) = a (m, k) · b (k, n), row by row, 'T' for a factor that lies transposed. */
typedef struct plim__product {
    char ta, tb;
    bool alone; /* by one thread, while others may do the same */
    int64_t m, n, k, lda, ldb, ldc;
} plim__product;

bool plim__product_equal(const plim__product *a, const plim__product *b);
/* Bytes that it packs into, with so many threads; of all threads together. Runs it the first time, on zeros; the process
 * holds no more meanwhile than the product itself. Blocks of plim__heap_prepare's size or less are not seen. */
plim_status plim__product_packed(const plim__product *product, int threads, size_t *bytes, plim_error *error);

#endif
