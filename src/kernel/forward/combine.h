/* Elements combined in place, as scatters do with a reduction. */
#ifndef PLIM_KERNEL_FORWARD_COMBINE_H
#define PLIM_KERNEL_FORWARD_COMBINE_H

#include <stdint.h>

#include "plimsoll/dtype.h"

typedef enum plim__combination {
    PLIM__COMBINE_NONE, /* the new value replaces the old one */
    PLIM__COMBINE_ADD,
    PLIM__COMBINE_MUL,
    PLIM__COMBINE_MAX,
    PLIM__COMBINE_MIN,
} plim__combination;

/* to[i] = to[i] ∘ from[i]. All numeric types; bools add as or, multiply as and. */
void plim__combine(plim_dtype dtype, plim__combination how, void *to, const void *from, int64_t count);

#endif
