/* The weights of a smooth resize along one axis. */
#ifndef PLIM_KERNEL_FORWARD_RESIZE_H
#define PLIM_KERNEL_FORWARD_RESIZE_H

#include "ops/movement.h"

/* How many input elements can weigh in on one output element. */
int plim__resize_tap_count(const plim__resize *r, int axis);
/* The `count` input indices (held inside the axis) and weights of output index x. False when x lies outside
 * of the input and takes the extrapolation value. */
bool plim__resize_taps(const plim__resize *r, int axis, int64_t in, int64_t x, int count, int64_t *indices,
                       float *weights);

#endif
