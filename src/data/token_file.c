/* Reading by characters: strings, brackets and keys are all that has to be understood of the rest, since a strict reader sees it
 * afterwards; vocabulary and merges are read strictly here. */
#include "data/token_file.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/utf8.h"

enum { PIECE = 1 << 15, MOST_TEXT = 1 << 20, MOST_REST = 64 << 20, KEY_ROOM = 16, NOTHING = -1 };
/* Of a tree of JSON: an object or array, any other value with its key. */
#define CONTAINER_BYTES 336u
#define VALUE_BYTES     144u

typedef struct reader {
    const plim__blob *file;
    const plim__token_sink *sink;
    plim__token_summary *summary;
    plim_error *error;
    uint64_t limit, offset; /* offset: of what is read next */
    size_t next, have;
    int line, depth;
    bool in_model;
    bool kind_comes, unigram; /* the next string is the kind of the model; which it was */
    plim_status status;       /* of reading bytes; stays */
    plim__hash hash;
    plim__str text, second;
    char key[KEY_ROOM]; /* the last string, while it is short */
    char buffer[PIECE];
} reader;

static void fill(reader *r) {
    uint64_t left = r->file->bytes - r->offset;
    size_t bytes = left < PIECE ? (size_t)left : PIECE;
    r->next = r->have = 0;
    if (r->status != PLIM_OK || bytes == 0) return;
    r->status = plim__blob_read(r->file, r->offset, r->buffer, bytes, r->error);
    if (r->status != PLIM_OK) return;
    r->have = bytes;
    r->offset += bytes;
    plim__hash_add(&r->hash, r->buffer, bytes);
}

/* The next character without taking it; NOTHING at the end, and where reading failed. */
static int peek(reader *r) {
    if (r->next == r->have) fill(r);
    return r->next < r->have ? (unsigned char)r->buffer[r->next] : NOTHING;
}

static int take(reader *r) {
    int c = peek(r);
    if (c == NOTHING) return c;
    r->next++;
    if (c == '\n') r->line++;
    return c;
}

static int take_word(reader *r) { /* the next that is no space */
    int c;
    do c = take(r);
    while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
    return c;
}

static plim_status wrong(reader *r, const char *what) {
    return r->status != PLIM_OK ? r->status : plim__fail(r->error, PLIM_CORRUPT, "line %d: %s", r->line, what);
}

/* --- strings -------------------------------------------------------------------------------------------------- */

static bool take_hex(reader *r, unsigned *code) {
    *code = 0;
    for (int i = 0; i < 4; i++) {
        int c = take(r);
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit > 15) return false;
        *code = *code << 4 | digit;
    }
    return true;
}

static void add_code(plim__str *text, unsigned code) {
    char bytes[5] = {0};
    if (code < 0x80) {
        bytes[0] = (char)code;
    } else if (code < 0x800) {
        bytes[0] = (char)(0xc0 | code >> 6);
        bytes[1] = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        bytes[0] = (char)(0xe0 | code >> 12);
        bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[2] = (char)(0x80 | (code & 0x3f));
    } else {
        bytes[0] = (char)(0xf0 | code >> 18);
        bytes[1] = (char)(0x80 | (code >> 12 & 0x3f));
        bytes[2] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[3] = (char)(0x80 | (code & 0x3f));
    }
    plim__str_add(text, bytes);
}

/* Whether these two characters come next; spaces before each of them are passed over where `words`. */
static bool take_two(reader *r, const char *two, bool words) {
    int first = words ? take_word(r) : take(r);
    if (first != two[0]) return false;
    int second = words ? take_word(r) : take(r);
    return second == two[1];
}

/* Behind a backslash. */
static bool take_escape(reader *r, plim__str *text) {
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    unsigned code, low;
    int c = take(r);
    const char *found = c > 0 ? strchr(names, c) : NULL;
    if (found) plim__str_addc(text, meanings[found - names]);
    if (found || c != 'u') return found != NULL;
    if (!take_hex(r, &code) || code == 0 || (code >= 0xdc00 && code < 0xe000)) return false;
    if (code >= 0xd800 && code < 0xdc00) { /* the first half of a pair */
        if (!take_two(r, "\\u", false) || !take_hex(r, &low) || low < 0xdc00 || low > 0xdfff) return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    add_code(text, code);
    return true;
}

/* The rest of a string whose quote was taken. */
static plim_status take_string(reader *r, plim__str *text) {
    plim__str_clear(text);
    for (int c; (c = take(r)) != '"';) {
        if (c < 0x20) return wrong(r, c == NOTHING ? "a text does not end" : "a control character in a text");
        if (c == '\\' && !take_escape(r, text)) return wrong(r, "a text has a strange escape");
        if (c != '\\') plim__str_addc(text, (char)c);
        if (text->length > MOST_TEXT) return wrong(r, "a token is longer than a megabyte");
    }
    if (text->failed) return plim__fail_memory(r->error, "a token", text->length);
    unsigned code;
    size_t at = 0;
    for (size_t step; at < text->length && (step = plim__utf8_length(text->data + at, &code)) > 0;) at += step;
    return at < text->length ? wrong(r, "a text is not UTF-8") : PLIM_OK;
}

/* --- vocabulary and merges ------------------------------------------------------------------------------------ */

static plim_status take_number(reader *r, int64_t *number) {
    int digits = 0, first = take_word(r);
    *number = 0;
    for (int c = first; c >= '0' && c <= '9' && digits < 12; c = peek(r)) {
        if (digits++) take(r);
        *number = *number * 10 + (c - '0');
    }
    int after = peek(r);
    bool ends = after == ',' || after == '}' || after == ' ' || after == '\n' || after == '\r' || after == '\t';
    if (digits > 0 && ends) return PLIM_OK;
    if (r->status != PLIM_OK) return r->status;
    return plim__fail(r->error, PLIM_CORRUPT, "token '%.40s' has no number", plim__str_text(&r->text));
}

static plim_status take_token(reader *r) {
    plim__token_summary *s = r->summary;
    int64_t number;
    PLIM_TRY(take_string(r, &r->text));
    if (take_word(r) != ':') return wrong(r, "a token of the vocabulary has no ':' behind it");
    PLIM_TRY(take_number(r, &number));
    s->tokens++;
    s->text_bytes += r->text.length + 1;
    if (number > s->largest) s->largest = number;
    return r->sink->token ? r->sink->token(r->sink->context, plim__str_text(&r->text), number, r->error) : PLIM_OK;
}

/* "a b", or ["a", "b"]; `c` is the character that was taken. */
static plim_status take_merge(reader *r, int c) {
    size_t rank = r->summary->merges++;
    bool listed = c == '[';
    if (listed) c = take_word(r);
    if (c != '"') return plim__fail(r->error, PLIM_CORRUPT, "merge %zu is no pair", rank);
    PLIM_TRY(take_string(r, &r->text));
    char *space = listed || !r->text.data ? NULL : strchr(r->text.data, ' ');
    if (listed) {
        if (!take_two(r, ",\"", true)) return plim__fail(r->error, PLIM_CORRUPT, "merge %zu is no pair", rank);
        PLIM_TRY(take_string(r, &r->second));
        if (take_word(r) != ']') return plim__fail(r->error, PLIM_CORRUPT, "merge %zu is no pair", rank);
    } else if (!space) {
        return plim__fail(r->error, PLIM_CORRUPT, "merge %zu is no pair", rank);
    }
    if (space) *space = 0;
    const char *right = space ? space + 1 : plim__str_text(&r->second);
    return r->sink->merge ? r->sink->merge(r->sink->context, plim__str_text(&r->text), right, r->error) : PLIM_OK;
}

/* What lies between the brackets, the first of which was taken. */
static plim_status take_list(reader *r, int end) {
    int c = take_word(r);
    while (c != end) {
        if (end == '}' && c != '"') return wrong(r, "the vocabulary is strange");
        PLIM_TRY(end == '}' ? take_token(r) : take_merge(r, c));
        c = take_word(r);
        if (c != ',' && c != end) return wrong(r, "a vocabulary or list of merges is strange");
        if (c == ',' && (c = take_word(r)) == end) return wrong(r, "a comma before the end of a list");
    }
    return PLIM_OK;
}

/* --- the rest ------------------------------------------------------------------------------------------------- */

static plim_status keep(reader *r, int c) {
    plim__token_summary *s = r->summary;
    plim__str_addc(&s->rest, (char)c);
    s->rest_memory += 3u + (c == '{' || c == '[' ? CONTAINER_BYTES : c == ',' || c == ':' ? VALUE_BYTES : 0u);
    if (s->rest.length > MOST_REST) return wrong(r, "it has more than 64 MiB beside vocabulary and merges");
    if (!r->limit || s->rest_memory <= r->limit) return PLIM_OK;
    return plim__fail(r->error, PLIM_BUDGET,
                      "what it has beside vocabulary and merges takes more than the budget leaves (%llu bytes)",
                      (unsigned long long)r->limit);
}

/* A string as it is written; short ones are remembered, as they may be keys. */
static plim_status keep_string(reader *r) {
    size_t length = 0;
    for (int c = take(r), before = 0; c != '"' || before == '\\'; c = take(r)) {
        if (c == NOTHING) return wrong(r, "a text does not end");
        if (length < KEY_ROOM - 1) r->key[length] = (char)c;
        length++;
        PLIM_TRY(keep(r, c));
        before = before == '\\' ? 0 : c; /* a backslash behind a backslash escapes nothing */
    }
    r->key[length < KEY_ROOM - 1 ? length : KEY_ROOM - 1] = 0;
    if (r->kind_comes) r->unigram = strcmp(r->key, "Unigram") == 0;
    r->kind_comes = false;
    return keep(r, '"');
}

/* Behind a key's colon. Leaves everything where the value is none of those that come one by one. */
static plim_status take_value(reader *r) {
    plim__token_summary *s = r->summary;
    int c = peek(r);
    while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        PLIM_TRY(keep(r, take(r)));
        c = peek(r);
    }
    if (r->depth == 1 && strcmp(r->key, "model") == 0 && c == '{') r->in_model = true;
    bool within = r->depth == 2 && r->in_model;
    bool vocabulary = within && c == '{' && strcmp(r->key, "vocab") == 0;
    bool merges = within && c == '[' && strcmp(r->key, "merges") == 0;
    r->kind_comes = within && strcmp(r->key, "type") == 0;
    if (within && c == '[' && r->unigram &&
        strcmp(r->key, "vocab") == 0) /* which may be long, and is not read for nothing */
        return plim__fail(r->error, PLIM_UNSUPPORTED,
                          "its model is Unigram, whose vocabulary has scores; byte pairs (BPE) are read");
    if (!vocabulary && !merges) return PLIM_OK;
    if (vocabulary ? s->has_vocabulary : s->has_merges) return wrong(r, "it has two vocabularies or lists of merges");
    s->has_vocabulary |= vocabulary;
    s->has_merges |= merges;
    take(r);
    PLIM_TRY(keep(r, vocabulary ? '{' : '['));
    int line = r->line;
    PLIM_TRY(take_list(r, vocabulary ? '}' : ']'));
    for (; line < r->line; line++) PLIM_TRY(keep(r, '\n')); /* lines have the same numbers in the rest */
    return keep(r, vocabulary ? '}' : ']');
}

static plim_status scan(reader *r) {
    for (int c; (c = take(r)) != NOTHING;) {
        PLIM_TRY(keep(r, c));
        if (c == '{' || c == '[') r->depth++;
        if (c == '}' || c == ']') {
            r->depth--;
            if (r->depth < 2) r->in_model = false;
        }
        if (c == '"') PLIM_TRY(keep_string(r));
        if (c == ':') PLIM_TRY(take_value(r));
    }
    return r->status;
}

plim_status plim__token_file_scan(const plim__blob *file, const plim__token_sink *sink, uint64_t limit,
                                  plim__token_summary *summary, plim_error *error) {
    *summary = (plim__token_summary){.largest = -1};
    reader *r = plim__alloc_zero(1, sizeof *r);
    if (!r) return plim__fail_memory(error, "a tokenizer", sizeof *r);
    r->file = file;
    r->sink = sink;
    r->summary = summary;
    r->error = error;
    r->limit = limit;
    r->line = 1;
    r->hash = PLIM_HASH_START;
    plim_status status = scan(r);
    if (status == PLIM_OK && summary->rest.failed) status = plim__fail_memory(error, "a tokenizer", PIECE);
    summary->hash = plim__hash_value(&r->hash);
    plim__str_free(&r->text);
    plim__str_free(&r->second);
    plim__free(r);
    return status;
}
