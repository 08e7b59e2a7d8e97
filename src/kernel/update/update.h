/* What kernels that go over whole parameters share: fixed blocks, so that no number depends on how many threads there
 * are. */
#ifndef PLIM_KERNEL_UPDATE_UPDATE_H
#define PLIM_KERNEL_UPDATE_UPDATE_H

#include <math.h>

#include "kernel/copies.h"
#include "kernel/loops.h"
#include "kernel/simd/update.h"
#include "ops/update.h"

#define PLIM__UPDATE_BLOCK 8192 /* elements */

static inline int64_t plim__update_blocks(int64_t elements) {
    return (elements + PLIM__UPDATE_BLOCK - 1) / PLIM__UPDATE_BLOCK;
}
static inline int64_t plim__update_block_size(int64_t elements, int64_t block) {
    int64_t rest = elements - block * PLIM__UPDATE_BLOCK;
    return rest < PLIM__UPDATE_BLOCK ? rest : PLIM__UPDATE_BLOCK;
}

/* What a node says of its rule, and what that means for one update. */
typedef struct plim__update {
    plim__update_rule rule;
    int64_t elements;
    bool has_m, has_v;
    bool decoupled;
    double clip, decay, momentum, dampening, beta1, beta2, alpha, epsilon, rate_decay;
    double factor; /* of the rate */
} plim__update;

plim__update plim__update_of(const plim__node *node, plim__update_rule rule);
/* By the first two in operands of a call: {learning rate, number}, the scale. */
plim__update_numbers plim__update_now(const plim__update *update, const plim__call *call);

/* The update of a node whose states are in 8 bits (update8.c). */
plim_status plim__lower_update8(plim__lower *l, plim__update_rule rule);

/* The sum of x²; `partial` has room for plim__update_blocks(n). */
double plim__sum_squares(const float *x, int64_t n, double *partial);

/* How updates read the gradient: times the scale (may be NULL), clipped unless `clip` is 0. */
static inline plim__update_numbers plim__update_numbers_of(const float *scale, double clip) {
    return (plim__update_numbers){.scale = scale ? *scale : 1, .clip = clip > 0 ? (float)clip : INFINITY};
}

#endif
