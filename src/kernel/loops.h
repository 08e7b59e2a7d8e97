/* The loop under every pointwise kernel of our own: walks an output and its broadcast inputs together.
 *
 * Built once when a node is lowered, run at every step:
 *
 *     plim__loop loop;
 *     plim__loop_start(&loop, &shape);      // shape of the output
 *     plim__loop_add(&loop, &out);          // operand 0, then the inputs
 *     plim__loop_add(&loop, &a);
 *     plim__loop_add(&loop, &b);
 *     plim__loop_finish(&loop);             // drops axes of size 1, orders and merges the rest
 *     ...
 *     plim__loop_run(&loop, (char *[]){y, a, b}, body, context);
 *
 * [17,23,31] + [31] becomes 391 rows of 31; equal dense shapes become one row of any length. The body gets one
 * row at a time (or a piece of it) and the step in bytes from element to element, 0 for a broadcast input. */
#ifndef PLIM_KERNEL_LOOPS_H
#define PLIM_KERNEL_LOOPS_H

#include <stdint.h>

#include "program/lower.h"

#define PLIM__LOOP_OPERANDS 4
#define PLIM__LOOP_RANK     (PLIM_MAX_RANK + 2) /* a blocked axis counts as two */

typedef struct plim__loop {
    int operands, rank;
    int64_t dims[PLIM__LOOP_RANK];
    int64_t strides[PLIM__LOOP_OPERANDS][PLIM__LOOP_RANK]; /* bytes */
} plim__loop;

/* y[i] = f(a[i], b[i], ...) for i in 0..n-1; at[0] is the output. An output may be the same memory as an input
 * with the same step, never overlap one otherwise. */
typedef void (*plim__loop_body)(const void *context, int64_t n, char *const *at, const int64_t *steps);

void plim__loop_start(plim__loop *loop, const plim__shape *shape);
/* The next operand, not blocked, broadcast as NumPy does. */
void plim__loop_add(plim__loop *loop, const plim__layout *layout);
/* The same, but its axis 0 is aligned with the loop's axis `axis` (ONNX before opset 7). */
void plim__loop_add_at(plim__loop *loop, const plim__layout *layout, int axis);
void plim__loop_finish(plim__loop *loop);
/* All operands are one run of `elements`: no broadcasting, any order. */
void plim__loop_flat(plim__loop *loop, int64_t elements, int operands, const size_t *element_bytes);
/* Runs in parallel when there is enough to do. */
void plim__loop_run(const plim__loop *loop, char *const *base, plim__loop_body body, const void *context);

/* Threads worth starting for this many elements of cheap work. */
int plim__loop_threads(int64_t elements);
/* The t-th of k nearly equal parts of 0..count-1. */
static inline void plim__loop_part(int64_t count, int t, int k, int64_t *from, int64_t *to) {
    int64_t share = count / k, rest = count % k;
    *from = share * t + (t < rest ? t : rest);
    *to = *from + share + (t < rest);
}

#endif
