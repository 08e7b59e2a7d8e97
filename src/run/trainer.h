/* What a trainer is made of; private to src/run. */
#ifndef PLIM_RUN_TRAINER_H
#define PLIM_RUN_TRAINER_H

#include "budget/candidates.h"
#include "plimsoll/plan.h"
#include "run/instance.h"

struct plim_trainer {
    const plim_graph *model; /* not owned */
    plim_trainer_options options;
    char **freeze; /* copies of what options point to */
    plim_size *sizes;
    char **size_names;
    float *class_weights;
    char *loss_output, *plan_path, *spill_folder;
    plim__arena arena;
    size_t kept_bytes, passing_bytes;   /* of all programs: what the arena must have */
    size_t planned_kept, planned_arena; /* of those that were planned ahead */
    plim__variant *main;                /* of micro-batches of the usual size */
    PLIM_VEC(plim__variant *) tails;    /* of other sizes: what is left at the end of an epoch */
    plim__variant *odd;                 /* with a budget: the only one of a size that nobody announced; NULL: none */
    int64_t odd_rest;                   /* samples that it is for: its own, or more in pieces of its own */
    size_t odd_from, odd_to;            /* what only it keeps lies there */
    plim_session *evaluation;           /* NULL until it is planned or asked for */
    PLIM_VEC(int32_t) tensors;          /* loads of main->program that are parameters, statistics or optimizer state */
    plim_progress progress;
    double *times;   /* of each step of the main program in all its runs; NULL unless measured */
    int64_t updates; /* made by it; what `times` is divided by */
    /* the plan */
    plim__costs *costs;
    plim__way_point way; /* of the main variant */
    uint64_t spill_room; /* bytes of state that may go to a file */
    bool explore;        /* looks for all ways, and fills in `rows` */
    int effort;          /* of recompute */
    PLIM_VEC(plim_plan_candidate) rows;
    size_t least_budget;    /* after a refusal, or with .explore */
    size_t planned_process; /* resident bytes of the whole process at their highest; 0 without a budget */
    size_t base_bytes;      /* resident without arena, data and search, coarsely; 0: is measured by the first plan */
    size_t packed_bytes;    /* that oneDNN takes from the heap during a step; given for an .effort below 0 */
    struct plim__heap_plug *plugs; /* src/mem/heap.h; NULL: none */
    bool smallest;                 /* the main variant is the smallest way: nothing else fits */
    bool refused;                  /* nothing fits the budget; else PLIM_NO_MEMORY is an allocation that failed */
    int64_t replans;
    struct plim__recording *recording; /* src/run/recording.h; NULL: none */
};

/* Plans all variants, within the budget when there is one. */
plim_status plim__trainer_plan(plim_trainer *t, plim_error *error);
plim__task plim__trainer_task(const plim_trainer *t);
/* Where state is spilled to. */
const char *plim__trainer_spill_folder(const plim_trainer *t);
/* Options as a caller gave them (NULL: defaults), read and made whole. */
plim_status plim__trainer_options_read(const plim_trainer_options *given, plim_trainer_options *options,
                                       plim_error *error);
/* Makes a trainer as plim_trainer_create does; `prepared` may have .explore and .effort set. */
plim_status plim__trainer_make(plim_trainer *prepared, const plim_graph *model, const plim_trainer_options *options,
                               plim_error *error);
/* Plans, reserves, loads; and gives all of that back. */
plim_status plim__trainer_begin(plim_trainer *t, plim_error *error);
plim_status plim__trainer_start(plim_trainer *t, plim_error *error); /* the second half: the main variant is planned */
void plim__trainer_end(plim_trainer *t);
plim_plan_candidate plim__trainer_way(const plim_trainer *t);
/* The trainer that a plan was made with: of the chosen way, or of the unconstrained one where nothing fits. */
const plim_trainer *plim__plan_trainer(const plim_plan *plan);
/* Bytes of data buffers that the process will hold. */
size_t plim__trainer_data_bytes(const plim_trainer *t);

/* Programs besides the main one (trainer_variants.c). plan_others plans all whose sizes are announced, after the main
 * variant; sets kept_bytes and passing_bytes. */
plim_status plim__trainer_plan_others(plim_trainer *t, plim_error *error);
plim_status plim__trainer_start_others(plim_trainer *t, plim_error *error); /* once the arena is reserved */
void plim__trainer_end_others(plim_trainer *t);
/* The variant for runs of so many samples; NULL when there is none. */
plim__variant *plim__trainer_variant(const plim_trainer *t, int64_t samples);
/* The variant that runs next when `left` samples of a batch are left: of as many, or of a part of them. What the batch
 * needs is there. */
plim__variant *plim__trainer_next(const plim_trainer *t, int64_t left);
/* Whether all that a batch of `count` samples needs is there. */
bool plim__trainer_has_batch(const plim_trainer *t, int64_t count);
/* Makes what a batch of `count` samples or evaluation needs, where it was not announced and is not there. With a budget
 * that may be another plan. On failure everything is as before. */
plim_status plim__trainer_need_batch(plim_trainer *t, int64_t count, plim_error *error);
plim_status plim__trainer_need_evaluation(plim_trainer *t, int64_t batch, plim_error *error);
/* What a variant for what is left of a batch is made for. */
plim__task plim__trainer_tail_task(const plim_trainer *t, int64_t samples);
/* Room in the arena for one more program. */
void plim__trainer_make_room(plim_trainer *t, const plim__plan *plan);

/* The one variant of a size that nobody announced (trainer_odd.c): planned as one of the others, where options.irregular_batches
 * asks for it; made anew for `rest` samples, in memory that is there. */
plim_status plim__trainer_plan_odd(plim_trainer *t, plim_error *error);
plim_status plim__trainer_need_odd(plim_trainer *t, int64_t rest, plim_error *error);
void plim__trainer_end_odd(plim_trainer *t);

/* Between two steps: plans again, for other options, and goes on with the same weights, state and counters. `wanted` is a
 * copy of t->options with some numbers changed. On failure everything is as before. */
plim_status plim__trainer_plan_again(plim_trainer *t, const plim_trainer_options *wanted, plim_error *error);

plim__training_options plim__trainer_training_options(const plim_trainer *t, int64_t samples, bool sums);
/* "update 12: the loss is NaN: ...", when it or the data is not finite: what made it so. Inputs are those of `batch`, from
 * sample `from` on. */
plim_status plim__trainer_blame(plim_trainer *t, plim__variant *v, const plim_batch *batch, int64_t from, double loss,
                                plim_error *error);
/* Copies samples from..from+v->samples of the batch to the inputs; false when floats among them are not finite. */
bool plim__trainer_feed(plim__variant *v, const plim_batch *batch, int64_t from);

#endif
