/* Packing problems as CSV files: a row a buffer, with columns id, lower, upper, size in any order. */
#ifndef PLIM_PLAN_PACK_CSV_H
#define PLIM_PLAN_PACK_CSV_H

#include "core/str.h"
#include "plimsoll/pack.h"

typedef struct plim__pack_csv {
    char *text; /* the file; rows point into it */
    plim_pack_buffer *buffers;
    const char **rows; /* the row of each buffer, without its line end; the header is rows[count] */
    size_t *lines;     /* line number of each buffer in the file */
    size_t count;
    int offset_column; /* of a former packing, left out when writing; -1 for none */
} plim__pack_csv;

/* Also reads the optional columns `alignment` and `fixed` (an offset, or empty); other columns are kept but not read.
 * Messages name the file, the line and the buffer. Free it also after a failure. */
plim_status plim__pack_csv_read(plim__pack_csv *csv, const char *path, plim_error *error);
void plim__pack_csv_free(plim__pack_csv *csv);
/* The file again with a column `offset`. Check text->failed. */
void plim__pack_csv_print(const plim__pack_csv *csv, const int64_t *offsets, plim__str *text);

#endif
