/* What plan and train have in common: loss, optimizer, schedule, batch. */
#ifndef PLIM_CLI_TRAIN_OPTIONS_H
#define PLIM_CLI_TRAIN_OPTIONS_H

#include "cli/command.h"
#include "cli/model.h"

#define PLIM__MOST_FREEZE  64
#define PLIM__MOST_CLASSES 4096

/* Rows for a command's option table. */
#define PLIM__LOSS_OPTIONS                                                                                             \
    {"loss", 'l', "NAME", "cross_entropy (the default), bce_with_logits, mse, l1, huber, or model: its output"},       \
        {"loss-output", 0, "NAME", "the output that the loss applies to; the default is the first"},                   \
        {"loss-counts", 0, "NAME", "an output that is 0 where a target does not count; the default is none"},          \
        {"ignore-index", 0, "N", "cross_entropy: targets of this class do not count; the default is -100"},            \
        {"label-smoothing", 0, "X", "cross_entropy: from 0 to 1"},                                                     \
        {"class-weights", 0, "X,X...|balanced",                                                                        \
         "cross_entropy: the weight of each class; balanced (training): the less, the more frequent it is"},           \
    {                                                                                                                  \
        "huber-delta", 0, "X", "huber: where it turns from square to line; the default is 1"                           \
    }

/* Rows for a command's option table. */
#define PLIM__TRAIN_OPTIONS                                                                                            \
    {"batch", 'b', "N", "samples of one update; the default is 32"}, PLIM__SIZE_OPTION,                                \
        {"accumulate", 0, "K", "make the update from K micro-batches; the gradient is that of the whole batch"},       \
        PLIM__LOSS_OPTIONS,                                                                                            \
        {"optimizer", 0, "NAME", "adamw (the default), adam, sgd, rmsprop, adagrad, adafactor or lion"},               \
        {"optimizer-state", 0, "BITS",                                                                                 \
         "8bit (lossy) or 32bit; the default is auto: 8bit where --allow lossy and the budget ask for it"},            \
        {"precision", 0, "NAME",                                                                                       \
         "fp32; bf16 or fp16 (lossy): what waits for the backward pass is rounded to 16 bits, half of its bytes, "     \
         "and products multiply bf16 where the processor can; with "                                                   \
         "fp16 beside a loss that is scaled as PyTorch's GradScaler does; the default is auto: bf16 where --allow "    \
         "lossy and the budget ask for it"},                                                                           \
        {"base", 0, "NAME",                                                                                            \
         "frozen layers in fewer bits, which their products unpack (lossy): bf16, int8 or nf4 (4 bits in blocks of "   \
         "64); or file: they stay in the model's file and are read there each time (reordered); the default is fp32"}, \
        {"no-winograd", 0, NULL,                                                                                       \
         "3x3 convolutions as sums of products, also where Winograd's form, which rounds otherwise, is faster"},       \
        {"lr", 0, "X", "learning rate; each optimizer has its own default, that of PyTorch"},                          \
        {"momentum", 0, "X", "sgd, rmsprop; the default is 0"}, {"nesterov", 0, NULL, "sgd"},                          \
        {"dampening", 0, "X", "sgd; the default is 0"},                                                                \
        {"alpha", 0, "X", "rmsprop: smoothing of squared gradients; the default is 0.99"},                             \
        {"lr-decay", 0, "X", "adagrad: of the learning rate; the default is 0"},                                       \
        {"beta2-decay", 0, "X", "adafactor: the exponent of its decay; the default is -0.8"},                          \
        {"update-threshold", 0, "X", "adafactor: updates are scaled down to this size; the default is 1"},             \
        {"betas", 0, "X,X", "adam, adamw, lion"}, {"eps", 0, "X", "the optimizer's epsilon"},                          \
        {"weight-decay", 0, "X", "the default is 0.01 for adamw, else 0"},                                             \
        {"clip-norm", 0, "X", "scale gradients down to this norm, all together"},                                      \
        {"clip-value", 0, "X", "bound every entry of every gradient"},                                                 \
        {"schedule", 0, "NAME", "constant (the default), step, cosine or linear"},                                     \
        {"warmup", 0, "N", "updates during which the learning rate rises from 0"},                                     \
        {"lr-step", 0, "N", "schedule step: updates between reductions"},                                              \
        {"lr-gamma", 0, "X", "schedule step: factor of a reduction; the default is 0.1"},                              \
        {"lr-least", 0, "X", "cosine and linear: the share of the learning rate at the end; the default is 0"},        \
        {"lr-scale", 0, "GLOB=X",                                                                                      \
         "the learning rate times X for these parameters, as 'layer1.*=0.1'; may be given several times"},             \
        {"freeze", 0, "GLOB", "parameters that stay as they are, as 'features.*'; may be given several times"},        \
        {"trainable", 0, "GLOB", "train these too, whatever the file says they are; may be given several times"}, {    \
        "seed", 0, "N", "of shuffling, dropout and random changes of images; the default is 0"                         \
    }

typedef struct plim__train_settings {
    plim_trainer_options options;
    plim_size sizes[PLIM__MOST_SIZES];
    char names[PLIM__MOST_SIZES][64];
    const char *freeze[PLIM__MOST_FREEZE], *trainable[PLIM__MOST_FREEZE], *rates[PLIM__MOST_FREEZE];
    float class_weights[PLIM__MOST_CLASSES];
    bool balanced; /* --class-weights balanced: known when the data is */
} plim__train_settings;

/* A file whose batch is part of it trains with any batch where that is provably the same; else its batch is that of
 * micro-batches, and --batch must be a multiple. Says so on standard error. */
plim_status plim__train_free_batch(plim__args *args, plim_graph *model, plim__train_settings *settings,
                                   plim_error *error);
/* The values of an option that may be given several times. False after a usage error has been printed. */
bool plim__globs_read(plim__args *args, const char *option, const char *globs[PLIM__MOST_FREEZE], size_t *count);
/* The loss of --loss, or of `kind` where it is not given; what it points to is in `class_weights`. `balanced` may be NULL:
 * weights are numbers then. False after a usage error has been printed. */
bool plim__loss_options_read(plim__args *args, plim_loss_kind kind, float class_weights[PLIM__MOST_CLASSES],
                             plim_loss *loss, bool *balanced);

/* False after a usage error has been printed. `settings` must stay where it is while its options are used. */
bool plim__train_options_read(plim__args *args, plim__train_settings *settings);

#endif
