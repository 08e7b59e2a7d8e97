/* What the lower functions of backward operators share. */
#ifndef PLIM_KERNEL_BACKWARD_BACKWARD_H
#define PLIM_KERNEL_BACKWARD_BACKWARD_H

#include "kernel/onednn.h"

/* A primitive descriptor with the scratchpad in user mode. `hint` is the forward one, NULL for forward itself. */
plim_status plim__backward_describe(plim__lower *l, const char *what, const void *desc, dnnl_primitive_desc_t hint,
                                    dnnl_primitive_desc_t *pd);
/* The memory layout of `like` for other dims or another type: the same order of axes, the same blocks. False when it is
 * none of the usual ones. */
bool plim__backward_layout_like(const plim__layout *like, dnnl_data_type_t type, const plim__shape *dims,
                                dnnl_memory_desc_t *md);

#endif
