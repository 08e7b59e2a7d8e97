/* Frees a batch that an exporter baked into a model: a file whose inputs are [2, 3, 32, 32] trains with any batch. */
#ifndef PLIM_OPS_FREE_BATCH_H
#define PLIM_OPS_FREE_BATCH_H

#include "ops/op.h"

/* plim_graph_free_batch: constants that have the batch in them (shapes, states, masks) are rewritten, and the result is proved to be the same:
 * for twice the samples, the rules of ops/batch.h must find every output to be that of its samples one by one. Otherwise the
 * graph stays as it is. Only memory that is short is a failure. */
plim_status plim__graph_free_batch(plim_graph *g, plim__fold fold, plim_baked_batch *baked, plim_error *error);

#endif
