/* What the quantized operators share: where a scale applies, and the geometry of an integer convolution. */
#ifndef PLIM_OPS_QUANTIZE_H
#define PLIM_OPS_QUANTIZE_H

#include "ops/op.h"

/* x seen as [outer, length, inner]; element (o, a, i) has the scale number
 *     per tensor: 0      per axis: a      blocked: (o · blocks + a / block) · inner + i */
typedef struct plim__quantization {
    enum { PLIM__PER_TENSOR, PLIM__PER_AXIS, PLIM__BLOCKED } kind;
    int64_t outer, length, inner, block, blocks;
} plim__quantization;
/* For QuantizeLinear and DequantizeLinear: x is input 0, its scale input 1. */
plim_status plim__quantization_read(plim__infer *ctx, plim__quantization *q);

#define PLIM__CONV_AXES 3
typedef struct plim__conv_geometry {
    int axes;
    int64_t batch, groups, in_channels, out_channels; /* channels of all groups */
    int64_t in[PLIM__CONV_AXES], out[PLIM__CONV_AXES], kernel[PLIM__CONV_AXES], stride[PLIM__CONV_AXES];
    int64_t dilation[PLIM__CONV_AXES], pad[PLIM__CONV_AXES]; /* pad: before */
} plim__conv_geometry;
/* x and w are the numbers of the inputs. */
plim_status plim__conv_geometry_read(plim__infer *ctx, size_t x, size_t w, plim__conv_geometry *geometry);

/* a [.., M, K] and b [.., K, N] with broadcast batch axes; vectors get an axis of 1 that `out` drops again. */
typedef struct plim__product_geometry {
    int64_t m, k, n;
    int batch_rank;
    int64_t batch[PLIM_MAX_RANK];                               /* broadcast */
    int64_t a_strides[PLIM_MAX_RANK], b_strides[PLIM_MAX_RANK]; /* of the batch axes, in matrices */
    plim__shape out;
} plim__product_geometry;
plim_status plim__product_geometry_read(plim__infer *ctx, size_t a, size_t b, plim__product_geometry *geometry);

#endif
