/* Training: a model, a loss, an optimizer and batches.
 *
 *     plim_trainer *t;
 *     plim_trainer_options o = {.batch = 256, .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
 *                               .optimizer = plim_optimizer_default(PLIM_ADAMW)};
 *     plim_trainer_create(model, &o, &t, &error);
 *     while (plim_data_next(data, &batch, &error) == PLIM_OK && batch.count > 0)
 *         plim_trainer_step(t, &batch, &result, &error);
 *     plim_trainer_save(t, "trained.onnx", &error);
 *     plim_trainer_free(t);
 */
#ifndef PLIMSOLL_TRAIN_H
#define PLIMSOLL_TRAIN_H

#include "plimsoll/data.h"
#include "plimsoll/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- losses --------------------------------------------------------------------------------------------------- */

typedef enum plim_loss_kind {
    PLIM_LOSS_CROSS_ENTROPY,   /* scores of classes (N, C), (N, T, C) or (N, C, H, W); targets: class numbers */
    PLIM_LOSS_BCE_WITH_LOGITS, /* one score an element; targets 0..1 of the same shape */
    PLIM_LOSS_MSE,
    PLIM_LOSS_L1,
    PLIM_LOSS_HUBER,
    PLIM_LOSS_MODEL, /* the output is the loss already */
} plim_loss_kind;

typedef struct plim_loss {
    plim_loss_kind kind;
    const char *output;         /* what it applies to; NULL: the model's first output */
    int ignores;                /* cross entropy: targets equal to ignore_index do not count */
    int64_t ignore_index;       /* default -100 */
    double label_smoothing;     /* cross entropy: 0 to 1 */
    const float *class_weights; /* cross entropy: one a class, or NULL */
    size_t class_count;
    double delta; /* huber; default 1 */
} plim_loss;

/* What PyTorch has as defaults. */
PLIM_API plim_loss plim_loss_default(plim_loss_kind kind);
/* By name: "cross_entropy", "bce_with_logits", "mse", "l1", "huber", "model". Returns 0 when there is none. */
PLIM_API int plim_loss_find(const char *name, plim_loss_kind *kind);
PLIM_API const char *plim_loss_name(plim_loss_kind kind);

/* --- optimizers ----------------------------------------------------------------------------------------------- */

typedef enum plim_optimizer_kind {
    PLIM_SGD,
    PLIM_ADAM,
    PLIM_ADAMW,
    PLIM_RMSPROP,
    PLIM_ADAGRAD,
    PLIM_ADAFACTOR,
    PLIM_LION,
} plim_optimizer_kind;

/* Each computes what the optimizer of that name in PyTorch computes (Lion: its paper). Fields that an optimizer does
 * not know are not read. */
typedef struct plim_optimizer {
    plim_optimizer_kind kind;
    double rate;         /* learning rate, before the schedule */
    double momentum;     /* sgd, rmsprop */
    double dampening;    /* sgd */
    int nesterov;        /* sgd */
    double beta1, beta2; /* adam, adamw, lion; beta2 is adafactor's decay exponent (-0.8) */
    double alpha;        /* rmsprop: smoothing */
    double epsilon;      /* adafactor: its second one (1e-3) */
    double threshold;    /* adafactor: d, update clipping */
    double rate_decay;   /* adagrad */
    double weight_decay; /* added to the gradient; adamw, lion and adafactor shrink the weight instead */
    double clip_norm;    /* of all gradients together, as torch.nn.utils.clip_grad_norm_; 0: none */
    double clip_value;   /* of each entry, after clipping by norm; 0: none */
} plim_optimizer;

/* What PyTorch 2.13 has as defaults; for Lion those of its paper. */
PLIM_API plim_optimizer plim_optimizer_default(plim_optimizer_kind kind);
/* By name: "sgd", "adam", "adamw", "rmsprop", "adagrad", "adafactor", "lion". Returns 0 when there is none. */
PLIM_API int plim_optimizer_find(const char *name, plim_optimizer_kind *kind);
PLIM_API const char *plim_optimizer_name(plim_optimizer_kind kind);

typedef enum plim_schedule_kind { PLIM_CONSTANT, PLIM_STEP, PLIM_COSINE, PLIM_LINEAR } plim_schedule_kind;

/* A factor of the learning rate, from 0 to 1, by the number of the update (from 0). After the warm-up the others count
 * from its end:
 *     constant   1
 *     step       gamma^floor(n / every)
 *     cosine     least + (1 - least) (1 + cos(pi n / N)) / 2      N = total - warmup; from there on, least
 *     linear     1 - (1 - least) n / N */
typedef struct plim_schedule {
    plim_schedule_kind kind;
    int64_t warmup; /* updates during which the factor rises linearly: (n + 1) / warmup */
    int64_t total;  /* updates until cosine and linear have reached `least`, warm-up included; 0: they stay at 1 */
    int64_t every;  /* step: times gamma after so many updates; 0: never */
    double gamma;   /* step; 0 stands for 0.1 */
    double least;   /* factor at the end of cosine and linear */
} plim_schedule;

PLIM_API double plim_schedule_factor(const plim_schedule *schedule, int64_t update);
PLIM_API int plim_schedule_find(const char *name,
                                plim_schedule_kind *kind); /* "constant", "step", "cosine", "linear" */

#ifdef __cplusplus
}
#endif
#endif
