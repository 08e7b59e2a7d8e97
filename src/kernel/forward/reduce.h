/* Reductions: any axes of a strided tensor, into a dense result.
 *
 * The axes fall into those that are kept and those that are folded, each list merged as far as strides allow.
 * Work is cut into tasks: up to PLIM__FOLD_WIDTH neighbouring results each when neighbours lie side by side in
 * memory (columns), one result otherwise (rows). Tasks go to threads; when there are fewer tasks than threads the
 * folded axes are cut instead. */
#ifndef PLIM_KERNEL_FORWARD_REDUCE_H
#define PLIM_KERNEL_FORWARD_REDUCE_H

#include "kernel/simd/reduce.h"
#include "program/lower.h"

#define PLIM__FOLD_WIDTH 512
#define PLIM__FOLD_RANK  (PLIM_MAX_RANK + 1) /* a blocked axis counts as two */

typedef struct plim__axis_list {
    int rank;
    int64_t dims[PLIM__FOLD_RANK], strides[PLIM__FOLD_RANK]; /* strides in bytes */
} plim__axis_list;

typedef enum plim__fold_end { /* what becomes of the accumulated value */
                              PLIM__END_NONE,
                              PLIM__END_MEAN,
                              PLIM__END_SQRT,
                              PLIM__END_LOG,
                              PLIM__END_DEVIATION, /* square root of the mean, and a little so that one can divide by it
                                                    */
} plim__fold_end;

typedef struct plim__reduction {
    plim_dtype dtype;
    plim__fold_kind kind;
    plim__fold_end end;
    plim__axis_list kept, folded;
    int64_t results, count; /* how many results, of how many elements each */
    bool columns;
} plim__reduction;

/* axes: true for those to fold. The layout is strided, or blocked in a way that plim__reduction_takes allows. */
void plim__reduction_init(plim__reduction *r, const plim__layout *in, const bool *axes, plim__fold_kind kind,
                          plim__fold_end end);
bool plim__reduction_takes(const plim__layout *in, const bool *axes);
/* Scratch that running needs with this many threads. */
size_t plim__reduction_scratch(int threads);
void plim__reduction_run(const plim__reduction *r, const void *in, void *out, void *scratch, int threads);

/* NULL for types without loops. */
const plim__fold_loops *plim__fold_loops_of(plim_dtype dtype);

/* Axes of a node, from the attribute or the constant input 1: true for those to fold. False when there is nothing to do
 * (no axes, noop_with_empty_axes). */
bool plim__lower_fold_axes(plim__lower *l, bool axes[PLIM_MAX_RANK]);

#endif
