/* Reading tokenizer.json, and text to tokens:
 *
 *   text → added tokens cut out → normalised → split into pieces → byte pairs merged
 *
 * The file is read in three passes, of which none holds it: what is in it, which tells what the tokenizer will take; its tokens;
 * its merges.
 */
#include "data/tokenizer.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "core/arguments.h"
#include "core/hash.h"
#include "core/utf8.h"
#include "plimsoll/bytes.h"

enum { CHUNK = 1 << 14, MOST_WHOLE = 256 << 20, MOST_FILE = 256 << 20 };
/* What encoding takes for each byte of a chunk at most: the text, normalised, symbols and merges of a piece as long, tokens. */
enum { CHUNK_FACTOR = 112, SPLITTER_BYTES = 512 << 10 };

/* --- encoding ------------------------------------------------------------------------------------------------- */

/* One thread's. */
typedef struct encoder {
    const plim_tokenizer *t;
    plim__splitter_work splitting;
    plim__bpe_work merging;
    plim__token_list tokens;
} encoder;

static void free_encoder(encoder *e) {
    plim__splitter_work_free(&e->splitting);
    plim__bpe_work_free(&e->merging);
    plim__vec_free(&e->tokens);
}

static plim_status take_piece(void *context, const char *piece, size_t length, plim_error *error) {
    encoder *e = context;
    return plim__bpe_encode(&e->t->bpe, &e->merging, piece, length, &e->tokens, error);
}

/* The added token at `text`, the longest where there are several; NULL: none. */
static const plim__added *find_added(const plim_tokenizer *t, const char *text, size_t length) {
    if (length == 0 || !t->starts_added[(unsigned char)*text]) return NULL;
    for (size_t i = 0; i < t->added.count; i++) {
        const plim__added *added = &t->added.items[i];
        if (added->length <= length && memcmp(text, added->text, added->length) == 0) return added;
    }
    return NULL;
}

/* Appends the tokens of a part of a text; `place` is where it begins. */
static plim_status encode_part(encoder *e, const char *text, size_t length, plim__splitter_place place,
                               plim_error *error) {
    plim__piece_sink sink = {take_piece, e};
    for (size_t from = 0, at = 0; at <= length; at++) {
        const plim__added *added = find_added(e->t, text + at, length - at);
        if (!added && at < length) continue;
        plim__segment segment = {text + from, at - from, place};
        PLIM_TRY(plim__splitter_split(&e->t->splitter, &e->splitting, &segment, &sink, error));
        if (!added) break;
        if (added->strange)
            return plim__fail(
                error, PLIM_UNSUPPORTED,
                "the added token '%.40s' strips spaces or takes whole words only, which is not known here",
                added->text);
        if (!plim__vec_push(&e->tokens, added->number)) return plim__fail_memory(error, "tokens", sizeof(uint32_t));
        place = PLIM__PLACE_AFTER_ADDED;
        from = at + added->length;
        at = from - 1;
    }
    return PLIM_OK;
}

/* The first byte that is no UTF-8; `length` when all is. The text is terminated. */
static size_t find_bad_byte(const char *text, size_t length) {
    unsigned code;
    size_t at = 0;
    for (size_t step; at < length && (step = plim__utf8_length(text + at, &code)) > 0;) at += step;
    return at < length ? at : length;
}

static plim_status encode_text(encoder *e, const char *text, size_t length, plim_error *error) {
    plim__str copy = {0}; /* terminated */
    plim__str_addn(&copy, text, length);
    if (copy.failed) {
        plim__str_free(&copy);
        return plim__fail_memory(error, "a text", length);
    }
    size_t bad = find_bad_byte(plim__str_text(&copy), length);
    plim_status status = bad < length ? plim__fail(error, PLIM_INVALID, "the text is not UTF-8: byte %zu is 0x%02x",
                                                   bad, (unsigned)(unsigned char)text[bad])
                                      : encode_part(e, plim__str_text(&copy), length, PLIM__PLACE_START, error);
    plim__str_free(&copy);
    return status;
}

plim_status plim_tokenizer_encode(const plim_tokenizer *t, const char *text, size_t length, plim_token_buffer *buffer,
                                  plim_error *error) {
    PLIM__NEED(buffer, error);
    buffer->count = 0;
    PLIM__NEED(t, error);
    PLIM__NEED(text, error);
    if (buffer->room > 0) PLIM__NEED(buffer->tokens, error);
    encoder e = {.t = t};
    plim_status status = encode_text(&e, text, length, error);
    if (status == PLIM_OK) buffer->count = e.tokens.count;
    for (size_t i = 0; i < buffer->count && i < buffer->room; i++) buffer->tokens[i] = e.tokens.items[i];
    free_encoder(&e);
    if (buffer->count <= buffer->room) return status;
    return plim__fail(error, PLIM_OVERFLOW, "the text has %zu tokens, there is room for %zu", buffer->count,
                      buffer->room);
}

/* --- files ---------------------------------------------------------------------------------------------------- */

static bool starts_line(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Where a chunk may end: after the last line that a letter or digit follows; 0: nowhere. A line that ends in spaces, or is
 * empty, is none: patterns look at what comes behind a run of spaces to tell where it ends. */
static size_t find_cut(const char *text, size_t length) {
    for (size_t at = length; at-- > 2;)
        if (text[at - 1] == '\n' && text[at - 2] > ' ' && text[at - 2] < 0x7f && starts_line(text[at])) return at;
    return 0;
}

static plim_status write_tokens(encoder *e, plim__blob *spool, plim_error *error) {
    for (size_t i = 0; i < e->tokens.count; i++) e->tokens.items[i] = htole32(e->tokens.items[i]);
    plim_status status = plim__blob_spool_write(spool, e->tokens.items, e->tokens.count * sizeof(uint32_t), error);
    e->tokens.count = 0;
    return status;
}

static plim_status fail_budget(const plim_tokenizer *t, uint64_t bytes, const char *what, plim_error *error) {
    char needs[PLIM_BYTES_TEXT], leaves[PLIM_BYTES_TEXT], more[PLIM_BYTES_TEXT];
    return plim__fail(
        error, PLIM_BUDGET,
        "making numbers of %s takes %s with this tokenizer, and the budget leaves %s for it: give %s more. "
        "A file of token numbers (a path tokens:FILE) needs none of that",
        what, plim_bytes_format(bytes, needs), plim_bytes_format(t->limit, leaves),
        plim_bytes_format(bytes - t->limit, more));
}

/* Reads the next chunk behind the `have` bytes that are left of the last one; *end: how much of it is encoded now. */
static plim_status next_chunk(const plim_tokenizer *t, const plim__blob *text, uint64_t at, plim__str *buffer,
                              size_t *end, plim_error *error) {
    size_t most = t->cuts ? CHUNK : MOST_WHOLE;
    for (*end = 0; *end == 0; most *= 2) {
        uint64_t left = text->bytes - at;
        size_t bytes = left < most ? (size_t)left : most;
        if (bytes > MOST_WHOLE || (!t->cuts && left > MOST_WHOLE))
            return plim__fail(
                error, PLIM_UNSUPPORTED,
                "'%s' has no line in %d bytes where this tokenizer could begin again; make its lines shorter",
                text->path, MOST_WHOLE);
        if (t->limit && t->bytes + (uint64_t)bytes * CHUNK_FACTOR > t->limit)
            return fail_budget(t, t->bytes + (uint64_t)bytes * CHUNK_FACTOR, text->path, error);
        plim__str_free(buffer);
        buffer->data = plim__alloc(bytes + 1);
        if (!buffer->data) return plim__fail_memory(error, "a piece of a text", bytes);
        buffer->capacity = bytes + 1;
        PLIM_TRY(plim__blob_read(text, at, buffer->data, bytes, error));
        buffer->data[bytes] = 0;
        *end = bytes == left ? bytes : find_cut(buffer->data, bytes);
    }
    return PLIM_OK;
}

static plim_status spool_all(encoder *e, const plim__blob *text, plim__blob *spool, plim__str *buffer,
                             plim_error *error) {
    size_t end;
    for (uint64_t at = 0; at < text->bytes; at += end) {
        PLIM_TRY(next_chunk(e->t, text, at, buffer, &end, error));
        char after = buffer->data[end];
        buffer->data[end] = 0;
        size_t bad = find_bad_byte(buffer->data, end);
        if (bad < end)
            return plim__fail(error, PLIM_INVALID, "'%s' is not UTF-8: byte %llu is 0x%02x", text->path,
                              (unsigned long long)(at + bad), (unsigned)(unsigned char)buffer->data[bad]);
        PLIM_TRY(encode_part(e, buffer->data, end, at ? PLIM__PLACE_WITHIN : PLIM__PLACE_START, error));
        PLIM_TRY(write_tokens(e, spool, error));
        buffer->data[end] = after;
    }
    return PLIM_OK;
}

plim_status plim__tokenizer_spool(const plim_tokenizer *t, const plim__blob *text, plim__blob *spool,
                                  plim_error *error) {
    encoder e = {.t = t};
    plim__str buffer = {0};
    plim_status status = plim__blob_spool_start(spool, text->path, error);
    if (status == PLIM_OK) status = spool_all(&e, text, spool, &buffer, error);
    if (status == PLIM_OK) status = plim__blob_spool_end(spool, error);
    plim__str_free(&buffer);
    free_encoder(&e);
    return status;
}

/* --- whether text may be cut ---------------------------------------------------------------------------------- */

typedef struct crossing {
    size_t at, border;
    bool crosses;
} crossing;

static plim_status see_piece(void *context, const char *piece, size_t length, plim_error *error) {
    crossing *c = context;
    (void)piece, (void)error;
    if (c->at < c->border && c->at + length > c->border) c->crosses = true;
    c->at += length;
    return PLIM_OK;
}

/* Whether patterns keep the end of a line apart from what follows it, tried on what may stand before it. */
static plim_status pieces_cross(plim_tokenizer *t, bool *crosses, plim_error *error) {
    static const char *const before[] = {"a", "7", ".", " ", "\n", "\t", "a.", " .", "a ", "\r", "\xc3\xa9", "'", "'s"};
    plim__splitter_work work = {0};
    plim_status status = PLIM_OK;
    *crosses = t->splitter.stages.count == 0;
    for (size_t i = 0; i < 2 * sizeof before / sizeof *before && status == PLIM_OK; i++) {
        char text[16];
        snprintf(text, sizeof text, "%s\n%s", before[i / 2], i % 2 ? "b c" : "7 c");
        crossing c = {.border = strlen(before[i / 2]) + 1};
        plim__segment segment = {text, strlen(text), PLIM__PLACE_WITHIN};
        status = plim__splitter_split(&t->splitter, &work, &segment, &(plim__piece_sink){see_piece, &c}, error);
        *crosses |= c.crosses;
    }
    plim__splitter_work_free(&work);
    return status;
}

/* Whether a text has the end of a line, as it is written in tokens, with a letter or digit behind it. */
static bool continues_line(const char *text, const char *end) {
    for (const char *found = text; (found = strstr(found, end));) {
        found += strlen(end);
        if (starts_line(*found)) return true;
    }
    return false;
}

static plim_status find_cuts(plim_tokenizer *t, plim_error *error) {
    bool crosses;
    PLIM_TRY(pieces_cross(t, &crosses, error));
    if (crosses) { /* then merges must not do it */
        crosses = false;
        for (size_t i = 0; i < t->bpe.count && !crosses; i++) {
            const char *text = plim__bpe_text(&t->bpe, (int64_t)i);
            crosses = text && continues_line(text, t->splitter.byte_level ? "\xc4\x8a" : "\n");
        }
    }
    for (size_t i = 0; i < t->added.count; i++) crosses |= strchr(t->added.items[i].text, '\n') != NULL;
    t->cuts = !crosses;
    return PLIM_OK;
}

/* --- reading -------------------------------------------------------------------------------------------------- */

static int by_length(const void *a, const void *b) {
    const plim__added *x = a, *y = b;
    return (x->length < y->length) - (x->length > y->length);
}

static plim_status read_added(plim_tokenizer *t, const json_t *from, plim_error *error) {
    const char *text = json_string_value(json_object_get(from, "content"));
    const json_t *number = json_object_get(from, "id");
    if (!text || !*text || !json_is_integer(number))
        return plim__fail(error, PLIM_CORRUPT, "an added token is strange");
    PLIM_TRY(plim__bpe_add(&t->bpe, text, json_integer_value(number), error));
    if (t->splitter.normalises && json_is_true(json_object_get(from, "normalized")))
        return plim__fail(error, PLIM_UNSUPPORTED, "the added token '%.40s' is looked for in normalised text", text);
    plim__added added = {.text = plim__strdup(text),
                         .length = strlen(text),
                         .number = (uint32_t)json_integer_value(number),
                         .special = json_is_true(json_object_get(from, "special")),
                         .strange = json_is_true(json_object_get(from, "lstrip")) ||
                                    json_is_true(json_object_get(from, "rstrip")) ||
                                    json_is_true(json_object_get(from, "single_word"))};
    if (!added.text || !plim__vec_push(&t->added, added)) {
        plim__free(added.text);
        return plim__fail_memory(error, "added tokens", strlen(text));
    }
    t->starts_added[(unsigned char)*text] = true;
    return PLIM_OK;
}

/* What its vocabulary will take, added tokens included: they may be in it already. */
static plim__bpe_sizes measure(const plim__token_summary *file, const json_t *added) {
    plim__bpe_sizes sizes = {file->tokens, file->merges, file->text_bytes, file->largest};
    for (size_t i = 0; i < json_array_size(added); i++) {
        const json_t *one = json_array_get(added, i);
        int64_t number = json_integer_value(json_object_get(one, "id"));
        sizes.tokens++;
        sizes.text_bytes += json_string_length(json_object_get(one, "content")) + 1;
        if (number > sizes.largest) sizes.largest = number;
    }
    return sizes;
}

static plim_status add_token(void *context, const char *text, int64_t number, plim_error *error) {
    return plim__bpe_add(context, text, number, error);
}

static plim_status add_merge(void *context, const char *left, const char *right, plim_error *error) {
    return plim__bpe_add_merge(context, left, right, error);
}

/* A pass over the lists: all of what was counted comes again. */
static plim_status read_list(const plim__blob *file, const plim__token_sink *sink, const plim__token_summary *counted,
                             plim_error *error) {
    plim__token_summary now;
    plim_status status = plim__token_file_scan(file, sink, 0, &now, error);
    if (status == PLIM_OK && now.hash != counted->hash)
        status = plim__fail(error, PLIM_CORRUPT, "it changed while it was read");
    plim__str_free(&now.rest);
    return status;
}

static plim_status read_root(plim_tokenizer *t, const plim__blob *file, const plim__token_summary *counted,
                             const json_t *root, plim_error *error) {
    const json_t *added = json_object_get(root, "added_tokens"), *model = json_object_get(root, "model");
    plim__bpe_sizes sizes = measure(counted, added);
    PLIM_TRY(plim__bpe_check(model, error));
    if (!counted->tokens) return plim__fail(error, PLIM_CORRUPT, "the model has no vocabulary");
    if (!counted->has_merges) return plim__fail(error, PLIM_CORRUPT, "the model has no merges");
    t->bytes = sizeof *t + SPLITTER_BYTES + plim__bpe_memory(&sizes) + counted->rest_memory;
    if (t->limit && t->bytes + (uint64_t)CHUNK * CHUNK_FACTOR > t->limit)
        return fail_budget(t, t->bytes + (uint64_t)CHUNK * CHUNK_FACTOR, "text", error);
    PLIM_TRY(plim__splitter_read(&t->splitter, json_object_get(root, "normalizer"),
                                 json_object_get(root, "pre_tokenizer"), error));
    PLIM_TRY(plim__bpe_reserve(&t->bpe, &sizes, error));
    PLIM_TRY(read_list(file, &(plim__token_sink){.token = add_token, .context = &t->bpe}, counted, error));
    PLIM_TRY(read_list(file, &(plim__token_sink){.merge = add_merge, .context = &t->bpe}, counted, error));
    PLIM_TRY(plim__bpe_read(&t->bpe, model, t->splitter.byte_level, error));
    for (size_t i = 0; i < json_array_size(added); i++) PLIM_TRY(read_added(t, json_array_get(added, i), error));
    if (t->added.count) qsort(t->added.items, t->added.count, sizeof *t->added.items, by_length);
    PLIM_TRY(plim__decoding_read(&t->decoding, json_object_get(root, "decoder"), t->splitter.byte_level, error));
    return find_cuts(t, error);
}

static plim_status read_file(plim_tokenizer *t, const plim__blob *file, plim_error *error) {
    json_error_t where;
    json_t *root = NULL;
    plim__token_summary counted = {0};
    if (file->bytes > MOST_FILE)
        return plim__fail(error, PLIM_UNSUPPORTED, "it has %llu bytes; a tokenizer has at most %d",
                          (unsigned long long)file->bytes, MOST_FILE);
    plim_status status = plim__token_file_scan(file, &(plim__token_sink){0}, t->limit, &counted, error);
    if (status == PLIM_OK) {
        root = json_loadb(plim__str_text(&counted.rest), counted.rest.length, 0, &where);
        if (!root)
            status = json_error_code(&where) == json_error_out_of_memory
                         ? plim__fail_memory(error, "a tokenizer", counted.rest.length)
                         : plim__fail(error, PLIM_CORRUPT, "line %d: %s", where.line, where.text);
    }
    plim__str_free(&counted.rest);
    t->hash = counted.hash;
    if (status == PLIM_OK) status = read_root(t, file, &counted, root, error);
    json_decref(root);
    return status;
}

plim_status plim_tokenizer_load(const char *path, plim_tokenizer **tokenizer, plim_error *error) {
    PLIM__NEED(tokenizer, error);
    *tokenizer = NULL;
    PLIM__NEED(path, error);
    return plim__tokenizer_load(path, 0, tokenizer, error);
}

plim_status plim__tokenizer_load(const char *path, uint64_t limit, plim_tokenizer **tokenizer, plim_error *error) {
    plim__blob file = PLIM__BLOB_EMPTY;
    plim_tokenizer *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "a tokenizer", sizeof *made);
    made->limit = limit;
    *tokenizer = NULL;
    plim_status status = plim__blob_open(&file, path, error);
    if (status == PLIM_OK && (status = read_file(made, &file, error)) != PLIM_OK)
        status = plim__fail_context(error, status, "tokenizer '%s'", path);
    plim__blob_close(&file);
    if (status == PLIM_OK)
        *tokenizer = made;
    else
        plim_tokenizer_free(made);
    return status;
}

void plim_tokenizer_free(plim_tokenizer *t) {
    if (!t) return;
    for (size_t i = 0; i < t->added.count; i++) plim__free(t->added.items[i].text);
    plim__vec_free(&t->added);
    plim__splitter_free(&t->splitter);
    plim__bpe_free(&t->bpe);
    plim__decoding_free(&t->decoding);
    plim__free(t);
}

int64_t plim_tokenizer_size(const plim_tokenizer *t) { return t ? (int64_t)t->bpe.count : 0; }

uint64_t plim_tokenizer_hash(const plim_tokenizer *t) { return t ? t->hash : 0; }

uint64_t plim__tokenizer_memory(const plim_tokenizer *t) { return t->bytes + (uint64_t)CHUNK * CHUNK_FACTOR; }
