/* From cleaned text to the failure that counts.
 *
 *   cleaned text ── triggers (scan.h) ──→ a row's parser (read_*.c) ──→ event ──→ incident ──→ cause (cause.h)
 *
 * One row a message family: the words that give it away and the function that reads it. A parser looks around the
 * trigger and reports an event: what this one message tells. Events about the same failure become one incident; a
 * later incident replaces an earlier one.
 */
#ifndef PLIM_DIAGNOSE_READER_H
#define PLIM_DIAGNOSE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diagnose/dump.h"
#include "diagnose/text.h"
#include "plimsoll/diagnose.h"

/* Messages of one group may be about one failure; those of different groups only when one of them is weak. */
typedef enum plim__group {
    PLIM_GROUP_TORCH,
    PLIM_GROUP_XLA, /* TensorFlow and JAX share their allocator and its messages */
    PLIM_GROUP_RUNTIME,
    PLIM_GROUP_HOST, /* killers, schedulers, Python: who died, not what failed */
} plim__group;

/* What a message is besides its numbers. */
enum {
    PLIM_FACT_WARNING = 1 << 0,     /* says itself that nothing failed */
    PLIM_FACT_DRIVER = 1 << 1,      /* a failure only if the run does not go on */
    PLIM_FACT_TACTIC = 1 << 2,      /* TensorRT skipped a tactic: a failure only if no engine comes out */
    PLIM_FACT_BAD_SIZE = 1 << 3,    /* says itself that the size is nonsense */
    PLIM_FACT_LIMIT = 1 << 4,       /* a scheduler's or a user's cap struck */
    PLIM_FACT_BLOCK_LIMIT = 1 << 5, /* says that single blocks may not be so large */
    PLIM_FACT_DISGUISED = 1 << 6,
    PLIM_FACT_HOST = 1 << 7,
    PLIM_FACT_EAGER_CONST = 1 << 8, /* the op that copies NumPy data to the device */
    PLIM_FACT_FALLING = 1 << 9,     /* TensorFlow asking for ever less of a card that is taken */
    PLIM_FACT_TENSORFLOW = 1 << 10, /* evidence for either framework, where both print the same */
    PLIM_FACT_JAX = 1 << 11,
    PLIM_FACT_SHM = 1 << 12, /* /dev/shm */
    PLIM_FACT_TOO_BIG = 1 << 13,
    PLIM_FACT_SAID_FRAGMENTED = 1 << 14,
    PLIM_FACT_KILLED = 1 << 15,
    PLIM_FACT_WIN_COMMIT = 1 << 16,
    PLIM_FACT_ON_CHIP = 1 << 17,           /* a TPU's smem or vmem, not its HBM */
    PLIM_FACT_DUMP = 1 << 18,              /* an allocator's dump begins */
    PLIM_FACT_UNKNOWN_PROCESSES = 1 << 19, /* the driver does not tell what processes hold (WSL2) */
    PLIM_FACT_UTILIZATION = 1 << 20,       /* vLLM's share of the card */
};

/* How much a message says; the strongest of an incident names the framework. */
enum { PLIM_WEAK = 1, PLIM_HINT = 2, PLIM_PLAIN = 3, PLIM_STRONG = 4, PLIM_FULL = 5 };

typedef struct plim__event {
    plim__group group;
    int strength;
    unsigned facts;
    const char *framework;
    const char *kind;
    const char *version; /* what the wording tells; NULL for nothing */
    int64_t index;       /* -1 for none */
    plim_amount requested, capacity, allocated, reserved, free, process, other, limit, largest_free;
    plim_amount used; /* of the device by everybody, where free is not printed */
    int rank;         /* -1 for no shape */
    int64_t shape[PLIM_EXPLANATION_DIMS];
    char dtype[24];
    char op[96];             /* the operator that asked; "" for none */
    const char *begin, *end; /* the message in the window */
} plim__event;

typedef struct plim__incident {
    plim__event facts;
    bool is_set;
    bool confirmed; /* something besides a driver's or tactic's complaint */
    uint64_t driver_count;
    uint64_t end;  /* position in the whole cleaned text */
    bool moved_on; /* training was seen to go on behind it */
    bool dumped;   /* a dump belongs to it */
    plim__dump dump;
    plim__buffers buffers;
    char message[512];
} plim__incident;

typedef struct plim__reader {
    plim__incident incident;
    uint64_t failures;
    /* the window that parsers see */
    const char *begin, *end;
    uint64_t origin; /* position of `begin` in the whole cleaned text */
    uint64_t gap;    /* position behind the last text that was skipped unread; 0 for none */
    /* said once, at the start of a run */
    plim_amount total_memory;
    int64_t created_mb;
    bool engine_done; /* TensorRT finished after the last incident */
} plim__reader;

void plim__reader_init(plim__reader *reader);
/* The window moves on to `begin`; what lies before it is forgotten. */
void plim__reader_slide(plim__reader *reader, const char *begin);
/* Looks at what follows the incident to the end of the text: did training go on? */
bool plim__reader_moved_on(plim__reader *reader);

/* A parser gets the place of its trigger in the window. */
typedef void plim__parse(plim__reader *reader, const char *start, const char *end);

typedef struct plim__row {
    const char *trigger; /* white space left out */
    plim__parse *parse;
} plim__row;

/* The tables, one a file. */
extern const plim__row plim__rows_pytorch[], plim__rows_tensorflow[], plim__rows_jax[], plim__rows_runtime[],
    plim__rows_host[];

/* An event with nothing in it yet, whose message begins at `begin`. */
plim__event plim__event_at(plim__reader *reader, plim__group group, const char *framework, const char *begin);
void plim__event_size(plim__event *event); /* requested from shape and dtype, when both are known */
/* Adds the event to the incident, or begins a new one. `end` is where the parser stopped. */
void plim__report(plim__reader *reader, plim__event *event, const char *end);

/* The line around a place, inside the window. */
plim__text plim__line_at(const plim__reader *reader, const char *at);
/* The window from a place on. */
plim__text plim__text_at(const plim__reader *reader, const char *at);
/* Whether the literal occurs shortly before `at`. */
bool plim__before(const plim__reader *reader, const char *at, size_t reach, const char *literal);
/* Whether a stretch of text shows training that goes on: losses, steps, a retry. */
bool plim__goes_on(plim__text text);
/* A line of a traceback that quotes code. */
bool plim__is_code_line(plim__text line);

#endif
