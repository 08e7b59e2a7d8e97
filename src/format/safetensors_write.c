/* Writing safetensors: a header that is known before the first byte of data, then tensor after tensor.
 *
 * A sealed file's header begins with notes at fixed places; the checksum is of the whole file with zeros as its own
 * digits, and is filled in when the data has gone by:
 *
 *   8 bytes  {"__metadata__":{"checksum":"0123456789abcdef","bytes":"0000000000012345", ...
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/str.h"
#include "core/utf8.h"
#include "format/safetensors.h"
#include "plimsoll/version.h"

#define SEAL_START  "{\"__metadata__\":{\"checksum\":\""
#define SEAL_MIDDLE "\",\"bytes\":\""
enum {
    DIGITS = 16,
    CHECKSUM_AT = 8 + sizeof SEAL_START - 1,
    BYTES_AT = CHECKSUM_AT + DIGITS + sizeof SEAL_MIDDLE - 1,
    SEAL_END = BYTES_AT + DIGITS,
    CHUNK = 1 << 18
};
static const char no_digits[DIGITS + 1] = "0000000000000000";

/* The format's word for a type; NULL where it has none. */
static const char *format_dtype(plim_dtype dtype) {
    switch (dtype) {
    case PLIM_BOOL: return "BOOL";
    case PLIM_U8: return "U8";
    case PLIM_I8: return "I8";
    case PLIM_U16: return "U16";
    case PLIM_I16: return "I16";
    case PLIM_U32: return "U32";
    case PLIM_I32: return "I32";
    case PLIM_U64: return "U64";
    case PLIM_I64: return "I64";
    case PLIM_F16: return "F16";
    case PLIM_BF16: return "BF16";
    case PLIM_F32: return "F32";
    case PLIM_F64: return "F64";
    case PLIM_C64: return "C64";
    case PLIM_F8E4M3FN: return "F8_E4M3";
    case PLIM_F8E5M2: return "F8_E5M2";
    default: return NULL;
    }
}

/* A tensor on its way, in the order of the file. */
struct entry {
    const plim__weight *weight;
    size_t index, bytes;
    int bits;
};

typedef struct draft {
    const plim__weights *weights;
    struct entry *entries;
    uint64_t data_bytes;
    plim__str header; /* with its 8 bytes of length */
    void *scratch;
    bool sealed;
} draft;

static int by_name(const void *a, const void *b) {
    const struct entry *left = a, *right = b;
    return strcmp(left->weight->name, right->weight->name);
}

static int in_file_order(const void *a, const void *b) {
    const struct entry *left = a, *right = b;
    if (left->bits != right->bits) return left->bits > right->bits ? -1 : 1;
    return by_name(a, b);
}

static plim_status check_names(struct entry *entries, size_t count, plim_error *error) {
    qsort(entries, count, sizeof *entries, by_name);
    for (size_t i = 0; i < count; i++) {
        const char *name = entries[i].weight->name;
        if (strcmp(name, "__metadata__") == 0)
            return plim__fail(error, PLIM_INVALID, "no weight in safetensors can be named '__metadata__'");
        if (i > 0 && strcmp(name, entries[i - 1].weight->name) == 0)
            return plim__fail(error, PLIM_INVALID, "two weights are named '%.200s'", name);
    }
    qsort(entries, count, sizeof *entries, in_file_order);
    return PLIM_OK;
}

static plim_status sort_entries(draft *d, plim_error *error) {
    size_t count = d->weights->count;
    d->entries = plim__alloc_array(count, sizeof *d->entries);
    if (!d->entries) return plim__fail_memory(error, "a safetensors header", count * sizeof *d->entries);
    for (size_t i = 0; i < count; i++) {
        const plim__weight *weight = &d->weights->items[i];
        struct entry *entry = &d->entries[i];
        *entry = (struct entry){weight, i, 0, plim_dtype_bits(weight->dtype)};
        if (!format_dtype(weight->dtype))
            return plim__fail(error, PLIM_UNSUPPORTED, "safetensors has no type for the weight '%.200s' of %s",
                              weight->name, plim_dtype_name(weight->dtype));
        PLIM_TRY(plim__weight_bytes(weight, &entry->bytes, error));
        if (__builtin_add_overflow(d->data_bytes, entry->bytes, &d->data_bytes) || d->data_bytes > INT64_MAX / 2)
            return plim__fail(error, PLIM_OVERFLOW, "the weights are more bytes than a file can have");
    }
    return check_names(d->entries, count, error);
}

/* --- header --------------------------------------------------------------------------------------------------- */

static bool add_quoted(plim__str *json, const char *text) {
    plim__str_addc(json, '"');
    for (size_t length; *text; text += length) {
        unsigned code;
        if (!(length = plim__utf8_length(text, &code))) return false;
        if (code < 0x20)
            plim__str_addf(json, "\\u%04x", code);
        else if (code == '"' || code == '\\')
            plim__str_addf(json, "\\%c", (char)code);
        else
            plim__str_addn(json, text, length);
    }
    plim__str_addc(json, '"');
    return true;
}

static plim_status not_text(const char *what, const char *text, plim_error *error) {
    return plim__fail(error, PLIM_INVALID, "%s '%.200s' is not valid UTF-8, which safetensors needs", what, text);
}

static plim_status add_notes(draft *d, const plim__safetensors_note *notes, size_t count, plim_error *error) {
    plim__str *json = &d->header;
    if (d->sealed)
        plim__str_addf(json, SEAL_START "%s" SEAL_MIDDLE "%s\"", no_digits, no_digits);
    else if (count > 0)
        plim__str_add(json, "{\"__metadata__\":{");
    else
        plim__str_addc(json, '{');
    for (size_t i = 0; i < count; i++) {
        if (i > 0 || d->sealed) plim__str_addc(json, ',');
        if (!add_quoted(json, notes[i].key)) return not_text("the key", notes[i].key, error);
        plim__str_addc(json, ':');
        if (!add_quoted(json, notes[i].value)) return not_text("the text", notes[i].value, error);
    }
    if (d->sealed || count > 0) plim__str_addc(json, '}');
    return PLIM_OK;
}

static plim_status add_entries(draft *d, bool first, plim_error *error) {
    plim__str *json = &d->header;
    uint64_t at = 0;
    for (size_t i = 0; i < d->weights->count; i++) {
        const struct entry *entry = &d->entries[i];
        const plim__weight *weight = entry->weight;
        if (!first) plim__str_addc(json, ',');
        first = false;
        if (!add_quoted(json, weight->name)) return not_text("the weight's name", weight->name, error);
        plim__str_addf(json, ":{\"dtype\":\"%s\",\"shape\":[", format_dtype(weight->dtype));
        for (int k = 0; k < weight->shape.rank; k++)
            plim__str_addf(json, "%s%" PRId64, k ? "," : "", weight->shape.dims[k]);
        plim__str_addf(json, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", at, at + entry->bytes);
        at += entry->bytes;
    }
    plim__str_addc(json, '}');
    return PLIM_OK;
}

static plim_status make_header(draft *d, const plim__safetensors_note *notes, size_t count, plim_error *error) {
    plim__str_addn(&d->header, no_digits, 8); /* room for the length */
    PLIM_TRY(add_notes(d, notes, count, error));
    PLIM_TRY(add_entries(d, !d->sealed && count == 0, error));
    while (!d->header.failed && d->header.length % 8) plim__str_addc(&d->header, ' ');
    if (d->header.failed) return plim__fail_memory(error, "a safetensors header", d->header.length);
    uint64_t length = d->header.length - 8;
    if (length > PLIM__SAFETENSORS_MAX_HEADER)
        return plim__fail(error, PLIM_UNSUPPORTED, "a safetensors header of %" PRIu64 " bytes; at most %d are read",
                          length, PLIM__SAFETENSORS_MAX_HEADER);
    for (int i = 0; i < 8; i++) d->header.data[i] = (char)(length >> 8 * i & 0xff);
    char digits[24];
    snprintf(digits, sizeof digits, "%016" PRIu64, d->header.length + d->data_bytes);
    if (d->sealed) memcpy(d->header.data + BYTES_AT, digits, DIGITS);
    return PLIM_OK;
}

/* --- file ----------------------------------------------------------------------------------------------------- */

static plim_status write_part(plim__file_writer *writer, plim__hash *hash, const void *data, size_t size,
                              plim_error *error) {
    for (size_t done = 0; done < size;) { /* hashed in parts that stay in the cache until they are written */
        size_t part = size - done < CHUNK ? size - done : CHUNK;
        const char *from = (const char *)data + done;
        if (hash) plim__hash_add(hash, from, part);
        PLIM_TRY(plim__file_writer_write(writer, from, part, error));
        done += part;
    }
    return PLIM_OK;
}

static plim_status write_all(const draft *d, plim__file_writer *writer, plim_error *error) {
    plim__hash hash = PLIM_HASH_START;
    PLIM_TRY(write_part(writer, &hash, d->header.data, d->header.length, error));
    for (size_t i = 0; i < d->weights->count; i++) {
        const void *data;
        PLIM_TRY(plim__weights_data(d->weights, d->entries[i].index, d->scratch, &data, error));
        PLIM_TRY(write_part(writer, d->sealed ? &hash : NULL, data, d->entries[i].bytes, error));
    }
    if (!d->sealed) return PLIM_OK;
    char digits[24];
    snprintf(digits, sizeof digits, "%016" PRIx64, plim__hash_value(&hash));
    if (fseek(writer->stream, CHECKSUM_AT, SEEK_SET) != 0)
        return plim__fail_errno(error, errno, "cannot write '%s'", writer->path);
    return plim__file_writer_write(writer, digits, DIGITS, error);
}

static plim_status write_file(const char *path, draft *d, const plim__safetensors_note *notes, size_t note_count,
                              plim_error *error) {
    size_t scratch;
    PLIM_TRY(sort_entries(d, error));
    PLIM_TRY(make_header(d, notes, note_count, error));
    PLIM_TRY(plim__weights_scratch(d->weights, &scratch, error));
    if (!(d->scratch = plim__alloc(scratch))) return plim__fail_memory(error, "a weight to be written", scratch);
    plim__file_writer writer;
    PLIM_TRY(plim__file_writer_open(&writer, path, error));
    plim_status status = write_all(d, &writer, error);
    if (status == PLIM_OK) status = plim__file_writer_commit(&writer, error);
    plim__file_writer_discard(&writer);
    return status;
}

static plim_status write_draft(const char *path, draft d, const plim__safetensors_note *notes, size_t note_count,
                               plim_error *error) {
    plim_status status = write_file(path, &d, notes, note_count, error);
    plim__str_free(&d.header);
    plim__free(d.entries);
    plim__free(d.scratch);
    return status;
}

plim_status plim__safetensors_write(const char *path, const plim__weights *weights, const plim__safetensors_note *notes,
                                    size_t note_count, plim_error *error) {
    return write_draft(path, (draft){.weights = weights}, notes, note_count, error);
}

plim_status plim__safetensors_write_sealed(const char *path, const plim__weights *weights,
                                           const plim__safetensors_note *notes, size_t note_count, plim_error *error) {
    return write_draft(path, (draft){.weights = weights, .sealed = true}, notes, note_count, error);
}

plim_status plim__safetensors_save(const plim_graph *g, const plim__weights *changed, const char *path,
                                   plim_error *error) {
    size_t most = 2 + g->info.properties.count, count = 2;
    plim__safetensors_note *notes = plim__alloc_array(most, sizeof *notes);
    if (!notes) return plim__fail_memory(error, "notes of a model", most * sizeof *notes);
    notes[0] = (plim__safetensors_note){"format", "pt"}; /* what loaders of PyTorch models ask for */
    notes[1] = (plim__safetensors_note){PLIM__NOTE_WRITER, PLIM_VERSION_STRING};
    for (size_t i = 0; i < g->info.properties.count; i++) {
        const struct plim__property *p = &g->info.properties.items[i];
        if (strncmp(p->key, PLIM__NOTE_PREFIX, strlen(PLIM__NOTE_PREFIX)) == 0 &&
            strcmp(p->key, PLIM__NOTE_WRITER) != 0)
            notes[count++] = (plim__safetensors_note){p->key, p->value};
    }
    plim__graph_weights all;
    plim_status status = plim__graph_weights_make(&all, g, changed, error);
    if (status == PLIM_OK) {
        status = plim__safetensors_write(path, &all.weights, notes, count, error);
        plim__graph_weights_free(&all);
    }
    plim__free(notes);
    return status;
}

/* --- seal ----------------------------------------------------------------------------------------------------- */

static plim_status hash_file(int fd, uint64_t size, const char *path, char *chunk, uint64_t *value, plim_error *error) {
    plim__hash hash = PLIM_HASH_START;
    for (uint64_t at = 0; at < size;) {
        size_t part = size - at < CHUNK ? (size_t)(size - at) : CHUNK;
        PLIM_TRY(plim__file_read_at(fd, chunk, part, at, path, error));
        if (at == 0) memcpy(chunk + CHECKSUM_AT, no_digits, DIGITS);
        plim__hash_add(&hash, chunk, part);
        at += part;
    }
    *value = plim__hash_value(&hash);
    return PLIM_OK;
}

plim_status plim__safetensors_check_seal(int fd, const char *path, const char *what, plim_error *error) {
    struct stat info;
    if (fstat(fd, &info) != 0) return plim__fail_errno(error, errno, "cannot read '%s'", path);
    if (!S_ISREG(info.st_mode)) return plim__fail(error, PLIM_IO, "'%s' is not a regular file", path);
    uint64_t size = (uint64_t)info.st_size, value;
    char seal[SEAL_END];
    if (size < sizeof seal) return plim__fail(error, PLIM_CORRUPT, "'%s' is too short to be %s", path, what);
    PLIM_TRY(plim__file_read_at(fd, seal, sizeof seal, 0, path, error));
    if (memcmp(seal + 8, SEAL_START, sizeof SEAL_START - 1) != 0 ||
        memcmp(seal + CHECKSUM_AT + DIGITS, SEAL_MIDDLE, sizeof SEAL_MIDDLE - 1) != 0)
        return plim__fail(error, PLIM_CORRUPT, "'%s' is not %s, or its beginning is damaged", path, what);
    char digits[24];
    snprintf(digits, sizeof digits, "%016" PRIu64, size);
    if (memcmp(seal + BYTES_AT, digits, DIGITS) != 0)
        return plim__fail(error, PLIM_CORRUPT, "'%s' is cut off or damaged: it has %" PRIu64 " bytes, not %.16s", path,
                          size, seal + BYTES_AT);
    char *chunk = plim__alloc(CHUNK);
    if (!chunk) return plim__fail_memory(error, "a check of a file", CHUNK);
    plim_status status = hash_file(fd, size, path, chunk, &value, error);
    plim__free(chunk);
    PLIM_TRY(status);
    snprintf(digits, sizeof digits, "%016" PRIx64, value);
    if (memcmp(seal + CHECKSUM_AT, digits, DIGITS) == 0) return PLIM_OK;
    return plim__fail(error, PLIM_CORRUPT, "'%s' is damaged: its checksum is %s, not %.16s", path, digits,
                      seal + CHECKSUM_AT);
}
