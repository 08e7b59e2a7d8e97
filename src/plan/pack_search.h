/* Exact search: does a packing within one capacity exist, and which? */
#ifndef PLIM_PLAN_PACK_SEARCH_H
#define PLIM_PLAN_PACK_SEARCH_H

#include "plan/pack_internal.h"

typedef struct plim__pack_search plim__pack_search;

typedef enum plim__pack_outcome {
    PLIM__PACK_FOUND,      /* offsets[] holds a packing within the capacity */
    PLIM__PACK_IMPOSSIBLE, /* proven: there is none */
    PLIM__PACK_STOPPED,    /* neither, within the limit */
} plim__pack_outcome;

/* How the search prefers one branch over another: where to go on, and what to put there first. */
enum { PLIM__PACK_STYLES = 8 };

/* The problem must be indexed, and stay where it is. `memory`: for dead ends; 0 takes 8 MiB. */
plim_status plim__pack_search_new(const plim__pack_problem *problem, size_t memory, plim__pack_search **search,
                                  plim_error *error);
void plim__pack_search_free(plim__pack_search *search);
typedef struct plim__pack_goal {
    int64_t capacity;
    int style;     /* below PLIM__PACK_STYLES */
    int64_t limit; /* of the budget's work */
} plim__pack_goal;

/* What it learns about dead ends is held for the next call. */
plim_status plim__pack_search_run(plim__pack_search *search, const plim__pack_goal *goal, plim__pack_budget *budget,
                                  int64_t *offsets, plim__pack_outcome *outcome, plim_error *error);

#endif
