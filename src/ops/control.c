/* Control flow that is decided before anything runs: the condition is a constant by the time types are inferred, as
 * where an exporter asks whether a dimension is 1. */
#include "ops/op.h"

plim_status plim__infer_branch(plim__infer *ctx) {
    plim__tensor *condition = plim__graph_constant_tensor(ctx->graph, plim__node_in(ctx->node, 0));
    if (!condition)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator If whose condition depends on data");
    int32_t node = (int32_t)(ctx->node - ctx->graph->nodes.items);
    return plim__graph_take_branch(ctx->graph, node, condition, true, ctx->error);
}
