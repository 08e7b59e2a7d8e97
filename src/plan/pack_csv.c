/* Reading packing problems from CSV, strictly in what is used and leniently in what isn't. */
#include "plan/pack_csv.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"
#include "core/map.h"

static const size_t max_file = (size_t)1 << 30;
static const int64_t max_total = (int64_t)1 << 61; /* what plim_pack takes */

typedef enum column_kind {
    COLUMN_ID,
    COLUMN_LOWER,
    COLUMN_UPPER,
    COLUMN_SIZE,
    COLUMN_ALIGNMENT,
    COLUMN_FIXED,
    COLUMN_OFFSET,
    COLUMN_COUNT
} column_kind;
enum { required_columns = COLUMN_SIZE + 1 };
static const char *const column_names[COLUMN_COUNT] = {"id", "lower", "upper", "size", "alignment", "fixed", "offset"};

typedef struct reader {
    plim__pack_csv *csv;
    const char *path;
    int columns[COLUMN_COUNT]; /* place in a row, or -1 */
    plim__map ids;             /* id → line */
    int64_t total;             /* of sizes and alignments */
    size_t line;
    plim_error *error;
} reader;

/* A stretch of a row. */
typedef struct field {
    const char *text;
    size_t length;
} field;

/* Cuts the next field off; false at the end of the row. Quotes protect commas. */
static bool next_field(const char **at, field *out) {
    if (!*at) return false;
    const char *end = *at;
    for (bool quoted = false; *end && (quoted || *end != ','); end++) quoted ^= *end == '"';
    *out = (field){*at, (size_t)(end - *at)};
    *at = *end ? end + 1 : NULL;
    return true;
}

/* Without blanks and quotes around it. */
static field bare(field raw) {
    while (raw.length && isspace((unsigned char)raw.text[0])) raw.text++, raw.length--;
    while (raw.length && isspace((unsigned char)raw.text[raw.length - 1])) raw.length--;
    if (raw.length >= 2 && raw.text[0] == '"' && raw.text[raw.length - 1] == '"') raw.text++, raw.length -= 2;
    return raw;
}

static plim_status read_header(reader *in, const char *row) {
    for (int i = 0; i < COLUMN_COUNT; i++) in->columns[i] = -1;
    field raw;
    int place = 0;
    for (const char *at = row; next_field(&at, &raw); place++) {
        field name = bare(raw);
        for (int i = 0; i < COLUMN_COUNT; i++) {
            if (strlen(column_names[i]) != name.length || strncasecmp(column_names[i], name.text, name.length) != 0)
                continue;
            if (in->columns[i] >= 0)
                return plim__fail(in->error, PLIM_CORRUPT, "'%s' line %zu: two columns are called '%s'", in->path,
                                  in->line, column_names[i]);
            in->columns[i] = place;
        }
    }
    for (int i = 0; i < required_columns; i++)
        if (in->columns[i] < 0)
            return plim__fail(in->error, PLIM_CORRUPT,
                              "'%s' line %zu: there is no column '%s'; needed are id, lower, upper, size", in->path,
                              in->line, column_names[i]);
    in->csv->offset_column = in->columns[COLUMN_OFFSET];
    return PLIM_OK;
}

static plim_status read_number(reader *in, const char *id, column_kind column, field text, int64_t *value) {
    char buffer[32], *end = buffer;
    errno = 0;
    if (text.length > 0 && text.length < sizeof buffer) {
        memcpy(buffer, text.text, text.length);
        buffer[text.length] = 0;
        *value = strtoll(buffer, &end, 10);
    }
    if (end == buffer || *end || errno)
        return plim__fail(in->error, PLIM_CORRUPT,
                          "'%s' line %zu: buffer '%s': %s '%.*s' is not a whole number of 64 bits", in->path, in->line,
                          id, column_names[column], text.length < 40 ? (int)text.length : 40, text.text);
    return PLIM_OK;
}

static plim_status check_buffer(reader *in, const char *id, const plim_pack_buffer *buffer) {
    if (buffer->size < 0)
        return plim__fail(in->error, PLIM_INVALID, "'%s' line %zu: buffer '%s': size %" PRId64 " is negative", in->path,
                          in->line, id, buffer->size);
    if (buffer->upper <= buffer->lower)
        return plim__fail(in->error, PLIM_INVALID,
                          "'%s' line %zu: buffer '%s': upper %" PRId64 " is not above lower %" PRId64, in->path,
                          in->line, id, buffer->upper, buffer->lower);
    if (buffer->alignment < 0)
        return plim__fail(in->error, PLIM_INVALID, "'%s' line %zu: buffer '%s': alignment %" PRId64 " is negative",
                          in->path, in->line, id, buffer->alignment);
    if (buffer->fixed && (buffer->offset < 0 || (buffer->alignment > 1 && buffer->offset % buffer->alignment)))
        return plim__fail(in->error, PLIM_INVALID,
                          "'%s' line %zu: buffer '%s': fixed offset %" PRId64 " is negative or not aligned", in->path,
                          in->line, id, buffer->offset);
    if (__builtin_add_overflow(in->total, buffer->size, &in->total) ||
        __builtin_add_overflow(in->total, buffer->alignment, &in->total) || in->total > max_total)
        return plim__fail(in->error, PLIM_OVERFLOW,
                          "'%s' line %zu: buffer '%s': with its size %" PRId64 " the sum exceeds 2^61", in->path,
                          in->line, id, buffer->size);
    return PLIM_OK;
}

/* Fields by column; those of absent columns stay empty. */
static plim_status split_row(reader *in, const char *row, field fields[COLUMN_COUNT]) {
    field raw;
    int place = 0;
    memset(fields, 0, COLUMN_COUNT * sizeof *fields);
    for (const char *at = row; next_field(&at, &raw); place++)
        for (int i = 0; i < COLUMN_COUNT; i++)
            if (in->columns[i] == place) fields[i] = bare(raw);
    for (int i = 0; i < required_columns; i++)
        if (fields[i].length == 0)
            return plim__fail(in->error, PLIM_CORRUPT, "'%s' line %zu: '%s' is missing", in->path, in->line,
                              column_names[i]);
    return PLIM_OK;
}

static plim_status read_values(reader *in, const char *id, const field *fields, plim_pack_buffer *buffer) {
    PLIM_TRY(read_number(in, id, COLUMN_LOWER, fields[COLUMN_LOWER], &buffer->lower));
    PLIM_TRY(read_number(in, id, COLUMN_UPPER, fields[COLUMN_UPPER], &buffer->upper));
    PLIM_TRY(read_number(in, id, COLUMN_SIZE, fields[COLUMN_SIZE], &buffer->size));
    if (fields[COLUMN_ALIGNMENT].length)
        PLIM_TRY(read_number(in, id, COLUMN_ALIGNMENT, fields[COLUMN_ALIGNMENT], &buffer->alignment));
    buffer->fixed = fields[COLUMN_FIXED].length > 0;
    if (buffer->fixed) PLIM_TRY(read_number(in, id, COLUMN_FIXED, fields[COLUMN_FIXED], &buffer->offset));
    return check_buffer(in, id, buffer);
}

static plim_status read_row(reader *in, const char *row) {
    field fields[COLUMN_COUNT];
    PLIM_TRY(split_row(in, row, fields));
    char *id = plim__strndup(fields[COLUMN_ID].text, fields[COLUMN_ID].length);
    if (!id) return plim__fail_memory(in->error, "a buffer's id", fields[COLUMN_ID].length);
    plim_pack_buffer buffer = {0};
    plim_status status = read_values(in, id, fields, &buffer);
    int64_t before = plim__map_get(&in->ids, id, 0);
    if (status == PLIM_OK && before)
        status = plim__fail(in->error, PLIM_CORRUPT, "'%s' line %zu: the id '%s' was already given in line %" PRId64,
                            in->path, in->line, id, before);
    if (status == PLIM_OK && !plim__map_put(&in->ids, id, (int64_t)in->line))
        status = plim__fail_memory(in->error, "the ids", in->csv->count * 64);
    plim__free(id);
    if (status != PLIM_OK) return status;
    plim__pack_csv *csv = in->csv;
    csv->buffers[csv->count] = buffer;
    csv->rows[csv->count] = row;
    csv->lines[csv->count++] = in->line;
    return PLIM_OK;
}

/* Ends the line at `at` with a zero, also at CRLF; the start of the next one, or NULL. */
static char *cut_line(char *at) {
    char *end = at + strcspn(at, "\n"), *next = *end ? end + 1 : NULL;
    if (end > at && end[-1] == '\r') end--;
    *end = 0;
    return next;
}

static bool blank(const char *row) { return row[strspn(row, " \t\r")] == 0; }

static plim_status read_rows(reader *in, char *at) {
    const char *header = NULL;
    for (char *next; at; at = next) {
        next = cut_line(at);
        in->line++;
        if (blank(at)) continue;
        if (header)
            PLIM_TRY(read_row(in, at));
        else
            PLIM_TRY(read_header(in, header = at));
    }
    if (!header)
        return plim__fail(in->error, PLIM_CORRUPT, "'%s' is empty; expected a header with id, lower, upper, size",
                          in->path);
    in->csv->rows[in->csv->count] = header;
    return PLIM_OK;
}

plim_status plim__pack_csv_read(plim__pack_csv *csv, const char *path, plim_error *error) {
    memset(csv, 0, sizeof *csv);
    csv->offset_column = -1;
    size_t size, most = 1;
    PLIM_TRY(plim__file_read(path, max_file, &csv->text, &size, error));
    if (memchr(csv->text, 0, size)) return plim__fail(error, PLIM_CORRUPT, "'%s' is not a text file", path);
    for (size_t i = 0; i < size; i++) most += csv->text[i] == '\n';
    csv->buffers = plim__alloc_array(most + 1, sizeof *csv->buffers);
    csv->rows = plim__alloc_array(most + 1, sizeof *csv->rows);
    csv->lines = plim__alloc_array(most + 1, sizeof *csv->lines);
    if (!csv->buffers || !csv->rows || !csv->lines) return plim__fail_memory(error, path, most * sizeof *csv->buffers);
    reader in = {.csv = csv, .path = path, .error = error};
    bool marked = size >= 3 && memcmp(csv->text, "\xef\xbb\xbf", 3) == 0; /* a byte order mark */
    plim_status status = read_rows(&in, csv->text + (marked ? 3 : 0));
    plim__map_free(&in.ids);
    return status;
}

void plim__pack_csv_free(plim__pack_csv *csv) {
    plim__free(csv->text);
    plim__free(csv->buffers);
    plim__free(csv->rows);
    plim__free(csv->lines);
    memset(csv, 0, sizeof *csv);
}

static void print_row(const plim__pack_csv *csv, const char *row, plim__str *text) {
    field raw;
    int place = 0;
    for (const char *at = row; next_field(&at, &raw); place++) {
        if (place == csv->offset_column) continue;
        plim__str_addn(text, raw.text, raw.length);
        plim__str_addc(text, ',');
    }
}

void plim__pack_csv_print(const plim__pack_csv *csv, const int64_t *offsets, plim__str *text) {
    print_row(csv, csv->rows[csv->count], text);
    plim__str_add(text, "offset\n");
    for (size_t i = 0; i < csv->count; i++) {
        print_row(csv, csv->rows[i], text);
        plim__str_addf(text, "%" PRId64 "\n", offsets[i]);
    }
}
