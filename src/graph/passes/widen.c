/* Training computes in float32: models in float16, bfloat16 or float64, and those that cast between them, become float32
 * throughout. Weights are converted when they are read. */
#include "graph/passes/widen.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
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

/* What nodes read of an input in another type is its copy in float32. */
static bool cast_input(plim_graph *g, plim_value input, plim_dtype dtype) {
    int32_t cast = plim_graph_node(g, "Cast", NULL, &input, 1, 1);
    plim_graph_set_int(g, cast, "to", PLIM_F32);
    if (cast < 0) return false;
    g->values.items[input].dtype = dtype;
    plim__graph_reread(g, input, plim_graph_node_output(g, cast, 0));
    plim__node_set_input(g, cast, 0, input);
    return true;
}

static bool cast_output(plim_graph *g, plim_value *output, plim_dtype dtype) {
    int32_t cast = plim_graph_node(g, "Cast", NULL, output, 1, 1);
    plim_graph_set_int(g, cast, "to", dtype);
    if (cast < 0) return false;
    plim_value made = plim_graph_node_output(g, cast, 0);
    if (plim__graph_swap_names(g, *output, made) != PLIM_OK) return false;
    *output = made;
    return true;
}

bool plim__graph_is_narrow(const plim_graph *g) {
    for (size_t v = 0; v < g->values.count; v++)
        if (is_other_float(g->values.items[v].dtype)) return true;
    return false;
}

plim_status plim__graph_widen_inside(plim_graph *g, plim_error *error) {
    size_t ends = g->inputs.count + g->outputs.count;
    plim_dtype *types = plim__alloc_array(ends + 1, sizeof *types);
    if (!types) return plim__fail_memory(error, "types of inputs and outputs", ends * sizeof *types);
    for (size_t i = 0; i < g->inputs.count; i++) types[i] = g->values.items[g->inputs.items[i]].dtype;
    for (size_t i = 0; i < g->outputs.count; i++)
        types[g->inputs.count + i] = g->values.items[g->outputs.items[i]].dtype;
    plim_status status = plim__graph_widen(g, error);
    for (size_t i = 0; status == PLIM_OK && i < ends; i++) {
        size_t o = i - g->inputs.count;
        if (!is_other_float(types[i])) continue;
        if (!(i < g->inputs.count ? cast_input(g, g->inputs.items[i], types[i])
                                  : cast_output(g, &g->outputs.items[o], types[i])))
            status = plim_graph_status(g, error);
    }
    plim__free(types);
    return status == PLIM_OK ? plim__graph_sort(g, error) : status;
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
