/* What a convolution or matrix product does before it writes: add a residual, apply an activation. */
#ifndef PLIM_KERNEL_FORWARD_EPILOGUE_H
#define PLIM_KERNEL_FORWARD_EPILOGUE_H

#include "kernel/onednn.h"

/* oneDNN's algorithm for an activation's name ("relu", "gelu_erf", "clip", ...); undef when it has none. */
dnnl_alg_kind_t plim__activation_algorithm(const char *name);

/* Appends the node's `activation` attribute (with `alpha` and `beta`), if there is one. */
plim_status plim__epilogue_activation(plim__lower *l, dnnl_post_ops_t ops);

#endif
