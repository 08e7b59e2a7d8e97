/* Conversion of whole buffers between float32 and 16 bits. */
#ifndef PLIM_KERNEL_NARROW_H
#define PLIM_KERNEL_NARROW_H

#include "program/lower.h"

/* A kernel that converts a buffer of `elements` float32 numbers to PLIM_BF16 or PLIM_F16, in the order in which they lie. */
plim_status plim__narrow_create(plim__lower *l, plim_dtype dtype, int64_t elements, plim__rearrangement *made);

#endif
