/* Losses: how far a model's output is from what was wanted. */
#ifndef PLIMSOLL_LOSS_H
#define PLIMSOLL_LOSS_H

#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum plim_loss_kind {
    PLIM_LOSS_CROSS_ENTROPY,   /* scores of classes (N, C), (N, T, C) or (N, C, H, W); targets: class numbers */
    PLIM_LOSS_BCE_WITH_LOGITS, /* one score an element; targets 0..1 of the same shape */
    PLIM_LOSS_MSE,
    PLIM_LOSS_L1,
    PLIM_LOSS_HUBER,
    PLIM_LOSS_MODEL, /* the output is the loss already */
} plim_loss_kind;

/* One of which only .kind is set is plim_loss_default of that kind. */
typedef struct plim_loss {
    plim_loss_kind kind;
    const char *output;         /* what it applies to; NULL: the model's first output */
    int ignores;                /* cross entropy: targets equal to ignore_index do not count */
    int64_t ignore_index;       /* default -100 */
    double label_smoothing;     /* cross entropy: 0 to 1 */
    const float *class_weights; /* cross entropy: one a class, or NULL */
    size_t class_count;
    double delta; /* huber; default 1 */
    const char
        *counts; /* an output of the model, 1 or 0 for the first axes of the targets (float32): those that count, over
                           which the mean is; NULL: all */
    int64_t sample_weights; /* how many of the targets' first axes have weights that come with the data, as the field
                               PLIM_SAMPLE_WEIGHTS (float32): 1: one a sample; 0: none. What is lost is times them; the mean
                               stays one over all that count, as in Keras */
    uint64_t reserved[2];   /* zero: room for later versions */
} plim_loss;

#define PLIM_SAMPLE_WEIGHTS "plimsoll.sample_weights"

/* What PyTorch has as defaults. */
PLIM_API plim_loss plim_loss_default(plim_loss_kind kind);
/* By name: "cross_entropy", "bce_with_logits", "mse", "l1", "huber", "model". Returns 0 when there is none. */
PLIM_API int plim_loss_find(const char *name, plim_loss_kind *kind);
PLIM_API const char *plim_loss_name(plim_loss_kind kind);

#ifdef __cplusplus
}
#endif
#endif
