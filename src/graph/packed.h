/* Matrices in few bits: neighbours share a scale, and each of them is a code.
 *
 *     | float32 scales, a block each | codes |      the codes begin at a multiple of 64 bytes
 *
 *     bf16   no scales; 16 bits an element, rounded to the nearest and even
 *     int8   a block is a row; code · scale / 127, where the scale is the row's largest magnitude
 *     nf4    blocks of 64 in row-major order, whatever the rows are; level[code] · scale; two codes a byte, the first of them
 *            in its upper half: 4-bit NormalFloat as bitsandbytes has it
 *     file   nothing: the matrix stays in its file, and is read there a piece at a time
 */
#ifndef PLIM_GRAPH_PACKED_H
#define PLIM_GRAPH_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

typedef enum plim__packed_form {
    PLIM__UNPACKED,
    PLIM__PACKED_BF16,
    PLIM__PACKED_INT8,
    PLIM__PACKED_NF4,
    PLIM__PACKED_FILE,
    PLIM__PACKED_FORMS,
} plim__packed_form;

typedef struct plim__packed {
    plim__packed_form packing;
    int64_t rows, columns;
} plim__packed;

struct plim__tensor;

extern const float plim__nf4_levels[16];

const char *plim__packed_name(plim__packed_form packing); /* "fp32", "bf16", "int8", "nf4", "file" */
plim__packed_form plim__packed_find(const char *name);    /* PLIM__UNPACKED when there is none, or no name */

int64_t plim__packed_block(const plim__packed *p); /* elements that share a scale */
size_t plim__packed_codes(const plim__packed *p);  /* bytes in front of the codes */
size_t plim__packed_bytes(const plim__packed *p);

/* Packs `count` elements from number `first` on: whole blocks, but for the end of the matrix. */
void plim__packed_write(const plim__packed *p, int64_t first, int64_t count, const float *x, void *into);

/* Whether a float32 tensor is in a file, in 32 or 16 bits, and can be read in pieces. */
bool plim__tensor_streams(const struct plim__tensor *tensor);
/* Elements [first, first + count) of a float32 tensor that is in memory or streams. */
plim_status plim__tensor_read_part(const struct plim__tensor *tensor, int64_t first, int64_t count, float *into,
                                   plim_error *error);
/* That these will be read soon. */
void plim__tensor_expect_part(const struct plim__tensor *tensor, int64_t first, int64_t count);

/* A float32 matrix in few bits, packed when it is read: bytes. */
plim_status plim__tensor_packed(struct plim__tensor *matrix, plim__packed_form packing, struct plim__tensor **tensor,
                                plim_error *error);
/* What plim__tensor_read does with one. */
plim_status plim__packed_read(const struct plim__tensor *tensor, void *into, plim_error *error);

#endif
