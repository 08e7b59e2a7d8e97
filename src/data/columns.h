/* The columns of a table, and how a row of cells becomes numbers: numbers as they are or normalised, categories as one
 * number each that is 0 or 1. What was learned from the training set (means, categories) is a text that other sets of the
 * same job are read with. */
#ifndef PLIM_DATA_COLUMNS_H
#define PLIM_DATA_COLUMNS_H

#include <stdbool.h>

#include "core/map.h"
#include "core/vec.h"
#include "plimsoll/data.h"

typedef enum plim__column_kind {
    PLIM__COLUMN_OPEN, /* no cell has told yet */
    PLIM__COLUMN_NUMBER,
    PLIM__COLUMN_CATEGORY,
    PLIM__COLUMN_DATE, /* days since 2000-01-01, in the row; PLIM__DATE_NUMBERS numbers for the network */
} plim__column_kind;

typedef struct plim__column {
    char *name; /* of the header, or its number */
    size_t at;  /* its place in the file */
    plim__column_kind kind;
    bool settled;       /* a table said what it is, and which categories there are */
    bool takes_numbers; /* the user said that its numbers are categories */
    bool embedded;      /* its categories are numbers of rows of an embedding, not 0 or 1 each */
    bool fills;         /* a missing number becomes `fill`, a missing category none of the categories */
    double fill, mean, deviation;
    PLIM_VEC(char *) values;     /* categories, as they appeared */
    plim__map numbers;           /* of these */
    PLIM_VEC(int64_t) places;    /* of these among the numbers that the column becomes: in the order of their names */
    int64_t missing, first_text; /* cells; the line of the first text */
} plim__column;

typedef struct plim__columns {
    PLIM_VEC(plim__column) columns;
    bool normalise, settled;
    bool fill_mean; /* else missing values become 0 */
    bool fills;
} plim__columns;

enum { PLIM__TABLE_MOST_CATEGORIES = 1024 };

bool plim__column_is_missing(const char *cell); /* empty, NA, nan, null, ?, - */
void plim__columns_free(plim__columns *table);
/* `name` is copied. */
plim_status plim__columns_add(plim__columns *table, const char *name, size_t at, plim_error *error);
/* Gives categories their places; after the last row. False when memory is short. */
bool plim__columns_sort(plim__columns *table);
int64_t plim__columns_width(const plim__columns *table); /* numbers that a row becomes */
/* Columns that are embedded, and the rows that an embedding of all of them has. */
int64_t plim__columns_embedded(const plim__columns *table, int64_t *rows);
uint64_t plim__columns_bytes(const plim__columns *table);
/* `row` has a number for each column, NaN where it is missing; writes plim__columns_width numbers, and
 * the rows of an embedding for the columns that are embedded. */
void plim__columns_encode(const plim__columns *table, const float *row, float *made, int64_t *rows);

/* As text and back: {"columns": [{"name": "age", "kind": "number", "mean": 30.5, "std": 4, "fill": 30.5},
 * {"name": "city", "kind": "category", "values": ["Bonn", "Rome"], "fill": true}]}. */
char *
plim__columns_print(const plim__columns *table); /* plim__free it; NULL when memory is short or a name is not UTF-8 */
plim_status plim__columns_parse(plim__columns *table, const char *text, plim_error *error);

/* Gives each column a name of its own: a second "a" is "a.1", as for pandas, one without a name, or all where there is no
 * `header`, its number. Names are replaced on our heap. */
plim_status plim__columns_tell_apart(char **names, size_t count, bool header, plim_error *error);

/* Whether "a,b,c" names this column, by its name or number; -1 is the last of `count`. */
bool plim__columns_lists(const char *list, const char *name, size_t at, size_t count);

#endif
