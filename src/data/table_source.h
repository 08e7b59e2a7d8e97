/* The table source: rows of a table that was read once, as inputs and targets. */
#ifndef PLIM_DATA_TABLE_SOURCE_H
#define PLIM_DATA_TABLE_SOURCE_H

#include "data/blob.h"
#include "data/columns.h"
#include "data/source.h"

/* What is predicted. */
typedef struct plim__columns_target {
    char name[PLIM_DATA_NAME];
    char *columns;            /* the names of several, with commas; NULL where they have none */
    size_t count;             /* columns; several are a vector of numbers */
    bool is_class;            /* whole numbers, or names */
    int64_t classes;          /* 0: not known */
    PLIM_VEC(char *) names;   /* of classes, by number; empty where the numbers are in the file */
    PLIM_VEC(int64_t) places; /* from the numbers in the spool to those of the names; empty: they are the same */
} plim__columns_target;

/* A spooled row: float32 for each column, then float64 for each target. */
typedef struct plim__columns_rows {
    int64_t count;
    plim__blob spool;
    plim__columns table;
    plim__columns_target target;
} plim__columns_rows;

void plim__columns_rows_free(plim__columns_rows *rows);
/* Takes the rows over, also when it fails. */
plim_status plim__columns_source_create(plim__columns_rows *rows, const plim_data_options *options,
                                        plim__data_source **source, plim_error *error);

#endif
