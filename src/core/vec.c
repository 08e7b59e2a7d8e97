/* Growth of PLIM_VEC: doubling, so that pushes cost amortised constant time. */
#include "core/vec.h"

#include <stdint.h>

bool plim__vec_grow(void **items, size_t *capacity, size_t need, size_t size) {
    size_t next = *capacity ? *capacity : 8;
    while (next < need) {
        if (next > SIZE_MAX / 2) return false;
        next *= 2;
    }
    void *grown = plim__realloc(*items, next, size);
    if (!grown) return false;
    *items = grown;
    *capacity = next;
    return true;
}
