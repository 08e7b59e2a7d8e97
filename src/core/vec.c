/* Growth of PLIM_VEC: doubling, so that pushes cost amortised constant time. */
#include "core/vec.h"

#include <stdint.h>
#include <string.h>

bool plim__vec_grow(void *address, size_t *capacity, size_t need, size_t size) {
    size_t next = *capacity ? *capacity : 8;
    while (next < need) {
        if (next > SIZE_MAX / 2) return false;
        next *= 2;
    }
    void *items;
    memcpy(&items, address, sizeof items);
    items = plim__realloc(items, next, size);
    if (!items) return false;
    memcpy(address, &items, sizeof items);
    *capacity = next;
    return true;
}
