/* The inner loops of batch norm in training on float32, by instruction set.
 *
 * A group is what is normalised together and lies side by side: a block of 8 or 16 channels, one channel of an image
 * that is not blocked, or up to 16 channels of one with channels last. Its pixels lie in planes, one a sample:
 *
 *     | plane 0: pixels × width |  other groups  | plane 1 | ...          width: 8, 16 or 1
 *     | pixel 0: lanes | other groups | pixel 1 | ...  | plane 1 | ...    channels last
 *
 * Both passes over a group follow each other, so that the second one finds its data in a cache. Sums of a few dozen
 * pixels are floats, their sums doubles; they do not depend on the number of threads. */
#ifndef PLIM_KERNEL_SIMD_BATCH_NORM_H
#define PLIM_KERNEL_SIMD_BATCH_NORM_H

#include <stdint.h>

#include "kernel/simd/simd.h"

#define PLIM__NORM_WIDTH 16 /* the most */

typedef struct plim__norm_group {
    int64_t planes, pixels, step; /* step: floats from plane to plane */
    int64_t apart, lanes;         /* channels last: floats from pixel to pixel; channels of the group */
    float low, high;              /* results are clipped to these; infinite where they are not */
    /* of each channel */
    float mean[PLIM__NORM_WIDTH], variance[PLIM__NORM_WIDTH]; /* forward gives them, backward takes them */
    float factor[PLIM__NORM_WIDTH];                           /* scale / deviation */
    float bias[PLIM__NORM_WIDTH];
    double sums[PLIM__NORM_WIDTH], products[PLIM__NORM_WIDTH]; /* backward: of dz and dz · (x - mean) */
    float constant[PLIM__NORM_WIDTH], slope[PLIM__NORM_WIDTH]; /* dx = factor · dz - constant - slope · (x - mean) */
} plim__norm_group;

/* By width: [0] for 8, [1] for 16, [2] for 1, [3] with channels last. */
#define PLIM__NORM_VARIANTS 4
typedef struct plim__simd_batch_norm {
    void (*moments[PLIM__NORM_VARIANTS])(plim__norm_group *g, const float *x);
    void (*apply[PLIM__NORM_VARIANTS])(const plim__norm_group *g, const float *x,
                                       float *y); /* y = clip((x - mean) · factor + bias) */
    void (*sums[PLIM__NORM_VARIANTS])(plim__norm_group *g, const float *x,
                                      const float *dy); /* dz = dy where nothing was clipped */
    void (*back[PLIM__NORM_VARIANTS])(const plim__norm_group *g, const float *x, const float *dy,
                                      float *dx); /* dx may be dy */
} plim__simd_batch_norm;

PLIM__SIMD_TABLE(plim__simd_batch_norm, plim__simd_batch_norm_table)

#endif
