/* From rows to lower functions: parallel to plim__ops, the same list makes both. */
#include "kernel/lowers.h"

#include "core/alloc.h"
#include "core/error.h"

static plim__lower_function *const lowers[] = {
#define OP(domain, name, since, until, min_in, max_in, min_out, max_out, infer, gradient, saved, cost, lower, batch,   \
           flags)                                                                                                      \
    plim__lower_##lower,
#include "ops/ops.def"
#undef OP
};

/* Outputs without elements: oneDNN refuses many of them, and nothing is to be computed. */
static bool makes_nothing(const plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    bool any = false;
    if (node->op->flags & (PLIM__OP_WRITES | PLIM__OP_VIEW)) return false;
    for (size_t i = 0; i < node->outputs.count; i++) {
        if (!plim__lower_has_output(l, i)) continue;
        if (plim__shape_elements(plim__lower_output_shape(l, i)) != 0) return false;
        any = true;
    }
    return any;
}

static plim_status run_nothing(const plim__call *call) {
    (void)call;
    return PLIM_OK;
}

plim__lower_function *plim__lower_of(const plim__node *node) { return lowers[node->op - plim__ops]; }

plim_status plim__lower_by_row(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    if (!makes_nothing(l)) return plim__lower_of(node)(l);
    for (size_t i = 0; i < node->outputs.count; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    return plim__lower_emit(l, node->op_name, run_nothing, plim__alloc(1), plim__free);
}
