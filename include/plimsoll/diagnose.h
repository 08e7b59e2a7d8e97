/* Reading other frameworks' out-of-memory errors: feed a log, get what failed, where the memory is, why,
 * and what to change first.
 *
 *   plim_explainer *explainer;
 *   plim_explainer_create(&explainer, &error);
 *   while (...) plim_explainer_feed(explainer, bytes, size, &error);     any pieces; memory stays bounded
 *   plim_explainer_finish(explainer, &explanation, &error);
 *   plim_explainer_free(explainer);                                     frees the explanation too
 */
#ifndef PLIMSOLL_DIAGNOSE_H
#define PLIMSOLL_DIAGNOSE_H

#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A number of bytes that a log may or may not tell. */
typedef struct plim_amount {
    int known; /* 0: the text does not determine it */
    int exact; /* 0: converted from a rounded string such as "14.57 GiB" */
    uint64_t bytes;
} plim_amount;

/* name, word, one sentence, how the numbers show it. Checked in this order. */
#define PLIM_CAUSE_LIST(X)                                                                                             \
    X(BAD_SIZE, "bad_size", "A nonsense size: a bug in the program, not lack of memory",                               \
      "more than 30 times the capacity, negative, zero, near 2^63; without a capacity, many TiB")                      \
    X(TOO_BIG, "too_big", "This single request exceeds the whole capacity or limit", "request > capacity or limit")    \
    X(LIMIT, "limit", "A cap that the user or the scheduler set",                                                      \
      "an allowed size, a cgroup, Slurm or Kubernetes limit is reached while the device itself has room")              \
    X(PER_ALLOCATION_LIMIT, "per_allocation_limit", "The platform refuses single blocks of that size",                 \
      "the message says so; Intel XPU with more than 4 GiB and enough free")                                           \
    X(OTHER_PROCESS, "other_process", "Another process holds what is missing",                                         \
      "others hold 25 % of the device or more, and free + others >= request")                                          \
    X(FRAGMENTED, "fragmented", "Enough bytes are free in total, but no block is large enough",                        \
      "reserved - allocated >= request, or free >= request, or free chunks that add up but are each too small")        \
    X(FULL, "full", "Live allocations fill the device", "none of the causes above")                                    \
    X(DATASET_ON_DEVICE, "dataset_on_device", "The data set itself is resident on the device",                         \
      "one or two chunks of 20 % of the pool and more, made by _EagerConst")                                           \
    X(HOST_MEMORY, "host_memory", "Host memory, the page file or /dev/shm ran out",                                    \
      "CPU allocators, NumPy, the kernel's OOM killer, a bus error, Windows error 1455")                               \
    X(DISGUISED, "disguised", "An error that usually means out of memory without saying so",                           \
      "a cuBLAS or cuDNN handle that cannot be made, a destination tensor that is not initialized")                    \
    X(WARNING, "warning", "A message that did not fail anything", "the message says so, and the run goes on")          \
    X(NONE, "none", "Nothing of the kind", "no message about memory")

typedef enum plim_cause {
#define PLIM_CAUSE_ENUM(name, word, sentence, shown) PLIM_CAUSE_##name,
    PLIM_CAUSE_LIST(PLIM_CAUSE_ENUM)
#undef PLIM_CAUSE_ENUM
        PLIM_CAUSE_COUNT
} plim_cause;

/* "bad_size"; never NULL. */
PLIM_API const char *plim_cause_name(plim_cause cause);
PLIM_API const char *plim_cause_sentence(plim_cause cause);

/* What the program was doing when it failed, from its traceback. */
#define PLIM_PHASE_LIST(X)                                                                                             \
    X(UNKNOWN, "unknown")                                                                                              \
    X(LOADING, "loading the model")                                                                                    \
    X(DATA, "reading data")                                                                                            \
    X(FORWARD, "the forward pass")                                                                                     \
    X(BACKWARD, "the backward pass")                                                                                   \
    X(OPTIMIZER, "the optimizer's update")                                                                             \
    X(EVALUATION, "evaluation")                                                                                        \
    X(INFERENCE, "inference")                                                                                          \
    X(COMPILING, "compilation")

typedef enum plim_phase {
#define PLIM_PHASE_ENUM(name, words) PLIM_PHASE_##name,
    PLIM_PHASE_LIST(PLIM_PHASE_ENUM)
#undef PLIM_PHASE_ENUM
        PLIM_PHASE_COUNT
} plim_phase;

/* "the backward pass"; never NULL. */
PLIM_API const char *plim_phase_name(plim_phase phase);

/* Where in the program it happened: the innermost line that is the user's own. */
typedef struct plim_place {
    char file[128]; /* as the traceback has it; "" when there is none */
    char function[64];
    char code[128];
    int64_t line;                    /* -1 when not told */
    int64_t epoch, step, step_count; /* the last progress before the failure; -1 when not told */
} plim_place;

/* Something that occupies memory, out of an allocator's dump. */
typedef struct plim_holder {
    uint64_t bytes; /* of one block */
    uint64_t count; /* how many blocks of that size */
    char guess[96]; /* "32 x 128 x 128 x 64 float32", a plausible shape or the one printed; "" when none */
    char what[96];  /* operator or parameter when the dump names it; "" otherwise */
} plim_holder;

/* One thing to try. */
typedef struct plim_fix {
    char title[160];       /* "Use a smaller batch" */
    char setting[256];     /* the exact setting or line for this framework and version */
    plim_amount saving;    /* what it should give back, where the numbers allow to say */
    char saving_note[120]; /* how the saving is estimated; "" when unknown */
    int reaches;           /* 1: the saving covers the shortfall; 0: it does not; -1: not known */
    int cost;              /* 0: a setting; 1: a few lines or some speed; 2: quality, other hardware or much work */
} plim_fix;

#define PLIM_EXPLANATION_DIMS     16
#define PLIM_EXPLANATION_FIXES    5
#define PLIM_EXPLANATION_HOLDERS  8
#define PLIM_EXPLANATION_EVIDENCE 6

typedef struct plim_explanation {
    int found;               /* a failure, or an error that usually means one; 0 for warnings */
    const char *framework;   /* "pytorch" ...; "none" */
    const char *device_kind; /* "gpu" "host" "tpu" "npu" "xpu" "mps"; NULL when not told */
    int64_t device_index;    /* as printed; -1 when not */
    plim_amount requested;   /* the allocation that failed */
    int rank;                /* dimensions of `shape`; -1 when the text names no shape */
    int64_t shape[PLIM_EXPLANATION_DIMS];
    char dtype[24]; /* NumPy's word; "" when unknown */
    plim_amount shape_bytes, capacity, allocated, reserved, free, process, other_process, limit, largest_free;
    plim_amount shortfall; /* how much is missing for this request; unknown when the numbers do not tell */
    plim_cause cause;
    double confidence;    /* 0 to 1 */
    char headline[200];   /* the cause in one sentence with this failure's numbers */
    char recurrence[200]; /* whether it will happen again, as far as the log shows; "" when it does not */
    char unread[160];     /* a figure that is cut off or garbled, and so was not taken; "" for none */
    plim_phase phase;
    plim_place place;
    int evidence_count, fix_count, holder_count;
    char evidence[PLIM_EXPLANATION_EVIDENCE][256]; /* sentences, the strongest first */
    plim_fix fixes[PLIM_EXPLANATION_FIXES];        /* in the order to try */
    plim_holder holders[PLIM_EXPLANATION_HOLDERS]; /* the largest first */
    double fragmentation;                          /* 1 - largest free / total free of a dump; -1 when there is none */
    char message[512];                             /* the message itself, cleaned, its beginning */
    char version[48];                              /* "PyTorch 2.2 or later", what the wording says; "" when nothing */
    uint64_t failures;                             /* how many failures the log holds, repeats not counted */
    uint64_t log_bytes;                            /* how much was read */
    int binary;                                    /* the input is not text */
} plim_explanation;

typedef struct plim_explainer plim_explainer;

PLIM_API plim_status plim_explainer_create(plim_explainer **explainer, plim_error *error);
/* The next piece of the log. Bounded memory, however much is fed. */
PLIM_API plim_status plim_explainer_feed(plim_explainer *explainer, const void *data, size_t size, plim_error *error);
/* The answer; valid until the explainer is freed. Feeding more afterwards is an error. */
PLIM_API plim_status plim_explainer_finish(plim_explainer *explainer, const plim_explanation **explanation,
                                           plim_error *error);
PLIM_API void plim_explainer_free(plim_explainer *explainer);

/* How an explanation is printed. */
typedef struct plim_explanation_style {
    size_t size;         /* sizeof(plim_explanation_style) */
    int width;           /* of lines, in columns; 0: 80 */
    int colour, unicode; /* 1: escapes of ANSI; blocks instead of letters */
    const char *section; /* lines that follow what failed and where, each with its newline; NULL: none */
} plim_explanation_style;
/* What failed, where the memory is, why, what to try, in lines for people; free it with plim_text_free. style may be NULL. */
PLIM_API plim_status plim_explanation_print(const plim_explanation *explanation, const plim_explanation_style *style,
                                            char **text, plim_error *error);
/* "PyTorch" of an explanation's framework "pytorch"; a name that is not known as it is; never NULL. */
PLIM_API const char *plim_framework_title(const char *framework);

/* The causes and fixes that Plimsoll knows, as Markdown; free it with plim_text_free. */
PLIM_API plim_status plim_explanation_causes(char **text, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
