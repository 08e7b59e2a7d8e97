/* Channels that fill no block. oneDNN's blocked layouts pad channels to blocks of 16 (AVX2: 8), and compute with the padding on
 * both sides: 29 channels as 32, 67 as 80. With channels last only a vector at the end of a pixel is not full, and nothing is
 * padded in memory. It takes 0.8 to 0.95 of the blocked form's time there, and as much where blocks are full. */
#ifndef PLIM_KERNEL_CHANNELS_LAST_H
#define PLIM_KERNEL_CHANNELS_LAST_H

#include "kernel/forward/conv.h"

/* Channels with those that fill up their blocks; the few of an image are not in blocks. */
double plim__channels_in_blocks(int64_t channels);
/* Whether most of this graph's work is in convolutions that would be padded, all of them of a kind that does without. It depends
 * on the channels alone: programs for other batches, and for evaluation, agree. */
bool plim__channels_last_pay(const plim_graph *g);
/* Whether this convolution of the program takes the layout. */
bool plim__channels_last_suits(const plim__lower *l, const plim__conv_geometry *s);
/* Makes the description of a direct convolution in that layout, as plim__winograd_describe. */
plim_status plim__channels_last_describe(plim__lower *l, const void *desc, const_dnnl_primitive_attr_t attr,
                                         const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd);

#endif
