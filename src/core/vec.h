/* A growable array of any type: PLIM_VEC(int) numbers = {0}; plim__vec_push(&numbers, 7). */
#ifndef PLIM_CORE_VEC_H
#define PLIM_CORE_VEC_H

#include <stdbool.h>
#include <stddef.h>

#include "core/alloc.h"

#define PLIM_VEC(type)                                                                                                 \
    struct {                                                                                                           \
        type *items;                                                                                                   \
        size_t count, capacity;                                                                                        \
    }

/* Grows the array whose pointer lies at `address` to hold at least `need`; false when memory is short (the
 * vector is unchanged). The pointer's own type is not known here, so it is moved as bytes. */
bool plim__vec_grow(void *address, size_t *capacity, size_t need, size_t size);

#define plim__vec_reserve(vec, need)                                                                                   \
    ((need) <= (vec)->capacity || plim__vec_grow(&(vec)->items, &(vec)->capacity, (need), sizeof *(vec)->items))

/* True on success, false when memory is short. */
#define plim__vec_push(vec, ...)                                                                                       \
    (plim__vec_reserve((vec), (vec)->count + 1) ? ((vec)->items[(vec)->count++] = (__VA_ARGS__), true) : false)

#define plim__vec_free(vec)                                                                                            \
    do {                                                                                                               \
        plim__free((vec)->items);                                                                                      \
        (vec)->items = NULL;                                                                                           \
        (vec)->count = (vec)->capacity = 0;                                                                            \
    } while (0)

#endif
