/* A setting of the search: the size of micro-batches and of the chunks of the loss, the bits of the optimizer's state. What is known of it outlives its program,
 * which is rebuilt when it is needed: a search holds one program at a time, and asks each setting once.
 *
 *   program ──→ frontier ──→ points   those that some candidate follows, in pages of their own: between the blocks of one
 *                                     program and the next they would leave holes in the heap, more with every setting */
#ifndef PLIM_BUDGET_SETTING_H
#define PLIM_BUDGET_SETTING_H

#include "budget/levers.h"

/* A point on the frontier of memory and time by order and recompute. */
typedef struct plim__point {
    int64_t peak_bytes;      /* transient, before packing */
    double extra_seconds;    /* of a run */
    plim__schedule schedule; /* its steps lie in the setting's pages */
} plim__point;

typedef struct plim__setting {
    plim__levers levers; /* without a limit */
    bool usable;         /* the model can be built for it, and its parts make a batch */
    bool explored;       /* the points are there */
    plim_class class;
    plim_class unasked;     /* the same without what the caller chose */
    plim__split split;      /* whether its batch can be split further */
    int64_t classes;        /* that its scores tell apart; 0: none */
    plim__variant *variant; /* NULL: rebuilt when it is needed */
    plim__spill_list spillable;
    PLIM_VEC(plim__point) points; /* from the highest peak to the lowest */
    int32_t *pages;
    size_t page_bytes;
    size_t step_count;
    int64_t work;                           /* that exploring it may take */
    size_t persistent_bytes;                /* with no state spilled */
    size_t streamed_bytes;                  /* of weights in a file */
    size_t least_transient;                 /* no schedule has less */
    size_t first_transient, last_transient; /* of the first and the last point that was found, ... */
    double last_seconds;                    /* ... and what the last one takes more in a run */
    size_t window;                          /* bytes more when something is spilled */
    size_t program_bytes;                   /* of its program, beside its buffers */
    size_t programs;                        /* that it takes: one, and others for other sizes */
    size_t working_bytes;                   /* that searching and packing take beside the program */
    double update_seconds;                  /* of an update without repetitions */
    int64_t runs;                           /* of an update */
} plim__setting;

/* The program is there afterwards, where the setting is usable. */
plim_status plim__setting_create(const plim__task *task, plim__levers levers, plim__setting **setting,
                                 plim_error *error);
void plim__setting_free(plim__setting *setting);
/* Rebuilds the program, unless it is there. */
plim_status plim__setting_revive(plim__setting *setting, const plim__task *task, plim_error *error);
/* Frees the program. */
void plim__setting_release(plim__setting *setting);
/* Finds the points. `effort` and `least` as in plim__recompute_options. */
plim_status plim__setting_explore(plim__setting *setting, const plim__task *task, int effort, int64_t least,
                                  plim_error *error);
/* The point of a candidate: the first that needs at most `bytes`. */
const plim__point *plim__setting_point(const plim__setting *setting, int64_t bytes);
/* Drops all points but those for which wanted[i] is true. */
void plim__setting_keep(plim__setting *setting, const bool *wanted);

/* About what searching for a schedule of `steps` steps, and packing it, takes beside the program. */
size_t plim__working_bytes(size_t steps);
/* The same for the order as it comes, which is only packed. */
size_t plim__packing_bytes(size_t steps);

#endif
