/* What is in a table (CSV) before anything is decided about it: each column's kind, range, gaps, different values.
 *
 *     plim_table *table;
 *     plim_table_read("people.csv", &table, &error);
 *     for (size_t i = 0; plim_table_get_column(table, i, &column); i++) puts(column.name);
 *     plim_table_free(table);
 */
#ifndef PLIMSOLL_TABLE_H
#define PLIMSOLL_TABLE_H

#include "plimsoll/data.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_table plim_table;

typedef struct plim_table_column {
    const char *name;         /* of the header, or its number; valid until plim_table_free */
    int64_t numbers, texts;   /* cells of either kind */
    int64_t missing;          /* empty, NA, nan, null, ?, - */
    int64_t different;        /* values; -1: more than 1024 */
    int whole;                /* all numbers are */
    double least, most, mean; /* of the numbers */
    const char *examples[3];  /* different cells; NULL where there are fewer */
    int64_t dates;            /* of the texts: 2024-05-31, with a time or without */
    int64_t commas, grouped;  /* of the texts: numbers with commas, as 1,234.5 or 2,5; of these, those as 1,234.5 */
    const char *text;         /* the first cell that is a text; NULL: there is none */
    int64_t text_line;        /* in this line */
} plim_table_column;

PLIM_API plim_status plim_table_read(const char *path, plim_table **table, plim_error *error);
/* `decimal` as in plim_data_options. */
PLIM_API plim_status plim_table_read_decimal(const char *path, int decimal, plim_table **table, plim_error *error);
PLIM_API void plim_table_free(plim_table *table);
PLIM_API int64_t plim_table_rows(const plim_table *table);
/* Returns 0 past the end. */
PLIM_API int plim_table_get_column(const plim_table *table, size_t index, plim_table_column *column);

#ifdef __cplusplus
}
#endif
#endif
