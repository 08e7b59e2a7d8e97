/* A device: what lowers the nodes of a graph to steps and executes them. Everything above src/program sees a device only
 * through this struct; the processor (src/kernel/processor.h) is one.
 *
 *   program  holds  target (device, threads), engine, steps
 *   step     holds  run: a kernel that the device's lowering put there. Its call may return before the work is done,
 *                   steps of one engine run in order, and `wait` waits for all of them.
 *
 * Addresses of a device's memory are `char *`: anybody may add to them, only the device reads and writes through them,
 * unless `host` is true. */
#ifndef PLIM_PROGRAM_DEVICE_H
#define PLIM_PROGRAM_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "graph/graph.h"
#include "mem/arena.h"
#include "plimsoll/status.h"
#include "program/layout.h"
#include "program/product.h"

typedef struct plim__engine plim__engine; /* what a device keeps for one program: queues, threads */
struct plim__lower;
struct plim__call;
struct plim__pieces;
struct plim__rearrangement;

typedef struct plim__device {
    const char *name;
    /* Its memory is the process's own: files are read straight into it, sessions hand out pointers into it, and state may
     * be spilled from it. A device without is written to and read from, and has neither of the last two. */
    bool host;

    /* --- engines --- */
    plim_status (*open)(int threads, plim__engine **engine, plim_error *error);
    void (*close)(plim__engine *engine);
    /* Before kernels are run by the calling thread. */
    plim_status (*enter)(const plim__engine *engine, plim_error *error);
    /* Runs a kernel: every one is run by this function. */
    plim_status (*run)(plim_status (*kernel)(const struct plim__call *call), const struct plim__call *call);
    /* Until all steps that were run have ended; the status of the first that failed. */
    plim_status (*wait)(plim__engine *engine);

    /* --- memory --- */
    const plim__memory *memory; /* arenas of its programs are there */
    /* From the host's memory, to it, and zeros. */
    plim_status (*write)(plim__engine *engine, void *to, const void *from, size_t bytes);
    plim_status (*read)(plim__engine *engine, void *to, const void *from, size_t bytes);
    plim_status (*clear)(plim__engine *engine, void *to, size_t bytes);

    /* --- lowering, with the functions of program/lower.h --- */
    /* Emits the steps of the node that is being lowered. */
    plim_status (*lower)(struct plim__lower *l);
    /* A kernel that copies from one arrangement to another. */
    plim_status (*rearrange)(struct plim__lower *l, const plim__arrangement *from, const plim__arrangement *to,
                             struct plim__rearrangement *made);
    /* Whether it can, or must go through plain memory. */
    bool (*rearranges)(const plim__arrangement *from, const plim__arrangement *to);
    bool (*same_axes)(const plim__arrangement *a, const plim__arrangement *b);
    bool (*layout_equal)(const plim__layout *a, const plim__layout *b); /* both blocked */
    /* Whether its products multiply such numbers of 16 bits, with float32 sums, faster than float32. NULL: none. */
    bool (*multiplies)(plim_dtype dtype);
    /* A layout, blocked, of as many elements of another type in the same order; false where there is none. */
    bool (*retype)(plim__layout *layout, plim_dtype dtype);
    size_t (*layout_bytes)(const plim__layout *layout); /* blocked */

    /* How operand 0 is read from the file it is spilled to (program.h); the state is a plim__fetched (stream.h), a piece needs
     * fetch_room. NULL: weights are not streamed on this device. */
    const struct plim__pieces *fetch;
    size_t fetch_room;

    /* A plim__fold (ops/op.h): evaluates a node whose inputs are constants, in the host's memory. */
    plim_status (*fold)(plim_graph *g, int32_t node, void *context, plim_error *error);

    /* --- what it takes from the process --- */
    /* Bytes that a product packs into, of all threads together. */
    plim_status (*packed)(const plim__product *product, int threads, size_t *bytes, plim_error *error);
} plim__device;

/* What a program may take of the process beside its buffers: lowering ends with PLIM_BUDGET where it would be more. */
typedef struct plim__room {
    size_t bytes;    /* 0: any */
    size_t resident; /* of the process, as the system counts it */
    size_t needed;   /* about what the program that ended so would have taken */
} plim__room;

/* What a program is made for. */
typedef struct plim__target {
    const plim__device *device;
    int threads;
    plim__room *room;   /* while it is made; NULL: any */
    bool winograd;      /* convolutions may take that form, which rounds otherwise than sums of products */
    plim_dtype factors; /* what products multiply (PLIM_BF16) where rows allow it; PLIM_DTYPE_NONE: float32 */
} plim__target;

#endif
