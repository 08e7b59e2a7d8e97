/* Adapters (LoRA): small trained matrices beside frozen layers, in the files of PEFT.
 *
 *     y = x·W  becomes  y = x·W + alpha / rank · dropout(x)·Aᵀ·Bᵀ      A (rank, in), B (out, rank), which begins as zeros
 *
 *     plim_lora_add(model, &(plim_lora_options){.rank = 8}, &layers, &error);
 *     ... a trainer of the model trains A and B; nothing else has a gradient or optimizer state ...
 *     plim_lora_save(trainer, "adapter", &error);           adapter_model.safetensors and adapter_config.json
 *     plim_lora_merge(trainer, "model.onnx", &error);       the whole model, as it was before, with other weights
 */
#ifndef PLIMSOLL_LORA_H
#define PLIMSOLL_LORA_H

#include "plimsoll/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero is the default in every field. */
typedef struct plim_lora_options {
    size_t size;    /* sizeof(plim_lora_options), or 0; see plimsoll.h */
    int64_t rank;   /* default: 8 */
    double alpha;   /* default: 16 */
    double dropout; /* of what the adapters read, from 0 to below 1 */
    const char *const
        *targets; /* globs on the names of layers (of weights, without ".weight"), whole or what follows a dot;
                                   default: queries and values of attention as the public models call them */
    size_t target_count;
    const char
        *from; /* a folder of PEFT's: its layers, rank, alpha and matrices; rank, alpha and targets are not read */
    uint64_t seed;
} plim_lora_options;

/* Adds adapters to a model, and freezes everything else; what trainer options name as trainable is trained all the same. Targets
 * that match no layer are PLIM_NOT_FOUND, a folder that is for another model is PLIM_INVALID, and a model that has adapters is
 * refused. After a failure the model may have some of them and should be dropped. *layers (may be NULL): how many it has. */
PLIM_API plim_status plim_lora_add(plim_graph *model, const plim_lora_options *options, size_t *layers,
                                   plim_error *error);
/* Writes the adapters of a trainer's model to a folder, which is made where there is none, as PEFT does. */
PLIM_API plim_status plim_lora_save(plim_trainer *trainer, const char *folder, plim_error *error);
/* Writes the model without adapters, as .onnx or .safetensors: their part is in the weights. */
PLIM_API plim_status plim_lora_merge(plim_trainer *trainer, const char *path, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
