/* Memory pools: the allocators of PyTorch, TensorFlow and onnxruntime as parts of their own, over a simulated device or
 * over real memory. A simulated pool hands out addresses and accounts for every byte, but holds none. */
#ifndef PLIMSOLL_ALLOC_H
#define PLIMSOLL_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/dtype.h"
#include "plimsoll/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* name in options and JSON, words for people */
#define PLIM_POOL_LIST(X)                                                                                              \
    X(PYTORCH, "pytorch", "PyTorch's caching allocator")                                                               \
    X(TENSORFLOW, "tensorflow", "TensorFlow's BFC allocator")                                                          \
    X(ONNXRUNTIME, "onnxruntime", "onnxruntime's BFC arena")                                                           \
    X(CUDA_ASYNC, "cudamallocasync", "cudaMallocAsync")

typedef enum plim_pool_kind {
#define PLIM_POOL_ENUM(name, word, title) PLIM_POOL_##name,
    PLIM_POOL_LIST(PLIM_POOL_ENUM)
#undef PLIM_POOL_ENUM
        PLIM_POOL_KINDS
} plim_pool_kind;

PLIM_API const char *plim_pool_name(plim_pool_kind kind);  /* "pytorch"; "" for what is none */
PLIM_API const char *plim_pool_title(plim_pool_kind kind); /* "PyTorch's caching allocator" */

enum { PLIM_POOL_DIVISIONS = 16 };

/* Zero-initialised options are each allocator's own defaults, on a device without a limit. */
typedef struct plim_pool_options {
    size_t size; /* sizeof(plim_pool_options), or 0; see plimsoll.h */
    plim_pool_kind kind;
    uint64_t capacity; /* bytes that the device can give to this pool; 0: no limit */
    bool real;         /* memory of this process instead of a simulated device */

    /* PyTorch: names and meanings of PYTORCH_CUDA_ALLOC_CONF. */
    uint64_t max_split_size;             /* bytes; 0: unlimited */
    uint64_t max_non_split_rounding;     /* bytes; 0: 20 MiB */
    uint64_t large_segment_size;         /* bytes; 0: 20 MiB */
    double garbage_collection_threshold; /* 0: off; has an effect only with a memory fraction */
    double memory_fraction;              /* of the capacity; 0: none set */
    bool expandable_segments;
    uint16_t roundup_power2_divisions[PLIM_POOL_DIVISIONS]; /* for sizes from 1 MiB, 2 MiB, 4 MiB ...; 0: off */

    /* TensorFlow and onnxruntime. */
    uint64_t limit;             /* bytes; 0: the capacity */
    bool whole;                 /* TensorFlow: take the whole limit at once (no allow_growth) */
    bool no_garbage_collection; /* TensorFlow: do not return free regions before failing */
    bool same_as_requested;     /* onnxruntime: extend by what is asked for, not by powers of two */
    uint64_t initial_region;    /* bytes; 0: 2 MiB (TensorFlow), 1 MiB (onnxruntime) */
    uint64_t largest_region;    /* onnxruntime: growth stops here; 0: 1 GiB */
    uint64_t fragmentation;     /* bytes of a chunk that may stay unused; 0: 128 MiB */
    bool falling_addresses;     /* TensorFlow: each new region lies below the older ones, as on the processor */
} plim_pool_options;

/* "pytorch", "tensorflow:allow_growth:False", "pytorch:max_split_size_mb:128,expandable_segments:True": an allocator and its settings,
 * PyTorch's in the spelling of PYTORCH_CUDA_ALLOC_CONF (':' or '=' between name and value). Fills the fields that the
 * text names and leaves capacity and real alone. */
PLIM_API plim_status plim_pool_parse(const char *text, plim_pool_options *options, plim_error *error);

typedef struct plim_pool plim_pool;

PLIM_API plim_status plim_pool_create(const plim_pool_options *options, plim_pool **pool, plim_error *error);
PLIM_API void plim_pool_free(plim_pool *pool); /* NULL is fine; all memory of the pool ends with it */

/* What is asked for. Only `bytes` decides; the rest is for messages. */
typedef struct plim_pool_request {
    uint64_t bytes;
    int64_t stream;
    const char *name;    /* may be NULL */
    const int64_t *dims; /* may be NULL */
    size_t rank;
    plim_dtype dtype;
    const char *device; /* "cuda:0"; may be NULL */
} plim_pool_request;

/* Writes an address; of a real pool it is a pointer to that many bytes, aligned to 256 bytes or more. Zero bytes give
 * address 0. PLIM_NO_MEMORY names what was asked for, the allocator, and what it holds; the pool is as usable as before. */
PLIM_API plim_status plim_pool_alloc(plim_pool *pool, const plim_pool_request *request, uint64_t *address,
                                     plim_error *error);
/* PLIM_NOT_FOUND for what is not a live address of the pool (0 is fine). A block that another stream uses is free after
 * plim_pool_synchronize. */
PLIM_API plim_status plim_pool_release(plim_pool *pool, uint64_t address, plim_error *error);
/* Another stream uses the block too. */
PLIM_API plim_status plim_pool_use(plim_pool *pool, uint64_t address, int64_t stream, plim_error *error);
/* All streams have finished what they had to do. */
PLIM_API plim_status plim_pool_synchronize(plim_pool *pool, plim_error *error);
/* Gives back to the device what is wholly free (torch.cuda.empty_cache, onnxruntime's shrink). */
PLIM_API plim_status plim_pool_empty(plim_pool *pool, plim_error *error);

typedef struct plim_pool_stats {
    uint64_t allocated, allocated_peak; /* bytes of blocks in use, with what rounding added */
    uint64_t requested, requested_peak; /* ... as asked for */
    uint64_t reserved, reserved_peak;   /* bytes taken from the device */
    uint64_t pending;                   /* released, but another stream may still use it */
    uint64_t unused;                    /* reserved and in no block in use */
    uint64_t stuck;                     /* ... of these, in segments that also hold blocks in use */
    uint64_t largest_free;              /* the longest free block */
    uint64_t allocations, releases;     /* counts */
    uint64_t segments, segments_taken, segments_given;
    uint64_t retries, failures; /* allocations that needed the cache to be emptied; that failed */
    double fragmentation;       /* 1 - largest_free / unused; 0 when nothing is unused */
} plim_pool_stats;

PLIM_API void plim_pool_get_stats(const plim_pool *pool, plim_pool_stats *stats);

/* A piece of memory that the pool holds; pieces of one segment follow each other. */
typedef struct plim_pool_piece {
    uint64_t address, bytes, requested;
    uint64_t segment; /* the address where its segment begins */
    int64_t stream;
    bool used, pending, mapped;
} plim_pool_piece;

/* Calls visit for each piece, segments by address, until it returns false. PLIM_NO_MEMORY when they cannot be listed. */
PLIM_API plim_status plim_pool_each(const plim_pool *pool, bool (*visit)(void *context, const plim_pool_piece *piece),
                                    void *context, plim_error *error);
/* The bytes that the pool gave to a live address; 0 when there is none. */
PLIM_API uint64_t plim_pool_size(const plim_pool *pool, uint64_t address);

/* Every invariant of the pool holds: pieces follow each other, no two free neighbours, sums agree with the statistics. */
PLIM_API bool plim_pool_is_valid(const plim_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
