/* What the lowering keeps while it works; private to lower.c, primitive.c and program.c. */
#ifndef PLIM_PROGRAM_LOWER_STATE_H
#define PLIM_PROGRAM_LOWER_STATE_H

#include "program/lower.h"

/* One layout in which a value can be had. */
struct place {
    plim__layout layout;
    bool turned;             /* weights: oneDNN sees the plain memory with other axes, as `seen` tells */
    dnnl_memory_desc_t seen; /* only when turned */
    plim__operand operand;
    int32_t next; /* next place of the same value, -1 at the end */
};

/* The place of a kept value, remembered with the program. */
struct plim__home {
    struct place place;
};

struct plim__lower {
    const plim_graph *graph;
    plim__program *program;
    const plim__program *like; /* may be NULL */
    const plim__node *node;
    int32_t node_index;
    plim_error *error;
    PLIM_VEC(struct place) places;
    int32_t *first;                  /* of each value: its first place, -1 for none */
    bool *written;                   /* of each value: a step changes it where it is */
    PLIM_VEC(plim__operand) in, out; /* of the step to come */
    int32_t scratch, inplace_in, inplace_out;
    uint32_t spill;
    bool emitted; /* the node has a step already; its cost is counted once */
    plim__layout peeked;
};

void plim__lower_reset(plim__lower *l);
plim_status plim__lower_buffer(plim__lower *l, size_t bytes, plim__buffer_kind kind, plim_value value, int32_t *buffer);
/* The value in dense row-major order, rearranged when it is not. */
plim_status plim__lower_value_dense(plim__lower *l, plim_value v, plim__operand *operand);
/* The kernel that executes a primitive; destroys pd. */
plim_status plim__primitive_create(plim__lower *l, dnnl_primitive_desc_t pd, const plim__argument *arguments, int count,
                                   plim__rearrangement *made);

#endif
