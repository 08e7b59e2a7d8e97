/* A step that is nothing but strided copies, and what the lower functions of movement operators share. */
#ifndef PLIM_KERNEL_COPIES_H
#define PLIM_KERNEL_COPIES_H

#include "kernel/copy.h"
#include "program/lower.h"

/* From in operand `in` to out operand `out`; strides and offsets in elements. */
typedef struct plim__piece {
    int in, out, rank;
    int64_t dims[PLIM__COPY_MAX_RANK], to[PLIM__COPY_MAX_RANK], from[PLIM__COPY_MAX_RANK];
    int64_t to_offset, from_offset;
} plim__piece;

typedef struct plim__copies {
    int threads;
    size_t element_size;
    size_t count;
    plim__piece pieces[];
} plim__copies;

/* Room for `count` pieces, all zero. */
plim_status plim__copies_create(plim__lower *l, plim_dtype dtype, size_t count, plim__copies **copies);
plim_status plim__run_copies(const plim__call *call);
/* Ends the step. */
static inline plim_status plim__copies_emit(plim__lower *l, const char *label, plim__copies *copies) {
    return plim__lower_emit(l, label, plim__run_copies, copies, plim__free);
}

/* Whole bytes of an element; PLIM_UNSUPPORTED for types that are smaller or have no size. */
plim_status plim__lower_element_size(plim__lower *l, plim_dtype dtype, size_t *bytes);
/* For the readers of src/ops, which do not change the graph. */
static inline plim__infer plim__lower_reading(plim__lower *l) {
    return (plim__infer){(plim_graph *)plim__lower_graph(l), plim__lower_node(l), plim__lower_error(l)};
}
/* An output without elements needs a place but no step. */
static inline bool plim__lower_is_empty(const plim__lower *l) {
    return plim__shape_elements(plim__lower_output_shape(l, 0)) == 0;
}
/* For operators that turn out to change nothing: the output is input 0, in whatever layout it has. */
plim_status plim__lower_forward(plim__lower *l);
/* Zeroed state of a kernel; PLIM_NO_MEMORY with a message when there is none. */
plim_status plim__lower_state(plim__lower *l, size_t bytes, void *state);
/* A zeroed table of a kernel, `count` entries of `size` bytes, which may be as long as an axis: refused where the program has no
 * room for it. Freed with plim__free. */
plim_status plim__lower_table(plim__lower *l, int64_t count, size_t size, void *table);

#endif
