/* Models whose batch is fixed, opened with the processor's kernels for what is constant. */
#include "ops/free_batch.h"

#include "core/arguments.h"
#include "kernel/processor.h"

plim_status plim_graph_free_batch(plim_graph *graph, plim_baked_batch *baked, plim_error *error) {
    PLIM__NEED(baked, error);
    *baked = (plim_baked_batch){0};
    PLIM_TRY(plim_graph_status(graph, error));
    return plim__graph_free_batch(graph, plim__processor_fold, baked, error);
}
