/* Ways to make the training step, and the search for the fastest one that fits.
 *
 *   levers      micro-batches · the last layer in chunks of rows · order, updates within the backward pass · recompute ·
 *               optimizer state in a file
 *   candidate   one setting of the first two: a program, and its frontier of memory and time by order and recompute
 *   way         a point on a candidate's frontier, with as much state in a file as it takes to fit
 */
#ifndef PLIM_BUDGET_CANDIDATES_H
#define PLIM_BUDGET_CANDIDATES_H

#include "plan/costs.h"
#include "plan/recompute.h"
#include "plan/variant.h"

/* Everything that a plan is made from besides the levers. */
typedef struct plim__task {
    const plim_graph *model;
    plim__training_options training; /* .batch is that of an update; .sums and .loss_rows are levers */
    plim__target target;
    const plim__costs *costs;
    plim_class allow;     /* ways of a class up to this one */
    int64_t most_samples; /* of a run */
    uint64_t spill_room;  /* bytes of optimizer state that may go to a file; 0: none */
    int effort;           /* as in plim__recompute_options */
} plim__task;

/* The highest class that options allow. */
plim_class plim__allow_class(plim_allow allow);

/* What identifies a way, so that it can be made again. */
typedef struct plim__levers {
    int64_t micro_batch;   /* samples of one run */
    int64_t loss_rows;     /* rows of scores at a time in the last layer and its loss; 0: all */
    int64_t passing_limit; /* bytes of what passes, before packing; INT64_MAX: any, so that nothing is repeated */
    size_t spill;          /* bytes of optimizer state in a file */
} plim__levers;

typedef struct plim__way_point {
    plim__levers levers;
    plim_class class;
    size_t kept_bytes;
    size_t passing_bytes; /* before packing: no placement is lower */
    size_t arena_bytes;   /* packed; 0 until somebody asks */
    double seconds;       /* of an update, expected */
    size_t repeated;      /* steps that are done again */
    size_t candidate;
} plim__way_point;

struct plim__candidate;

typedef struct plim__ways {
    plim__task task;
    PLIM_VEC(struct plim__candidate *) candidates;
    PLIM_VEC(plim__way_point) points; /* from the fastest to the smallest: none is slower and larger than another */
    size_t tried;                     /* candidates */
    bool complete; /* nothing was left out for the sake of the limit: another one needs no other search */
} plim__ways;

/* Finds ways. `limit` (bytes of the arena; 0 for none) steers the search: it goes no further than needed to know the
 * fastest within it; SIZE_MAX looks for all, down to the smallest. The same answer every time. */
plim_status plim__ways_find(const plim__task *task, size_t limit, plim__ways *ways, plim_error *error);
void plim__ways_free(plim__ways *ways);
/* The fastest whose arena, packed, is within `limit`. */
plim_status plim__ways_best(plim__ways *ways, size_t limit, bool *found, plim__way_point *best, plim_error *error);
/* The one with the smallest arena before packing, packed. */
plim_status plim__ways_smallest(plim__ways *ways, bool *found, plim__way_point *smallest, plim_error *error);
/* The one that nothing is faster than, packed. */
plim_status plim__ways_fastest(plim__ways *ways, bool *found, plim__way_point *fastest, plim_error *error);

/* Gives back everything but what was found: programs are made again when a way is asked for. */
void plim__ways_rest(plim__ways *ways);
/* The variant of a way, packed. It is the caller's. */
plim_status plim__ways_take(plim__ways *ways, const plim__way_point *point, plim__variant **variant, plim_error *error);

/* A variant by levers. With `like` (may be NULL) weights and state are those of that variant, and what only this one
 * keeps begins at kept_from. */
plim_status plim__levers_apply(const plim__task *task, const plim__levers *levers, const plim__variant *like,
                               size_t kept_from, plim__variant **variant, plim_error *error);
/* Packs such a variant once more: with the best schedule for another passing_limit; or, where `like` has the same steps,
 * with its schedule, which needs no search (*same: whether it could be). */
plim_status plim__levers_pack(const plim__task *task, const plim__levers *levers, const plim__variant *like,
                              size_t kept_from, plim__variant *variant, plim_error *error);
plim_status plim__levers_pack_alike(const plim__task *task, const plim__levers *levers, const plim__variant *like,
                                    size_t kept_from, plim__variant *variant, bool *same, plim_error *error);
/* A variant by levers and the schedule that was found with them; PLIM_INVALID when it is none of this program. */
plim_status plim__levers_apply_schedule(const plim__task *task, const plim__levers *levers,
                                        const plim__schedule *schedule, plim__variant **variant, plim_error *error);
/* Seconds of an update of this variant, expected. */
double plim__variant_seconds(const plim__variant *variant, const plim__task *task);

#endif
