/* Opening CSV: the file is read once, every cell checked, and the numbers are spooled in rows of fixed size, so that
 * any row can be read at once however long the file is.
 *
 *   spooled row   inputs, float32 each | target, float64
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/map.h"
#include "core/vec.h"
#include "data/array.h"
#include "format/csv.h"

enum { MAX_CLASSES = 1 << 16 };

typedef struct reader {
    plim__csv csv;
    plim__blob spool;
    size_t columns;
    char **names; /* of columns; NULL without a header */
    bool header;
    int64_t target;       /* column, -1 for none */
    bool target_is_text;  /* its values are names of classes, numbered as they appear */
    bool target_is_whole; /* all its values are whole numbers that fit */
    double target_most, target_least;
    plim__map classes;
    PLIM_VEC(char *) class_names;
    int64_t rows;
    unsigned char *row; /* as spooled */
    size_t row_bytes;
} reader;

static void free_reader(reader *r) {
    for (size_t i = 0; r->names && i < r->columns; i++) plim__free(r->names[i]);
    plim__free(r->names);
    for (size_t i = 0; i < r->class_names.count; i++) plim__free(r->class_names.items[i]);
    plim__vec_free(&r->class_names);
    plim__map_free(&r->classes);
    plim__free(r->row);
    plim__csv_close(&r->csv);
    plim__blob_close(&r->spool);
}

/* --- the first rows ------------------------------------------------------------------------------------------- */

static plim_status keep_names(reader *r, plim_error *error) {
    r->columns = r->csv.cell_count;
    r->names = plim__alloc_zero(r->columns, sizeof *r->names);
    if (!r->names) return plim__fail_memory(error, "names of columns", r->columns * sizeof *r->names);
    for (size_t i = 0; i < r->columns; i++)
        if (!(r->names[i] = plim__strdup(r->csv.cells[i])))
            return plim__fail_memory(error, "names of columns", strlen(r->csv.cells[i]));
    return PLIM_OK;
}

/* The first row names the columns when one of its texts stands over a number, or nothing in it is a number. */
static plim_status find_header(reader *r, plim_error *error) {
    double number;
    bool over_number = false, any_number = false;
    PLIM_TRY(plim__csv_next(&r->csv, error));
    if (r->csv.cell_count == 0) return plim__fail(error, PLIM_INVALID, "'%s' is empty", r->csv.path);
    PLIM_TRY(keep_names(r, error));
    PLIM_TRY(plim__csv_next(&r->csv, error));
    for (size_t i = 0; i < r->columns; i++) {
        bool is_number = plim__csv_number(r->names[i], &number);
        any_number |= is_number;
        if (!is_number && i < r->csv.cell_count) over_number |= plim__csv_number(r->csv.cells[i], &number);
    }
    r->header = over_number || !any_number;
    return PLIM_OK;
}

static plim_status find_target(reader *r, const char *wanted, plim_error *error) {
    r->target = -1;
    if (!wanted) return PLIM_OK;
    for (size_t i = 0; r->header && i < r->columns; i++)
        if (strcmp(r->names[i], wanted) == 0) {
            r->target = (int64_t)i;
            return PLIM_OK;
        }
    char *end;
    long long number = strtoll(wanted, &end, 10), columns = (long long)r->columns;
    if (*wanted && !*end && number < columns && number >= -columns) {
        r->target = number < 0 ? number + columns : number;
        return PLIM_OK;
    }
    return plim__fail(error, PLIM_NOT_FOUND, "'%s' has no column '%s'; it has %zu%s%.200s%s%.200s", r->csv.path, wanted,
                      r->columns, r->header ? ", from " : "", r->header ? r->names[0] : "", r->header ? " to " : "",
                      r->header ? r->names[r->columns - 1] : "");
}

/* --- every row ------------------------------------------------------------------------------------------------ */

static plim_status bad_cell(const reader *r, size_t column, const char *what, plim_error *error) {
    char name[128] = "";
    if (r->header) snprintf(name, sizeof name, " (%.100s)", r->names[column]);
    return plim__fail(error, PLIM_CORRUPT, "'%s' line %lld column %zu%s: %s", r->csv.path, (long long)r->csv.line,
                      column + 1, name, what);
}

static plim_status not_a_number(const reader *r, size_t column, plim_error *error) {
    char what[128];
    const char *cell = r->csv.cells[column];
    if (!*cell) return bad_cell(r, column, "is empty; a number belongs here", error);
    snprintf(what, sizeof what, "'%.60s' is not a finite number", cell);
    return bad_cell(r, column, what, error);
}

static plim_status class_number(reader *r, double *value, plim_error *error) {
    const char *name = r->csv.cells[r->target];
    int64_t number = plim__map_get(&r->classes, name, -1);
    if (!*name) return bad_cell(r, (size_t)r->target, "is empty; the name of a class belongs here", error);
    if (number < 0) {
        number = (int64_t)r->class_names.count;
        if (number == MAX_CLASSES)
            return bad_cell(r, (size_t)r->target, "more than 65536 different texts; is this the target?", error);
        char *copy = plim__strdup(name);
        if (!copy || !plim__vec_push(&r->class_names, copy)) {
            plim__free(copy);
            return plim__fail_memory(error, "names of classes", strlen(name));
        }
        if (!plim__map_put(&r->classes, name, number))
            return plim__fail_memory(error, "names of classes", strlen(name));
    }
    *value = (double)number;
    return PLIM_OK;
}

static plim_status read_target(reader *r, double *value, plim_error *error) {
    size_t column = (size_t)r->target;
    if (r->rows == 0) r->target_is_text = r->csv.cells[column][0] && !plim__csv_number(r->csv.cells[column], value);
    if (r->target_is_text) return class_number(r, value, error);
    if (!plim__csv_number(r->csv.cells[column], value)) return not_a_number(r, column, error);
    if (*value != trunc(*value) || fabs(*value) > 0x1p53) r->target_is_whole = false;
    if (*value > r->target_most) r->target_most = *value;
    if (*value < r->target_least) r->target_least = *value;
    return PLIM_OK;
}

static plim_status spool_row(reader *r, plim_error *error) {
    size_t at = 0;
    double value = 0;
    if (r->csv.cell_count != r->columns)
        return plim__fail(error, PLIM_CORRUPT,
                          "'%s' line %lld column %zu: the row has %zu cells, the first one has %zu", r->csv.path,
                          (long long)r->csv.line, (r->csv.cell_count < r->columns ? r->csv.cell_count : r->columns) + 1,
                          r->csv.cell_count, r->columns);
    for (size_t i = 0; i < r->columns; i++) {
        if ((int64_t)i == r->target) continue;
        if (!plim__csv_number(r->csv.cells[i], &value)) return not_a_number(r, i, error);
        float number = (float)value;
        if (!isfinite(number)) return not_a_number(r, i, error);
        memcpy(r->row + at, &number, sizeof number);
        at += sizeof number;
    }
    value = 0;
    if (r->target >= 0) PLIM_TRY(read_target(r, &value, error));
    memcpy(r->row + at, &value, sizeof value);
    r->rows++;
    return plim__blob_spool_write(&r->spool, r->row, r->row_bytes, error);
}

static plim_status spool_rows(reader *r, plim_error *error) {
    r->row_bytes = (r->columns - (r->target >= 0)) * sizeof(float) + sizeof(double);
    r->row = plim__alloc(r->row_bytes);
    if (!r->row) return plim__fail_memory(error, "a row of a CSV file", r->row_bytes);
    PLIM_TRY(plim__blob_spool_start(&r->spool, r->csv.path, error));
    PLIM_TRY(plim__csv_rewind(&r->csv, error));
    r->target_is_whole = true;
    if (r->header) PLIM_TRY(plim__csv_next(&r->csv, error));
    for (;;) {
        PLIM_TRY(plim__csv_next(&r->csv, error));
        if (r->csv.cell_count == 0) break;
        PLIM_TRY(spool_row(r, error));
    }
    if (r->rows == 0) return plim__fail(error, PLIM_INVALID, "'%s' has no rows under its header", r->csv.path);
    return plim__blob_spool_end(&r->spool, error);
}

/* --- the source ----------------------------------------------------------------------------------------------- */

static plim_status add_columns(reader *r, plim__array_source *source, plim_error *error) {
    int64_t inputs = (int64_t)r->columns - (r->target >= 0);
    plim__array_column x = {.name = "x", .dtype = PLIM_F32, .row_stride = r->row_bytes, .rank = 1, .dims = &inputs};
    plim__array_column y = {.dtype = PLIM_F64, .row_stride = r->row_bytes, .target = true};
    PLIM_TRY(plim__array_source_add_blob(source, &r->spool, &x.blob, error));
    r->spool = PLIM__BLOB_EMPTY;
    if (inputs > 0) PLIM_TRY(plim__array_source_add_column(source, &x, error));
    if (r->target < 0) return PLIM_OK;
    y.name = r->header ? r->names[r->target] : "y";
    y.blob = x.blob;
    y.offset = (uint64_t)inputs * sizeof(float);
    y.index = r->target_is_text || r->target_is_whole;
    if (r->target_is_text) y.classes = (int64_t)r->class_names.count;
    if (!r->target_is_text && y.index && r->target_least >= 0 && r->target_most < 0x1p31)
        y.classes = (int64_t)r->target_most + 1;
    PLIM_TRY(plim__array_source_add_column(source, &y, error));
    plim__array_source_set_classes(source, r->class_names.items, r->class_names.count);
    r->class_names.items = NULL;
    r->class_names.count = r->class_names.capacity = 0;
    return PLIM_OK;
}

static plim_status read_csv(reader *r, const char *path, const plim_data_options *options, plim__array_source **source,
                            plim_error *error) {
    struct stat info;
    PLIM_TRY(plim__csv_open(&r->csv, path, error));
    PLIM_TRY(find_header(r, error));
    PLIM_TRY(find_target(r, options->target, error));
    PLIM_TRY(spool_rows(r, error));
    PLIM_TRY(plim__array_source_create("csv", r->rows, options, source, error));
    if (fstat(fileno(r->csv.stream), &info) == 0) plim__array_source_base(*source)->file_bytes = (uint64_t)info.st_size;
    return add_columns(r, *source, error);
}

plim_status plim__data_source_open_csv(const char *path, const plim_data_options *options, plim__data_source **source,
                                       plim_error *error) {
    reader r = {.spool = PLIM__BLOB_EMPTY};
    plim__array_source *made = NULL;
    *source = NULL;
    plim_status status = read_csv(&r, path, options, &made, error);
    free_reader(&r);
    if (status == PLIM_OK)
        *source = plim__array_source_base(made);
    else if (made)
        plim__data_source_free(plim__array_source_base(made));
    return status;
}
