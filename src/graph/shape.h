/* Shapes: ranks up to 8, dimensions that are numbers or symbols. */
#ifndef PLIM_GRAPH_SHAPE_H
#define PLIM_GRAPH_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/dtype.h"
#include "plimsoll/graph.h"

/* rank -1: unknown. dims < 0: the symbol number -1 - dim of the graph. */
typedef struct plim__shape {
    int rank;
    int64_t dims[PLIM_MAX_RANK];
} plim__shape;

#define PLIM_SHAPE_UNKNOWN ((plim__shape){.rank = -1})

plim__shape plim__shape_of(int rank, const int64_t *dims);
bool plim__shape_equal(const plim__shape *a, const plim__shape *b);
/* Known rank and no symbols. */
bool plim__shape_is_concrete(const plim__shape *shape);
/* Product of concrete dims; -1 when it overflows or is not concrete. A scalar has 1. */
int64_t plim__shape_elements(const plim__shape *shape);
/* Product of dims [from, to). The shape is concrete and its elements do not overflow. */
int64_t plim__shape_product(const plim__shape *shape, int from, int to);
/* Packed bytes. PLIM_OVERFLOW when they do not fit. */
plim_status plim__shape_bytes(const plim__shape *shape, plim_dtype dtype, size_t *bytes, plim_error *error);
/* NumPy's broadcasting of concrete shapes; false when they do not fit. */
bool plim__shape_broadcast(const plim__shape *a, const plim__shape *b, plim__shape *result);
/* -rank..rank-1 to 0..rank-1; false when out of range. */
bool plim__axis_normalize(int64_t axis, int rank, int *normal);
/* "[8,3,224,224]" into `text`; returns text. Symbols print as their names when graph is given. */
#define PLIM_SHAPE_TEXT 192
const char *plim__shape_text(const plim__shape *shape, const plim_graph *graph, char text[PLIM_SHAPE_TEXT]);

#endif
