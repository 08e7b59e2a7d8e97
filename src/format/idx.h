/* IDX files, as MNIST and its relatives are: arrays of numbers behind a short header.
 *
 *   layout   0 0 | type | rank | rank sizes, 4 bytes each, big-endian | data, big-endian, row-major
 */
#ifndef PLIM_FORMAT_IDX_H
#define PLIM_FORMAT_IDX_H

#include <stddef.h>
#include <stdint.h>

#include "plimsoll/dtype.h"
#include "plimsoll/status.h"

enum { PLIM__IDX_MAX_RANK = 8, PLIM__IDX_MAX_HEADER = 4 + 4 * PLIM__IDX_MAX_RANK };

typedef struct plim__idx_header {
    plim_dtype dtype;
    int rank; /* at least 1 */
    int64_t dims[PLIM__IDX_MAX_RANK];
    size_t data_offset, bytes; /* bytes: of the data */
} plim__idx_header;

/* From the first bytes of a file: PLIM__IDX_MAX_HEADER, or all when it has fewer. */
plim_status plim__idx_parse_header(const unsigned char *bytes, size_t size, plim__idx_header *header,
                                   plim_error *error);

#endif
