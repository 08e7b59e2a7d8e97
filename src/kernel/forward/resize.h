/* The weights of a smooth resize along one axis. */
#ifndef PLIM_KERNEL_FORWARD_RESIZE_H
#define PLIM_KERNEL_FORWARD_RESIZE_H

#include "ops/movement.h"

/* How many input elements can weigh in on one output element. */
int plim__resize_tap_count(const plim__resize *r, int axis);
/* Where input indices and their weights go, `count` of them. */
typedef struct plim__taps {
    int count;
    int64_t *indices;
    float *weights;
} plim__taps;
/* The taps of output index x, held inside the axis of `in` elements. False when x lies outside of the input and takes
 * the extrapolation value. */
bool plim__resize_taps(const plim__resize *r, int axis, int64_t in, int64_t x, plim__taps to);

#endif
