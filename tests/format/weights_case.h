/* Weights for tests of what writes them: three tensors whose data comes in place, or through a call that may fail. */
#ifndef PLIM_TEST_WEIGHTS_CASE_H
#define PLIM_TEST_WEIGHTS_CASE_H

#include <string.h>

#include "core/error.h"
#include "format/weights.h"

typedef struct weights_case {
    const void *data[8];
    bool in_place;
    size_t fails_at; /* the index whose data cannot be had; SIZE_MAX for none */
    size_t reads;
    const plim__weight *items;
} weights_case;

static inline const void *case_view(void *context, size_t index) {
    const weights_case *c = context;
    return c->in_place ? c->data[index] : NULL;
}

static inline plim_status case_read(void *context, size_t index, void *dense, plim_error *error) {
    weights_case *c = context;
    size_t size;
    c->reads++;
    if (index == c->fails_at) return plim__fail(error, PLIM_IO, "no data for '%s'", c->items[index].name);
    PLIM_TRY(plim__weight_bytes(&c->items[index], &size, error));
    if (size) memcpy(dense, c->data[index], size);
    return PLIM_OK;
}

static inline plim__weights case_weights(weights_case *c, const plim__weight *items, size_t count) {
    c->items = items;
    return (plim__weights){items, count, c, case_view, case_read};
}

#endif
