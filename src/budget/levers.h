/* The levers that trade time for memory, and the program that a setting of them makes.
 *
 *   levers   micro-batches · the last layer in chunks of rows · order, updates within the backward pass · recompute ·
 *            optimizer state in a file · weights in a file, fetched when they are read · optimizer state in 8 bits ·
 *            what waits for the backward pass in 16 bits
 */
#ifndef PLIM_BUDGET_LEVERS_H
#define PLIM_BUDGET_LEVERS_H

#include "plan/costs.h"
#include "plan/variant.h"

/* Everything that a program is made from beside the levers. */
typedef struct plim__task {
    const plim_graph *model;
    plim__training_options training; /* .batch is that of an update; .sums and .loss_rows are levers */
    plim__target target;
    const plim__costs *costs;
    plim_class allow;     /* candidates of a class up to this one */
    int64_t most_samples; /* of a run */
    uint64_t spill_room;  /* bytes of weights and optimizer state that may go to a file; 0: none */
    int effort;           /* as in plim__recompute_options */
    size_t search_bytes;  /* of programs that a search may hold beside the one it works on */
    size_t planning_room; /* bytes for a program and the search for its schedule: what needs more is not searched */
    size_t coming_bytes;  /* that the process takes between planning and the first step, beside the arena */
    size_t useful_bytes;  /* an arena beyond it does not fit however it is packed; 0: any may */
    int64_t last_samples; /* of the last batch of an epoch; 0: all are whole */
    bool irregular;       /* batches of any size may come */
} plim__task;

/* Programs that micro-batches of a size take: for themselves, for what is left of a batch, for the end of an epoch, for
 * sizes that were not declared. */
size_t plim__task_programs(const plim__task *task, int64_t micro);

/* What identifies a candidate, so that its program can be rebuilt. */
typedef struct plim__levers {
    int64_t micro_batch;      /* samples of one run */
    int64_t loss_rows;        /* rows of scores at a time in the last layer and its loss; 0: all */
    int state_bits;           /* of the optimizer's state: 8, else float32 */
    plim_precision precision; /* of what waits for the backward pass; zero: float32 */
    int64_t transient_limit;  /* transient bytes before packing; INT64_MAX: any, so that nothing is repeated */
    bool stream;              /* large weights wait in a file */
    size_t spill;             /* bytes of optimizer state in a file */
} plim__levers;

/* The lever for a precision that was asked for. */
static inline plim_precision plim__precision_lever(plim_precision asked) {
    return asked == PLIM_PRECISION_F32 ? PLIM_PRECISION_DEFAULT : asked;
}

/* The training graph that the levers ask for. */
plim__training_options plim__levers_training(const plim__task *task, const plim__levers *levers);
/* A variant by levers. With a base (may be NULL) weights and state are those of that variant. */
plim_status plim__levers_apply(const plim__task *task, const plim__levers *levers, const plim__base *base,
                               plim__variant **variant, plim_error *error);
/* Packs such a variant once more: with the best schedule for another transient_limit; or, where the base has the same
 * steps, with its schedule, which needs no search (*same: whether it could be). */
plim_status plim__levers_pack(const plim__task *task, const plim__levers *levers, const plim__base *base,
                              plim__variant *variant, plim_error *error);
plim_status plim__levers_pack_alike(const plim__task *task, const plim__levers *levers, const plim__base *base,
                                    plim__variant *variant, bool *same, plim_error *error);
/* A variant by levers and the schedule that was found with them; PLIM_INVALID when it is none of this program. */
plim_status plim__levers_apply_schedule(const plim__task *task, const plim__levers *levers,
                                        const plim__schedule *schedule, plim__variant **variant, plim_error *error);

/* Seconds of an update, expected: of a program whose steps take `seconds` each, in `runs` runs; of a variant. */
double plim__program_seconds(const plim__program *program, const double *seconds, int64_t runs);
double plim__variant_seconds(const plim__variant *variant, const plim__task *task);

#endif
