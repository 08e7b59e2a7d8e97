/* Packing: an offset in one arena for every buffer, so that buffers alive at the same time never overlap. */
#ifndef PLIMSOLL_PACK_H
#define PLIMSOLL_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A buffer lives in the half-open time span [lower, upper) and needs `size` contiguous bytes. */
typedef struct plim_pack_buffer {
    int64_t lower, upper; /* lower < upper */
    int64_t size;         /* >= 0; a buffer of size 0 overlaps nothing */
    int64_t alignment;    /* its offset is a multiple of this; 0 and 1 both mean any offset */
    bool fixed;           /* the offset is not ours to choose ... */
    int64_t offset;       /* ... but this one (>= 0); read only when fixed */
} plim_pack_buffer;

/* Zero-initialised options are the defaults. */
typedef struct plim_pack_options {
    size_t size;      /* sizeof(plim_pack_options), or 0; see plimsoll.h */
    int64_t capacity; /* stop at the first packing that fits; 0: find the lowest packing */
    double seconds;   /* stop searching after this long and keep the best found; 0: no deadline */
    int64_t work;     /* stop after about this number of elementary operations, whatever the clock says; 0: 400 million
                       * (about a second) without a capacity, no limit with one */
    size_t memory; /* bytes for dead ends that the search remembers, rounded down to a power of two; 0: 8 MiB. Where it
                       * is given, the search's lists take no more either, or than a quarter of what is packed: problems that
                       * need more are left to the constructions */
} plim_pack_options;

typedef struct plim_pack_result {
    int64_t height;      /* the largest offset + size */
    int64_t lower_bound; /* the largest sum of sizes alive at one time: no packing is lower */
    bool exact;          /* proven: no packing is lower than `height` (without a capacity: the best there is), or,
                          * when the capacity was not reached, no packing fits the capacity */
    bool fits;           /* height <= capacity; true when no capacity was given */
    bool timed_out;      /* the deadline, not the work limit, ended the search: another run may differ */
    int64_t nodes;       /* branches that the exact search visited */
    double seconds;
} plim_pack_result;

/* Writes an offset for each of `count` buffers into offsets[]. Fast constructions come first; where they leave a
 * gap to the lower bound, an exact search tries to close it. The answer depends only on the buffers and the options,
 * unless the deadline cuts the search (result->timed_out).
 *   PLIM_OK        offsets[] holds a valid packing, even when it misses the capacity (see result->fits)
 *   PLIM_INVALID   a buffer is malformed, or two fixed buffers collide; the message names the buffer's index
 *   PLIM_OVERFLOW  the sizes add up to more than fits 62 bits
 *   PLIM_NO_MEMORY
 * options and error may be NULL. offsets[] is undefined unless the answer is PLIM_OK. */
PLIM_API plim_status plim_pack(const plim_pack_buffer *buffers, size_t count, const plim_pack_options *options,
                               int64_t *offsets, plim_pack_result *result, plim_error *error);

/* Whether the offsets are a packing: none negative, aligned, fixed ones in place, and no two buffers that are alive
 * at the same time overlap. PLIM_INVALID names the first two buffers that collide. */
PLIM_API plim_status plim_pack_check(const plim_pack_buffer *buffers, size_t count, const int64_t *offsets,
                                     plim_error *error);

/* --- problems in files ---------------------------------------------------------------------------------------- */

/* A packing problem as a CSV file: a row a buffer, with columns id, lower, upper, size in any order; the columns alignment
 * and fixed (an offset, or empty) are optional, others are kept. */
typedef struct plim_pack_file plim_pack_file;

/* Messages name the file, the line and the buffer. */
PLIM_API plim_status plim_pack_file_load(const char *path, plim_pack_file **file, plim_error *error);
PLIM_API void plim_pack_file_free(plim_pack_file *file);
PLIM_API size_t plim_pack_file_count(const plim_pack_file *file);
/* As many as plim_pack_file_count, in the order of the rows; valid until the file is freed. */
PLIM_API const plim_pack_buffer *plim_pack_file_buffers(const plim_pack_file *file);
/* The file again with a column `offset`, one for each buffer. Free it with plim_text_free. */
PLIM_API plim_status plim_pack_file_print(const plim_pack_file *file, const int64_t *offsets, char **text,
                                          plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
