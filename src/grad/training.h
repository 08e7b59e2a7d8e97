/* The training graph: forward, loss, backward and update as nodes of one graph.
 *
 *   model ──→ loss ──→ backward ──→ update        one micro-batch is the whole batch
 *   model ──→ loss ──→ backward ──→ sums ──→ update   several: gradients are summed up, then scaled
 */
#ifndef PLIM_GRAD_TRAINING_H
#define PLIM_GRAD_TRAINING_H

#include <stdbool.h>

#include "graph/packed.h"
#include "ops/batch.h"
#include "ops/op.h"
#include "plimsoll/train.h"

/* A label that is none: where nothing else is ignored, it marks what does not count. */
#define PLIM__NO_CLASS INT64_MIN

/* What a loss adds to a graph. All but the target are float32 scalars. */
typedef struct plim__loss_parts {
    plim_value target;  /* a new input "plimsoll.target"; PLIM_NO_VALUE for a loss that the model has itself */
    plim_value loss;    /* mean over the targets that count */
    plim_value weight;  /* sum of the weights of these targets: what the mean divides by */
    plim_value correct; /* how many of them the model predicts; PLIM_NO_VALUE when it does not classify */
} plim__loss_parts;

/* What a caller gave, made whole: one of which only the kind is set becomes that kind's default. An unknown kind and
 * fields of later versions are refused. */
plim_status plim__loss_resolve(const plim_loss *given, plim_loss *loss, plim_error *error);
/* Adds the loss to a graph with concrete shapes. */
plim_status plim__loss_append(plim_graph *g, const plim_loss *loss, plim__loss_parts *parts, plim_error *error);

/* The weight of the targets that a class loss of the model takes its mean over: a new value. */
plim_status plim__loss_weight(plim_graph *g, plim_value loss, plim_value *weight, plim_error *error);

/* Scores for each target; 0 when it is not a class. */
int64_t plim__loss_classes(const plim_graph *g, plim_value target);

/* The last linear layer and the cross entropy behind it become one operator: scores exist `chunk_rows` rows at a time.
 * The gradient of the loss, or of the loss times the weight of its targets, is computed along with it; any other makes
 * the backward pass compute the scores again. For graphs after the passes and before plim__gradients_build; `parts` stay
 * what they are. A loss whose scores somebody else reads, the caller included, stays as it is. */
plim_status plim__linear_losses_fuse(plim_graph *g, int64_t chunk_rows, plim_error *error);

/* What an optimizer updates, and by what. */
typedef struct plim__updates {
    const plim_value *parameters;
    const plim_value *gradients; /* of each parameter; PLIM_NO_VALUE where the loss does not depend on it */
    size_t count;
    plim_value update;        /* an input {learning rate, number of the update from 1} */
    plim_value scale;         /* every gradient is multiplied by it first, unless it is PLIM_NO_VALUE */
    int state_bits;           /* 8: of states that are large enough and not of an embedding; else all are float32 */
    size_t *saved;            /* out, may be NULL: bytes of state less than in float32 */
    const char *const *rates; /* "GLOB=FACTOR" */
    size_t rate_count;
    plim_value *checked; /* out, may be NULL: a number that all updates wait for, and that is finite exactly where all
                          * gradients are */
} plim__updates;

/* Adds the update of each parameter by its gradient, clipping included. */
plim_status plim__optimizer_append(plim_graph *g, const plim_optimizer *optimizer, const plim__updates *updates,
                                   plim_error *error);

typedef struct plim__training_options {
    const plim_loss *loss;
    const plim_optimizer *optimizer;
    int64_t batch; /* samples of one run */
    int64_t whole; /* samples of an update, when those are more */
    const plim_size *sizes;
    size_t size_count;
    const char *const *freeze; /* globs on the names of parameters */
    size_t freeze_count;
    const char *const *rates; /* "GLOB=FACTOR" */
    size_t rate_count;
    const char *const *trainable; /* globs on the names of what is trained although its role says otherwise */
    size_t trainable_count;
    uint64_t seed;
    bool sums;                /* several runs make a batch */
    int64_t loss_rows;        /* the last layer and its loss process this many rows of scores at a time; 0: all */
    int state_bits;           /* of the optimizer: 8, else float32 */
    plim_precision precision; /* of what waits for the backward pass */
    bool narrow_factors;      /* products multiply numbers of that precision (plim__target.factors) */
    plim__packed_form base;   /* of frozen layers */
    bool stream;              /* large weights wait in a file: a matter of the program, not of the graph */
    bool whole_saved;         /* tensors are saved whole where bits of them would do: for comparison */
    plim__fold fold;          /* computes what is constant */
} plim__training_options;

typedef struct plim__training {
    plim_graph *graph;
    plim_value target;                /* input; PLIM_NO_VALUE for a loss of the model's own */
    plim_value loss, weight, correct; /* outputs: plim__loss_parts */
    plim_value update;                /* input: {learning rate, number of the update} */
    plim_value scale;                 /* input with .sums: one over the batch's weight; over loss_scale too */
    plim_value loss_scale;            /* input with PLIM_PRECISION_F16: factor of all gradients */
    plim_value checked;               /* ... a float32 that is finite where all of them are; made before the updates */
    plim_value *parameters, *gradients;
    size_t parameter_count;
    size_t frozen_count;
    size_t state_saved;        /* bytes that the optimizer's state has less than in float32 */
    size_t bits_saved;         /* bytes that a run saves less since bits stand for tensors */
    size_t narrow_saved;       /* bytes that a run saves less since tensors wait in 16 bits */
    plim__packed_form base;    /* of frozen layers */
    size_t base_saved;         /* bytes that frozen layers take less than in float32 */
    int64_t classes;           /* that the scores tell apart; 0 when the target is not a class */
    plim__batch_verdict split; /* whether runs of `batch` samples make an update of the whole batch, and how; for runs
                                * of a whole batch, what holds for its halves */
} plim__training;

/* Whether an input is the model's or the target: batches bring it. */
static inline bool plim__training_is_data(const plim__training *t, plim_value input) {
    return input != t->update && input != t->scale && input != t->loss_scale;
}

/* The model is not changed; its tensors are shared. */
plim_status plim__training_create(const plim_graph *model, const plim__training_options *options,
                                  plim__training **training, plim_error *error);
void plim__training_free(plim__training *training);
/* What `split` would be, without a backward pass. A size that cannot be built is PLIM__SPLIT_NEVER, and no error. */
plim_status plim__training_judge(const plim_graph *model, const plim__training_options *options,
                                 plim__batch_verdict *verdict, plim_error *error);
/* The same, and the name of verdict->weight in `*weight` (plim__free it; NULL: none). */
plim_status plim__training_judge_weight(const plim_graph *model, const plim__training_options *options,
                                        plim__batch_verdict *verdict, char **weight, plim_error *error);

/* What training leaves as it is becomes a constant: buffers, masks, tables, settings; a number that was built in code is a
 * setting too. */
void plim__fix_constants(plim_graph *g);
/* Symbols get their sizes; what is left is the batch. */
plim_status plim__bind_sizes(plim_graph *g, const plim_size *sizes, size_t count, int64_t batch, plim_error *error);

#endif
