/* Windows that slide over the spatial axes of (N, C, D1, D2, ...): what convolutions and pools have in common. */
#ifndef PLIM_OPS_WINDOW_H
#define PLIM_OPS_WINDOW_H

#include "ops/op.h"

#define PLIM__MAX_SPATIAL (PLIM_MAX_RANK - 2)

typedef struct plim__window {
    int axes; /* spatial ones */
    int64_t kernel[PLIM__MAX_SPATIAL], stride[PLIM__MAX_SPATIAL], dilation[PLIM__MAX_SPATIAL];
    int64_t before[PLIM__MAX_SPATIAL], after[PLIM__MAX_SPATIAL]; /* padding */
    int64_t in[PLIM__MAX_SPATIAL], out[PLIM__MAX_SPATIAL];       /* sizes */
} plim__window;

/* Reads kernel_shape (or takes `kernel` when that is given), strides, dilations, pads, auto_pad and ceil_mode,
 * and computes the output sizes for an input of this shape. `why` (may be NULL) gets the reason of a failure. */
plim_status plim__window_read(const plim__node *node, const plim__shape *x, const int64_t *kernel, plim__window *window,
                              const char **why);
/* The same for a transposed convolution: sizes grow; output_padding and output_shape count. */
plim_status plim__window_read_transposed(const plim__node *node, const plim__shape *x, const int64_t *kernel,
                                         plim__window *window, const char **why);

#endif
