/* What the movement operators are told by attributes or constant inputs, in the form that both inference and
 * the kernels use. Older opsets say it in attributes, newer ones in inputs; readers hide the difference. */
#ifndef PLIM_OPS_MOVEMENT_H
#define PLIM_OPS_MOVEMENT_H

#include "ops/op.h"

/* output[i] = input[start + i * step] for i < size, for every axis of the input. */
typedef struct plim__slice {
    int64_t start[PLIM_MAX_RANK], step[PLIM_MAX_RANK], size[PLIM_MAX_RANK];
} plim__slice;
plim_status plim__slice_read(plim__infer *ctx, plim__slice *slice);

/* The permutation of Transpose: axis i of the output is axis order[i] of the input. */
plim_status plim__transpose_read(plim__infer *ctx, int order[PLIM_MAX_RANK]);

/* The axis and the sizes (one for each output) of Split. `sizes` has room for the node's outputs. */
plim_status plim__split_read(plim__infer *ctx, int *axis, int64_t *sizes);

/* How often each axis is repeated. */
plim_status plim__tile_read(plim__infer *ctx, int64_t repeats[PLIM_MAX_RANK]);

typedef enum plim__pad_mode { PLIM__PAD_CONSTANT, PLIM__PAD_REFLECT, PLIM__PAD_EDGE, PLIM__PAD_WRAP } plim__pad_mode;
typedef struct plim__pad {
    int64_t before[PLIM_MAX_RANK], after[PLIM_MAX_RANK]; /* negative: cut off */
    plim__pad_mode mode;
    bool value_is_input; /* input 2, otherwise `value` */
    float value;
} plim__pad;
plim_status plim__pad_read(plim__infer *ctx, plim__pad *pad);

typedef enum plim__resize_mode { PLIM__RESIZE_NEAREST, PLIM__RESIZE_LINEAR, PLIM__RESIZE_CUBIC } plim__resize_mode;
typedef enum plim__resize_coordinates {
    PLIM__HALF_PIXEL,
    PLIM__HALF_PIXEL_SYMMETRIC,
    PLIM__PYTORCH_HALF_PIXEL,
    PLIM__TF_HALF_PIXEL_FOR_NN,
    PLIM__ALIGN_CORNERS,
    PLIM__ASYMMETRIC,
    PLIM__TF_CROP_AND_RESIZE,
} plim__resize_coordinates;
typedef enum plim__resize_rounding {
    PLIM__ROUND_PREFER_FLOOR,
    PLIM__ROUND_PREFER_CEIL,
    PLIM__FLOOR,
    PLIM__CEIL,
} plim__resize_rounding;
typedef struct plim__resize {
    plim__shape out;
    double scale[PLIM_MAX_RANK];     /* output / input, as given */
    double roi_start[PLIM_MAX_RANK]; /* of tf_crop_and_resize */
    double roi_end[PLIM_MAX_RANK];
    plim__resize_mode mode;
    plim__resize_coordinates coordinates;
    plim__resize_rounding rounding;
    bool antialias, exclude_outside;
    float cubic_a, extrapolation;
} plim__resize;
plim_status plim__resize_read(plim__infer *ctx, plim__resize *resize);
/* Where output index x lies along an axis of the input. */
double plim__resize_coordinate(const plim__resize *resize, int axis, int64_t in, int64_t x);
/* The source index that nearest takes; -1 for outside (tf_crop_and_resize). */
int64_t plim__resize_nearest(const plim__resize *resize, int axis, int64_t in, int64_t x);

/* An equation, parsed. Labels are numbers: each letter one, each axis behind an ellipsis one. */
#define PLIM__EINSUM_INPUTS 16
#define PLIM__EINSUM_LABELS 64
typedef struct plim__einsum {
    int inputs;
    int rank[PLIM__EINSUM_INPUTS];
    int labels[PLIM__EINSUM_INPUTS][PLIM_MAX_RANK];
    int out_rank;
    int out_labels[PLIM_MAX_RANK];
    int64_t size[PLIM__EINSUM_LABELS]; /* 0 axes have size 0; unused labels -1 */
} plim__einsum;
plim_status plim__einsum_read(plim__infer *ctx, plim__einsum *einsum);

/* The axis attribute, normalised; `missing` when it is not given. */
plim_status plim__axis_read(plim__infer *ctx, const char *name, int64_t missing, int rank, int *axis);

#endif
