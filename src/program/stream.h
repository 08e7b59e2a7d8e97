/* Weights that lie in a file and are read when they are needed.
 *
 * A frozen weight that its model's file has as steps read it stays there, and is fetched from there; others are brought to the
 * spill file first.
 *
 *   before   W persistent ──→ steps that read W ──→ update, which changes W
 *   after    W in the file ──→ fetch ──→ copy, transient ──→ the same steps      update, which changes W in the file
 *
 * A fetch is a step like any other: the planner gives its copy a place, and where memory is short the copy dies after the
 * forward pass and is fetched again for the backward pass, as recompute does it with activations. */
#ifndef PLIM_PROGRAM_STREAM_H
#define PLIM_PROGRAM_STREAM_H

#include "mem/spill.h"
#include "program/program.h"

/* Smaller buffers cost a call of the system each and free little: they are not streamed, and spilled last. */
#define PLIM__SPILL_SMALLEST ((size_t)256 << 10)

/* Each begins at a multiple of it in the file. */
#define PLIM__SPILL_PLACE PLIM__SPILL_PAGE

/* The state of a fetch. */
typedef struct plim__fetched {
    size_t bytes;
    plim__tensor *model; /* where the model's file has it; owned reference. NULL: it is in the spill file */
} plim__fetched;

/* Streams every weight of a training program that is large enough and that nothing but a step that can work on a file
 * changes. With `like` (may be NULL), the weights that are streamed there. */
plim_status plim__program_stream(plim__program *program, const plim__program *like, plim_error *error);
/* The weights that `like` streams, with a copy for each step that reads one: for a program whose steps are never done again. */
plim_status plim__program_stream_each(plim__program *program, const plim__program *like, plim_error *error);

#endif
