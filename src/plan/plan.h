/* A plan: where every buffer of a program lies in one arena, and when it lives. Made before anything runs.
 *
 *   arena:  | weights, state: persistent          | activations, inputs, outputs, workspaces: packed by life span |
 *           0                                persistent_bytes                                        arena_bytes
 */
#ifndef PLIM_PLAN_PLAN_H
#define PLIM_PLAN_PLAN_H

#include "program/program.h"

#define PLIM__ALIGNMENT 64

typedef struct plim__life {
    int32_t born, died; /* first and last step that touches the buffer; born > died: never used */
} plim__life;

typedef struct plim__plan {
    size_t buffer_count;
    int64_t *offsets;         /* of each buffer in the arena; -1 for one that is never used, or spilled */
    int32_t *home;            /* the buffer whose memory it uses: itself, or the one it is written over */
    plim__life *lives;        /* of each home; persistent ones live always */
    size_t persistent_bytes;  /* weights and state */
    size_t arena_bytes;       /* all of it */
    size_t lower_bound_bytes; /* persistent + the largest sum of bytes alive at one step: no plan is lower */
    int32_t peak_step;        /* the step at which that sum is reached */
    int64_t window;           /* what is spilled passes through here, among what is persistent; -1: nothing is */
    int32_t *begins,
        *ends; /* of each step: before which it may begin, after which it has ended (ahead.h); NULL: itself */
} plim__plan;

/* Zero means the default everywhere. */
typedef struct plim__plan_options {
    const struct plim__plan *shared; /* of the program that this one is like: persistent buffers of both are there */
    size_t persistent_from;          /* persistent buffers of this program alone begin here */
    int64_t pack_work;               /* most elementary operations for packing; default a billion, some seconds */
    size_t useful_bytes;             /* a larger arena does not fit: the first packing will do; default any may */
} plim__plan_options;

/* options may be NULL. */
plim_status plim__plan_create(const plim__program *program, const plim__plan_options *options, plim__plan **plan,
                              plim_error *error);
void plim__plan_free(plim__plan *plan);
/* Debug: no two buffers that live at the same time overlap. */
bool plim__plan_is_valid(const plim__plan *plan, const plim__program *program, plim_error *error);

#endif
