/* What the lowering knows while it works; private to src/program. */
#ifndef PLIM_PROGRAM_LOWER_STATE_H
#define PLIM_PROGRAM_LOWER_STATE_H

#include "core/address_map.h"
#include "program/lower.h"

/* One arrangement in which a value can be had. */
struct place {
    const plim__arrangement *as; /* the program's */
    plim__operand operand;
    int32_t next; /* next place of the same value, -1 at the end */
};

/* Of a float32 buffer: another one that holds the same elements in 16 bits. */
struct twin {
    int32_t buffer; /* -1: none */
    plim__phase phase;
};

struct plim__lower {
    const plim_graph *graph;
    plim__program *program;
    const plim__program *like; /* may be NULL */
    const plim__node *node;
    int32_t node_index;
    plim_error *error;
    PLIM_VEC(struct place) places;
    PLIM_VEC(struct twin) twins;     /* of each buffer up to the last one that has a twin */
    int32_t *first;                  /* of each value: its first place, -1 for none */
    bool *written;                   /* of each value: a step changes it where it is */
    PLIM_VEC(plim__operand) in, out; /* of the step to come */
    int32_t scratch, inplace_in, inplace_out;
    uint32_t spill;
    const plim__pieces *pieces;
    bool emitted; /* the node has a step already; its cost is counted once */
    plim__layout peeked;
    plim__address_map codes; /* that were counted */
};

static inline const plim__value *plim__lower_value(const plim__lower *l, plim_value v) {
    return &l->graph->values.items[v];
}
void plim__lower_reset(plim__lower *l);
plim_status plim__lower_no_memory(plim__lower *l);
plim_status plim__lower_buffer(plim__lower *l, size_t bytes, plim__buffer_kind kind, plim_value value, int32_t *buffer);

/* --- places (places.c) ---------------------------------------------------------------------------------------- */

/* The first place of a value is its own; copies for its readers follow. NULL when it has none yet. */
struct place *plim__place_first(const plim__lower *l, plim_value v);
struct place *plim__place_find(const plim__lower *l, plim_value v, const plim__arrangement *as);
/* `as` is copied, unless the program has one like it. */
plim_status plim__place_add(plim__lower *l, plim_value v, const plim__arrangement *as, plim__operand operand);
/* Gives a weight without a place one, dense unless the program is like another; fails for other values without one. */
plim_status plim__place_need(plim__lower *l, plim_value v);
/* Gives a persistent value the place that it has in the program which this one is like, if it has one there. */
plim_status plim__place_adopt(plim__lower *l, plim_value v);
/* A place of exactly this arrangement: one that is there, a weight's own, or a copy that a step makes. */
plim_status plim__place_get(plim__lower *l, plim_value v, const plim__arrangement *want, plim__operand *operand);
/* The same for the arrangement of `home`, another value's: for steps that go over whole buffers. */
plim_status plim__place_get_like(plim__lower *l, plim_value v, const plim__arrangement *home, plim__operand *operand);
/* A program grows by its nodes about evenly: what is there of it tells what all of it will take beside its buffers. */
size_t plim__lower_expected_bytes(const plim__lower *l);
/* Appends a step that rearranges. Takes `made`, also on failure. */
plim_status plim__place_copy_step(plim__lower *l, const char *label, plim__rearrangement made, plim__operand from,
                                  plim__operand to, double bytes);
bool plim__place_is_weight(const plim__value *value);
/* The value in dense row-major order. */
plim_status plim__place_dense(plim__lower *l, plim_value v, plim__operand *operand);
/* A persistent value without a place gets one, arranged like `home`. */
plim_status plim__place_like(plim__lower *l, plim_value v, const plim__arrangement *home);

/* --- in 16 bits (twins.c) ------------------------------------------------------------------------------------- */

/* A float32 value in this arrangement of a type of 16 bits. */
plim_status plim__twin_get(plim__lower *l, plim_value v, const plim__arrangement *want, plim__operand *operand);
/* Its buffer was changed: what it was converted to is not what it holds. */
void plim__twin_drop(plim__lower *l, int32_t buffer);

#endif
