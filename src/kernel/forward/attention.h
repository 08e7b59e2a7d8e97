/* Attention by blocks of queries: what its forward and its backward pass share. */
#ifndef PLIM_KERNEL_FORWARD_ATTENTION_H
#define PLIM_KERNEL_FORWARD_ATTENTION_H

#include "kernel/forward/dropout.h"
#include "program/lower.h"

#define PLIM__ATTENTION_ROWS 64 /* queries at a time */

/* Many matrices, one for each head. */
typedef struct plim__matrices {
    int64_t batch[PLIM_MAX_RANK]; /* strides of the leading axes */
    int64_t row, column;
} plim__matrices;

typedef struct plim__attention {
    int leading;
    int64_t dims[PLIM_MAX_RANK]; /* leading axes */
    int64_t heads;               /* their product */
    int64_t queries, keys, depth, width;
    plim__matrices q, k, v, y, mask;
    bool has_mask, causal;
    bool guarded; /* a row of weights that are not numbers, since nothing is visible, is zeros */
    bool drops;   /* weights, as DropoutTrain does on (..., Tq, Tk) */
    plim__dropout dropout;
    float scale;
    size_t scores, packed_keys; /* floats of one thread: weights of a block of queries; keys, as scores need them */
    int threads;
} plim__attention;

/* Node inputs first to first + 3 (q, k, v, mask) become operands, in layouts that products can read. */
plim_status plim__attention_read(plim__lower *l, size_t first, plim__attention *s);
/* Node input i with contiguous rows (or columns, for keys), made dense where it has neither. */
plim_status plim__attention_take(plim__lower *l, size_t i, bool keys, plim__matrices *m);
/* (..., H, T, E) that lies in memory as (..., T, H, E), so that putting heads side by side moves nothing. */
plim__layout plim__attention_layout(const plim__shape *y);
plim__matrices plim__matrices_of(const plim__layout *layout);
int64_t plim__matrices_offset(const plim__attention *s, const plim__matrices *m, int64_t head);
/* How many keys the queries first to first + rows - 1 see at most. */
int64_t plim__attention_visible(const plim__attention *s, int64_t first, int64_t rows);
/* The keys of one head as the second factor of scores (kernel/simd/panels.h), in s->packed_keys floats. */
void plim__attention_pack_keys(const plim__attention *s, const float *k, float *to);
/* Some queries of one head, and how many keys they see at most; q, mask and the packed keys are the head's. */
typedef struct plim__queries {
    const float *q, *keys, *mask;
    int64_t first, rows, visible;
} plim__queries;
/* Weights (rows × visible) of one head, or their gradients, with those dropped that the run drops; to may be from. */
void plim__attention_drop(const plim__attention *s, const plim__call *call, int64_t head, const plim__queries *b,
                          const float *from, float *to);
/* softmax(scale · q·k + mask) into weights (rows × visible). */
void plim__attention_weights(const plim__attention *s, const plim__queries *b, float *weights);

#endif
