/* Steps made of strided copies. */
#include "kernel/copies.h"
#include "kernel/lowers.h"

#include <stdio.h>
#include <string.h>

plim_status plim__lower_element_size(plim__lower *l, plim_dtype dtype, size_t *bytes) {
    int bits = plim_dtype_bits(dtype);
    *bytes = (size_t)bits / 8;
    if (bits >= 8 && bits % 8 == 0) return PLIM_OK;
    char why[64];
    snprintf(why, sizeof why, "with element type %s", plim_dtype_name(dtype));
    return plim__lower_unsupported(l, why);
}

/* States that are not larger are in what a program counts for each of its nodes. */
#define SMALL_STATE ((size_t)4096)

plim_status plim__lower_state(plim__lower *l, size_t bytes, void *state) {
    if (bytes > SMALL_STATE) PLIM_TRY(plim__lower_own(l, bytes));
    void *block = plim__alloc_zero(1, bytes);
    memcpy(state, &block, sizeof block);
    return block ? PLIM_OK : plim__lower_fail(l, PLIM_NO_MEMORY, "out of memory while planning");
}

plim_status plim__lower_table(plim__lower *l, int64_t count, size_t size, void *table) {
    size_t bytes;
    void *block = NULL;
    memcpy(table, &block, sizeof block);
    if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;
    PLIM_TRY(plim__lower_own(l, bytes));
    block = plim__alloc_zero(1, bytes);
    memcpy(table, &block, sizeof block);
    return block ? PLIM_OK : plim__lower_fail(l, PLIM_NO_MEMORY, "out of memory while planning");
}

plim_status plim__lower_forward(plim__lower *l) {
    plim__layout same = *plim__lower_peek(l, 0);
    return plim__lower_view(l, 0, &same, 0);
}

plim_status plim__copies_create(plim__lower *l, plim_dtype dtype, size_t count, plim__copies **copies) {
    size_t element_size;
    PLIM_TRY(plim__lower_element_size(l, dtype, &element_size));
    PLIM_TRY(plim__lower_state(l, sizeof **copies + count * sizeof *(*copies)->pieces, copies));
    (*copies)->threads = plim__lower_threads(l);
    (*copies)->element_size = element_size;
    (*copies)->count = count;
    return PLIM_OK;
}

plim_status plim__run_copies(const plim__call *call) {
    const plim__copies *c = call->state;
    int64_t size = (int64_t)c->element_size;
    for (size_t i = 0; i < c->count; i++) {
        const plim__piece *p = &c->pieces[i];
        plim__strided how = {p->rank, p->dims, p->to, p->from, c->element_size};
        plim__copy_strided((char *)call->out[p->out] + p->to_offset * size,
                           (const char *)call->in[p->in] + p->from_offset * size, &how, c->threads);
    }
    return PLIM_OK;
}
