/* Winograd's form of a 3x3 convolution: 16 results of a tile come from 36 products of transformed numbers instead of 144.
 * oneDNN has it for AVX-512, forward and for both gradients, in the layouts of its direct form. It takes 0.37 to 0.85 of the
 * direct form's time, rounds otherwise (some 2e-6 of the largest result), and needs memory for transformed tiles and weights.
 * Programs that are not asked for it (plim__target) are direct. */
#ifndef PLIM_KERNEL_WINOGRAD_H
#define PLIM_KERNEL_WINOGRAD_H

#include "kernel/forward/conv.h"

/* Whether the program takes it, and the shape is one for which it is faster. */
bool plim__winograd_suits(const plim__lower *l, const plim__conv_geometry *s);
/* Makes the description of oneDNN's Winograd form, with these attributes (NULL: plain ones) and this forward pass as a hint
 * (NULL: none); *pd is NULL where oneDNN has none, or where the program has no room for it. */
plim_status plim__winograd_describe(plim__lower *l, const plim__conv_geometry *s, const dnnl_convolution_desc_t *desc,
                                    const_dnnl_primitive_attr_t attr, const_dnnl_primitive_desc_t hint,
                                    dnnl_primitive_desc_t *pd);

#endif
