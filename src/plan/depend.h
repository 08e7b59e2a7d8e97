/* What the steps of a program need from each other: which may move, which may be done again.
 *
 * A transient buffer has one maker and any number of readers: only "made before read" binds. A persistent
 * one (a weight, optimizer state, a sum of gradients) is changed where it is: everybody who reads a version of it,
 * every repetition included, stands before the step that writes the next version. */
#ifndef PLIM_PLAN_DEPEND_H
#define PLIM_PLAN_DEPEND_H

#include "program/program.h"

/* Lists of numbers, one list an item: those of item i are items[start[i]] to items[start[i + 1] - 1]. */
typedef struct plim__lists {
    int32_t *start, *items;
} plim__lists;

typedef struct plim__depend_options {
    bool update_in_backward; /* steps of phase UPDATE may move up to where their gradient is complete; otherwise they
                              * stay behind all others, as summing up over micro-batches needs it */
} plim__depend_options;

typedef struct plim__depend {
    const plim__program *program; /* not owned; must outlive this */
    size_t step_count, buffer_count;
    /* of each step */
    plim__lists reads;  /* buffers it reads, each once; persistent ones are left out, here and below */
    plim__lists makes;  /* buffers it writes */
    plim__lists before; /* steps that stand before its first run */
    plim__lists after;  /* the same, the other way round */
    plim__lists closed; /* steps that write over something persistent that it reads: all its runs stand before them */
    bool *repeatable;   /* may be done again: writes nothing persistent, makes nothing that the caller reads */
    bool *last;         /* stands behind all steps that are not `last` */
    int64_t *scratch;   /* bytes of its workspace */
    int32_t *over;      /* the buffer that it may write over when that dies there, -1 for none ... */
    int32_t *onto;      /* ... and the one it makes there */
    /* of each buffer */
    int64_t *bytes;            /* with alignment; 0 for persistent ones */
    int32_t *maker;            /* step; -1 for inputs and persistent ones */
    int32_t *inputs, *outputs; /* buffers that the caller fills before the first step, and reads after the last */
    size_t input_count, output_count;
} plim__depend;

/* options may be NULL. */
plim_status plim__depend_create(const plim__program *program, const plim__depend_options *options,
                                plim__depend **depend, plim_error *error);
void plim__depend_free(plim__depend *depend);

#endif
