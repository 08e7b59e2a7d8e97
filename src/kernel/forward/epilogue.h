/* What a convolution or matrix product does before it writes: add a residual, apply an activation. */
#ifndef PLIM_KERNEL_FORWARD_EPILOGUE_H
#define PLIM_KERNEL_FORWARD_EPILOGUE_H

#include "kernel/onednn.h"

/* Appends the node's `activation` attribute (with `activation_alpha` and `activation_beta`), if there is one. */
plim_status plim__epilogue_activation(plim__lower *l, dnnl_post_ops_t ops);

#endif
