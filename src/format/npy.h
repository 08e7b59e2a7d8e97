/* NumPy's .npy files: the header by itself (so that sizes cost no reading), data into a caller's buffer, and
 * writing. Data always arrives in C order and in this machine's byte order, whatever the file holds.
 *
 *   layout   "\x93NUMPY" major minor | header length (2 bytes in version 1, 4 in 2 and 3) | header | data
 *   header   a Python dict as text: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 */
#ifndef PLIM_FORMAT_NPY_H
#define PLIM_FORMAT_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/dtype.h"
#include "plimsoll/status.h"

enum {
    PLIM__NPY_MAX_RANK = 8,
    PLIM__NPY_PREFIX = 12,          /* enough bytes to know how long the header is */
    PLIM__NPY_MAX_HEADER = 1 << 20, /* longer headers are refused */
};

typedef struct plim__npy_header {
    plim_dtype
        dtype; /* PLIM_DTYPE_NONE for what has a size but no number in it for us: text, dates, void, long double */
    char kind; /* NumPy's letter: b i u f c S U V M m */
    size_t item_bytes; /* of one element */
    bool fortran;      /* the first index runs fastest in the file */
    bool swapped;      /* the file's bytes are in the other order than this machine's */
    int rank;          /* 0 for a scalar */
    int64_t dims[PLIM__NPY_MAX_RANK];
    int64_t elements;
    uint64_t data_offset; /* from the start of the file */
    size_t bytes;         /* of the data: elements * item_bytes */
} plim__npy_header;

/* From the first PLIM__NPY_PREFIX bytes of a file: where its data begins. */
plim_status plim__npy_parse_prefix(const unsigned char prefix[PLIM__NPY_PREFIX], size_t *data_offset,
                                   plim_error *error);
/* From everything before the data. `size` is what plim__npy_parse_prefix said. */
plim_status plim__npy_parse_header(const char *bytes, size_t size, plim__npy_header *header, plim_error *error);

/* Reads the header at the start of an open file and checks that a regular file is long enough for the data
 * it promises, so a caller may allocate header->bytes. `path` is for messages. */
plim_status plim__npy_read_header(int fd, const char *path, plim__npy_header *header, plim_error *error);

/* Reads all data into `data`, which holds header->bytes. Needs a header whose dtype is known. */
plim_status plim__npy_read_data(int fd, const char *path, const plim__npy_header *header, void *data,
                                plim_error *error);

/* Both at once; plim__free(*data). Files with more than SIZE_MAX / 2 bytes of data are refused. */
plim_status plim__npy_read(const char *path, plim__npy_header *header, void **data, plim_error *error);

/* Writes a C-ordered array; the file appears whole or not at all. Refuses dtypes that NumPy does not have. */
plim_status plim__npy_write(const char *path, plim_dtype dtype, int rank, const int64_t *dims, const void *data,
                            plim_error *error);

#endif
