/* What the files of normalisations share. */
#ifndef PLIM_KERNEL_FORWARD_NORM_H
#define PLIM_KERNEL_FORWARD_NORM_H

#include "program/lower.h"

/* ONNX's batch norm with training_mode=1 (opset 14 and later), run as it stands, outside of training. */
plim_status plim__lower_batch_norm_training(plim__lower *l);

#endif
