/* Interim packer: first fit in order of size. Replaced by the exact packer (take that version on conflict). */
#include "plimsoll/pack.h"

#include <stdlib.h>

#include "core/alloc.h"
#include "core/error.h"

static const plim_pack_buffer *sorting;
static int larger(const void *a, const void *b) {
    int64_t x = sorting[*(const size_t *)a].size, y = sorting[*(const size_t *)b].size;
    return x < y ? 1 : x > y ? -1 : 0;
}

plim_status plim_pack(const plim_pack_buffer *buffers, size_t count, const plim_pack_options *options, int64_t *offsets,
                      plim_pack_result *result, plim_error *error) {
    (void)options;
    size_t *order = plim__alloc_array(count, sizeof *order);
    if (!order) return plim__fail_memory(error, "packing", count);
    for (size_t i = 0; i < count; i++) order[i] = i;
    sorting = buffers;
    qsort(order, count, sizeof *order, larger);
    *result = (plim_pack_result){0};
    for (size_t i = 0; i < count; i++) {
        const plim_pack_buffer *x = &buffers[order[i]];
        int64_t at = 0;
        for (bool moved = true; moved;) {
            moved = false;
            for (size_t j = 0; j < i; j++) {
                const plim_pack_buffer *y = &buffers[order[j]];
                int64_t o = offsets[order[j]];
                if (x->lower < y->upper && y->lower < x->upper && at < o + y->size && o < at + x->size) at = o + y->size, moved = true;
            }
        }
        offsets[order[i]] = at;
        if (at + x->size > result->height) result->height = at + x->size;
    }
    plim__free(order);
    return PLIM_OK;
}
