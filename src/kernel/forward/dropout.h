/* Dropout by counters: which elements are dropped, for every kernel that drops some. */
#ifndef PLIM_KERNEL_FORWARD_DROPOUT_H
#define PLIM_KERNEL_FORWARD_DROPOUT_H

#include "kernel/simd/dropout.h"
#include "program/lower.h"

typedef struct plim__dropout {
    uint64_t seed, counter;
    uint32_t threshold; /* an element is dropped with probability threshold / 2^32 */
    bool all;           /* are dropped */
    float scale;
    int64_t count;
    int64_t before, samples, after; /* count, around the batch axis; 1, 1, count when there is none */
    bool batch;
} plim__dropout;

/* From the node's attributes, for `count` elements. */
plim__dropout plim__dropout_of(const plim__node *node, int64_t count);
/* What draws the numbers of this run. */
plim__dropout_draw plim__dropout_key(const plim__dropout *s, const plim__call *call);
/* The number of element `i` among all that the batch draws: its samples one after the other. */
static inline int64_t plim__dropout_number(const plim__dropout *s, int64_t i, int64_t sample) {
    int64_t line = i / s->after; /* (before, samples) */
    return ((sample + line % s->samples) * s->before + line / s->samples) * s->after + i % s->after;
}
/* y = x / (1 - ratio) or 0, for elements with the numbers `first` to `last` - 1, side by side; y may be x. */
void plim__dropout_run(const plim__dropout_draw *draw, const float *x, float *y, int64_t first, int64_t last);

#endif
