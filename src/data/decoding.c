/* Tokens back to text, as Hugging Face's decoders do it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arguments.h"
#include "core/utf8.h"
#include "data/tokenizer.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* --- reading -------------------------------------------------------------------------------------------------- */

void plim__decoding_free(plim__decoding *d) {
    for (size_t i = 0; i < d->replaces.count; i++) {
        plim__free(d->replaces.items[i].from);
        plim__free(d->replaces.items[i].to);
    }
    plim__vec_free(&d->replaces);
    plim__free(d->mark);
    *d = (plim__decoding){0};
}

static plim_status read_replace(plim__decoding *d, const json_t *from, plim_error *error) {
    const char *text = json_string_value(json_object_get(json_object_get(from, "pattern"), "String")),
               *to = json_string_value(json_object_get(from, "content"));
    if (!text || !*text || !to) return plim__fail(error, PLIM_UNSUPPORTED, "its decoder replaces a pattern");
    plim__decoding_replace made = {plim__strdup(text), plim__strdup(to)};
    if (made.from && made.to && plim__vec_push(&d->replaces, made)) return PLIM_OK;
    plim__free(made.from);
    plim__free(made.to);
    return plim__fail_memory(error, "a decoder", strlen(text));
}

static plim_status read_strip(plim__decoding *d, const json_t *from, plim_error *error) {
    const char *content = json_string_value(json_object_get(from, "content"));
    if (!content || !*content || strlen(content) >= sizeof d->strip || d->stripped || !d->fused ||
        json_integer_value(json_object_get(from, "stop")) != 0)
        return plim__fail(error, PLIM_UNSUPPORTED, "its decoder strips in a way that is not known");
    memcpy(d->strip, content, strlen(content) + 1);
    d->strip_count = json_integer_value(json_object_get(from, "start"));
    d->stripped = true;
    return PLIM_OK;
}

static plim_status read_metaspace(plim__decoding *d, const json_t *from, plim_error *error) {
    const char *mark = json_string_value(json_object_get(from, "replacement")),
               *scheme = json_string_value(json_object_get(from, "prepend_scheme"));
    if (!mark || !*mark) return plim__fail(error, PLIM_CORRUPT, "its decoder has no replacement");
    d->mark = plim__strdup(mark);
    d->drop_first_mark =
        scheme ? strcmp(scheme, "never") != 0 : !json_is_false(json_object_get(from, "add_prefix_space"));
    return d->mark ? PLIM_OK : plim__fail_memory(error, "a decoder", strlen(mark));
}

static plim_status read_decoder(plim__decoding *d, const json_t *from, int depth, plim_error *error) {
    const char *type = json_string_value(json_object_get(from, "type"));
    if (!type) type = "";
    if (strcmp(type, "Sequence") == 0 && depth < 4) {
        const json_t *list = json_object_get(from, "decoders");
        for (size_t i = 0; i < json_array_size(list); i++)
            PLIM_TRY(read_decoder(d, json_array_get(list, i), depth + 1, error));
        return PLIM_OK;
    }
    if (strcmp(type, "Replace") == 0 && !d->fused && !d->byte_fallback) return read_replace(d, from, error);
    if (strcmp(type, "Strip") == 0) return read_strip(d, from, error);
    if (strcmp(type, "Metaspace") == 0 && !d->mark && !d->fused) return read_metaspace(d, from, error);
    d->byte_level |= strcmp(type, "ByteLevel") == 0;
    d->byte_fallback |= strcmp(type, "ByteFallback") == 0;
    d->fused |= strcmp(type, "Fuse") == 0;
    if (strcmp(type, "ByteLevel") == 0 || strcmp(type, "ByteFallback") == 0 || strcmp(type, "Fuse") == 0)
        return PLIM_OK;
    return plim__fail(error, PLIM_UNSUPPORTED,
                      "its decoder is '%.40s'; ByteLevel, Replace, ByteFallback, Fuse, Strip and Metaspace are known",
                      type);
}

plim_status plim__decoding_read(plim__decoding *d, const json_t *decoder, bool byte_level, plim_error *error) {
    d->spaces = !decoder || json_is_null(decoder);
    if (!d->spaces) return read_decoder(d, decoder, 0, error);
    (void)byte_level;
    return PLIM_OK;
}

/* --- text ----------------------------------------------------------------------------------------------------- */

/* Appends bytes; what is no UTF-8 becomes U+FFFD, one for each start of a character that is cut off or wrong. */
static void add_lossy(plim__str *out, const char *bytes, size_t length) {
    for (size_t at = 0, step; at < length; at += step) {
        char part[5] = {0};
        unsigned code;
        memcpy(part, bytes + at, length - at < 4 ? length - at : 4);
        step = plim__utf8_length(part, &code);
        if (step > length - at) step = 0;
        if (step) {
            plim__str_addn(out, bytes + at, step);
            continue;
        }
        plim__str_add(out, REPLACEMENT);
        const unsigned char *b = (const unsigned char *)part;
        unsigned least = b[0] == 0xe0   ? 0xa0
                         : b[0] == 0xf0 ? 0x90
                                        : 0x80,
                 most = b[0] == 0xed   ? 0x9f
                        : b[0] == 0xf4 ? 0x8f
                                       : 0xbf;
        size_t wants = b[0] >= 0xc2 && b[0] < 0xe0   ? 2
                       : b[0] >= 0xe0 && b[0] < 0xf0 ? 3
                       : b[0] >= 0xf0 && b[0] < 0xf5 ? 4
                                                     : 1;
        for (step = 1; step < wants && at + step < length && b[step] >= least && b[step] <= most; step++) {
            least = 0x80;
            most = 0xbf;
        }
    }
}

typedef struct decoder {
    const plim_tokenizer *t;
    plim__str bytes; /* of byte tokens, until another comes */
    plim__str out, token;
    size_t tokens; /* that were added */
} decoder;

/* A run of byte tokens is its text, or U+FFFD for each where it is none. */
static void end_bytes(decoder *d) {
    size_t at = 0, step;
    unsigned code;
    const char *text = plim__str_text(&d->bytes);
    while (at < d->bytes.length && (step = plim__utf8_length(text + at, &code)) > 0) at += step;
    if (at == d->bytes.length) plim__str_addn(&d->out, text, at);
    for (size_t i = 0; at < d->bytes.length && i < d->bytes.length; i++) plim__str_add(&d->out, REPLACEMENT);
    plim__str_clear(&d->bytes);
}

static void replace_all(plim__str *text, plim__str *into, const char *from, const char *to) {
    const char *at = plim__str_text(text);
    plim__str_clear(into);
    for (const char *found; (found = strstr(at, from)); at = found + strlen(from)) {
        plim__str_addn(into, at, (size_t)(found - at));
        plim__str_add(into, to);
    }
    plim__str_add(into, at);
    plim__str keep = *text;
    *text = *into;
    *into = keep;
}

static bool is_byte_token(const char *text, unsigned *byte) {
    char again[8];
    if (sscanf(text, "<0x%2X>", byte) != 1) return false;
    snprintf(again, sizeof again, "<0x%02X>", *byte & 255);
    return strcmp(text, again) == 0;
}

static void add_level_bytes(decoder *d, const char *text) {
    unsigned code;
    for (size_t step; *text && (step = plim__utf8_length(text, &code)) > 0; text += step) {
        int byte = plim__bpe_text_byte(code);
        if (byte >= 0)
            plim__str_addc(&d->bytes, (char)byte);
        else
            plim__str_addn(&d->bytes, text, step); /* an added token: as it is written */
    }
}

static void add_token(decoder *d, const char *text) {
    const plim__decoding *how = &d->t->decoding;
    plim__str other = {0};
    unsigned byte;
    if (how->spaces && d->tokens > 0) plim__str_addc(&d->out, ' ');
    d->tokens++;
    if (how->byte_level) {
        add_level_bytes(d, text);
        return;
    }
    plim__str_clear(&d->token);
    plim__str_add(&d->token, text);
    for (size_t i = 0; i < how->replaces.count; i++)
        replace_all(&d->token, &other, how->replaces.items[i].from, how->replaces.items[i].to);
    if (how->mark) {
        size_t skip = d->tokens == 1 && how->drop_first_mark && strncmp(text, how->mark, strlen(how->mark)) == 0
                          ? strlen(how->mark)
                          : 0;
        plim__str_clear(&d->token);
        plim__str_add(&d->token, text + skip);
        replace_all(&d->token, &other, how->mark, " ");
    }
    if (how->byte_fallback && is_byte_token(plim__str_text(&d->token), &byte)) {
        plim__str_addc(&d->bytes, (char)byte);
    } else {
        end_bytes(d);
        plim__str_add(&d->out, plim__str_text(&d->token));
    }
    d->out.failed |= other.failed || d->token.failed;
    plim__str_free(&other);
}

static bool is_special(const plim_tokenizer *t, int64_t number) {
    for (size_t i = 0; i < t->added.count; i++)
        if (t->added.items[i].number == number) return t->added.items[i].special;
    return false;
}

static void finish(decoder *d) {
    const plim__decoding *how = &d->t->decoding;
    if (how->byte_level)
        add_lossy(&d->out, plim__str_text(&d->bytes), d->bytes.length);
    else
        end_bytes(d);
    size_t length = strlen(how->strip), skip = 0;
    for (int64_t i = 0; i < how->strip_count && length; i++)
        if (strncmp(plim__str_text(&d->out) + skip, how->strip, length) == 0) skip += length;
    if (skip) memmove(d->out.data, d->out.data + skip, d->out.length - skip + 1);
    d->out.length -= skip;
}

plim_status plim_tokenizer_decode(const plim_tokenizer *t, const int64_t *tokens, size_t count, char **text,
                                  plim_error *error) {
    PLIM__NEED(text, error);
    *text = NULL;
    PLIM__NEED(t, error);
    if (count > 0) PLIM__NEED(tokens, error);
    decoder d = {.t = t};
    plim_status status = PLIM_OK;
    plim__str_add(&d.out, "");
    for (size_t i = 0; i < count && status == PLIM_OK; i++) {
        const char *known = plim__bpe_text(&t->bpe, tokens[i]);
        if (known && !is_special(t, tokens[i])) add_token(&d, known);
    }
    finish(&d);
    if (d.out.failed || d.bytes.failed || !d.out.data) status = plim__fail_memory(error, "a text", count);
    plim__str_free(&d.bytes);
    plim__str_free(&d.token);
    if (status == PLIM_OK)
        *text = d.out.data;
    else
        plim__str_free(&d.out);
    return status;
}
