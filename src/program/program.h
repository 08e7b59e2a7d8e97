/* A lowered graph: buffers of known size and steps that read and write them. What the planner places and
 * the runner executes; it knows nothing of operators or kernels any more.
 *
 *   value ──→ operand (buffer, byte offset)        views share a buffer
 *   step:  in operands, out operands, scratch  ──→ run(call)
 */
#ifndef PLIM_PROGRAM_PROGRAM_H
#define PLIM_PROGRAM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/vec.h"
#include "graph/graph.h"
#include "ops/op.h"
#include "program/device.h"

typedef enum plim__buffer_kind {
    PLIM__BUFFER_WEIGHT,     /* parameters and constants; filled at load time, persistent */
    PLIM__BUFFER_STATE,      /* optimizer state, statistics; persistent */
    PLIM__BUFFER_INPUT,      /* filled by the caller before the first step */
    PLIM__BUFFER_ACTIVATION, /* transient: written by a step */
    PLIM__BUFFER_GRADIENT,   /* the gradient of a parameter */
    PLIM__BUFFER_WORKSPACE,  /* scratch of one step */
} plim__buffer_kind;

typedef struct plim__buffer {
    size_t bytes;
    plim__buffer_kind kind;
    plim_value value; /* what it holds, for reports; PLIM_NO_VALUE for scratch */
    bool output;      /* read by the caller after the last step */
    bool persistent;  /* holds its data from one run to the next: weights, state, gradients that are summed up */
    bool streamed;    /* a weight that always lies in a file: steps read copies of it (stream.h) */
    bool in_model;    /* streamed, from the model's own file, which has it as steps read it: no step changes it */
    bool spilled;     /* lies in a file instead of the arena, ... */
    int64_t spill_at; /* ... here */
} plim__buffer;

typedef struct plim__operand {
    int32_t buffer; /* -1: absent */
    int64_t offset; /* bytes */
} plim__operand;

/* What a kernel gets: pointers in the order in which it was lowered. Absent operands are NULL. */
typedef struct plim__call {
    const void *state;
    void *const *in;
    void *const *out;
    void *scratch;
    const struct plim__spill *spill; /* the file of operands that are spilled, whose pointers are NULL; mem/spill.h */
    const int64_t *in_places;        /* of each in operand: where it is in that file, -1: in memory. NULL: none is */
    const int64_t *places;           /* of each out operand */
    void *window;                    /* memory to work on them in, PLIM__SPILL_PAGE-aligned */
    uint64_t tick;                   /* for random operators: the number of the update since training began, */
    int64_t sample;                  /* and of the first sample of this run in its batch */
    bool first;                      /* the run is the first of its batch: sums start at zero */
    plim_error *error;               /* for kernels that meet bad data (an index out of range); may be NULL */
} plim__call;

typedef plim_status (*plim__kernel)(const plim__call *call);

#define PLIM__PREPARED 64 /* bytes */

/* How a step whose operands are in a file is done: in pieces, by any thread, before the step or behind it where memory
 * allows that (mem/carrier.h). Pieces work in call->window, which is a room of their own. */
typedef struct plim__pieces {
    /* When the step begins, by the thread that runs steps: what the call's small operands say, which may be gone later. At
     * most PLIM__PREPARED bytes. May be NULL. */
    void (*prepare)(const plim__call *call, void *prepared);
    size_t (*count)(const plim__call *call);
    plim_status (*run)(const plim__call *call, const void *prepared, size_t piece);
    /* The in operand in memory that pieces read: the step may end later, while that is there. -1: none is read, and the step
     * may begin earlier, as soon as there is a place for what it makes. */
    int32_t held;
} plim__pieces;

typedef struct plim__step {
    plim__kernel run; /* NULL: only in pieces */
    void *state;      /* owned */
    void (*release)(void *state);
    int32_t node;            /* of the graph; -1 for a step that the lowering added */
    const char *label;       /* "Conv", "reorder": static text */
    plim__operand *operands; /* in_count inputs, then out_count outputs */
    int32_t in_count, out_count;
    int32_t scratch;                 /* buffer, -1 for none */
    int32_t inplace_in, inplace_out; /* this output may be written over this input; -1 for none */
    plim__phase phase;               /* of its node */
    bool product;                    /* a convolution or matrix product, as the row of its operator says */
    bool writes;                     /* persistent out operands are read too, then written: after all their readers */
    uint32_t spill;                  /* bit k: out operand k may be spilled */
    const plim__pieces *pieces;      /* how it is done when one of its operands is; NULL: none may be */
    plim__cost cost;
} plim__step;

/* A kernel that turns one arrangement of a tensor into another; run NULL: copy as it is. */
typedef struct plim__rearrangement {
    plim__kernel run;
    void *state;
    void (*release)(void *state);
    size_t scratch; /* bytes that it needs */
} plim__rearrangement;

/* The contents of a persistent buffer: weights to bring in before the first step, state that begins as zeros. */
typedef struct plim__load {
    plim__tensor *tensor; /* owned reference; NULL: zeros */
    plim_value value;
    int32_t buffer;
    int32_t shared;           /* the same buffer of the program that this one is like, which loads it; -1: its own */
    plim__rearrangement in;   /* from dense row-major */
    plim__rearrangement back; /* to dense row-major; only for what steps change */
    const plim__arrangement *home; /* how it is arranged, for programs that are like this one */
} plim__load;

typedef struct plim__program {
    const plim_graph *graph; /* not owned */
    PLIM_VEC(plim__buffer) buffers;
    PLIM_VEC(plim__step) steps;
    PLIM_VEC(plim__load) loads;
    PLIM_VEC(plim__arrangement *) arrangements; /* of its values, shared by those that lie alike */
    PLIM_VEC(plim__product) products; /* matrix products that its steps make; of a program that borrows: none */
    plim__operand *values;            /* where each value of the graph is; for inputs and outputs, dense row-major */
    size_t value_count;
    plim__target target;
    plim__engine *engine;
    size_t code_bytes, library_bytes;     /* see plim__lower_code; of a program that borrows: none */
    size_t first_run_bytes;               /* see plim__lower_library_part; the same */
    size_t room_bytes;                    /* see plim__lower_may_spill */
    const struct plim__program *original; /* whose kernels, loads and engine it borrows (plan/schedule.h), or NULL */
} plim__program;

/* Lowers every live node of a graph with concrete shapes. The graph must outlive the program. With `like` (may be
 * NULL) the values that persist in both graphs, by name, are arranged as they are there: two programs over the same
 * weights. It must have been made for the same target. */
plim_status plim__program_create(const plim_graph *g, plim__target target, const plim__program *like,
                                 plim__program **program, plim_error *error);
void plim__program_free(plim__program *program);
/* PLIM_BUDGET where a program of `nodes` nodes, whatever they are, would have no room. */
plim_status plim__program_check_room(plim__room *room, size_t nodes, plim_error *error);
/* About what it takes apart from its buffers, with its graph and the code that was made for it; and what it makes
 * resident of the device's library, which programs share. The same numbers every time for the same program, where
 * measured ones are not. */
size_t plim__program_bytes(const plim__program *program);
size_t plim__program_library_bytes(const plim__program *program);
/* More of the library, resident from the first step on. */
size_t plim__program_first_run_bytes(const plim__program *program);
/* The most that matrix products of this program take from the heap (product.h). */
plim_status plim__program_packed(const plim__program *program, size_t *bytes, plim_error *error);
/* Memory that pieces need once any operand of a step is spilled: a room for each thread, and what places them well. */
size_t plim__spill_window_bytes(const plim__program *program);
/* Whether one of its operands is spilled: it is done in pieces. */
static inline bool plim__step_in_pieces(const plim__program *program, const plim__step *step) {
    for (int32_t i = 0; step->pieces && i < step->in_count + step->out_count; i++)
        if (step->operands[i].buffer >= 0 && program->buffers.items[step->operands[i].buffer].spilled) return true;
    return false;
}

#endif
