/* The array source: samples are rows of arrays, wherever the arrays lie. IDX, NPY, NPZ, CSV and arrays in memory are
 * all this, once their headers are read. */
#ifndef PLIM_DATA_ARRAY_H
#define PLIM_DATA_ARRAY_H

#include "data/blob.h"
#include "data/source.h"

typedef struct plim__array_source plim__array_source;

/* One array, its sample axis first. */
typedef struct plim__array_column {
    const char *name;
    plim_dtype dtype; /* as it is stored */
    bool swapped;     /* stored in the other byte order */
    bool target;
    int blob;            /* which of the source's blobs */
    uint64_t offset;     /* of the first row in it */
    uint64_t row_stride; /* bytes from row to row; 0: the rows follow each other */
    int rank;            /* of one sample */
    const int64_t *dims;
    int64_t classes; /* 0: not known */
    bool index;      /* stored as float64, but every value is a whole number: delivered as int64 */
} plim__array_column;

/* An empty source; plim__data_source_free also after a failure. `kind` is static. */
plim_status plim__array_source_create(const char *kind, int64_t count, const plim_data_options *options,
                                      plim__array_source **source, plim_error *error);
/* Takes the blob over (also when it fails); gives its number. */
plim_status plim__array_source_add_blob(plim__array_source *source, plim__blob *blob, int *number, plim_error *error);
plim_status plim__array_source_add_column(plim__array_source *source, const plim__array_column *column,
                                          plim_error *error);
plim__data_source *plim__array_source_base(plim__array_source *source);

#endif
