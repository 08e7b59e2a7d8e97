/* What explain adds when the model is given too: the job simulated on the card of the log, and what would make it fit. */
#ifndef PLIM_CLI_EXPLAIN_MODEL_H
#define PLIM_CLI_EXPLAIN_MODEL_H

#include "cli/command.h"

/* --model, --batch, --size, --optimizer and --precision; the card is --gpu, or has the capacity of the log. A log of
 * TensorFlow's is of its graph mode, every other of PyTorch. Prints, or adds "prediction" to `object` when it is not NULL. The exit
 * code. */
int plim__explain_model(plim__args *args, uint64_t capacity, const char *framework, json_t *object);

#endif
