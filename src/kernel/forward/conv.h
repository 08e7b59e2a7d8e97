/* A convolution as oneDNN sees it, for its forward and its backward pass. */
#ifndef PLIM_KERNEL_FORWARD_CONV_H
#define PLIM_KERNEL_FORWARD_CONV_H

#include "kernel/onednn.h"

typedef struct plim__conv_geometry {
    int rank, weight_rank;
    dnnl_dims_t x, w, y, stride, dilation, before, after;
    dnnl_dims_t w_strides; /* of the dense weights as oneDNN's axes see them */
} plim__conv_geometry;

/* From the node's attributes and the shapes of input, weights and output. */
plim_status plim__conv_read(const plim__node *node, const plim__shape *x, const plim__shape *w, const plim__shape *y,
                            bool transposed, plim__conv_geometry *s);
/* The layouts that its tensors are described in: with channels last, or oneDNN's choice; all of the type of the program's factors. */
plim_status plim__conv_layouts(plim__lower *l, const plim__conv_geometry *s, bool channels_last, dnnl_memory_desc_t *x,
                               dnnl_memory_desc_t *w, dnnl_memory_desc_t *y);
/* A transposed convolution whose windows do not overlap, where another method is faster; else not `done`. */
plim_status plim__lower_upsample(plim__lower *l, const plim__conv_geometry *s, bool *done);
/* The weight gradient of a convolution that reads few channels, where oneDNN, in its layouts of x and dy, would mostly
 * compute with padding; else not `done`. */
plim_status plim__lower_few_channels(plim__lower *l, const plim__conv_geometry *s, const dnnl_memory_desc_t *x,
                                     const dnnl_memory_desc_t *dy, bool *done);

#endif
