/* The training step at one size of micro-batch, planned: its graph, its program, where everything lies. Variants of one
 * plan share an arena: persistent bytes are the same memory, transient ones are used by one at a time. */
#ifndef PLIM_PLAN_VARIANT_H
#define PLIM_PLAN_VARIANT_H

#include "grad/training.h"
#include "plan/plan.h"
#include "plan/schedule.h"
#include "plan/spill.h"

typedef struct plim__variant {
    int64_t samples; /* of one run */
    plim__training *training;
    plim__program *lowered; /* every step once, in the order of the graph */
    plim__program *program; /* what runs: the same, or other orders and repetitions that borrow from it */
    plim__plan *plan;
    size_t after_loss;          /* steps before this one make the loss and change nothing persistent */
    size_t after_check;         /* steps before this one update nothing; 0: no gradients are checked */
    plim__schedule schedule;    /* of `program`, in steps of `lowered`; empty: as it was lowered */
    size_t repeated;            /* steps that are done again */
    plim__spill_list spillable; /* buffers of `lowered` that can be */
    size_t useful_bytes;        /* as in plim__plan_options, for each packing */
} plim__variant;

/* The variant whose weights and state another one uses too. */
typedef struct plim__base {
    const plim__variant *like;
    size_t persistent_from; /* the other one's own persistent bytes begin here */
} plim__base;

/* Builds and lowers. With `like` (may be NULL) weights and state are arranged as there. */
plim_status plim__variant_create(const plim_graph *model, const plim__training_options *options, plim__target target,
                                 const plim__variant *like, plim__variant **variant, plim_error *error);
/* Orders the steps (`schedule` NULL: as they were lowered) and packs, with `spill` bytes of optimizer state in a file. With
 * a base (may be NULL) it spills what that one does. May be called again. */
plim_status plim__variant_pack(plim__variant *variant, const plim__schedule *schedule, size_t spill,
                               const plim__base *base, plim_error *error);
void plim__variant_free(plim__variant *variant);
size_t plim__variant_transient_bytes(const plim__variant *variant);
/* What it does to the numbers that updates are made of `batch` samples in runs of its own. */
plim_class plim__variant_class(const plim__variant *variant, int64_t batch);
/* The same, but for the bits of the optimizer's state. */
plim_class plim__variant_run_class(const plim__variant *variant, int64_t batch);
plim_class plim__split_class(plim__split split);

#endif
