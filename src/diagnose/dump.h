/* What an allocator's dump says: TensorFlow's bins and chunks, XLA's buffer list. Bounded, however long it is. */
#ifndef PLIM_DIAGNOSE_DUMP_H
#define PLIM_DIAGNOSE_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/diagnose.h"

enum { PLIM_DUMP_SIZES = 256, PLIM_BUFFER_COUNT = 32 };

/* Blocks in use, by size: the largest PLIM_DUMP_SIZES sizes by bytes held. */
typedef struct plim__dump_size {
    uint64_t bytes, count;
} plim__dump_size;

typedef struct plim__dump {
    bool has_chunks, has_stats, summary;
    uint64_t regions, region_bytes, free_count, free_bytes, largest_free, used_count, used_bytes;
    uint64_t pool_bytes, memory_limit, limit, in_use, max_in_use, reserved, stated_largest_free;
    bool has_limit, has_in_use;
    bool rounded; /* its statistics carry units ("256.00MiB") */
    size_t size_count;
    plim__dump_size sizes[PLIM_DUMP_SIZES];
} plim__dump;

/* A block in use: `count` times `bytes`. */
void plim__dump_add(plim__dump *dump, uint64_t bytes, uint64_t count);
/* The blocks that hold most, the largest product first; returns how many. */
size_t plim__dump_largest(const plim__dump *dump, plim__dump_size *sizes, size_t count);

/* A plausible shape for a block: batch x height x width x channels, of a common type. "" when none is likely. */
void plim__guess_shape(uint64_t bytes, char *guess, size_t size);

/* XLA's "Peak buffers". */
typedef struct plim__xla_buffer {
    plim_amount size;
    uint64_t exact; /* from its shape; 0 when unknown */
    int rank;
    int64_t shape[PLIM_EXPLANATION_DIMS];
    char dtype[24], what[96];
} plim__xla_buffer;

typedef struct plim__buffers {
    size_t count;
    plim__xla_buffer items[PLIM_BUFFER_COUNT];
    plim_amount total, temp, parameters, live_out;
} plim__buffers;

#endif
