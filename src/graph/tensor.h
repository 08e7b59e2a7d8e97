/* The data behind a constant: shared, in memory or still in its file. Weights are read once, straight to
 * where they are used, and never held twice. */
#ifndef PLIM_GRAPH_TENSOR_H
#define PLIM_GRAPH_TENSOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/packed.h"
#include "graph/shape.h"
#include "plimsoll/dtype.h"

/* An open file that several tensors read from; closed with the last of them. */
typedef struct plim__source {
    atomic_int references;
    int fd;
    char *path;
} plim__source;

plim__source *plim__source_open(const char *path, plim_error *error);
plim__source *plim__source_retain(plim__source *source);
void plim__source_release(plim__source *source);

typedef struct plim__tensor {
    atomic_int references;
    plim_dtype dtype;
    plim__shape shape;
    size_t bytes;
    void *data;           /* row-major, little-endian, packed; NULL while it is only in the file */
    plim__source *source; /* where the bytes are when data is NULL */
    uint64_t offset;
    struct plim__tensor *base; /* or: made from another tensor */
    double *factors;           /* ... float32 rows, each times its factor; NULL: a matrix, transposed */
    plim__packed_form packing; /* ... or: a matrix in few bits (graph/packed.h) */
} plim__tensor;

/* A tensor with room for its data (undefined), from dtype and concrete shape. */
plim_status plim__tensor_create(plim_dtype dtype, const plim__shape *shape, plim__tensor **tensor, plim_error *error);
/* Takes `data` (from malloc) on success and on failure. */
plim_status plim__tensor_take(plim_dtype dtype, const plim__shape *shape, void *data, plim__tensor **tensor,
                              plim_error *error);
/* Data that stays in the file until it is needed; the caller has checked that the file is long enough. */
plim_status plim__tensor_in_file(plim_dtype dtype, const plim__shape *shape, plim__source *source, uint64_t offset,
                                 plim__tensor **tensor, plim_error *error);
/* base[i, ...] · factors[i], computed when it is read, so that folded weights are not held twice; rounded once. */
plim_status plim__tensor_scaled(plim__tensor *base, const double *factors, plim__tensor **tensor, plim_error *error);
/* A matrix the other way round, likewise. */
plim_status plim__tensor_transposed(plim__tensor *base, plim__tensor **tensor, plim_error *error);
/* The same data in another shape of as many elements. */
plim_status plim__tensor_reshaped(plim__tensor *base, const plim__shape *shape, plim__tensor **tensor,
                                  plim_error *error);
/* base in another type of numbers, converted when it is read. */
plim_status plim__tensor_cast(plim__tensor *base, plim_dtype dtype, plim__tensor **tensor, plim_error *error);
/* For plim__tensor_packed. */
plim_status plim__tensor_made_from(plim__tensor *base, plim_dtype dtype, const plim__shape *shape,
                                   plim__packed_form packing, plim__tensor **tensor, plim_error *error);
/* Whether both are the same data: one tensor, or made from one in the same way. */
bool plim__tensor_same(const plim__tensor *a, const plim__tensor *b);
plim__tensor *plim__tensor_retain(plim__tensor *tensor); /* NULL is fine */
void plim__tensor_release(plim__tensor *tensor);         /* NULL is fine */

/* Copies the data to `into` (tensor->bytes), from memory or from the file. */
plim_status plim__tensor_read(const plim__tensor *tensor, void *into, plim_error *error);
/* Brings the data into memory, for constants that the program itself reads. */
plim_status plim__tensor_load(plim__tensor *tensor, plim_error *error);

/* The elements of an integer or float tensor as int64, for axes, shapes and sizes: at most `most`. */
plim_status plim__tensor_ints(plim__tensor *tensor, int64_t *values, size_t most, size_t *count, plim_error *error);
/* One element as a double (any numeric dtype). The data must be in memory. */
double plim__tensor_at(const plim__tensor *tensor, int64_t index);

#endif
