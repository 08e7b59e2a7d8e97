/* Opening CSV: the file is read once, every cell checked, and numbers are spooled in rows of fixed size, so that any row
 * can be read at once however long the file is.
 *
 *   spooled row   columns, float32 each: numbers, or numbers of categories as they appeared; NaN where missing
 *                 targets, float64 each: numbers, or numbers of classes as they appeared
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/str.h"
#include "data/date.h"
#include "data/table_source.h"
#include "format/csv.h"

enum { MAX_CLASSES = 1 << 16, MAX_TARGETS = 64 };

typedef struct reader {
    plim__csv csv;
    const plim_data_options *options;
    plim__columns_rows made;
    size_t columns;
    char **names; /* of columns, each another; their numbers where there is no header */
    bool header;
    size_t targets[MAX_TARGETS];
    bool target_is_text;  /* its values are names of classes */
    bool target_is_whole; /* all its values are whole numbers that fit */
    double target_most, target_least;
    plim__map classes;
    unsigned char *row; /* as spooled */
    size_t row_bytes;
} reader;

static void free_reader(reader *r) {
    for (size_t i = 0; r->names && i < r->columns; i++) plim__free(r->names[i]);
    plim__free(r->names);
    plim__map_free(&r->classes);
    plim__free(r->row);
    plim__columns_rows_free(&r->made);
    plim__csv_close(&r->csv);
}

static bool is_number(const reader *r, const char *cell, double *value) {
    return plim__csv_number_in(cell, (char)r->options->decimal, value);
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
        bool numeric = is_number(r, r->names[i], &number);
        any_number |= numeric;
        if (!numeric && i < r->csv.cell_count) over_number |= is_number(r, r->csv.cells[i], &number);
    }
    r->header = over_number || !any_number;
    return plim__columns_tell_apart(r->names, r->columns, r->header, error);
}

/* --- which columns -------------------------------------------------------------------------------------------- */

static plim_status no_column(const reader *r, const char *wanted, size_t length, const char *why, plim_error *error) {
    char word[201];
    const char *best = NULL;
    snprintf(word, sizeof word, "%.*s", (int)(length < 200 ? length : 200), wanted);
    for (size_t i = 0; r->header && i < r->columns; i++) best = plim__str_nearest(word, best, r->names[i]);
    if (best && !*why)
        return plim__fail(error, PLIM_NOT_FOUND, "'%s' has no column '%s'; is '%.200s' meant?", r->csv.path, word,
                          best);
    return plim__fail(error, PLIM_NOT_FOUND, "'%s' has no column '%s'%s; it has %zu%s%.200s%s%.200s", r->csv.path, word,
                      why, r->columns, r->header ? ", from " : "", r->header ? r->names[0] : "",
                      r->header ? " to " : "", r->header ? r->names[r->columns - 1] : "");
}

static size_t find_name(const reader *r, const char *name) {
    size_t i = 0;
    while (i < r->columns && strcmp(r->names[i], name) != 0) i++;
    return i;
}

static size_t find_column(const reader *r, const char *name) {
    size_t i = find_name(r, name);
    if (i < r->columns) return i;
    for (i = 0; i < r->columns && !plim__columns_lists(name, r->names[i], i, r->columns);) i++;
    return i;
}

/* Every word of "a,b,c" is a column. */
static plim_status check_list(const reader *r, const char *list, plim_error *error) {
    if (!list || find_column(r, list) < r->columns) {
        if (!list || !strchr(list, ',')) return PLIM_OK;
    }
    if (find_name(r, list) < r->columns) return PLIM_OK;
    for (const char *word = list;; word++) {
        size_t length = strcspn(word, ","), i = 0;
        char name[1024];
        snprintf(name, sizeof name, "%.*s", (int)(length < 1000 ? length : 1000), word);
        while (i < r->columns && !plim__columns_lists(name, r->names[i], i, r->columns)) i++;
        if (i == r->columns) return no_column(r, word, length, "", error);
        word += length;
        if (!*word) return PLIM_OK;
    }
}

static bool is_target(const reader *r, size_t column) {
    for (size_t i = 0; i < r->made.target.count; i++)
        if (r->targets[i] == column) return true;
    return false;
}

/* "price,rent", so that another table's columns are found by name even where numbers were given. */
static plim_status name_targets(reader *r, plim_error *error) {
    plim__str list = {0};
    bool named = r->header && r->made.target.count > 1;
    for (size_t i = 0; named && i < r->made.target.count; i++) {
        const char *name = r->names[r->targets[i]];
        named = !strchr(name, ',');
        plim__str_addf(&list, "%s%s", i ? "," : "", name);
    }
    if (named && !(r->made.target.columns = plim__strdup(plim__str_text(&list)))) list.failed = true;
    bool failed = list.failed;
    size_t length = list.length;
    plim__str_free(&list);
    return failed ? plim__fail_memory(error, "names of columns", length) : PLIM_OK;
}

/* In the order of the list: a model's numbers stay what they are where another file has its columns elsewhere. */
static plim_status find_targets(reader *r, const char *wanted, plim_error *error) {
    plim__columns_target *target = &r->made.target;
    if (!wanted) return PLIM_OK;
    plim_status found = check_list(r, wanted, error);
    if (found != PLIM_OK) return r->options->no_target ? PLIM_OK : found;
    for (const char *word = wanted;; word++) {
        char name[1024];
        size_t whole = find_name(r, wanted), length = whole < r->columns ? strlen(word) : strcspn(word, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 1000 ? length : 1000), word);
        size_t column = find_column(r, name);
        if (target->count == MAX_TARGETS)
            return plim__fail(error, PLIM_UNSUPPORTED, "more than %d columns are to be predicted", MAX_TARGETS);
        if (!is_target(r, column)) r->targets[target->count++] = column;
        word += length;
        if (!*word) break;
    }
    snprintf(target->name, sizeof target->name, "%s", r->header && target->count == 1 ? r->names[r->targets[0]] : "y");
    return name_targets(r, error);
}

/* The columns that a table was made of, wherever they are now. */
static plim_status follow_table(reader *r, plim_error *error) {
    plim__columns *table = &r->made.table;
    PLIM_TRY(plim__columns_parse(table, r->options->table, error));
    for (size_t i = 0; i < table->columns.count; i++) {
        plim__column *c = &table->columns.items[i];
        c->at = find_column(r, c->name);
        if (c->at == r->columns)
            return no_column(r, c->name, strlen(c->name), ", which the model was trained with", error);
    }
    return PLIM_OK;
}

static plim_status choose_columns(reader *r, plim_error *error) {
    const plim_data_options *o = r->options;
    plim__columns *table = &r->made.table;
    table->fills = o->missing != NULL;
    table->fill_mean = o->missing && strcmp(o->missing, "mean") == 0;
    table->normalise = o->normalise;
    if (o->missing && !table->fill_mean && strcmp(o->missing, "zero") != 0)
        return plim__fail(error, PLIM_INVALID, "missing values can become 'mean' or 'zero', not '%.100s'", o->missing);
    if (o->table) return follow_table(r, error);
    PLIM_TRY(check_list(r, o->columns, error));
    PLIM_TRY(check_list(r, o->drop, error));
    PLIM_TRY(check_list(r, o->categories, error));
    PLIM_TRY(check_list(r, o->embed, error));
    for (size_t i = 0; i < r->columns; i++) {
        if (is_target(r, i) || plim__columns_lists(o->drop, r->names[i], i, r->columns)) continue;
        if (o->columns && !plim__columns_lists(o->columns, r->names[i], i, r->columns)) continue;
        PLIM_TRY(plim__columns_add(table, r->names[i], i, error));
        plim__column *c = &table->columns.items[table->columns.count - 1];
        c->takes_numbers = plim__columns_lists(o->categories, r->names[i], i, r->columns);
        c->embedded = plim__columns_lists(o->embed, r->names[i], i, r->columns);
        c->takes_numbers |= c->embedded;
        if (c->takes_numbers) c->kind = PLIM__COLUMN_CATEGORY;
    }
    return PLIM_OK;
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
    double unused;
    const char *cell = r->csv.cells[column];
    if (!*cell) return bad_cell(r, column, "is empty; a number belongs here", error);
    bool points = plim__csv_number_in(cell, '.', &unused), comma = !points && plim__csv_number_in(cell, ',', &unused);
    snprintf(what, sizeof what, "'%.60s' is not a finite number%s%s%s", cell, points || comma ? "; --decimal " : "",
             points  ? "point"
             : comma ? "comma"
                     : "",
             points || comma ? " reads such ones" : "");
    return bad_cell(r, column, what, error);
}

static plim_status category_number(reader *r, plim__column *c, float *made, plim_error *error) {
    const char *cell = r->csv.cells[c->at];
    char what[256];
    int64_t number = plim__map_get(&c->numbers, cell, -1);
    if (number < 0 && c->settled) {
        snprintf(what, sizeof what, "'%.60s' is none of the %zu categories that the model was trained with", cell,
                 c->values.count);
        return bad_cell(r, c->at, what, error);
    }
    if (number < 0 && c->values.count == PLIM__TABLE_MOST_CATEGORIES) {
        snprintf(what, sizeof what, "more than %d different texts are too many for categories; --drop leaves it out",
                 PLIM__TABLE_MOST_CATEGORIES);
        return bad_cell(r, c->at, what, error);
    }
    if (number < 0) {
        char *copy = plim__strdup(cell);
        number = (int64_t)c->values.count;
        if (!copy || !plim__vec_push(&c->values, copy)) {
            plim__free(copy);
            return plim__fail_memory(error, "categories", strlen(cell));
        }
        if (!plim__map_put(&c->numbers, cell, number)) return plim__fail_memory(error, "categories", strlen(cell));
    }
    if (c->first_text == 0) c->first_text = r->csv.line;
    *made = (float)number;
    return PLIM_OK;
}

/* Dates without --normalise are years since 2000. */
static plim__column_kind kind_of_cell(const char *cell, bool number, plim__column *c) {
    double days;
    if (number || plim__column_is_missing(cell)) return PLIM__COLUMN_NUMBER;
    if (!plim__date_parse(cell, &days)) return PLIM__COLUMN_CATEGORY;
    c->deviation = 365.25;
    return PLIM__COLUMN_DATE;
}

static plim_status read_date(const reader *r, const plim__column *c, float *made, plim_error *error) {
    char what[160];
    double days;
    const char *cell = r->csv.cells[c->at];
    if (plim__date_parse(cell, &days)) {
        *made = (float)days;
        return PLIM_OK;
    }
    if (!*cell) return bad_cell(r, c->at, "is empty; --missing mean allows that", error);
    snprintf(what, sizeof what, "'%.60s' is no date, as 2024-05-31; --categories takes the column as texts", cell);
    return bad_cell(r, c->at, what, error);
}

static plim_status missing_cell(const reader *r, size_t column, plim_error *error) {
    char what[160];
    const char *cell = r->csv.cells[column];
    if (!*cell) return bad_cell(r, column, "is empty; --missing mean allows that", error);
    snprintf(what, sizeof what,
             "'%.20s' says that it is missing; --missing mean allows that, --categories takes it as a text", cell);
    return bad_cell(r, column, what, error);
}

static bool has_commas(const reader *r, char **values, size_t count) {
    if (r->options->decimal) return false;
    for (size_t i = 0; i < count; i++)
        if (!plim__csv_number_with_comma(values[i], '.') && !plim__csv_number_with_comma(values[i], ',')) return false;
    return count > 0;
}

/* As texts they would be categories or classes, each of its own, and nothing would say so. */
static plim_status commas(const reader *r, size_t column, const char *cell, plim_error *error) {
    plim__str how = {0};
    if (plim__csv_number_with_comma(cell, '.')) plim__str_add(&how, "--decimal point reads them as thousands");
    if (plim__csv_number_with_comma(cell, ','))
        plim__str_addf(&how, "%s--decimal comma %s decimals", how.length ? ", " : "",
                       how.length ? "as" : "reads them as");
    plim_status status = plim__fail(
        error, PLIM_INVALID,
        "'%s' column %zu (%.100s): its numbers have commas, as '%.40s': %s, --categories takes them as texts",
        r->csv.path, column + 1, r->names[column], cell, plim__str_text(&how));
    plim__str_free(&how);
    return status;
}

/* A column is numbers, dates or texts, by its first cell; one that has several is a mistake in one of the cells. */
static plim_status read_cell(reader *r, plim__column *c, float *made, plim_error *error) {
    const char *cell = r->csv.cells[c->at];
    double value;
    *made = NAN;
    if (plim__column_is_missing(cell) && (c->settled ? c->fills : r->made.table.fills)) {
        c->missing++;
        return PLIM_OK;
    }
    if (plim__column_is_missing(cell) && !c->settled && !c->takes_numbers) return missing_cell(r, c->at, error);
    bool number = is_number(r, cell, &value) && isfinite((float)value);
    if (c->kind == PLIM__COLUMN_OPEN) c->kind = kind_of_cell(cell, number, c);
    if (c->kind == PLIM__COLUMN_DATE) return read_date(r, c, made, error);
    if (c->kind == PLIM__COLUMN_NUMBER) {
        if (!number) return not_a_number(r, c->at, error);
        *made = (float)value;
        return PLIM_OK;
    }
    if (!*cell) return bad_cell(r, c->at, "is empty; --missing mean allows that", error);
    if (number && !c->settled && !c->takes_numbers) {
        char what[128];
        if (has_commas(r, c->values.items, c->values.count)) return commas(r, c->at, c->values.items[0], error);
        snprintf(what, sizeof what, "'%.60s' is a number, but line %lld has a text; --categories takes both as texts",
                 cell, (long long)c->first_text);
        return bad_cell(r, c->at, what, error);
    }
    return category_number(r, c, made, error);
}

/* "cat, dog, ..." */
static void list_classes(const plim_data_options *o, plim__str *text) {
    for (int i = 0; i < o->class_count && i < 8; i++) plim__str_addf(text, "%s%.40s", i ? ", " : "", o->classes[i]);
    if (o->class_count > 8) plim__str_add(text, ", ...");
}

static plim_status unknown_class(const reader *r, plim_error *error) {
    plim__str what = {0};
    plim__str_addf(&what, "class '%.60s' is unknown; the model's %d classes are ", r->csv.cells[r->targets[0]],
                   r->options->class_count);
    list_classes(r->options, &what);
    plim_status status = bad_cell(r, r->targets[0], plim__str_text(&what), error);
    plim__str_free(&what);
    return status;
}

static plim_status add_class(reader *r, const char *name, plim_error *error) {
    plim__columns_target *target = &r->made.target;
    char *copy = plim__strdup(name);
    if (!copy || !plim__vec_push(&target->names, copy)) {
        plim__free(copy);
        return plim__fail_memory(error, "names of classes", strlen(name));
    }
    return plim__map_put(&r->classes, name, (int64_t)target->names.count - 1)
               ? PLIM_OK
               : plim__fail_memory(error, "names of classes", strlen(name));
}

static plim_status class_number(reader *r, double *value, plim_error *error) {
    const char *name = r->csv.cells[r->targets[0]];
    int64_t number = plim__map_get(&r->classes, name, -1);
    if (!*name) return bad_cell(r, r->targets[0], "is empty; the name of a class belongs here", error);
    if (number < 0) {
        if (r->options->class_count) return unknown_class(r, error);
        number = (int64_t)r->made.target.names.count;
        if (number == MAX_CLASSES)
            return bad_cell(r, r->targets[0], "more than 65536 different texts; is this the target?", error);
        PLIM_TRY(add_class(r, name, error));
    }
    *value = (double)number;
    return PLIM_OK;
}

static plim_status read_target(reader *r, size_t which, double *value, plim_error *error) {
    size_t column = r->targets[which];
    const char *cell = r->csv.cells[column];
    if (r->made.count == 0 && which == 0 && r->made.target.count == 1 && !r->options->float_target)
        r->target_is_text = r->options->class_count > 0 || (*cell && !is_number(r, cell, value));
    if (r->target_is_text) return class_number(r, value, error);
    if (!is_number(r, cell, value)) return not_a_number(r, column, error);
    if (*value != trunc(*value) || fabs(*value) > 0x1p53) r->target_is_whole = false;
    if (*value > r->target_most) r->target_most = *value;
    if (*value < r->target_least) r->target_least = *value;
    return PLIM_OK;
}

static plim_status spool_row(reader *r, plim_error *error) {
    plim__columns *table = &r->made.table;
    unsigned char *at = r->row;
    if (r->csv.cell_count != r->columns)
        return plim__fail(error, PLIM_CORRUPT,
                          "'%s' line %lld column %zu: the row has %zu cells, the first one has %zu", r->csv.path,
                          (long long)r->csv.line, (r->csv.cell_count < r->columns ? r->csv.cell_count : r->columns) + 1,
                          r->csv.cell_count, r->columns);
    for (size_t i = 0; i < table->columns.count; i++, at += sizeof(float)) {
        float number;
        PLIM_TRY(read_cell(r, &table->columns.items[i], &number, error));
        memcpy(at, &number, sizeof number);
    }
    for (size_t i = 0; i < r->made.target.count; i++, at += sizeof(double)) {
        double value;
        PLIM_TRY(read_target(r, i, &value, error));
        memcpy(at, &value, sizeof value);
    }
    r->made.count++;
    return plim__blob_spool_write(&r->made.spool, r->row, r->row_bytes, error);
}

static plim_status spool_rows(reader *r, plim_error *error) {
    r->row_bytes = r->made.table.columns.count * sizeof(float) + r->made.target.count * sizeof(double);
    if (r->row_bytes == 0) return plim__fail(error, PLIM_INVALID, "'%s' has no column that is used", r->csv.path);
    r->row = plim__alloc(r->row_bytes);
    if (!r->row) return plim__fail_memory(error, "a row of a CSV file", r->row_bytes);
    for (int i = 0; i < r->options->class_count; i++) PLIM_TRY(add_class(r, r->options->classes[i], error));
    PLIM_TRY(plim__blob_spool_start(&r->made.spool, r->csv.path, error));
    PLIM_TRY(plim__csv_rewind(&r->csv, error));
    r->target_is_whole = true;
    if (r->header) PLIM_TRY(plim__csv_next(&r->csv, error));
    for (;;) {
        PLIM_TRY(plim__csv_next(&r->csv, error));
        if (r->csv.cell_count == 0) break;
        PLIM_TRY(spool_row(r, error));
    }
    if (r->made.count == 0) return plim__fail(error, PLIM_INVALID, "'%s' has no rows under its header", r->csv.path);
    return plim__blob_spool_end(&r->made.spool, error);
}

/* --- the source ----------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b, void *names) {
    char **list = names;
    return strcmp(list[*(const int64_t *)a], list[*(const int64_t *)b]);
}

/* Classes are numbered in the order of their names, so that the order of rows does not matter. */
static plim_status sort_classes(plim__columns_target *target, plim_error *error) {
    size_t count = target->names.count, bytes = 2 * count * sizeof(int64_t);
    int64_t *order = plim__alloc_array(count, sizeof *order);
    char **sorted = plim__alloc_array(count, sizeof *sorted);
    bool good = order && sorted && plim__vec_reserve(&target->places, count);
    for (size_t i = 0; good && i < count; i++) order[i] = (int64_t)i;
    if (good) qsort_r(order, count, sizeof *order, by_name, target->names.items);
    for (size_t i = 0; good && i < count; i++) {
        sorted[i] = target->names.items[order[i]];
        target->places.items[order[i]] = (int64_t)i;
    }
    if (good) {
        memcpy(target->names.items, sorted, count * sizeof *sorted);
        target->places.count = count;
    }
    plim__free(order);
    plim__free(sorted);
    return good ? PLIM_OK : plim__fail_memory(error, "names of classes", bytes);
}

static plim_status check_commas(const reader *r, plim_error *error) {
    const plim__columns_target *target = &r->made.target;
    for (size_t i = 0; i < r->made.table.columns.count; i++) {
        const plim__column *c = &r->made.table.columns.items[i];
        if (c->kind == PLIM__COLUMN_CATEGORY && !c->settled && !c->takes_numbers &&
            has_commas(r, c->values.items, c->values.count))
            return commas(r, c->at, c->values.items[0], error);
    }
    if (r->target_is_text && r->options->class_count == 0 && has_commas(r, target->names.items, target->names.count))
        return commas(r, r->targets[0], target->names.items[0], error);
    return PLIM_OK;
}

static plim_status finish(reader *r, plim_error *error) {
    plim__columns_target *target = &r->made.target;
    PLIM_TRY(check_commas(r, error));
    if (!plim__columns_sort(&r->made.table)) return plim__fail_memory(error, "categories", sizeof(int64_t));
    target->is_class = r->target_is_text || r->target_is_whole;
    if (r->target_is_text) target->classes = (int64_t)target->names.count;
    if (!r->target_is_text && r->target_is_whole && r->target_least >= 0 && r->target_most < 0x1p31)
        target->classes = (int64_t)r->target_most + 1;
    if (r->target_is_text && r->options->class_count == 0) PLIM_TRY(sort_classes(target, error));
    return PLIM_OK;
}

static plim_status read_csv(reader *r, const char *path, plim__data_source **source, plim_error *error) {
    struct stat info;
    int decimal = r->options->decimal;
    if (decimal && decimal != ',' && decimal != '.')
        return plim__fail(error, PLIM_INVALID, "the decimal mark of a table is ',' or '.'");
    PLIM_TRY(plim__csv_open(&r->csv, path, error));
    PLIM_TRY(find_header(r, error));
    PLIM_TRY(find_targets(r, r->options->target, error));
    PLIM_TRY(choose_columns(r, error));
    if (r->options->no_target) r->made.target.count = 0;
    PLIM_TRY(spool_rows(r, error));
    PLIM_TRY(finish(r, error));
    PLIM_TRY(plim__columns_source_create(&r->made, r->options, source, error));
    if (fstat(fileno(r->csv.stream), &info) == 0) (*source)->file_bytes = (uint64_t)info.st_size;
    return PLIM_OK;
}

plim_status plim__data_source_open_csv(const char *path, const plim_data_options *options, plim__data_source **source,
                                       plim_error *error) {
    reader r = {.options = options, .made = {.spool = PLIM__BLOB_EMPTY}};
    *source = NULL;
    plim_status status = read_csv(&r, path, source, error);
    free_reader(&r);
    return status;
}
