/* A model's own functions, and their calls made nodes. */
#ifndef PLIM_GRAPH_PASSES_INLINE_H
#define PLIM_GRAPH_PASSES_INLINE_H

#include "graph/graph.h"

#define PLIM__FUNCTION_KEY   512
#define PLIM__FUNCTION_NODES 65536 /* a model whose functions become more is refused */

typedef struct plim__function {
    plim_graph *body; /* its inputs and outputs are those of the function; attributes may refer to those of the call */
    PLIM_VEC(plim__attribute) defaults;
} plim__function;

typedef struct plim__functions {
    PLIM_VEC(plim__function) list;
    plim__map names; /* key → index in the list */
} plim__functions;

/* "domain::Name" */
void plim__function_key(char key[PLIM__FUNCTION_KEY], const char *domain, const char *name);
void plim__functions_free(plim__functions *functions);
/* Every node that calls one of the functions gives its place to the body. */
plim_status plim__functions_inline(plim_graph *g, const plim__functions *functions, plim_error *error);

#endif
