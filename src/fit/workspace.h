/* Memory that kernels ask for while they work: cuBLAS keeps its own for good, cuDNN takes some for each convolution. */
#ifndef PLIM_FIT_WORKSPACE_H
#define PLIM_FIT_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>

/* A convolution as a trace's operator tells it. */
typedef struct plim__convolution {
    int64_t x[5], w[5], y[5]; /* batch, channels, space; filters, channels of a group, space; output */
    int rank;                 /* of all three: 3 to 5 */
    int64_t groups, element;
    bool transposed, backward, strided;
    bool wants_input, wants_weight; /* backward: which gradients */
} plim__convolution;

/* Reads "conv 8x3x86x86 64x3x7x7 s2x2 p3x3 d1x1 g1 t0 e4"; false when the text is no convolution. */
bool plim__convolution_read(const char *text, plim__convolution *conv);

/* Bytes of the work space for the weight's gradient as most stacks have it; the other two passes have none there. */
uint64_t plim__conv_weight_bytes(const plim__convolution *conv, int capability);
/* Bytes where cuDNN rearranges all three tensors so that channels come last: the most that it is known to take. */
uint64_t plim__conv_all_bytes(const plim__convolution *conv);

/* One for each thread that multiplies matrices. */
uint64_t plim__cublas_bytes(int capability);

#endif
