/* CSV files, one row at a time, whatever their size: quotes, any of , ; and tab between cells, any line ending.
 *
 *     plim__csv_open(&csv, path, &error);
 *     while (plim__csv_next(&csv, &error) == PLIM_OK && csv.cell_count > 0) use(csv.cells[0]);
 *     plim__csv_close(&csv);
 */
#ifndef PLIM_FORMAT_CSV_H
#define PLIM_FORMAT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "plimsoll/status.h"

enum {
    PLIM__CSV_MAX_ROW = 64 << 20, /* bytes */
    PLIM__CSV_MAX_CELLS = 1 << 20,
};

typedef struct plim__csv {
    FILE *stream;
    const char *path;  /* not owned */
    char delimiter;    /* found in the first row */
    int64_t line;      /* where the row that was read last begins, from 1 */
    int64_t lines;     /* read so far */
    char **cells;      /* of that row, terminated, quotes and spaces around taken off */
    size_t cell_count; /* 0: the end */
    size_t cell_capacity, row_bytes, row_capacity;
    char *row;
} plim__csv;

/* `path` must outlive it. plim__csv_close also after a failure. */
plim_status plim__csv_open(plim__csv *csv, const char *path, plim_error *error);
/* The next row that is not blank. */
plim_status plim__csv_next(plim__csv *csv, plim_error *error);
/* From the first row again. */
plim_status plim__csv_rewind(plim__csv *csv, plim_error *error);
void plim__csv_close(plim__csv *csv);

/* The whole text as a finite number, written as C and everyone else does, whatever the locale. */
bool plim__csv_number(const char *text, double *number);
/* The same, written as 1.234,5 (`decimal` is ',') or as 1,234.5 ('.'); 0: as C does. */
bool plim__csv_number_in(const char *text, char decimal, double *number);
/* Whether the whole text is a number with a comma in it: as 1,234.5 (`decimal` is '.'), as 1.234,5 (','). */
bool plim__csv_number_with_comma(const char *text, char decimal);

#endif
