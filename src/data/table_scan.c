/* Reading a table to tell what is in it: one pass, a bounded set of values for each column. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/arguments.h"
#include "core/map.h"
#include "core/vec.h"
#include "data/columns.h"
#include "data/date.h"
#include "format/csv.h"
#include "plimsoll/table.h"

enum { EXAMPLES = 3 };

typedef struct column {
    plim_table_column told;
    char *name, *text, *examples[EXAMPLES];
    plim__map values;
    double sum;
} column;

struct plim_table {
    PLIM_VEC(column) columns;
    int64_t rows;
    char decimal; /* as in plim_data_options */
};

void plim_table_free(plim_table *table) {
    if (!table) return;
    for (size_t i = 0; i < table->columns.count; i++) {
        column *c = &table->columns.items[i];
        for (int k = 0; k < EXAMPLES; k++) plim__free(c->examples[k]);
        plim__map_free(&c->values);
        plim__free(c->text);
        plim__free(c->name);
    }
    plim__vec_free(&table->columns);
    plim__free(table);
}

static plim_status note_value(column *c, const char *cell, plim_error *error) {
    if (c->told.different < 0 || plim__map_get(&c->values, cell, -1) >= 0) return PLIM_OK;
    if (c->told.different == PLIM__TABLE_MOST_CATEGORIES) {
        c->told.different = -1;
        return PLIM_OK;
    }
    if (!plim__map_put(&c->values, cell, 0)) return plim__fail_memory(error, "values of a column", strlen(cell));
    if (c->told.different < EXAMPLES && !(c->examples[c->told.different] = plim__strdup(cell)))
        return plim__fail_memory(error, "values of a column", strlen(cell));
    c->told.different++;
    return PLIM_OK;
}

static plim_status note_text(column *c, const char *cell, int64_t line, plim_error *error) {
    double value;
    bool grouped = plim__csv_number_with_comma(cell, '.');
    c->told.texts++;
    c->told.dates += plim__date_parse(cell, &value);
    c->told.grouped += grouped;
    c->told.commas += grouped || plim__csv_number_with_comma(cell, ',');
    if (c->text) return PLIM_OK;
    c->told.text_line = line;
    c->text = plim__strdup(cell);
    return c->text ? PLIM_OK : plim__fail_memory(error, "values of a column", strlen(cell));
}

static plim_status note_cell(column *c, const char *cell, char decimal, int64_t line, plim_error *error) {
    double value;
    if (plim__column_is_missing(cell)) {
        c->told.missing++;
        return PLIM_OK;
    }
    if (plim__csv_number_in(cell, decimal, &value)) {
        if (c->told.numbers == 0 || value < c->told.least) c->told.least = value;
        if (c->told.numbers == 0 || value > c->told.most) c->told.most = value;
        if (value != trunc(value)) c->told.whole = 0;
        c->told.numbers++;
        c->sum += value;
    } else {
        PLIM_TRY(note_text(c, cell, line, error));
    }
    return note_value(c, cell, error);
}

static plim_status name_columns(plim_table *table, bool header, plim_error *error) {
    size_t count = table->columns.count;
    char **names = plim__alloc_array(count, sizeof *names);
    if (!names) return plim__fail_memory(error, "names of columns", count * sizeof *names);
    for (size_t i = 0; i < count; i++) names[i] = table->columns.items[i].name;
    plim_status status = plim__columns_tell_apart(names, count, header, error);
    for (size_t i = 0; i < count; i++) table->columns.items[i].name = names[i];
    plim__free(names);
    return status;
}

/* The first row names the columns when one of its texts stands over a number, or nothing in it is a number. */
static plim_status read_names(plim_table *table, plim__csv *csv, plim_error *error) {
    double number;
    bool any_number = false, header = false;
    PLIM_TRY(plim__csv_next(csv, error));
    if (csv->cell_count == 0) return plim__fail(error, PLIM_INVALID, "'%s' is empty", csv->path);
    for (size_t i = 0; i < csv->cell_count; i++) {
        column made = {.name = plim__strdup(csv->cells[i]), .told.whole = 1};
        any_number |= plim__csv_number_in(csv->cells[i], table->decimal, &number);
        if (made.name && plim__vec_push(&table->columns, made)) continue;
        plim__free(made.name);
        return plim__fail_memory(error, "names of columns", strlen(csv->cells[i]));
    }
    PLIM_TRY(plim__csv_next(csv, error));
    for (size_t i = 0; i < csv->cell_count && i < table->columns.count; i++)
        header |= !plim__csv_number_in(table->columns.items[i].name, table->decimal, &number) &&
                  plim__csv_number_in(csv->cells[i], table->decimal, &number);
    header |= !any_number;
    PLIM_TRY(plim__csv_rewind(csv, error));
    if (header) PLIM_TRY(plim__csv_next(csv, error));
    return name_columns(table, header, error);
}

static plim_status scan(plim_table *table, plim__csv *csv, const char *path, int decimal, plim_error *error) {
    PLIM_TRY(plim__csv_open(csv, path, error));
    table->decimal = (char)decimal;
    PLIM_TRY(read_names(table, csv, error));
    for (;; table->rows++) {
        PLIM_TRY(plim__csv_next(csv, error));
        if (csv->cell_count == 0) break;
        if (csv->cell_count != table->columns.count)
            return plim__fail(error, PLIM_CORRUPT, "'%s' line %lld: the row has %zu cells, the first one has %zu", path,
                              (long long)csv->line, csv->cell_count, table->columns.count);
        for (size_t i = 0; i < csv->cell_count && i < table->columns.count; i++)
            PLIM_TRY(note_cell(&table->columns.items[i], csv->cells[i], table->decimal, csv->line, error));
    }
    return PLIM_OK;
}

plim_status plim_table_read(const char *path, plim_table **table, plim_error *error) {
    return plim_table_read_decimal(path, 0, table, error);
}

plim_status plim_table_read_decimal(const char *path, int decimal, plim_table **table, plim_error *error) {
    plim__csv csv = {0};
    PLIM__NEED(table, error);
    *table = NULL;
    PLIM__NEED(path, error);
    if (decimal && decimal != ',' && decimal != '.')
        return plim__fail(error, PLIM_INVALID, "the decimal mark of a table is ',' or '.'");
    plim_table *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "a table", sizeof *made);
    plim_status status = scan(made, &csv, path, decimal, error);
    plim__csv_close(&csv);
    if (status == PLIM_OK)
        *table = made;
    else
        plim_table_free(made);
    return status;
}

int64_t plim_table_rows(const plim_table *table) { return table ? table->rows : 0; }

int plim_table_get_column(const plim_table *table, size_t index, plim_table_column *of) {
    if (!of) return 0;
    *of = (plim_table_column){.name = ""};
    if (!table || index >= table->columns.count) return 0;
    const column *c = &table->columns.items[index];
    *of = c->told;
    of->name = c->name;
    of->text = c->text;
    of->mean = c->told.numbers ? c->sum / (double)c->told.numbers : 0;
    for (int i = 0; i < EXAMPLES; i++) of->examples[i] = c->examples[i];
    return 1;
}
