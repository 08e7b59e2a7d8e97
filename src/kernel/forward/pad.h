/* A step that copies through index tables: padding, crops, nearest resizing, selections. */
#ifndef PLIM_KERNEL_FORWARD_PAD_H
#define PLIM_KERNEL_FORWARD_PAD_H

#include "core/scalar.h"
#include "kernel/copy.h"
#include "program/lower.h"

typedef struct plim__mapped {
    int rank, threads;
    size_t element_size;
    plim__map_axis axes[PLIM_MAX_RANK];
    int64_t *table[PLIM_MAX_RANK]; /* to fill: one source index for each output index, -1 for outside */
    int fill_operand;              /* in operand that holds the value outside; -1: fill */
    uint64_t fill[2];
    int64_t tables[];
} plim__mapped;

/* State with room for the tables; the caller fills them. */
plim_status plim__mapped_create(plim__lower *l, const plim__layout *x, const plim__shape *out, plim__mapped **mapped);
/* in operand 0 is the data, out operand 0 the dense output. */
plim_status plim__run_mapped(const plim__call *call);

#endif
