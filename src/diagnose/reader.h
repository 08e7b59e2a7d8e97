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

#include "diagnose/context.h"
#include "diagnose/dump.h"
#include "diagnose/text.h"
#include "plimsoll/diagnose.h"

/* Messages of one group may be about one failure; those of different groups only when one of them is weak. */
typedef enum plim__group {
    PLIM_GROUP_TORCH,
    PLIM_GROUP_XLA, /* TensorFlow and JAX share their allocator and its messages */
    PLIM_GROUP_RUNTIME,
    PLIM_GROUP_HOST,  /* killers, schedulers, Python: who died, not what failed */
    PLIM_GROUP_WORDS, /* words about memory in a line of error; gives way to every message proper */
} plim__group;

/* What a message is apart from its numbers. */
typedef uint64_t plim__facts;
#define PLIM_FACT_WARNING           ((plim__facts)1 << 0) /* says itself that nothing failed */
#define PLIM_FACT_DRIVER            ((plim__facts)1 << 1) /* a failure only if the run does not go on */
#define PLIM_FACT_TACTIC            ((plim__facts)1 << 2) /* TensorRT skipped a tactic: a failure only if no engine comes out */
#define PLIM_FACT_BAD_SIZE          ((plim__facts)1 << 3)  /* says itself that the size is nonsense */
#define PLIM_FACT_LIMIT             ((plim__facts)1 << 4)  /* a scheduler's or a user's cap struck */
#define PLIM_FACT_BLOCK_LIMIT       ((plim__facts)1 << 5)  /* says that single blocks may not be that large */
#define PLIM_FACT_DISGUISED         ((plim__facts)1 << 6)  /* usually means out of memory without saying it */
#define PLIM_FACT_HOST              ((plim__facts)1 << 7)  /* host memory */
#define PLIM_FACT_EAGER_CONST       ((plim__facts)1 << 8)  /* the op that copies NumPy data to the device */
#define PLIM_FACT_FALLING           ((plim__facts)1 << 9)  /* TensorFlow asking for ever less of a card that is taken */
#define PLIM_FACT_TENSORFLOW        ((plim__facts)1 << 10) /* evidence for either framework, where both print the same */
#define PLIM_FACT_JAX               ((plim__facts)1 << 11) /* likewise */
#define PLIM_FACT_SHM               ((plim__facts)1 << 12) /* /dev/shm */
#define PLIM_FACT_TOO_BIG           ((plim__facts)1 << 13) /* says itself that one request is too large */
#define PLIM_FACT_SAID_FRAGMENTED   ((plim__facts)1 << 14) /* says itself that free memory is in pieces */
#define PLIM_FACT_KILLED            ((plim__facts)1 << 15) /* the process was killed from outside */
#define PLIM_FACT_WIN_COMMIT        ((plim__facts)1 << 16) /* Windows' commit limit */
#define PLIM_FACT_ON_CHIP           ((plim__facts)1 << 17) /* a TPU's smem or vmem, not its HBM */
#define PLIM_FACT_DUMP              ((plim__facts)1 << 18) /* an allocator's dump begins */
#define PLIM_FACT_UNKNOWN_PROCESSES ((plim__facts)1 << 19) /* the driver does not tell what processes hold (WSL2) */
#define PLIM_FACT_UTILIZATION       ((plim__facts)1 << 20) /* vLLM's share of the card */
#define PLIM_FACT_POSSIBLE          ((plim__facts)1 << 21) /* memory is one possible reason of several */
#define PLIM_FACT_MODEL             ((plim__facts)1 << 22) /* said while a model is loaded */
#define PLIM_FACT_KV_CACHE          ((plim__facts)1 << 23) /* the room for a language model's cache */
#define PLIM_FACT_OTHERS            ((plim__facts)1 << 24) /* says itself that others hold memory */
#define PLIM_FACT_WARMUP            ((plim__facts)1 << 25) /* at the start of serving, with made-up requests */
#define PLIM_FACT_NAME_ONLY         ((plim__facts)1 << 26) /* the exception's name and no more */
#define PLIM_FACT_POOL              ((plim__facts)1 << 27) /* a pool's own maximum */
#define PLIM_FACT_JETSON            ((plim__facts)1 << 28) /* memory shared with the host */
#define PLIM_FACT_HEAP              ((plim__facts)1 << 29) /* the limit of a language's heap */
#define PLIM_FACT_OOMD              ((plim__facts)1 << 30) /* a killer in user space, before the kernel acts */
#define PLIM_FACT_OBJECT_STORE      ((plim__facts)1 << 31) /* Ray's store */
#define PLIM_FACT_FILES             ((plim__facts)1 << 32) /* too few file handles rather than memory */
#define PLIM_FACT_NOT_MEMORY        ((plim__facts)1 << 33) /* sounds like memory, is not */
#define PLIM_FACT_THREADS           ((plim__facts)1 << 34) /* too many threads */
#define PLIM_FACT_MAPS              ((plim__facts)1 << 35) /* too many mappings */
#define PLIM_FACT_PROGRAM           ((plim__facts)1 << 36) /* the figure is the whole program, not one tensor */
#define PLIM_FACT_CUT               ((plim__facts)1 << 37) /* a figure is cut off or garbled */
#define PLIM_FACT_ASYNC             ((plim__facts)1 << 38) /* cudaMallocAsync */
#define PLIM_FACT_CHUNK             ((plim__facts)1 << 39) /* the figure is the pool's chunk, not a tensor */
#define PLIM_FACT_SAID              ((plim__facts)1 << 41) /* only words in a sentence */
#define PLIM_FACT_STARTUP           ((plim__facts)1 << 40) /* before anything was taken: others have it */

/* How much a message says; the strongest of an incident names the framework. */
enum { PLIM_WEAK = 1, PLIM_HINT = 2, PLIM_PLAIN = 3, PLIM_STRONG = 4, PLIM_FULL = 5 };

typedef struct plim__event {
    plim__group group;
    int strength;
    plim__facts facts;
    const char *framework;
    const char *kind;
    const char *version; /* what the wording tells; NULL for nothing */
    int64_t index;       /* -1 for none */
    int64_t tokens;      /* the longest context that fits; 0 when not told */
    plim_amount requested, capacity, allocated, reserved, free, process, other, limit, largest_free;
    plim_amount used;    /* of the device by everybody, where free is not printed */
    plim_amount missing; /* where the message says how much is missing */
    int rank;            /* -1 for no shape */
    int64_t shape[PLIM_EXPLANATION_DIMS];
    char dtype[24];
    char op[96];             /* the operator that asked; "" for none */
    const char *begin, *end; /* the message in the window */
} plim__event;

typedef struct plim__incident {
    plim__event facts;
    bool is_set;
    bool confirmed; /* something other than a driver's or tactic's complaint */
    uint64_t driver_count;
    uint64_t begin, end; /* positions in the whole cleaned text */
    bool moved_on;       /* training was seen to go on behind it */
    bool recovered;      /* the program says that it went on without that memory */
    bool dumped;         /* a dump belongs to it */
    plim__dump dump;
    plim__buffers buffers;
    char message[512];
    char unread[160]; /* a figure that could not be taken */
    plim__context context;
} plim__incident;

typedef struct plim__reader {
    plim__incident incident;
    uint64_t failures;
    /* the window that parsers see */
    const char *begin, *end;
    uint64_t origin; /* position of `begin` in the whole cleaned text */
    uint64_t gap;    /* position behind the last text that was skipped unread; 0 for none */
    /* said once, at the start of a run */
    plim_amount total_memory, free_memory;
    int64_t created_mb;
    int year;                        /* the first year that the lines are dated with; 0 for none */
    bool dated;                      /* lines begin with a time */
    bool vllm;                       /* lines begin as vLLM's do */
    bool oom_denied;                 /* the container's state says that it was not killed for memory */
    int described;                   /* messages that a sentence explains: "OOMKilled means ..." */
    bool engine_done;                /* TensorRT finished after the last incident */
    char unread[160];                /* about the event being parsed */
    const plim__context_scan *words; /* of the context; NULL: none is read */
} plim__reader;

void plim__reader_init(plim__reader *reader);
/* The window moves on to `begin`; what lies before it is forgotten. */
void plim__reader_slide(plim__reader *reader, const char *begin);
/* Reads what surrounds the incident, once; the window must hold it. */
void plim__reader_context(plim__reader *reader);
/* Reads what follows the incident to the end of the text: did training go on? */
bool plim__reader_moved_on(plim__reader *reader);

/* A parser gets the place of its trigger in the window. */
typedef void plim__parse(plim__reader *reader, const char *start, const char *end);

typedef struct plim__row {
    const char *trigger; /* white space left out */
    plim__parse *parse;
} plim__row;

/* The tables, one a file. */
extern const plim__row plim__rows_pytorch[], plim__rows_tensorflow[], plim__rows_jax[], plim__rows_runtime[],
    plim__rows_host[], plim__rows_words[];

/* An event with nothing in it yet, whose message begins at `begin`. */
plim__event plim__event_at(plim__reader *reader, plim__group group, const char *framework, const char *begin);
void plim__event_size(plim__event *event); /* requested from shape and dtype, when both are known */
/* Adds the event to the incident, or begins a new one. `end` is where the parser stopped. */
void plim__report(plim__reader *reader, plim__event *event, const char *end);

/* Says that the figure at `at` could not be taken, when text is there that ought to be one. */
void plim__note_unread(plim__reader *reader, plim__event *event, plim__text at, const char *what);

/* The line around a place, inside the window. */
plim__text plim__line_at(const plim__reader *reader, const char *at);
/* The window from a place on. */
plim__text plim__text_at(const plim__reader *reader, const char *at);
/* Whether the literal occurs shortly before `at`. */
bool plim__before(const plim__reader *reader, const char *at, size_t reach, const char *literal);
/* Whether a stretch of text shows training that goes on: losses, steps, a retry. */
bool plim__goes_on(plim__text text);
/* What follows a message explains it ("... occurs when"): counted, and no failure. */
bool plim__explains(plim__reader *reader, const char *end);
/* A line of a traceback that quotes code. */
bool plim__is_code_line(plim__text line);

#endif
