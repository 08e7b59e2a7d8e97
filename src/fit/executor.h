/* TensorFlow's executor: operations of a graph, run one after the other in the order in which they become ready. What is ready
 * waits in a queue, first in, first out, as on a GPU, where no operation counts as long. Operations that have everything from the
 * start begin, in the order in which they were added. Each makes one tensor. */
#ifndef PLIM_FIT_EXECUTOR_H
#define PLIM_FIT_EXECUTOR_H

#include "fit/tape.h"

enum { PLIM__EXECUTOR_READS = 8 };

/* One operation, and what it makes. 0 in `reads` is nothing. */
typedef struct plim__operation {
    const char *name, *what; /* of the tensor, NULL: as what makes it; what makes it */
    plim__memory_kind kind;
    uint64_t bytes, work; /* of the tensor; taken and given back while it is made */
    uint32_t reads[PLIM__EXECUTOR_READS];
    uint32_t storage;  /* of a tensor that somebody else holds: nothing runs */
    bool over;         /* written over an input of the same size, where this is all that reads or holds it */
    bool view;         /* the storage of the first input */
    bool if_read;      /* left out where it has no reader */
    uint8_t phase;     /* PLIM__PHASE_* */
    const void *owner; /* for the caller's mark before it runs; NULL: none */
    uint8_t part;
    uint32_t pending, readers, made; /* the executor's */
} plim__operation;

typedef struct plim__executor {
    plim__tape *tape;
    PLIM_VEC(plim__operation) list; /* the first is none */
    void (*mark)(void *context, const plim__operation *operation);
    void *context;
} plim__executor;

void plim__executor_init(plim__executor *x, plim__tape *tape);
void plim__executor_free(plim__executor *x);
/* The number of the operation, and of its tensor; failures are the tape's. */
uint32_t plim__executor_add(plim__executor *x, const plim__operation *operation);
/* Runs all of them and empties the list. A tensor without a reader is dropped at once. */
void plim__executor_run(plim__executor *x);

#endif
