/* The table of programs: how each is recognised in a log, and the flag or call that each lever on memory has there.
 *
 *   a log ──→ marks (context.c) ──→ the program ──→ what it was doing (phase, or what it is usually for)
 *                                                        └──→ that activity's order of levers ──→ the program's settings
 *
 * Adding a program is adding a row; docs/causes.md is printed from it. Which levers exist, what speaks against each and in
 * which order they are tried stands in programs.c. A setting has the slots of fixes.h.
 */
#ifndef PLIM_DIAGNOSE_PROGRAMS_H
#define PLIM_DIAGNOSE_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "diagnose/conditions.h"
#include "diagnose/fixes.h"

/* lever, its word in an order of its own, what must hold beside the order, the saving, cost, title */
#define PLIM_LEVER_LIST(X)                                                                                             \
    X(BATCH, "batch", "batch>1", HALF_REQUEST, 1, "Use a smaller batch, and accumulate more of them")                  \
    X(FEWER, "fewer", "", UNKNOWN, 1, "Take fewer at a time")                                                          \
    X(EVAL, "eval", "", UNKNOWN, 0, "Keep less in evaluation")                                                         \
    X(EVAL_MORE, "eval-more", "", UNKNOWN, 0, "Keep numbers of each batch instead of its outputs")                     \
    X(LENGTH, "length", "!short", UNKNOWN, 1, "Use shorter sequences")                                                 \
    X(INPUT, "input", "!input-tried", UNKNOWN, 1, "Use a smaller input")                                               \
    X(TILES, "tiles", "", UNKNOWN, 0, "Work on it in tiles or pieces")                                                 \
    X(CHECKPOINT, "checkpoint", "!checkpointed", UNKNOWN, 1, "Recompute activations in the backward pass")             \
    X(KERNELS, "kernels", "", UNKNOWN, 0, "Use attention and a loss that never build the whole matrix")                \
    X(PRECISION, "precision", "!half !quantized", HALF_LIVE, 1, "Keep it in 16 bits")                                  \
    X(QUANTIZE, "quantize", "!quantized", UNKNOWN, 1, "Load the weights in fewer bits")                                \
    X(ADAPTERS, "adapters", "!lora", UNKNOWN, 2, "Train adapters instead of all weights")                              \
    X(OPTIMIZER, "optimizer", "!opt8", UNKNOWN, 1, "Use an optimizer with little state")                               \
    X(OFFLOAD, "offload", "!offloaded !lowvram", UNKNOWN, 1, "Keep a part in host memory")                             \
    X(OFFLOAD_MORE, "more", "lowvram", UNKNOWN, 1, "Keep still more in host memory")                                   \
    X(SHARD, "shard", "!parallel", UNKNOWN, 2, "Spread the model over more cards")                                     \
    X(CACHE, "cache", "", UNKNOWN, 0, "Leave the engine's cache less of the card")                                     \
    X(GRAPHS, "graphs", "!eager", UNKNOWN, 1, "Do without CUDA graphs")                                                \
    X(MODEL, "model", "", UNKNOWN, 1, "Use a smaller model")                                                           \
    X(RELEASE, "release", "", UNKNOWN, 0, "Release what earlier work left on the device")                              \
    X(OWN, "own", "", UNKNOWN, 0, "Use the program's own setting for small cards")                                     \
    X(HEAP, "heap", "", UNKNOWN, 0, "Raise the heap's limit")                                                          \
    X(HOST, "host", "", UNKNOWN, 0, "Hold less in host memory")                                                        \
    X(HOST_MORE, "host-more", "", UNKNOWN, 1, "Keep less of it at all")

typedef enum plim__lever {
#define PLIM_LEVER_ENUM(name, word, when, saving, cost, title) PLIM_LEVER_##name,
    PLIM_LEVER_LIST(PLIM_LEVER_ENUM)
#undef PLIM_LEVER_ENUM
        PLIM_LEVER_COUNT
} plim__lever;

/* What a program was doing; the first three are also what one is usually for. */
typedef enum plim__activity {
    PLIM_ACTIVITY_TRAIN,
    PLIM_ACTIVITY_INFER,
    PLIM_ACTIVITY_SERVE,
    PLIM_ACTIVITY_START, /* a server loads its weights */
    PLIM_ACTIVITY_TRIAL, /* a server tries its largest batch */
    PLIM_ACTIVITY_LOAD,
    PLIM_ACTIVITY_UPDATE,
    PLIM_ACTIVITY_EVAL,
    PLIM_ACTIVITY_HOST,
    PLIM_ACTIVITY_BIG, /* one request beyond all reason: what shrinks it comes first */
    PLIM_ACTIVITY_COUNT
} plim__activity;

enum { PLIM_PROGRAM_LEVERS = 12 };

typedef struct plim__program {
    const char *name;
    const char *marks; /* what it prints: its paths, commands and options; "/" stands for "\" too */
    const char *names; /* how people call it; weaker than any mark */
    plim__activity usual;
    const char *framework; /* what it is built on; NULL: PyTorch */
    bool images;           /* its setting for the input is that of images, where it has them */
    const char *order;     /* of its usual activity, in the levers' words; NULL: as for all */
    struct {
        plim__lever lever;
        const char *setting; /* NULL behind the last */
    } levers[PLIM_PROGRAM_LEVERS];
} plim__program;

/* The program's setting for a lever, NULL where it has none. */
const char *plim__program_setting(const plim__program *program, plim__lever lever);

/* The tables, the particular before the general: programs_train.c, programs_use.c, programs_more.c. */
extern const plim__program plim__programs_train[], plim__programs_use[], plim__programs_more[],
    plim__programs_general[];
extern const size_t plim__programs_train_count, plim__programs_use_count, plim__programs_more_count,
    plim__programs_general_count;
size_t plim__program_count(void);
const plim__program *plim__program_at(size_t index);

/* Takes note that the program of that name printed something. */
void plim__program_note(plim__program_set *set, const char *name);

/* The program that the log is of: one that printed something in it, else one that it names; NULL for none. */
const plim__program *plim__program_find(const plim__case *c);

/* The n-th lever to try in this case with the program's setting for it; false behind the last. */
typedef struct plim__lever_row {
    plim__saving saving;
    int cost;
    const char *title, *setting;
    plim__lever lever; /* what it acts on; PLIM_LEVER_COUNT for nothing of the list */
} plim__lever_row;
bool plim__program_lever(const plim__program *program, const plim__case *c, size_t n, plim__lever_row *row);

/* For the page of causes. */
const char *plim__lever_title(plim__lever lever);
/* Whether every word of every order is a lever that the program has; for the test of the table. */
bool plim__program_is_valid(const plim__program *program);

#endif
