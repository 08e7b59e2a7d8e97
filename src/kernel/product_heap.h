/* What oneDNN's matrix products take from the heap: it packs factors in blocks, each thread its own, and only a run tells
 * how many bytes. */
#ifndef PLIM_KERNEL_PRODUCT_HEAP_H
#define PLIM_KERNEL_PRODUCT_HEAP_H

#include <stddef.h>

#include "plimsoll/status.h"
#include "program/product.h"

/* Bytes that it packs into on `threads` threads, all together. Runs it the first time, on zeros; the process
 * holds no more meanwhile than the product itself. Blocks of plim__heap_prepare's size or less are not seen. */
plim_status plim__product_packed(const plim__product *product, int threads, size_t *bytes, plim_error *error);

#endif
