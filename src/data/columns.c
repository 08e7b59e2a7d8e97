/* Columns of tables. */
#include "data/columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/json.h"
#include "data/date.h"

static void free_column(plim__column *c) {
    for (size_t i = 0; i < c->values.count; i++) plim__free(c->values.items[i]);
    plim__vec_free(&c->values);
    plim__vec_free(&c->places);
    plim__map_free(&c->numbers);
    plim__free(c->name);
}

void plim__columns_free(plim__columns *table) {
    for (size_t i = 0; i < table->columns.count; i++) free_column(&table->columns.items[i]);
    plim__vec_free(&table->columns);
    *table = (plim__columns){0};
}

plim_status plim__columns_add(plim__columns *table, const char *name, size_t at, plim_error *error) {
    plim__column made = {.name = plim__strdup(name), .at = at, .deviation = 1};
    if (made.name && plim__vec_push(&table->columns, made)) return PLIM_OK;
    plim__free(made.name);
    return plim__fail_memory(error, "columns of a table", strlen(name) + sizeof made);
}

/* --- rows ----------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b, void *values) {
    char **names = values;
    return strcmp(names[*(const int64_t *)a], names[*(const int64_t *)b]);
}

/* Categories of a table that was given have their places already: these are in order. */
static bool sort_column(plim__column *c, bool settled) {
    size_t count = c->values.count;
    if (count == 0) return true;
    int64_t *order = plim__alloc_array(count, sizeof *order);
    bool good = order && plim__vec_reserve(&c->places, count);
    for (size_t i = 0; good && i < count; i++) order[i] = (int64_t)i;
    if (good && !settled) qsort_r(order, count, sizeof *order, by_value, c->values.items);
    for (size_t i = 0; good && i < count; i++) c->places.items[order[i]] = (int64_t)i;
    if (good) c->places.count = count;
    plim__free(order);
    return good;
}

bool plim__columns_sort(plim__columns *table) {
    for (size_t i = 0; i < table->columns.count; i++)
        if (!sort_column(&table->columns.items[i], table->settled)) return false;
    return true;
}

static int64_t column_width(const plim__column *c) {
    if (c->kind == PLIM__COLUMN_DATE) return PLIM__DATE_NUMBERS;
    return c->kind == PLIM__COLUMN_CATEGORY ? (int64_t)c->values.count : 1;
}

int64_t plim__columns_width(const plim__columns *table) {
    int64_t sum = 0;
    for (size_t i = 0; i < table->columns.count; i++)
        if (!table->columns.items[i].embedded) sum += column_width(&table->columns.items[i]);
    return sum;
}

int64_t plim__columns_embedded(const plim__columns *table, int64_t *rows) {
    int64_t count = 0;
    *rows = 0;
    for (size_t i = 0; i < table->columns.count; i++) {
        if (!table->columns.items[i].embedded) continue;
        *rows += column_width(&table->columns.items[i]) + 1; /* one for what is missing */
        count++;
    }
    return count;
}

uint64_t plim__columns_bytes(const plim__columns *table) {
    uint64_t sum = table->columns.capacity * sizeof *table->columns.items;
    for (size_t i = 0; i < table->columns.count; i++) {
        const plim__column *c = &table->columns.items[i];
        for (size_t k = 0; k < c->values.count; k++) sum += 2 * strlen(c->values.items[k]) + 64; /* and in the map */
    }
    return sum;
}

void plim__columns_encode(const plim__columns *table, const float *row, float *made, int64_t *rows) {
    int64_t first = 0; /* row of the embedding */
    for (size_t i = 0; i < table->columns.count; i++) {
        const plim__column *c = &table->columns.items[i];
        float value = row[i];
        if (c->kind != PLIM__COLUMN_CATEGORY) {
            double number = isnan(value) ? c->fill : (double)value;
            *made++ = (float)((number - c->mean) / c->deviation);
            if (c->kind != PLIM__COLUMN_DATE) continue;
            if (isnan(value))
                memset(made, 0, (PLIM__DATE_NUMBERS - 1) * sizeof *made);
            else
                plim__date_numbers(number, made);
            made += PLIM__DATE_NUMBERS - 1;
            continue;
        }
        if (c->embedded) {
            *rows++ = first + (isnan(value) ? 0 : 1 + c->places.items[(size_t)value]);
            first += column_width(c) + 1;
            continue;
        }
        memset(made, 0, c->values.count * sizeof *made);
        if (!isnan(value)) made[c->places.items[(size_t)value]] = 1;
        made += c->values.count;
    }
}

bool plim__column_is_missing(const char *cell) {
    static const char *const words[] = {"",     "NA",   "N/A",  "n/a",  "nan",  "NaN", "NAN", "-nan", "-NaN",
                                        "null", "NULL", "None", "<NA>", "#N/A", "#NA", "?",   "-",    "--"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(cell, words[i]) == 0) return true;
    return false;
}

/* --- as text -------------------------------------------------------------------------------------------------- */

static json_t *values_json(const plim__column *c) {
    json_t *list = json_array();
    for (size_t place = 0; list && place < c->values.count; place++) {
        size_t k = 0;
        while (c->places.items[k] != (int64_t)place) k++;
        if (json_array_append_new(list, json_string(c->values.items[k])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *column_json(const plim__column *c) {
    if (c->kind == PLIM__COLUMN_CATEGORY)
        return json_pack("{s:s, s:s, s:o, s:b, s:b}", "name", c->name, "kind", "category", "values", values_json(c),
                         "fill", c->fills, "embed", c->embedded);
    json_t *made = json_pack("{s:s, s:s, s:f, s:f}", "name", c->name, "kind",
                             c->kind == PLIM__COLUMN_DATE ? "date" : "number", "mean", c->mean, "std", c->deviation);
    if (made && c->fills && json_object_set_new(made, "fill", json_real(c->fill)) != 0) {
        json_decref(made);
        return NULL;
    }
    return made;
}

char *plim__columns_print(const plim__columns *table) {
    json_t *columns = json_array(), *all;
    for (size_t i = 0; columns && i < table->columns.count; i++)
        if (json_array_append_new(columns, column_json(&table->columns.items[i])) != 0) {
            json_decref(columns);
            columns = NULL;
        }
    plim__str out = {0};
    all = columns ? json_pack("{s:o}", "columns", columns) : NULL;
    plim__json_print(&out, all, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(all);
    if (!all || out.failed) {
        plim__str_free(&out);
        return NULL;
    }
    return out.data;
}

static plim_status parse_values(plim__column *c, const json_t *values, plim_error *error) {
    size_t i;
    const json_t *value;
    json_array_foreach(values, i, value) {
        const char *text = json_string_value(value);
        if (!text || i >= PLIM__TABLE_MOST_CATEGORIES)
            return plim__fail(error, PLIM_CORRUPT, "the table has bad categories in column '%s'", c->name);
        char *copy = plim__strdup(text);
        if (!copy || !plim__vec_push(&c->values, copy)) {
            plim__free(copy);
            return plim__fail_memory(error, "categories", strlen(text));
        }
        if (!plim__map_put(&c->numbers, text, (int64_t)i)) return plim__fail_memory(error, "categories", strlen(text));
    }
    return PLIM_OK;
}

static plim_status parse_column(plim__columns *table, const json_t *from, plim_error *error) {
    const char *name = json_string_value(json_object_get(from, "name")),
               *kind = json_string_value(json_object_get(from, "kind"));
    const json_t *fill = json_object_get(from, "fill"), *mean = json_object_get(from, "mean"),
                 *deviation = json_object_get(from, "std");
    if (!name || !kind) return plim__fail(error, PLIM_CORRUPT, "the table has a column without name or kind");
    PLIM_TRY(plim__columns_add(table, name, 0, error));
    plim__column *c = &table->columns.items[table->columns.count - 1];
    c->settled = true;
    if (strcmp(kind, "category") == 0) {
        c->kind = PLIM__COLUMN_CATEGORY;
        c->fills = json_is_true(fill);
        c->embedded = json_is_true(json_object_get(from, "embed"));
        return parse_values(c, json_object_get(from, "values"), error);
    }
    bool date = strcmp(kind, "date") == 0;
    c->kind = date ? PLIM__COLUMN_DATE : PLIM__COLUMN_NUMBER;
    c->fills = json_is_number(fill);
    c->fill = json_number_value(fill);
    c->mean = json_number_value(mean);
    c->deviation = json_is_number(deviation) ? json_number_value(deviation) : 1;
    if ((!date && strcmp(kind, "number") != 0) || !(c->deviation > 0) || !isfinite(c->mean) || !isfinite(c->fill))
        return plim__fail(error, PLIM_CORRUPT, "the table has a bad column '%s'", name);
    return PLIM_OK;
}

plim_status plim__columns_parse(plim__columns *table, const char *text, plim_error *error) {
    json_t *all = json_loads(text, 0, NULL);
    const json_t *columns = json_object_get(all, "columns"), *column;
    plim_status status = PLIM_OK;
    size_t i;
    if (!json_is_array(columns)) status = plim__fail(error, PLIM_CORRUPT, "the description of a table has no columns");
    json_array_foreach(columns, i, column) {
        if (status == PLIM_OK) status = parse_column(table, column, error);
    }
    table->settled = true;
    json_decref(all);
    return status;
}

/* --- names ---------------------------------------------------------------------------------------------------- */

static plim_status rename_column(char **name, const char *to, plim_error *error) {
    char *copy = plim__strdup(to);
    if (!copy) return plim__fail_memory(error, "names of columns", strlen(to));
    plim__free(*name);
    *name = copy;
    return PLIM_OK;
}

static plim_status tell_apart(plim__map *seen, char **name, size_t at, bool header, plim_error *error) {
    char number[32];
    snprintf(number, sizeof number, "%zu", at);
    if (!header || !**name) PLIM_TRY(rename_column(name, number, error));
    plim__str next = {0};
    for (int again = 1; plim__map_get(seen, next.length ? plim__str_text(&next) : *name, -1) >= 0; again++) {
        plim__str_clear(&next);
        plim__str_addf(&next, "%s.%d", *name, again);
        if (next.failed) break;
    }
    plim_status status = next.length ? rename_column(name, plim__str_text(&next), error) : PLIM_OK;
    if (next.failed) status = plim__fail_memory(error, "names of columns", strlen(*name));
    plim__str_free(&next);
    if (status == PLIM_OK && !plim__map_put(seen, *name, 0)) return plim__fail_memory(error, "names of columns", 1);
    return status;
}

plim_status plim__columns_tell_apart(char **names, size_t count, bool header, plim_error *error) {
    plim__map seen = {0};
    plim_status status = PLIM_OK;
    for (size_t i = 0; i < count && status == PLIM_OK; i++) status = tell_apart(&seen, &names[i], i, header, error);
    plim__map_free(&seen);
    return status;
}

/* --- lists of columns ----------------------------------------------------------------------------------------- */

static bool names(const char *word, size_t length, const char *name, size_t at, size_t count) {
    char number[32];
    if (strlen(name) == length && strncmp(word, name, length) == 0) return true;
    snprintf(number, sizeof number, "%zu", at);
    if (strlen(number) == length && strncmp(word, number, length) == 0) return true;
    snprintf(number, sizeof number, "-%zu", count - at);
    return strlen(number) == length && strncmp(word, number, length) == 0;
}

bool plim__columns_lists(const char *list, const char *name, size_t at, size_t count) {
    if (!list) return false;
    if (strcmp(list, name) == 0) return true; /* a name with a comma in it */
    for (const char *word = list;; word++) {
        size_t length = strcspn(word, ",");
        if (names(word, length, name, at, count)) return true;
        word += length;
        if (!*word) return false;
    }
}
