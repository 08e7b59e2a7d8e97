/* What a plan is asked for, and what bounds it: read from the options of a trainer. */
#ifndef PLIM_BUDGET_REQUEST_H
#define PLIM_BUDGET_REQUEST_H

#include "grad/training.h"
#include "program/device.h"

/* What a plan is made for. */
typedef enum plim__purpose {
    PLIM__PLAN_TO_RUN,  /* training follows */
    PLIM__PLAN_TO_SHOW, /* nothing runs; what other budgets would cost is listed */
    PLIM__PLAN_TO_TRY,  /* only whether something fits: with a quick search */
    PLIM__PLAN_TO_TELL, /* the same with the search and the sum that decide when it is asked for */
} plim__purpose;

typedef struct plim__request {
    plim__purpose purpose;
    plim_loss loss;
    plim_optimizer optimizer;
    plim_schedule schedule;
    int64_t batch;      /* samples of an update */
    int64_t accumulate; /* runs of an update, at least */
    const plim_size *sizes;
    size_t size_count;
    const char *const *freeze;
    size_t freeze_count;
    const char *const *rates;
    size_t rate_count;
    const char *const *trainable;
    size_t trainable_count;
    uint64_t seed;
    plim_precision precision;
    plim_base base;
    bool measure;      /* the time of each step */
    plim_class allow;  /* plans of a class up to this one */
    const char *saved; /* a file with the plan to rebuild; NULL: none */
    bool alternatives; /* other budgets are listed too */
    int records;       /* the run is recorded; 2: and a page is made of it */
    uint64_t log_bytes;
    uint64_t data_bytes, data_held_bytes, data_opening_bytes, data_sample_bytes;
    /* declared: programs for them are part of the plan */
    int64_t samples;   /* of an epoch; 0: all batches are whole */
    int64_t updates;   /* of the run, which may end before an epoch does; 0: whole epochs */
    int64_t evaluates; /* batch of evaluation; 0: there is none */
    bool irregular;    /* batches of any size may come */
    bool scores;       /* of evaluation stay an output */
} plim__request;

/* A budget that is never reached: the process is planned as with any other. */
#define PLIM__ENDLESS ((uint64_t)1 << 60)

/* What the plan has to stay within. */
typedef struct plim__bounds {
    uint64_t budget;          /* bytes of the process; 0: any */
    const char *spill_folder; /* NULL: the default one */
    bool no_spill;
    bool no_winograd;
    int threads;
    const plim__device *device; /* NULL: the processor */
    /* what an earlier plan in this process found (plim__process); 0: measured by this one. A search leaves pages behind
     * that would be measured again. */
    size_t base_bytes, packed_bytes;
    size_t planning_bytes; /* that the process may hold while it plans; 0: the budget, or what the machine allows */
} plim__bounds;

/* What programs within these bounds are made for. */
plim__target plim__bounds_target(const plim__bounds *bounds);
/* Whether a model can be trained at all: it is whole, and has no more inputs than a batch. */
plim_status plim__trainable_check(const plim_graph *model, plim_error *error);
/* Options as a caller gave them (NULL: defaults), read, checked and made whole. */
plim_status plim__trainer_options_read(const plim_trainer_options *given, plim_trainer_options *options,
                                       plim_error *error);
/* The highest class that options allow. */
plim_class plim__allow_class(plim_allow allow);
/* Pointers still lead to what the options point to. */
void plim__request_read(const plim_trainer_options *options, plim__request *request, plim__bounds *bounds);
/* Replaces all that the pointers lead to by copies. On failure there is nothing to free. */
plim_status plim__request_own(plim__request *request, plim__bounds *bounds, plim_error *error);
/* Frees those copies. */
void plim__request_free(plim__request *request, plim__bounds *bounds);

/* Samples of the short batch at the end of an epoch; 0: there is none, or the run does not get to it. */
int64_t plim__request_last(const plim__request *request);
/* The training graph for runs of `samples` samples; `sums`: several of them make an update. */
plim__training_options plim__request_training(const plim__request *request, int64_t samples, bool sums);
/* Of the optimizer's state, where the caller chose: 8, else 0 for float32. */
int plim__request_state_bits(const plim__request *request);
/* Where optimizer state is spilled to. */
const char *plim__bounds_spill_folder(const plim__bounds *bounds);

#endif
