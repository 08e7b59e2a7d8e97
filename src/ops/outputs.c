/* Types of a model's outputs while its symbols are still open. Inference wants numbers, so it runs twice with different
 * ones: a dimension that follows a symbol's number is that symbol, one that stays is a number, any other is unknown. */
#include <stdio.h>

#include "core/error.h"
#include "ops/op.h"

static int64_t size_of(const plim_graph *g, size_t symbol, int round) {
    return (int64_t)(2 + symbol + (round ? g->symbols.count : 0));
}

static bool lacks_types(const plim_graph *g) {
    for (size_t i = 0; i < g->outputs.count; i++) {
        const plim__value *value = &g->values.items[g->outputs.items[i]];
        if (value->dtype == PLIM_DTYPE_NONE || value->shape.rank < 0) return true;
    }
    return false;
}

static plim_status infer_with_sizes(const plim_graph *g, int round, plim__fold fold, plim_graph **inferred,
                                    plim_error *error) {
    plim_graph *copy = *inferred = plim_graph_clone(g);
    if (!copy) return plim__fail_memory(error, "a copy of a graph", sizeof(void *));
    for (size_t s = 0; s < g->symbols.count; s++)
        PLIM_TRY(plim__graph_bind(copy, g->symbols.items[s], size_of(g, s, round), error));
    return plim__infer_graph(copy, fold, NULL, error);
}

static int64_t dimension(plim_graph *g, int64_t a, int64_t b) {
    for (size_t s = 0; s < g->symbols.count; s++)
        if (a == size_of(g, s, 0) && b == size_of(g, s, 1)) return -1 - (int64_t)s;
    return a == b ? a : plim_graph_symbol(g, "?output");
}

static void set_types(plim_graph *g, const plim_graph *a, const plim_graph *b) {
    for (size_t i = 0; i < g->outputs.count; i++) {
        plim__value *value = &g->values.items[g->outputs.items[i]];
        const plim__value *one = &a->values.items[a->outputs.items[i]], *two = &b->values.items[b->outputs.items[i]];
        if (value->dtype == PLIM_DTYPE_NONE) value->dtype = one->dtype;
        if (value->shape.rank >= 0 || one->shape.rank != two->shape.rank) continue;
        plim__shape shape = one->shape;
        for (int k = 0; k < shape.rank; k++) shape.dims[k] = dimension(g, one->shape.dims[k], two->shape.dims[k]);
        value->shape = shape;
    }
}

plim_status plim__infer_outputs(plim_graph *g, plim__fold fold, plim_error *error) {
    if (!lacks_types(g)) return PLIM_OK;
    plim_graph *a = NULL, *b = NULL;
    plim_status status = infer_with_sizes(g, 0, fold, &a, error);
    if (status == PLIM_OK) status = infer_with_sizes(g, 1, fold, &b, error);
    if (status == PLIM_OK) set_types(g, a, b);
    plim_graph_free(a);
    plim_graph_free(b);
    return status == PLIM_NO_MEMORY ? status : plim_graph_status(g, error);
}
