/* Candidates for the training step, and the search for the fastest one that fits.
 *
 *   setting     micro-batch and rows of the last layer: a program, and its frontier of memory and time by order and
 *               recompute
 *   candidate   a point on a setting's frontier, with as much state in a file as it takes to fit
 */
#ifndef PLIM_BUDGET_CANDIDATES_H
#define PLIM_BUDGET_CANDIDATES_H

#include "budget/setting.h"

typedef struct plim__candidate {
    plim__levers levers;
    plim_class class;
    size_t persistent_bytes;
    size_t transient_bytes; /* before packing: no placement is lower */
    size_t arena_bytes;     /* packed; 0 until it is asked for */
    size_t program_bytes;   /* of all programs that it takes, beside their buffers */
    double seconds;         /* of an update, expected */
    size_t repeated;        /* steps that are done again */
    size_t setting;
} plim__candidate;

typedef struct plim__candidates {
    plim__task task;
    PLIM_VEC(plim__setting *) settings; /* all that were tried, the whole batch first */
    PLIM_VEC(plim__candidate) items;    /* from the fastest to the smallest: none is slower and larger than another */
    size_t built;                       /* steps of all programs that were built, those that were rebuilt too */
    size_t packed;                      /* candidates */
    bool complete;   /* nothing was left out for the sake of the limit: another one needs no other search */
    size_t left_out; /* the least bytes of programs and planning for which task.planning_room was too small; 0: none */
} plim__candidates;

/* Finds candidates; `candidates` begins as {.task = ...}. `limit` (bytes of the arena and of all programs; 0 for none) steers
 * the search: it goes no further than needed to know the fastest within it; SIZE_MAX searches for all, down to the smallest.
 * Searching again with another limit goes on from what is known. The same answer every time. */
plim_status plim__candidates_find(plim__candidates *candidates, size_t limit, plim_error *error);
void plim__candidates_free(plim__candidates *candidates);
/* The bytes of a candidate's arena and programs, or of planning it where that takes more. */
size_t plim__candidates_total(const plim__candidates *candidates, const plim__candidate *candidate);
/* The fastest whose arena, packed, and programs are within `limit`. */
plim_status plim__candidates_best(plim__candidates *candidates, size_t limit, bool *found, plim__candidate *best,
                                  plim_error *error);
/* The one with the least bytes before packing, packed; with `n` that of the setting that is n-th in this. */
plim_status plim__candidates_smallest(plim__candidates *candidates, size_t n, bool *found, plim__candidate *smallest,
                                      plim_error *error);
/* The one that nothing is faster than, packed. */
plim_status plim__candidates_fastest(plim__candidates *candidates, bool *found, plim__candidate *fastest,
                                     plim_error *error);

/* Frees the programs: they are rebuilt when a candidate is taken. */
void plim__candidates_release(plim__candidates *candidates);
/* The variant of a candidate, packed. It is the caller's. */
plim_status plim__candidates_take(plim__candidates *candidates, const plim__candidate *candidate,
                                  plim__variant **variant, plim_error *error);

#endif
