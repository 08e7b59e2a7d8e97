/* The training step at one size of micro-batch: its graph, its program, its plan, and what runs it. Variants of one
 * trainer share an arena: what they keep is the same memory, what passes is used by one at a time. */
#ifndef PLIM_RUN_VARIANT_H
#define PLIM_RUN_VARIANT_H

#include "grad/training.h"
#include "run/runner.h"

typedef struct plim__variant {
    int64_t samples; /* of one run */
    plim__training *training;
    plim__program *program;
    plim__plan *plan;
    plim__runner *runner; /* NULL until plim__variant_start */
    size_t after_loss;    /* steps before this one make the loss and change nothing that is kept */
} plim__variant;

/* Plans. With `like` (may be NULL) weights and state are those of that variant, and what only this one keeps begins at
 * kept_from. */
plim_status plim__variant_create(const plim_graph *model, const plim__training_options *options, int threads,
                                 const plim__variant *like, size_t kept_from, plim__variant **variant,
                                 plim_error *error);
/* Ready to run in this arena, which is large enough. Loads what only this variant keeps. */
plim_status plim__variant_start(plim__variant *variant, plim__arena *arena, plim_error *error);
void plim__variant_free(plim__variant *variant);

/* A value of the graph while the runner's memory holds it; NULL for PLIM_NO_VALUE. */
void *plim__variant_at(const plim__variant *variant, plim_value value);
size_t plim__variant_passing_bytes(const plim__variant *variant);

#endif
