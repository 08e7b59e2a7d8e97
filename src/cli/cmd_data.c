/* plimsoll data: what a data set is, and how fast it can be read. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/activity.h"
#include "cli/data_options.h"
#include "cli/format.h"
#include "cli/table_text.h"
#include "cli/terminal.h"
#include "core/clock.h"
#include "core/str.h"

typedef struct measurement {
    int64_t samples, batches;
    double seconds;
    plim_data_stats stats;
} measurement;

static plim_status measure(plim_data *data, double limit, measurement *m, plim_error *error) {
    plim_data_batch batch = {0};
    double start = plim__clock_seconds();
    *m = (measurement){0};
    while (m->seconds < limit && !batch.last) { /* one epoch at most */
        plim_status status = plim_data_next(data, &batch, error);
        if (status != PLIM_OK) return status;
        m->samples += batch.count;
        m->batches++;
        m->seconds = plim__clock_seconds() - start;
    }
    plim_data_get_stats(data, &m->stats);
    return PLIM_OK;
}

static size_t sample_bytes(const plim_data *data) {
    size_t sum = 0;
    const plim_data_field *field;
    for (int i = 0; (field = plim_data_field_at(data, i)); i++) sum += field->bytes;
    return sum;
}

static json_t *fields_json(const plim_data *data) {
    json_t *fields = json_array();
    const plim_data_field *field;
    for (int i = 0; (field = plim_data_field_at(data, i)); i++) {
        json_t *shape = json_array();
        for (int k = 0; k < field->rank; k++) json_array_append_new(shape, json_integer(field->dims[k]));
        json_t *name = json_string(field->name); /* NULL when it is not UTF-8 */
        json_array_append_new(fields, json_pack("{s:o, s:s, s:o, s:I, s:b}", "name", name ? name : json_string("?"),
                                                "dtype", plim_dtype_name(field->dtype), "shape", shape, "bytes",
                                                (json_int_t)field->bytes, "target", field->target));
    }
    return fields;
}

static int say_json(plim__args *args, const plim_data *data, const plim_data_info *info, const measurement *m,
                    json_t *columns) {
    double seconds = m->seconds > 0 ? m->seconds : 1e-9;
    uint64_t buffers = m->stats.buffer_bytes + info->held_bytes;
    json_t *object = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:i, s:f, s:f, s:I, s:i, s:I}", "kind", info->kind, "samples",
        (json_int_t)info->samples, "classes", (json_int_t)info->classes, "bytes", (json_int_t)info->file_bytes, "batch",
        (json_int_t)info->batch, "batches", (json_int_t)info->batches, "fields", fields_json(data), "sample_bytes",
        (json_int_t)sample_bytes(data), "measured_samples", (json_int_t)m->samples, "workers", info->workers,
        "samples_per_second", (double)m->samples / seconds, "seconds", m->seconds, "skipped",
        (json_int_t)m->stats.skipped, "depth", m->stats.depth, "buffer_bytes", (json_int_t)buffers);
    if (columns) json_object_set_new(object, "columns", columns);
    return plim__say_json(args, object);
}

static void print_fields(const plim_data *data) {
    const plim_data_field *field;
    for (int i = 0; (field = plim_data_field_at(data, i)); i++) {
        char shape[PLIM_SHAPE_WORDS], bytes[PLIM_BYTES_TEXT], rows[48] = "";
        if (!field->target && field->classes > 0)
            snprintf(rows, sizeof rows, ", %lld different", (long long)field->classes);
        plim__terminal_line(stdout, "  %-12s %-8s %-16s %10s a sample%s%s", plim__shown(field->name),
                            plim_dtype_name(field->dtype), plim__format_shape(NULL, field->rank, field->dims, shape),
                            plim_bytes_format(field->bytes, bytes), rows, field->target ? ", to be predicted" : "");
    }
}

static void print_classes(const plim_data *data, int64_t classes) {
    if (classes == 0) return;
    plim__str line = {0};
    plim__str_addf(&line, "  %" PRId64 " classes", classes);
    const char *name, *before = ": ";
    for (int64_t i = 0; i < 8 && (name = plim_data_class_name(data, i)); i++, before = ", ")
        plim__str_addf(&line, "%s%s", before, plim__shown(name));
    plim__terminal_line(stdout, "%s%s", plim__str_text(&line),
                        classes > 8 && plim_data_class_name(data, 8) ? ", ..." : "");
    plim__str_free(&line);
}

static void print(const char *path, const plim_data *data, const plim_data_info *info, const measurement *m) {
    char text[PLIM_BYTES_TEXT], buffers[PLIM_BYTES_TEXT], rate[PLIM_BYTES_TEXT];
    printf("%s: %s, %s samples", plim__shown(path), info->kind, plim_bytes_group((uint64_t)info->samples, text));
    if (info->file_bytes) printf(", %s", plim_bytes_format(info->file_bytes, text));
    putchar('\n');
    print_fields(data);
    print_classes(data, info->classes);
    if (m->stats.skipped)
        plim__terminal_line(stdout, "  %" PRId64 " bad, left out; the last: %s", m->stats.skipped,
                            plim__shown(plim_data_last_bad(data)));
    double each = m->seconds > 0 ? (double)m->samples / m->seconds : 0;
    plim__terminal_line(stdout, "  %s samples/s (%s/s) with %d worker%s, batch %" PRId64 "; %s of buffers",
                        plim__format_count(each, text),
                        plim_bytes_format((uint64_t)(each * (double)sample_bytes(data)), rate), info->workers,
                        info->workers == 1 ? "" : "s", info->batch,
                        plim_bytes_format(m->stats.buffer_bytes + info->held_bytes, buffers));
}

/* What `synthetic` makes when no model says what it needs. */
static const plim_data_field synthetic_fields[] = {
    {.name = "image", .dtype = PLIM_F32, .rank = 3, .dims = {3, 224, 224}},
    {.name = "label", .dtype = PLIM_I64, .target = 1, .classes = 1000},
};

/* A table is described before it is opened: gaps and texts may keep it from being, unless options say what to do with them.
 * Without such options the description is all that was asked for: what is an input is not known yet. */
static void describe_table(plim__args *args, const char *path, int decimal, json_t **columns, bool *described) {
    static const char *const options[] = {"target", "columns", "drop", "categories", "embed", "missing", "normalise"};
    const char *kind, *colon = strncmp(path, "csv:", 4) == 0 ? path + 4 : path;
    plim_table *table;
    if (plim_data_find_kind(path, plim__args_get(args, "kind"), &kind, NULL) != PLIM_OK || strcmp(kind, "csv") != 0)
        return;
    if (plim_table_read_decimal(colon, decimal, &table, NULL) != PLIM_OK) return; /* opening it tells what is wrong */
    *described = !plim__args_json(args);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (plim__args_has(args, options[i])) *described = false;
    plim__activity_end();
    if (plim__args_json(args))
        *columns = plim__table_json(table);
    else
        plim__table_describe(table, path, args);
    plim_table_free(table);
}

static int run(plim__args *args) {
    const char *path = plim__args_at(args, 0);
    plim__data_settings settings;
    int64_t seed = 0;
    double seconds = 1;
    if (!path) return plim__say_usage(args, "which data set?");
    if (plim__args_count(args) > 1)
        return plim__say_usage(args, "'%s' is too much; give one path", plim__args_at(args, 1));
    if (!plim__data_options_read(args, &settings) ||
        !plim__args_int(args, "batch", 1, (int64_t)1 << 32, &settings.options.batch) ||
        !plim__args_int(args, "seed", 0, INT64_MAX, &seed) || !plim__args_double(args, "seconds", &seconds))
        return PLIM_EXIT_USAGE;
    settings.options.seed = (uint64_t)seed;
    settings.options.in_order = plim__args_has(args, "in-order");
    settings.options.fields = synthetic_fields;
    settings.options.field_count = 2;
    plim_data *data;
    plim_data_info info;
    plim_error error;
    measurement m;
    bool described = false;
    json_t *columns = NULL;
    plim__activity_say(args, "reading %s", path);
    describe_table(args, path, settings.options.decimal, &columns, &described);
    if (described) return PLIM_EXIT_OK;
    plim__activity_say(args, "opening %s", path);
    if (plim_data_create(path, &settings.options, &data, &error) != PLIM_OK) {
        json_decref(columns);
        return plim__say_error(args, &error);
    }
    plim_data_get_info(data, &info);
    int code = PLIM_EXIT_OK;
    plim__activity_say(args, "measuring for %g s at most", seconds);
    plim_status measured = measure(data, seconds, &m, &error);
    plim__activity_end();
    if (measured != PLIM_OK)
        code = plim__say_error(args, &error);
    else if (plim__args_json(args))
        code = say_json(args, data, &info, &m, columns);
    else
        print(path, data, &info, &m);
    plim_data_free(data);
    return code;
}

static const plim__option options[] = {
    {"batch", 'b', "N", "samples in a batch; the default is 32"},
    {"seed", 0, "N", "of shuffling and of random changes"},
    {"in-order", 0, NULL, "do not shuffle"},
    {"seconds", 0, "S", "measure at most so long, and at most one epoch; the default is 1"},
    PLIM__DATA_OPTIONS,
    {0},
};

const plim__command plim__command_data = {
    .name = "data",
    .usage = "PATH [OPTION...]",
    .summary = "Inspect a data set and measure how fast it can be read",
    .description =
        "PATH is a folder with IDX files as MNIST has them, a folder of images with one folder a class, an NPY, NPZ or "
        "CSV file, text, a token file, or 'synthetic'. KIND:PATH names the kind where the path does not tell.",
    .options = options,
    .examples = "  plimsoll data /usr/share/datasets/fashion-mnist --batch 256\n"
                "  plimsoll data photos/ --image 224 --resize 256 --random-crop --random-flip --skip-bad\n"
                "  plimsoll data iris.csv --target species --json",
    .run = run,
};
