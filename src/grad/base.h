/* Frozen layers in few bits. */
#ifndef PLIM_GRAD_BASE_H
#define PLIM_GRAD_BASE_H

#include "graph/graph.h"
#include "graph/packed.h"

/* Products with frozen weights read them packed; *saved is how many bytes less the weights take. Layers whose scores are the
 * model's output stay as they are, as do small matrices and weights that anything else reads. For a graph as it was loaded, in
 * which everything that is frozen is a constant. */
plim_status plim__base_pack(plim_graph *g, plim__packed_form packing, size_t *saved, plim_error *error);
/* The same for another graph of the model: what is packed in `like`, which was made by plim__base_pack. */
plim_status plim__base_pack_like(plim_graph *g, const plim_graph *like, plim_error *error);

#endif
