/* Rows of tables as samples. */
#include "data/table_source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/number.h"
#include "data/normal.h"

typedef struct table_source {
    plim__data_source base;
    plim__columns_rows rows;
    plim__normal normal;
    char *description; /* of the table */
    size_t row_bytes;
    bool has_inputs;
    bool has_rows; /* of an embedding */
} table_source;

void plim__columns_rows_free(plim__columns_rows *rows) {
    for (size_t i = 0; i < rows->target.names.count; i++) plim__free(rows->target.names.items[i]);
    plim__vec_free(&rows->target.names);
    plim__free(rows->target.columns);
    plim__vec_free(&rows->target.places);
    plim__columns_free(&rows->table);
    plim__blob_close(&rows->spool);
    *rows = (plim__columns_rows){.spool = PLIM__BLOB_EMPTY};
}

/* --- reading -------------------------------------------------------------------------------------------------- */

static void read_targets(const table_source *source, const unsigned char *stored, const plim_data_field *field,
                         void *made) {
    const plim__columns_target *target = &source->rows.target;
    for (size_t i = 0; i < target->count; i++) {
        double value;
        memcpy(&value, stored + i * sizeof value, sizeof value);
        if (target->places.count) value = (double)target->places.items[(size_t)value];
        if (field->dtype == PLIM_I64)
            ((int64_t *)made)[i] = (int64_t)value;
        else
            ((float *)made)[i] = (float)value;
    }
}

static plim_status read_sample(const plim__data_source *base, const plim__sample_key *key, plim__scratch *scratch,
                               void *const *fields, plim_error *error) {
    const table_source *source = (const table_source *)base;
    size_t inputs = source->rows.table.columns.count * sizeof(float);
    unsigned char *stored = plim__scratch_get(scratch, 0, source->row_bytes);
    if (!stored) return plim__fail_memory(error, "a row of a table", source->row_bytes);
    PLIM_TRY(plim__blob_read(&source->rows.spool, (uint64_t)key->index * source->row_bytes, stored, source->row_bytes,
                             error));
    int target = source->has_inputs + source->has_rows;
    plim__columns_encode(&source->rows.table, (const float *)(const void *)stored,
                         source->has_inputs ? fields[0] : NULL, source->has_rows ? fields[source->has_inputs] : NULL);
    if (source->has_inputs) plim__normal_apply(&source->normal, &base->fields[0], fields[0]);
    if (source->rows.target.count > 0) read_targets(source, stored + inputs, &base->fields[target], fields[target]);
    return PLIM_OK;
}

static plim_status read_target(const plim__data_source *base, int64_t index, plim__scratch *scratch, void *made,
                               plim_error *error) {
    const table_source *source = (const table_source *)base;
    size_t inputs = source->rows.table.columns.count * sizeof(float);
    unsigned char *stored = plim__scratch_get(scratch, 0, source->row_bytes);
    if (!stored) return plim__fail_memory(error, "a row of a table", source->row_bytes);
    PLIM_TRY(plim__blob_read(&source->rows.spool, (uint64_t)index * source->row_bytes + inputs, stored,
                             source->rows.target.count * sizeof(double), error));
    read_targets(source, stored, &base->fields[source->has_inputs + source->has_rows], made);
    return PLIM_OK;
}

/* --- what is taken from the training set ---------------------------------------------------------------------- */

typedef struct sums {
    double count, sum, squares;
} sums;

/* Two passes over the rows: sums of squares of differences from the mean keep their digits. */
static plim_status add_rows(table_source *source, const plim__order *order, sums *all, bool squares,
                            plim_error *error) {
    plim__columns *table = &source->rows.table;
    size_t columns = table->columns.count;
    float *row = plim__alloc_array(columns ? columns : 1, sizeof *row);
    if (!row) return plim__fail_memory(error, "a row of a table", columns * sizeof *row);
    plim_status status = PLIM_OK;
    for (int64_t i = 0; i < order->count && status == PLIM_OK; i++) {
        uint64_t index = (uint64_t)plim__order_source(order, i);
        status = plim__blob_read(&source->rows.spool, index * source->row_bytes, row, columns * sizeof *row, error);
        for (size_t k = 0; status == PLIM_OK && k < columns; k++) {
            if (isnan(row[k])) continue;
            double off = squares ? (double)row[k] - all[k].sum / all[k].count : 0;
            all[k].squares += off * off;
            all[k].sum += squares ? 0 : (double)row[k];
            all[k].count += squares ? 0 : 1;
        }
    }
    plim__free(row);
    return status;
}

static void settle(plim__columns *table, const sums *all) {
    for (size_t i = 0; i < table->columns.count; i++) {
        plim__column *c = &table->columns.items[i];
        c->fills = table->fills;
        if (c->kind == PLIM__COLUMN_CATEGORY || all[i].count == 0) continue;
        double mean = all[i].sum / all[i].count, deviation = sqrt(all[i].squares / all[i].count);
        if (table->fill_mean) c->fill = mean;
        if (!table->normalise) continue; /* dates are in years then */
        c->mean = mean;
        c->deviation = deviation > 0 ? deviation : 1; /* a constant column becomes zeros */
    }
}

static plim_status fit(plim__data_source *base, const plim__order *training, plim_error *error) {
    table_source *source = (table_source *)base;
    plim__columns *table = &source->rows.table;
    if (!table->settled && (table->normalise || table->fills)) {
        sums *all = plim__alloc_zero(table->columns.count + 1, sizeof *all);
        if (!all) return plim__fail_memory(error, "means of columns", table->columns.count * sizeof *all);
        plim_status status = add_rows(source, training, all, false, error);
        if (status == PLIM_OK) status = add_rows(source, training, all, true, error);
        if (status == PLIM_OK) settle(table, all);
        plim__free(all);
        PLIM_TRY(status);
    }
    source->description = plim__columns_print(table);
    if (source->description) base->held_bytes += strlen(source->description);
    return PLIM_OK;
}

static const char *table_text(const plim__data_source *base) { return ((const table_source *)base)->description; }

/* --- making --------------------------------------------------------------------------------------------------- */

static void free_source(plim__data_source *base) {
    table_source *source = (table_source *)base;
    plim__columns_rows_free(&source->rows);
    plim__free(source->description);
    plim__free(source);
}

static void sample_name(const plim__data_source *base, int64_t index, char *text, size_t size) {
    (void)base;
    plim__number_name("row ", index + 1, text, size);
}

static const char *class_name(const plim__data_source *base, int64_t index) {
    const table_source *source = (const table_source *)base;
    return index >= 0 && (uint64_t)index < source->rows.target.names.count ? source->rows.target.names.items[index]
                                                                           : NULL;
}

static const char *target_columns(const plim__data_source *base) {
    return ((const table_source *)base)->rows.target.columns;
}

static const plim__data_source_ops ops = {.kind = "csv",
                                          .read = read_sample,
                                          .class_name = class_name,
                                          .sample_name = sample_name,
                                          .read_target = read_target,
                                          .free = free_source,
                                          .fit = fit,
                                          .table = table_text,
                                          .target_columns = target_columns};

static plim_status add_target(table_source *source, bool as_floats, plim_error *error) {
    const plim__columns_target *target = &source->rows.target;
    if (target->count == 0) return PLIM_OK;
    plim_data_field *field = &source->base.fields[source->base.field_count++];
    int64_t dims[] = {(int64_t)target->count};
    bool class_ = target->is_class && !as_floats && target->count == 1;
    snprintf(field->name, sizeof field->name, "%s", target->name);
    field->target = 1;
    field->classes = class_ ? target->classes : 0;
    return plim__field_shape(field, class_ ? PLIM_I64 : PLIM_F32, target->count > 1, dims, error);
}

static plim_status set_fields(table_source *source, const plim_data_options *options, plim_error *error) {
    plim__data_source *base = &source->base;
    int64_t width = plim__columns_width(&source->rows.table);
    PLIM_TRY(plim__normal_set(&source->normal, options, error));
    source->has_inputs = width > 0;
    if (width > 0) {
        plim_data_field *x = &base->fields[base->field_count++];
        snprintf(x->name, sizeof x->name, "x");
        PLIM_TRY(plim__field_shape(x, PLIM_F32, 1, &width, error));
        PLIM_TRY(plim__normal_check(&source->normal, x, error));
    }
    int64_t rows, embedded = plim__columns_embedded(&source->rows.table, &rows);
    source->has_rows = embedded > 0;
    if (embedded > 0) {
        plim_data_field *categories = &base->fields[base->field_count++];
        snprintf(categories->name, sizeof categories->name, "categories");
        categories->classes = rows;
        PLIM_TRY(plim__field_shape(categories, PLIM_I64, 1, &embedded, error));
    }
    PLIM_TRY(add_target(source, options->float_target, error));
    source->row_bytes = source->rows.table.columns.count * sizeof(float) + source->rows.target.count * sizeof(double);
    base->count = source->rows.count;
    base->held_bytes = plim__blob_held(&source->rows.spool) + plim__columns_bytes(&source->rows.table);
    base->scratch.parts[0] = source->row_bytes;
    return PLIM_OK;
}

plim_status plim__columns_source_create(plim__columns_rows *rows, const plim_data_options *options,
                                        plim__data_source **source, plim_error *error) {
    *source = NULL;
    table_source *made = plim__alloc_zero(1, sizeof *made);
    if (!made) {
        plim__columns_rows_free(rows);
        return plim__fail_memory(error, "a data set", sizeof *made);
    }
    made->base.ops = &ops;
    made->rows = *rows;
    *rows = (plim__columns_rows){.spool = PLIM__BLOB_EMPTY};
    plim_status status = set_fields(made, options, error);
    if (status == PLIM_OK)
        *source = &made->base;
    else
        free_source(&made->base);
    return status;
}
