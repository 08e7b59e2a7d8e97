/* Folders of PEFT's: adapter_config.json beside adapter_model.safetensors, whose names are
 * "base_model.model." + layer + ".lora_A.weight" or ".lora_B.weight". */
#ifndef PLIM_FORMAT_PEFT_H
#define PLIM_FORMAT_PEFT_H

#include "format/weights.h"
#include "graph/lora.h"

#define PLIM__PEFT_PREFIX "base_model.model."

/* Writes both files; the folder is made where there is none. Names of the weights are those of the model. */
plim_status plim__peft_write(const char *folder, const plim__lora_numbers *numbers, const plim__weights *weights,
                             plim_error *error);

#endif
