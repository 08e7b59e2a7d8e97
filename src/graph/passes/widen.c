/* Training computes in float32: models in float16, bfloat16 or float64, and those that cast between them, become float32
 * throughout. Weights are converted when they are read. */
#include "graph/passes/widen.h"

#include <string.h>

#include "graph/passes/match.h"

static bool is_other_float(int64_t dtype) { return dtype == PLIM_F16 || dtype == PLIM_BF16 || dtype == PLIM_F64; }

static bool widen_tensor(plim_graph *g, plim__tensor **tensor) {
    plim__tensor *wide;
    plim_error error;
    if (!*tensor || !is_other_float((*tensor)->dtype)) return true;
    if (plim__tensor_cast(*tensor, PLIM_F32, &wide, &error) != PLIM_OK)
        return plim__graph_fail(g, error.status, "%s", error.message), false;
    plim__tensor_release(*tensor);
    *tensor = wide;
    return true;
}

/* Types that attributes name: of casts, of constants and of what is filled or drawn. */
static bool widen_attribute(plim_graph *g, plim__attribute *a) {
    static const char *const names[] = {"to", "dtype", "output_datatype", "softmax_precision", "stash_type"};
    if (a->graph) return plim__graph_widen(a->graph, NULL) == PLIM_OK;
    if (a->type == PLIM__ATTRIBUTE_TENSOR) return widen_tensor(g, &a->tensor);
    for (size_t i = 0; a->type == PLIM__ATTRIBUTE_INT && i < sizeof names / sizeof *names; i++)
        if (strcmp(a->name, names[i]) == 0 && is_other_float(a->i)) a->i = PLIM_F32;
    return true;
}

plim_status plim__graph_widen(plim_graph *g, plim_error *error) {
    if (g->failure.status != PLIM_OK)
        return PLIM_OK; /* a subgraph that was not understood is not needed, or is named */
    for (size_t v = 0; v < g->values.count; v++) {
        plim__value *value = &g->values.items[v];
        if (!widen_tensor(g, &value->tensor)) return plim_graph_status(g, error);
        if (is_other_float(value->dtype)) value->dtype = PLIM_F32;
    }
    for (size_t n = 0; n < g->nodes.count; n++)
        for (size_t i = 0; !g->nodes.items[n].dead && i < g->nodes.items[n].attributes.count; i++)
            if (!widen_attribute(g, &g->nodes.items[n].attributes.items[i])) return plim_graph_status(g, error);
    return PLIM_OK;
}

plim_status plim__graph_remark_types(plim_graph *g) {
    for (size_t v = 0; v < g->values.count; v++) {
        const plim__value *value = &g->values.items[v];
        if (value->kind == PLIM__VALUE_PARAMETER && is_other_float(value->dtype))
            return plim__graph_remark(g, PLIM_REMARK_LOST,
                                      "its weights are %s: training computes in float32, and saves them as %s",
                                      plim_dtype_name(value->dtype), plim_dtype_name(value->dtype));
    }
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        int64_t to = plim__match_op(node, "Cast") ? plim__node_int(node, "to", PLIM_F32) : PLIM_F32;
        if (to == PLIM_F16 || to == PLIM_BF16) /* float64 is shape arithmetic, mostly */
            return plim__graph_remark(g, PLIM_REMARK_LOST,
                                      "it computes in %s in part (autocast): training computes in float32 throughout",
                                      plim_dtype_name((plim_dtype)to));
    }
    return PLIM_OK;
}
