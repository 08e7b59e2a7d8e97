/* Plain memory out of blocks by loops of our own, where oneDNN would write code for each element.
 *
 *   from: n, C / b, d, h, w, b     to: any strides over n, C, d, h, w
 *
 * Its conversion in this direction unrolls what it cannot split evenly: an image whose number of pixels is a small number times a
 * prime p takes some 30 or 60 bytes of code for each of p. */
#ifndef PLIM_KERNEL_UNBLOCK_H
#define PLIM_KERNEL_UNBLOCK_H

#include "kernel/onednn.h"

bool plim__unblock_applies(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to);
plim_status plim__unblock_create(plim__lower *l, const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                                 plim__rearrangement *made);

#endif
