/* Memory over time as plain data: what the planner intends, what the runner recorded, or what another
 * framework's dump tells. Readers and the planner fill it; charts, pages and exports only read it.
 *
 *   tensor   what a buffer is: name, shape, dtype, kind, layer, operator, phase
 *   life     one time that a tensor held memory: [born, died) in ticks, at an offset, in bytes
 *   mark     something that happens at a tick: a step, phase or operator begins; an allocation failed
 *
 *   tick     0     1     2     3     4     5          A tick is a place in the order of events; the
 *   life a   ├─────────────────┤                      seconds of each tick are kept beside, when known.
 *   life b               ├───────────┤                b lives at ticks 2 and 3: born 2, died 4.
 *
 * All text is held once: a text id is an index into `texts`, and id 0 is "". */
#ifndef PLIM_MEM_TIMELINE_H
#define PLIM_MEM_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/vec.h"
#include "plimsoll/dtype.h"
#include "plimsoll/status.h"

/* name, word in files and JSON, words on a page */
#define PLIM__KIND_LIST(X)                                                                                             \
    X(WEIGHT, "weight", "Weights")                                                                                     \
    X(GRADIENT, "gradient", "Gradients")                                                                               \
    X(OPTIMIZER, "optimizer", "Optimizer state")                                                                       \
    X(ACTIVATION, "activation", "Activations")                                                                         \
    X(WORKSPACE, "workspace", "Workspace")                                                                             \
    X(DATA, "data", "Data")                                                                                            \
    X(PROCESS, "process", "Process")                                                                                   \
    X(OTHER, "other", "Other")

typedef enum plim__memory_kind {
#define PLIM__KIND_ENUM(name, word, title) PLIM__KIND_##name,
    PLIM__KIND_LIST(PLIM__KIND_ENUM)
#undef PLIM__KIND_ENUM
        PLIM__KIND_COUNT
} plim__memory_kind;

#define PLIM__PHASE_LIST(X)                                                                                            \
    X(NONE, "")                                                                                                        \
    X(LOAD, "load")                                                                                                    \
    X(FORWARD, "forward")                                                                                              \
    X(BACKWARD, "backward")                                                                                            \
    X(UPDATE, "update")                                                                                                \
    X(DATA, "data")                                                                                                    \
    X(RECOMPUTE, "recompute") /* forward steps done again, so that their outputs need no memory in between */

typedef enum plim__memory_phase {
#define PLIM__PHASE_ENUM(name, word) PLIM__PHASE_##name,
    PLIM__PHASE_LIST(PLIM__PHASE_ENUM)
#undef PLIM__PHASE_ENUM
        PLIM__PHASE_COUNT
} plim__memory_phase;

const char *plim__kind_word(plim__memory_kind kind);    /* "activation"; "other" for what is none */
const char *plim__kind_title(plim__memory_kind kind);   /* "Activations" */
const char *plim__phase_word(plim__memory_phase phase); /* "forward"; "" for what is none */

typedef uint32_t plim__text_id; /* index into plim__timeline.texts */

typedef struct plim__timeline_tensor {
    plim__text_id name, shape, layer, operation;
    uint8_t kind, phase, dtype;
} plim__timeline_tensor;

#define PLIM__NEVER     UINT32_MAX /* died: still held at the end */
#define PLIM__NO_OFFSET UINT64_MAX /* offset: not known */

typedef struct plim__timeline_life {
    uint64_t bytes, offset;
    uint32_t tensor, born, died;
    uint32_t stack; /* index into `stacks`; 0 is none */
} plim__timeline_life;

/* A call stack is a leaf in a tree of frames, so that stacks share what they have in common. */
typedef struct plim__stack_frame {
    uint32_t parent; /* the caller; 0 at the outermost frame */
    plim__text_id frame;
} plim__stack_frame;

typedef enum plim__timeline_mark_type {
    PLIM__MARK_STEP,     /* value: the step's number */
    PLIM__MARK_PHASE,    /* value: plim__memory_phase */
    PLIM__MARK_OPERATOR, /* text: the operator that runs from here */
    PLIM__MARK_OOM,      /* value: bytes that were asked for and refused; text: what the allocator said */
    PLIM__MARK_TYPES
} plim__timeline_mark_type;

typedef struct plim__timeline_mark {
    uint64_t value;
    uint32_t tick;
    plim__text_id text;
    uint8_t type;
} plim__timeline_mark;

/* What is known of a refused allocation in addition to its mark, which has the same tick. */
typedef struct plim__timeline_refusal {
    uint64_t unused; /* free on the device; UINT64_MAX: not known */
    uint32_t tick, stack;
} plim__timeline_refusal;

/* A point of the frontier: a plan that could be had. */
typedef struct plim__timeline_plan {
    uint64_t budget, peak;
    double seconds;               /* of one step */
    plim__text_id label, command; /* what the plan does; how to ask for it (may be 0) */
    bool chosen;
} plim__timeline_plan;

/* The same with its words, to be added. `command` may be NULL. */
typedef struct plim__timeline_point {
    uint64_t budget, peak;
    double seconds;
    const char *label, *command;
    bool chosen;
} plim__timeline_point;

/* A figure that was planned and then measured. */
typedef struct plim__timeline_comparison {
    plim__text_id what;
    uint64_t planned, measured; /* bytes */
} plim__timeline_comparison;

/* A line over the ticks beside the lives: resident memory as measured, or a plan's total. */
typedef struct plim__timeline_sample {
    uint64_t bytes; /* of a series of numbers: the bits of a double */
    uint32_t tick;
} plim__timeline_sample;

typedef struct plim__timeline_series {
    plim__text_id name;
    bool numbers; /* not bytes: the loss */
    PLIM_VEC(plim__timeline_sample) samples;
} plim__timeline_series;

typedef enum plim__timeline_block_state {
    PLIM__BLOCK_FREE,
    PLIM__BLOCK_ACTIVE,
    PLIM__BLOCK_PENDING
} plim__timeline_block_state;

/* A piece of a segment; the blocks of a segment follow each other without gaps. */
typedef struct plim__timeline_block {
    uint64_t bytes, requested;
    uint32_t stack;
    plim__text_id name;
    uint8_t state;
} plim__timeline_block;

/* A region that an allocator holds from the device. */
typedef struct plim__timeline_segment {
    uint64_t address, bytes;
    uint64_t offset; /* where its address is on the map; PLIM__NO_OFFSET when it is not there */
    int64_t stream;
    int32_t device;
    plim__text_id pool;
    uint32_t first_block, block_count;
    bool expandable; /* it grows page by page */
} plim__timeline_segment;

typedef enum plim__timeline_source {
    PLIM__SOURCE_PLAN,
    PLIM__SOURCE_RUN,
    PLIM__SOURCE_TORCH,
    PLIM__SOURCE_TENSORFLOW,
    PLIM__SOURCES
} plim__timeline_source;

const char *plim__source_word(plim__timeline_source source); /* "plan", "run", "torch-snapshot", "tensorflow-dump" */

typedef struct plim__timeline {
    plim__timeline_source source;
    uint32_t ticks;
    PLIM_VEC(double) seconds; /* of each tick since the start; empty when not known, else `ticks` of them */
    PLIM_VEC(char *) texts;
    PLIM_VEC(plim__timeline_tensor) tensors;
    PLIM_VEC(plim__timeline_life) lives; /* by birth once sorted */
    PLIM_VEC(plim__timeline_mark) marks; /* by tick */
    PLIM_VEC(plim__timeline_refusal) refusals;
    PLIM_VEC(plim__stack_frame) stacks; /* the first is no stack */
    PLIM_VEC(plim__timeline_plan) frontier;
    PLIM_VEC(plim__timeline_comparison) comparisons;
    PLIM_VEC(plim__timeline_series) series;
    PLIM_VEC(plim__timeline_segment) segments;
    PLIM_VEC(plim__timeline_block) blocks;
    struct {
        struct plim__timeline_fact {
            plim__text_id name, value;
        } * items;
        size_t count, capacity;
    } facts;             /* what a title shows: model, batch, optimizer ... */
    plim__text_id title; /* the file's or model's name */
    uint64_t budget;     /* 0: none */
    uint64_t capacity;   /* what the device has; 0: not known */
    char *plan;          /* how to make this plan again, as JSON (src/budget/saved_plan.h); NULL for none */
    plim__text_id cut;   /* why the record ends early; 0 when it is whole */
    uint32_t *slots;     /* hash of texts */
    size_t slot_count;
    uint32_t *stack_slots; /* hash of stacks */
    size_t stack_slot_count;
} plim__timeline;

/* An empty timeline; zeroed memory is one too. Free it after any failure. */
void plim__timeline_init(plim__timeline *timeline, plim__timeline_source source);
void plim__timeline_free(plim__timeline *timeline);

/* The id of a text, added when new. False when memory is short. Bytes that are not UTF-8 become U+FFFD, so
 * that every text can be printed. NULL is "". */
bool plim__timeline_text(plim__timeline *timeline, const char *text, plim__text_id *id);
bool plim__timeline_textn(plim__timeline *timeline, const char *text, size_t length, plim__text_id *id);
const char *plim__timeline_get(const plim__timeline *timeline, plim__text_id id); /* never NULL */
/* "16x64x112x112"; "" for a scalar. */
bool plim__timeline_shape(plim__timeline *timeline, const int64_t *dims, size_t rank, plim__text_id *id);

/* The id of the stack that has `frame` called from `parent`. */
bool plim__timeline_stack(plim__timeline *timeline, uint32_t parent, plim__text_id frame, uint32_t *id);

/* All that is known about a buffer, for those who have it in one place. */
typedef struct plim__timeline_buffer {
    const char *name, *layer, *operation;
    const int64_t *dims;
    size_t rank;
    plim_dtype dtype;
    plim__memory_kind kind;
    plim__memory_phase phase;
    uint64_t bytes, offset;
    uint32_t born, died;
} plim__timeline_buffer;

/* Adds a tensor and one life of it. */
plim_status plim__timeline_add(plim__timeline *timeline, const plim__timeline_buffer *buffer, plim_error *error);
/* Adds a tensor; *id may be given to several lives. */
plim_status plim__timeline_add_tensor(plim__timeline *timeline, const plim__timeline_buffer *buffer, uint32_t *id,
                                      plim_error *error);
plim_status plim__timeline_add_life(plim__timeline *timeline, plim__timeline_life life, plim_error *error);
plim_status plim__timeline_add_mark(plim__timeline *timeline, plim__timeline_mark_type type, uint32_t tick,
                                    uint64_t value, const char *text, plim_error *error);
plim_status plim__timeline_add_fact(plim__timeline *timeline, const char *name, const char *value, plim_error *error);
plim_status plim__timeline_add_frontier(plim__timeline *timeline, const plim__timeline_point *point, plim_error *error);
plim__timeline_point plim__timeline_point_at(const plim__timeline *timeline, size_t index);
plim_status plim__timeline_add_comparison(plim__timeline *timeline, const char *what, uint64_t planned,
                                          uint64_t measured, plim_error *error);
/* The index of a new series. */
plim_status plim__timeline_add_series(plim__timeline *timeline, const char *name, uint32_t *index, plim_error *error);
plim_status plim__timeline_add_sample(plim__timeline *timeline, uint32_t series, uint32_t tick, uint64_t bytes,
                                      plim_error *error);
plim_status plim__timeline_set_title(plim__timeline *timeline, const char *title, plim_error *error);
/* Says that the record ends early, and why. */
plim_status plim__timeline_set_cut(plim__timeline *timeline, const char *why, plim_error *error);

/* Puts lives and marks in order and makes `ticks` cover them; every reader ends with it. Refuses lives that
 * die before they are born and ids that are not there. */
plim_status plim__timeline_finish(plim__timeline *timeline, plim_error *error);

/* The call stack as text, innermost frame first, frames parted by `between`. */
struct plim__str;
void plim__timeline_stack_text(const plim__timeline *timeline, uint32_t stack, const char *between, size_t most,
                               struct plim__str *into);
/* The last mark of a type at or before a tick; NULL when there is none. */
const plim__timeline_mark *plim__timeline_mark_at(const plim__timeline *timeline, plim__timeline_mark_type type,
                                                  uint32_t tick);

#endif
