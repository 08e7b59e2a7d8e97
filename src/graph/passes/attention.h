/* What the pass that fuses attention has found: softmax(scale · q·k + masks) · v. */
#ifndef PLIM_GRAPH_PASSES_ATTENTION_H
#define PLIM_GRAPH_PASSES_ATTENTION_H

#include "graph/graph.h"

#define PLIM__ATTENTION_MASKS 4

/* A mask that is added to the scores, or a condition that hides scores: they become `fill` where it does not hold (where
 * it holds, when `inverted`). */
typedef struct plim__attention_mask {
    plim_value value;
    bool condition, inverted;
    double fill;
} plim__attention_mask;

typedef struct plim__attention_pattern {
    plim_value q, k, v;
    plim__attention_mask masks[PLIM__ATTENTION_MASKS];
    size_t mask_count;
    bool causal;
    bool guarded;    /* rows of weights that are not numbers (nothing is visible) are zeros */
    int32_t dropout; /* the node that drops weights; -1 for none */
    double scale;
} plim__attention_pattern;

/* Peels masks off the scores, into the pattern; what is left, or PLIM_NO_VALUE when something else is done to them. */
plim_value plim__attention_peel_masks(const plim_graph *g, plim_value scores, plim__attention_pattern *p);
/* One value to be added to the scores, made of all masks of the pattern; PLIM_NO_VALUE for none, or after a failure of the
 * graph. `scores` is a value of their shape. */
plim_value plim__attention_build_mask(plim_graph *g, const plim__attention_pattern *p, plim_value scores);

#endif
