/* Reading indices at run time: int32 or int64, negative ones count from the end, all checked. */
#ifndef PLIM_KERNEL_INDICES_H
#define PLIM_KERNEL_INDICES_H

#include "core/error.h"
#include "program/program.h"

/* Index i of the operand, in 0..size-1; -1 when it is out of range. */
static inline int64_t plim__index_at(plim_dtype dtype, const void *indices, int64_t i, int64_t size) {
    int64_t index = dtype == PLIM_I32 ? ((const int32_t *)indices)[i] : ((const int64_t *)indices)[i];
    if (index < 0) index += size;
    return index >= 0 && index < size ? index : -1;
}

/* PLIM_INVALID, with the index as it was given. */
static inline plim_status plim__index_fail(const plim__call *call, plim_dtype dtype, const void *indices, int64_t i,
                                           int64_t size) {
    int64_t index = dtype == PLIM_I32 ? ((const int32_t *)indices)[i] : ((const int64_t *)indices)[i];
    return plim__fail(call->error, PLIM_INVALID,
                      "index %lld (element %lld) is out of range for an axis of %lld elements", (long long)index,
                      (long long)i, (long long)size);
}

#endif
