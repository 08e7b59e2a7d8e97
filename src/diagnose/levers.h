/* What a fix turns. One list for the table of fixes and for the table of programs.
 *
 * `acts` says which memory the lever makes smaller, a letter each; a lever without one is no matter of kinds:
 *
 *   w  weights                    c  a server's cache of keys and values
 *   s  gradients and state        k  what calls leave behind
 *   b  saved for the backward     o  other processes'
 *   t  passing through a layer    h  holes between blocks
 *
 * A phase holds some of them (situation.h), and a lever on another kind is not offered in it.
 */
#ifndef PLIM_DIAGNOSE_LEVERS_H
#define PLIM_DIAGNOSE_LEVERS_H

/* lever, its word in an order of its own, what it acts on, what must hold beside the order, the saving, cost, title */
#define PLIM_LEVER_LIST(X)                                                                                             \
    X(BATCH, "batch", "btk", "batch>1", HALF_REQUEST, 1, "Use a smaller batch, and accumulate more of them")           \
    X(FEWER, "fewer", "tc", "", UNKNOWN, 1, "Take fewer at a time")                                                    \
    X(EVAL, "eval", "tk", "", UNKNOWN, 0, "Keep less in evaluation")                                                   \
    X(EVAL_MORE, "eval-more", "k", "", UNKNOWN, 0, "Keep numbers of each batch instead of its outputs")                \
    X(LENGTH, "length", "btc", "!short", UNKNOWN, 1, "Use shorter sequences")                                          \
    X(INPUT, "input", "bt", "!input-tried", UNKNOWN, 1, "Use a smaller input")                                         \
    X(TILES, "tiles", "t", "", UNKNOWN, 0, "Work on it in tiles or pieces")                                            \
    X(CHECKPOINT, "checkpoint", "b", "!checkpointed", UNKNOWN, 1, "Recompute activations in the backward pass")        \
    X(KERNELS, "kernels", "bt", "", UNKNOWN, 0, "Use attention and a loss that never build the whole matrix")          \
    X(PRECISION, "precision", "wbt", "!half !quantized", HALF_LIVE, 1, "Keep it in 16 bits")                           \
    X(QUANTIZE, "quantize", "w", "!quantized", UNKNOWN, 1, "Load the weights in fewer bits")                           \
    X(ADAPTERS, "adapters", "s", "!lora", UNKNOWN, 2, "Train adapters instead of all weights")                         \
    X(OPTIMIZER, "optimizer", "s", "!opt8", UNKNOWN, 1, "Use an optimizer with little state")                          \
    X(OFFLOAD, "offload", "ws", "!offloaded !lowvram", UNKNOWN, 1, "Keep a part in host memory")                       \
    X(OFFLOAD_MORE, "more", "ws", "still-more", UNKNOWN, 1, "Keep still more in host memory")                          \
    X(SHARD, "shard", "ws", "!parallel more-cards", UNKNOWN, 2, "Spread the model over more cards")                    \
    X(CACHE, "cache", "c", "", UNKNOWN, 0, "Leave the engine's cache less of the card")                                \
    X(GRAPHS, "graphs", "tc", "!eager", UNKNOWN, 1, "Do without CUDA graphs")                                          \
    X(MODEL, "model", "wsbt", "", UNKNOWN, 1, "Use a smaller model")                                                   \
    X(RELEASE, "release", "", "", UNKNOWN, 0, "Release what earlier work left on the device")                          \
    X(OWN, "own", "", "", UNKNOWN, 0, "Use the program's own setting for small cards")                                 \
    X(HEAP, "heap", "", "", UNKNOWN, 0, "Raise the heap's limit")                                                      \
    X(HOST, "host", "", "", UNKNOWN, 0, "Hold less in host memory")                                                    \
    X(HOST_MORE, "host-more", "", "", UNKNOWN, 1, "Keep less of it at all")                                            \
    X(KEEP, "keep", "", "", UNKNOWN, 0, "Keep nothing alive that is done with")                                        \
    X(NOGRAD, "nograd", "bk", "!nograd", UNKNOWN, 0, "Keep no graph")                                                  \
    X(ALLOCATOR, "allocator", "h", "", UNKNOWN, 0, "Close the holes between blocks")                                   \
    X(NEIGHBOURS, "neighbours", "o", "", UNKNOWN, 0, "See who else is on the device")                                  \
    X(WORKERS, "workers", "", "", UNKNOWN, 0, "Run fewer processes")                                                   \
    X(LIMIT, "limit", "", "", UNKNOWN, 0, "Raise the limit")                                                           \
    X(MACHINE, "machine", "", "", UNKNOWN, 2, "Use a device with more memory")                                         \
    X(CHECK, "check", "", "", UNKNOWN, 0, "Look before changing anything")                                             \
    X(OTHER, "other", "", "", UNKNOWN, 1, "Something else")

typedef enum plim__lever {
#define PLIM_LEVER_ENUM(name, word, acts, when, saving, cost, title) PLIM_LEVER_##name,
    PLIM_LEVER_LIST(PLIM_LEVER_ENUM)
#undef PLIM_LEVER_ENUM
        PLIM_LEVER_COUNT
} plim__lever;

/* The letters of what it acts on; "" for none. */
const char *plim__lever_acts(plim__lever lever);

#endif
