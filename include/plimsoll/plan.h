/* Plans: what training will need, before it runs. A plan is made by the same code that training uses, so what it says is
 * what training does.
 *
 *     plim_plan *plan;
 *     plim_plan_create(model, &options, &plan, &error);        options.budget may be 0
 *     printf("%llu bytes\n", plim_plan_get_report(plan)->chosen.process_bytes);
 *     plim_plan_free(plan);
 */
#ifndef PLIMSOLL_PLAN_H
#define PLIMSOLL_PLAN_H

#include "plimsoll/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A possible plan. */
typedef struct plim_plan_candidate {
    uint64_t budget_bytes;  /* the least that it fits in */
    uint64_t arena_bytes;   /* weights, state and everything that the step uses */
    uint64_t process_bytes; /* with the program itself, data buffers and threads: resident memory at its highest */
    int64_t micro_batch, accumulate;
    uint64_t recomputed; /* steps of the program that are done again */
    uint64_t spilled;    /* bytes of weights and optimizer state that are in a file */
    double seconds;      /* of an update, expected */
    plim_class class_;
    /* bytes at the peak, by kind; their sum is process_bytes, up to what packing leaves between buffers */
    uint64_t weights, gradients, optimizer, activations, workspace, data, program, recording;
    uint64_t state_saved;     /* bytes of optimizer state that there are less, since it is in 8 bits */
    uint64_t bits_saved;      /* bytes that a run saves less for its backward pass, since bits of tensors are enough */
    uint64_t narrow_saved;    /* the same, since tensors wait in 16 bits */
    plim_precision precision; /* of what waits for the backward pass: never PLIM_PRECISION_DEFAULT */
    uint64_t base_saved;      /* bytes of frozen weights that there are less, */
    plim_base base;           /* since they are kept in this form: never PLIM_BASE_DEFAULT */
    uint64_t streamed;        /* of `spilled`: weights, which steps fetch from the file when they read them */
    uint64_t opening;         /* what opening the data (a tokenizer) takes more than all that comes later */
    uint64_t in_model;        /* of `streamed`: frozen weights, which are fetched from the model's own file */
    double file_seconds;      /* of an update: what moving all of that takes, at the rate of the disk, */
    double file_waits;        /* and how much of it steps wait for; the rest passes while others compute */
    uint64_t logs;            /* what writing logs holds (plim_trainer_options.log_bytes) */
} plim_plan_candidate;

typedef struct plim_plan_tensor {
    const char *name, *op, *layer, *kind; /* "" where there is none */
    plim_dtype dtype;
    int rank;
    int64_t dims[PLIM_MAX_RANK];
    uint64_t bytes; /* in all its layouts */
    int layouts;    /* in how many it lies in memory at once */
} plim_plan_tensor;

/* A means of using less memory, as far as it goes by itself, beside the step as it comes. */
typedef struct plim_plan_lever {
    const char *name; /* static */
    uint64_t saved_bytes;
    double seconds; /* that an update takes more, expected */
    plim_class class_;
    int used; /* by the chosen plan */
} plim_plan_lever;

#define PLIM_PLAN_POINTS  12
#define PLIM_PLAN_TENSORS 10
#define PLIM_PLAN_LEVERS  8

typedef struct plim_plan_report {
    int fits;                                 /* chosen is within the budget; without a budget always */
    uint64_t budget_bytes;                    /* 0: none */
    plim_plan_candidate chosen;               /* all zero when nothing fits */
    plim_plan_candidate unconstrained;        /* nothing is done to save memory but order and packing */
    plim_plan_tensor peak[PLIM_PLAN_TENSORS]; /* of the chosen one (else of the unconstrained), the largest first */
    int peak_count;
    uint64_t minimum_budget_bytes; /* the smallest that works */
    int64_t largest_batch;         /* that fits the budget (without one: what the machine allows) in one piece */
    uint64_t largest_batch_limit;  /* the bytes that this was tried with */
    plim_plan_candidate
        frontier[PLIM_PLAN_POINTS]; /* what other budgets would cost, from the largest to the smallest */
    int frontier_count;
    plim_plan_lever levers[PLIM_PLAN_LEVERS]; /* that save anything, of the classes that are allowed */
    int lever_count;
    const char *why;            /* when nothing fits: what makes the floor */
    const char *prevents_split; /* why micro-batches would change the result, and which node does; NULL: they do not */
    int largest_batch_open;     /* larger batches than that may fit: trying them all would take too long */
} plim_plan_report;

typedef struct plim_plan plim_plan;

/* A budget that nothing fits is no failure: report.fits is 0. The model is not changed, and must stay until the plan, or the
 * trainer that is made from it, is freed. */
PLIM_API plim_status plim_plan_create(const plim_graph *model, const plim_trainer_options *options, plim_plan **plan,
                                      plim_error *error);
PLIM_API void plim_plan_free(plim_plan *plan);
PLIM_API const plim_plan_report *plim_plan_get_report(const plim_plan *plan);
/* Writes the chosen plan to a file, whole or not at all: for plim_trainer_options.plan, and for `plimsoll report`. `title`
 * is what a report calls it: the model's name. `command` is how to ask for a plan, up to its budget; NULL: "plimsoll plan
 * --budget". */
PLIM_API plim_status plim_plan_save(const plim_plan *plan, const char *title, const char *command, const char *path,
                                    plim_error *error);
/* The budget that a saved plan was made for; 0: none. */
PLIM_API plim_status plim_plan_read_budget(const char *path, uint64_t *budget, plim_error *error);

/* Makes a trainer that does what the plan says. It takes the plan over, which must not be used any more, also after a
 * failure. PLIM_BUDGET when nothing fits (report.fits is 0). plim_trainer_create is quicker: it plans without the report. */
PLIM_API plim_status plim_trainer_create_from_plan(plim_plan *plan, plim_trainer **trainer, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
