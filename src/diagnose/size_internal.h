/* Inside `size`: what is gathered while a file's tensors pass by. */
#ifndef PLIM_DIAGNOSE_SIZE_INTERNAL_H
#define PLIM_DIAGNOSE_SIZE_INTERNAL_H

#include "format/tensor_info.h"
#include "plimsoll/size.h"

typedef struct plim__size_gather {
    plim_size_file *file;
    const char *path;
    size_t dtype_capacity;
    uint64_t untrained_bytes;     /* of what keeps its type: integers, running statistics */
    uint64_t adafactor, adam8bit; /* bytes of state so far */
} plim__size_gather;

/* A plim__tensor_visit: adds one tensor to the sums. */
plim_status plim__size_add(void *gather, const plim__tensor_info *info, plim_error *error);
/* Fills file->training and sorts file->by_dtype. */
plim_status plim__size_finish(plim__size_gather *gather, plim_error *error);

#endif
