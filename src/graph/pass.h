/* Rewriting passes: each makes the graph smaller or faster without changing what it computes. One small
 * file a pass; the list below is the order in which they run, and each can be left out by name. */
#ifndef PLIM_GRAPH_PASS_H
#define PLIM_GRAPH_PASS_H

#include "graph/graph.h"

typedef enum plim__pass_where {
    PLIM__PASS_ALWAYS,
    PLIM__PASS_INFERENCE, /* needs weights that no longer change */
    PLIM__PASS_TRAINING,  /* worth it for what the backward pass no longer keeps */
    PLIM__PASS_ELSEWHERE, /* no rewriting of the graph, but may be left out like one; `run` is NULL */
} plim__pass_where;

typedef struct plim__pass {
    const char *name;
    const char *summary;
    plim_status (*run)(plim_graph *g, bool *changed, plim_error *error);
    plim__pass_where where;
} plim__pass;

/* plim__pass_identity, ...: one for each line of the list. */
#define PASS(id, text, where, what) plim_status plim__pass_##id(plim_graph *g, bool *changed, plim_error *error);
#include "graph/passes.def"
#undef PASS

extern const plim__pass plim__passes[];
extern const size_t plim__pass_count;

/* Runs the passes in order, again until nothing changes. `without` names passes to leave out, separated by
 * commas (NULL: none); an unknown name is PLIM_INVALID. */
plim_status plim__passes_run(plim_graph *g, const char *without, bool training, plim_error *error);
/* Whether `name` is in the comma-separated list. */
bool plim__pass_listed(const char *list, const char *name);

#endif
