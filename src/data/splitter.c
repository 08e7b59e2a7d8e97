/* Splitting text as Hugging Face's normalizers and pre-tokenizers do. Patterns are matched by PCRE2, Unicode's forms made by
 * utf8proc. */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "data/splitter.h"

#include <pcre2.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/utf8.h"

/* What a byte-level pre-tokenizer splits by, as GPT-2 has it. */
#define GPT2_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

/* A pattern that takes longer for one match was made to. */
enum { MOST_STEPS = 10 << 20, MOST_DEPTH = 100000, MOST_HEAP_KIB = 64 << 10, MOST_STAGES = 16 };

/* --- reading -------------------------------------------------------------------------------------------------- */

static void *get_memory(size_t bytes, void *context) {
    (void)context;
    return plim__alloc(bytes);
}

static void free_memory(void *memory, void *context) {
    (void)context;
    plim__free(memory);
}

void plim__splitter_free(plim__splitter *s) {
    for (size_t i = 0; i < s->changes.count; i++) {
        plim__free(s->changes.items[i].from);
        plim__free(s->changes.items[i].to);
    }
    for (size_t i = 0; i < s->stages.count; i++) {
        pcre2_code_free(s->stages.items[i].pattern);
        plim__free(s->stages.items[i].mark);
    }
    plim__vec_free(&s->changes);
    plim__vec_free(&s->stages);
    pcre2_general_context_free(s->context);
    *s = (plim__splitter){0};
}

static const char *type_of(const json_t *from) {
    const char *type = json_string_value(json_object_get(from, "type"));
    return type ? type : "";
}

static plim_status add_change(plim__splitter *s, plim__change change, const char *from, const char *to,
                              plim_error *error) {
    change.from = plim__strdup(from);
    change.to = plim__strdup(to);
    if (change.from && change.to && plim__vec_push(&s->changes, change)) return PLIM_OK;
    plim__free(change.from);
    plim__free(change.to);
    return plim__fail_memory(error, "a tokenizer", strlen(from) + strlen(to));
}

static plim_status add_stage(plim__splitter *s, plim__stage stage, const char *mark, plim_error *error) {
    if (s->stages.count == MOST_STAGES)
        return plim__fail(error, PLIM_UNSUPPORTED, "more than %d pre-tokenizers", MOST_STAGES);
    if (mark) stage.mark = plim__strdup(mark);
    if ((!mark || stage.mark) && plim__vec_push(&s->stages, stage)) return PLIM_OK;
    plim__free(stage.mark);
    pcre2_code_free(stage.pattern);
    return plim__fail_memory(error, "a tokenizer", sizeof stage);
}

static plim_status add_pattern(plim__splitter *s, const char *text, plim__stage stage, plim_error *error) {
    int code;
    PCRE2_SIZE at;
    pcre2_compile_context *compiling = pcre2_compile_context_create(s->context);
    if (!compiling) return plim__fail_memory(error, "a pattern", strlen(text));
    pcre2_set_max_pattern_length(compiling, 64 << 10);
    stage.pattern = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &at, compiling);
    pcre2_compile_context_free(compiling);
    if (stage.pattern) return add_stage(s, stage, NULL, error);
    if (code == PCRE2_ERROR_NOMEMORY || code == 121) return plim__fail_memory(error, "a pattern", strlen(text));
    char why[120] = "";
    pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
    return plim__fail(error, PLIM_CORRUPT, "the pattern '%.80s' cannot be used: %s", text, why);
}

static plim_status read_replace(plim__splitter *s, const json_t *from, plim_error *error) {
    const char *text = json_string_value(json_object_get(json_object_get(from, "pattern"), "String"));
    const char *to = json_string_value(json_object_get(from, "content"));
    unsigned code;
    if (!text || !to || !*text)
        return plim__fail(error, PLIM_UNSUPPORTED, "its normalizer replaces a pattern; texts are replaced");
    if (text[plim__utf8_length(text, &code)])
        return plim__fail(error, PLIM_UNSUPPORTED, "its normalizer replaces '%.40s'; single characters are", text);
    return add_change(s, (plim__change){.kind = PLIM__CHANGE_REPLACE}, text, to, error);
}

static plim_status read_normalizer(plim__splitter *s, const json_t *from, int depth, plim_error *error) {
    static const struct {
        const char *name;
        int options;
    } forms[] = {{"NFC", UTF8PROC_COMPOSE},
                 {"NFD", UTF8PROC_DECOMPOSE},
                 {"NFKC", UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
                 {"NFKD", UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT}};
    const char *type = type_of(from);
    if (!from || json_is_null(from)) return PLIM_OK;
    s->normalises = true;
    if (strcmp(type, "Sequence") == 0 && depth < 4) {
        const json_t *list = json_object_get(from, "normalizers");
        for (size_t i = 0; i < json_array_size(list); i++)
            PLIM_TRY(read_normalizer(s, json_array_get(list, i), depth + 1, error));
        return PLIM_OK;
    }
    if (strcmp(type, "Prepend") == 0) {
        const char *text = json_string_value(json_object_get(from, "prepend"));
        return add_change(s, (plim__change){.kind = PLIM__CHANGE_PREPEND}, "", text ? text : "", error);
    }
    if (strcmp(type, "Replace") == 0) return read_replace(s, from, error);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(type, forms[i].name) == 0)
            return add_change(s, (plim__change){.kind = PLIM__CHANGE_FORM, .options = forms[i].options}, "", "", error);
    return plim__fail(error, PLIM_UNSUPPORTED,
                      "its normalizer is '%.40s'; Prepend, Replace, NFC, NFD, NFKC and NFKD are known", type);
}

/* One of the pre-tokenizers; `first`: nothing has split the text before. */
static plim_status read_byte_level(plim__splitter *s, const json_t *from, bool first, plim_error *error) {
    s->byte_level = true;
    if (json_is_true(json_object_get(from, "add_prefix_space"))) {
        if (!first) return plim__fail(error, PLIM_UNSUPPORTED, "its pre-tokenizer adds spaces to pieces of words");
        PLIM_TRY(add_change(s, (plim__change){.kind = PLIM__CHANGE_PREPEND, .unless = true}, "", " ", error));
    }
    if (json_is_false(json_object_get(from, "use_regex"))) return PLIM_OK;
    return add_pattern(s, GPT2_PATTERN, (plim__stage){.kind = PLIM__STAGE_PATTERN}, error);
}

static plim_status read_metaspace(plim__splitter *s, const json_t *from, bool first, plim_error *error) {
    const char *mark = json_string_value(json_object_get(from, "replacement")),
               *scheme = json_string_value(json_object_get(from, "prepend_scheme"));
    if (!mark || !*mark) return plim__fail(error, PLIM_CORRUPT, "its Metaspace has no replacement");
    if (!first) return plim__fail(error, PLIM_UNSUPPORTED, "its Metaspace does not come first");
    if (!scheme) scheme = json_is_false(json_object_get(from, "add_prefix_space")) ? "never" : "always";
    PLIM_TRY(add_change(s, (plim__change){.kind = PLIM__CHANGE_REPLACE}, " ", mark, error));
    if (strcmp(scheme, "never") != 0)
        PLIM_TRY(add_change(
            s, (plim__change){.kind = PLIM__CHANGE_PREPEND, .unless = true, .first = strcmp(scheme, "first") == 0}, "",
            mark, error));
    if (json_is_false(json_object_get(from, "split"))) return PLIM_OK;
    return add_stage(s, (plim__stage){.kind = PLIM__STAGE_BEFORE}, mark, error);
}

static bool quote_pattern(plim__str *out, const char *text) {
    plim__str_add(out, "\\Q"); /* which cannot hold its own end */
    plim__str_add(out, text);
    plim__str_add(out, "\\E");
    return !strstr(text, "\\E");
}

static plim_status read_split(plim__splitter *s, const json_t *from, bool first, plim_error *error) {
    (void)first;
    const json_t *pattern = json_object_get(from, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex")),
               *text = json_string_value(json_object_get(pattern, "String")),
               *behaviour = json_string_value(json_object_get(from, "behavior"));
    bool inverted = json_is_true(json_object_get(from, "invert"));
    bool removes = behaviour && strcmp(behaviour, "Removed") == 0;
    if (!behaviour || (!removes && strcmp(behaviour, "Isolated") != 0))
        return plim__fail(error, PLIM_UNSUPPORTED, "its Split is '%.40s'; Isolated and Removed are known",
                          behaviour ? behaviour : "");
    if (!regex && !text) return plim__fail(error, PLIM_CORRUPT, "its Split has no pattern");
    plim__stage stage = {
        .kind = PLIM__STAGE_PATTERN, .drops_matches = removes && !inverted, .drops_others = removes && inverted};
    if (regex) return add_pattern(s, regex, stage, error);
    plim__str quoted = {0};
    plim_status status = quote_pattern(&quoted, text) && !quoted.failed
                             ? add_pattern(s, plim__str_text(&quoted), stage, error)
                             : plim__fail(error, PLIM_UNSUPPORTED, "its Split has a strange text");
    plim__str_free(&quoted);
    return status;
}

static plim_status read_digits(plim__splitter *s, const json_t *from, bool first, plim_error *error) {
    (void)first;
    bool each = json_is_true(json_object_get(from, "individual_digits"));
    return add_stage(s, (plim__stage){.kind = PLIM__STAGE_DIGITS, .each = each}, NULL, error);
}

static const struct {
    const char *type;
    plim_status (*read)(plim__splitter *s, const json_t *from, bool first, plim_error *error);
} pre_tokenizers[] = {{.type = "ByteLevel", .read = read_byte_level},
                      {.type = "Metaspace", .read = read_metaspace},
                      {.type = "Split", .read = read_split},
                      {.type = "Digits", .read = read_digits}};

static plim_status read_pre_tokenizer(plim__splitter *s, const json_t *from, int depth, plim_error *error) {
    const char *type = type_of(from);
    bool first = s->stages.count == 0 && !s->byte_level;
    if (!from || json_is_null(from)) return PLIM_OK;
    if (strcmp(type, "Sequence") == 0 && depth < 4) {
        const json_t *list = json_object_get(from, "pretokenizers");
        for (size_t i = 0; i < json_array_size(list); i++)
            PLIM_TRY(read_pre_tokenizer(s, json_array_get(list, i), depth + 1, error));
        return PLIM_OK;
    }
    if (s->byte_level) return plim__fail(error, PLIM_UNSUPPORTED, "its pre-tokenizer '%.40s' follows ByteLevel", type);
    for (size_t i = 0; i < sizeof pre_tokenizers / sizeof *pre_tokenizers; i++)
        if (strcmp(type, pre_tokenizers[i].type) == 0) return pre_tokenizers[i].read(s, from, first, error);
    return plim__fail(error, PLIM_UNSUPPORTED,
                      "its pre-tokenizer is '%.40s'; ByteLevel, Metaspace, Split and Digits are known", type);
}

plim_status plim__splitter_read(plim__splitter *s, const json_t *normalizer, const json_t *pre_tokenizer,
                                plim_error *error) {
    s->context = pcre2_general_context_create(get_memory, free_memory, NULL);
    if (!s->context) return plim__fail_memory(error, "a tokenizer", sizeof *s);
    PLIM_TRY(read_normalizer(s, normalizer, 0, error));
    return read_pre_tokenizer(s, pre_tokenizer, 0, error);
}

/* --- normalising ---------------------------------------------------------------------------------------------- */

void plim__splitter_work_free(plim__splitter_work *work) {
    for (size_t i = 0; i < work->matches.count; i++) pcre2_match_data_free(work->matches.items[i]);
    plim__vec_free(&work->matches);
    plim__str_free(&work->text);
    plim__str_free(&work->other);
}

static void prepend(plim__splitter_work *work, const plim__change *change, plim__splitter_place place) {
    if (place == PLIM__PLACE_WITHIN || (change->first && place != PLIM__PLACE_START) || work->text.length == 0 ||
        (change->unless && strncmp(plim__str_text(&work->text), change->to, strlen(change->to)) == 0)) {
        plim__str_addn(&work->other, plim__str_text(&work->text), work->text.length);
        return;
    }
    plim__str_add(&work->other, change->to);
    plim__str_addn(&work->other, plim__str_text(&work->text), work->text.length);
}

static void replace(plim__splitter_work *work, const plim__change *change) {
    size_t length = strlen(change->from);
    const char *at = plim__str_text(&work->text), *end = at + work->text.length;
    while (at < end) {
        const char *found = memmem(at, (size_t)(end - at), change->from, length);
        plim__str_addn(&work->other, at, (size_t)((found ? found : end) - at));
        if (found) plim__str_add(&work->other, change->to);
        at = found ? found + length : end;
    }
}

static plim_status change_form(plim__splitter_work *work, const plim__change *change, plim_error *error) {
    const utf8proc_uint8_t *text = (const utf8proc_uint8_t *)plim__str_text(&work->text);
    utf8proc_option_t options = (utf8proc_option_t)change->options;
    utf8proc_ssize_t length = (utf8proc_ssize_t)work->text.length;
    utf8proc_ssize_t count = utf8proc_decompose(text, length, NULL, 0, options), bytes = -1;
    utf8proc_int32_t *codes = count >= 0 ? plim__alloc_array((size_t)count + 1, sizeof *codes) : NULL;
    if (count >= 0 && !codes) return plim__fail_memory(error, "a text", ((size_t)count + 1) * sizeof *codes);
    if (count >= 0) count = utf8proc_decompose(text, length, codes, count, options);
    if (count >= 0) bytes = utf8proc_reencode(codes, count, options);
    if (bytes >= 0) plim__str_addn(&work->other, (const char *)codes, (size_t)bytes);
    plim__free(codes);
    return bytes >= 0 ? PLIM_OK : plim__fail(error, PLIM_INVALID, "a text cannot be normalised");
}

static plim_status normalise(const plim__splitter *s, plim__splitter_work *work, const plim__segment *segment,
                             plim_error *error) {
    plim__str_clear(&work->text);
    plim__str_addn(&work->text, segment->text, segment->length);
    for (size_t i = 0; i < s->changes.count; i++) {
        const plim__change *change = &s->changes.items[i];
        plim__str_clear(&work->other);
        if (change->kind == PLIM__CHANGE_FORM)
            PLIM_TRY(change_form(work, change, error));
        else if (change->kind == PLIM__CHANGE_REPLACE)
            replace(work, change);
        else
            prepend(work, change, segment->place);
        plim__str keep = work->text;
        work->text = work->other;
        work->other = keep;
    }
    return work->text.failed || work->other.failed ? plim__fail_memory(error, "a text", segment->length) : PLIM_OK;
}

/* --- splitting ------------------------------------------------------------------------------------------------ */

typedef struct splitting {
    const plim__splitter *s;
    plim__splitter_work *work;
    const plim__piece_sink *sink;
    pcre2_match_context *limits;
} splitting;

static plim_status match_failed(int code, plim_error *error) {
    char why[120] = "";
    if (code == PCRE2_ERROR_NOMEMORY) return plim__fail_memory(error, "splitting a text", 1);
    pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
    return plim__fail(error, PLIM_UNSUPPORTED, "a text cannot be split by the tokenizer's pattern: %s", why);
}

/* A stage on its way through a text: pieces end one after the other. */
typedef struct cursor {
    const char *text;
    size_t length, at;
    size_t from, to; /* the next match, once `at` has not passed it */
} cursor;

/* The first match at or behind `at` that is not empty; at the end when there is none. */
static plim_status find_match(const splitting *x, size_t stage, cursor *c, plim_error *error) {
    pcre2_match_data *data = x->work->matches.items[stage];
    const plim__stage *s = &x->s->stages.items[stage];
    c->from = c->to = c->length;
    for (size_t from = c->at; from < c->length;) {
        int code = pcre2_match(s->pattern, (PCRE2_SPTR)c->text, c->length, from, PCRE2_NO_UTF_CHECK, data, x->limits);
        if (code == PCRE2_ERROR_NOMATCH) return PLIM_OK;
        if (code < 0) return match_failed(code, error);
        const PCRE2_SIZE *found = pcre2_get_ovector_pointer(data);
        if (found[1] > found[0]) {
            c->from = found[0];
            c->to = found[1];
            return PLIM_OK;
        }
        from = found[1] + 1; /* one character further */
        while (from < c->length && (c->text[from] & 0xc0) == 0x80) from++;
    }
    return PLIM_OK;
}

static bool is_digit(const char *text) { /* as Rust's char::is_numeric: Nd, Nl and No */
    unsigned code;
    size_t length = plim__utf8_length(text, &code);
    utf8proc_category_t kind = length ? utf8proc_category((utf8proc_int32_t)code) : UTF8PROC_CATEGORY_CN;
    return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

/* Where the piece of characters at the cursor ends. */
static size_t end_of_piece(const plim__stage *s, const cursor *c) {
    bool digits = s->kind == PLIM__STAGE_DIGITS && is_digit(c->text + c->at);
    size_t at = c->at;
    do {
        const char *text = c->text;
        for (at++; at < c->length && (text[at] & 0xc0) == 0x80;) at++;
        if (at == c->length) break;
        if (s->kind == PLIM__STAGE_BEFORE && strncmp(text + at, s->mark, strlen(s->mark)) == 0) break;
        if (s->kind == PLIM__STAGE_DIGITS && (is_digit(text + at) != digits || (digits && s->each))) break;
    } while (at < c->length);
    return at;
}

/* The end of the piece at the cursor, and whether it stays. */
static plim_status next_piece(const splitting *x, size_t stage, cursor *c, size_t *end, bool *stays,
                              plim_error *error) {
    const plim__stage *s = &x->s->stages.items[stage];
    *stays = true;
    if (s->kind != PLIM__STAGE_PATTERN) {
        *end = end_of_piece(s, c);
        return PLIM_OK;
    }
    if (c->at >= c->to) PLIM_TRY(find_match(x, stage, c, error));
    bool other = c->at < c->from;
    *end = other ? c->from : c->to;
    *stays = other ? !s->drops_others : !s->drops_matches;
    return PLIM_OK;
}

/* Pieces of one stage go through the next. */
static plim_status split_from(const splitting *x, size_t stage, const char *text, size_t length, plim_error *error) {
    if (stage == x->s->stages.count) return x->sink->take(x->sink->context, text, length, error);
    cursor c = {.text = text, .length = length};
    for (size_t end; c.at < length; c.at = end) {
        bool stays;
        PLIM_TRY(next_piece(x, stage, &c, &end, &stays, error));
        if (stays) PLIM_TRY(split_from(x, stage + 1, text + c.at, end - c.at, error));
    }
    return PLIM_OK;
}

static plim_status prepare(const plim__splitter *s, plim__splitter_work *work, plim_error *error) {
    while (work->matches.count < s->stages.count) {
        const plim__stage *stage = &s->stages.items[work->matches.count];
        pcre2_match_data *data = stage->pattern ? pcre2_match_data_create(1, s->context) : NULL;
        if ((stage->pattern && !data) || !plim__vec_push(&work->matches, data)) {
            pcre2_match_data_free(data);
            return plim__fail_memory(error, "splitting a text", sizeof data);
        }
    }
    return PLIM_OK;
}

plim_status plim__splitter_split(const plim__splitter *s, plim__splitter_work *work, const plim__segment *segment,
                                 const plim__piece_sink *sink, plim_error *error) {
    if (segment->length == 0) return PLIM_OK;
    PLIM_TRY(prepare(s, work, error));
    PLIM_TRY(normalise(s, work, segment, error));
    pcre2_match_context *limits = pcre2_match_context_create(s->context);
    if (!limits) return plim__fail_memory(error, "splitting a text", segment->length);
    pcre2_set_match_limit(limits, MOST_STEPS);
    pcre2_set_depth_limit(limits, MOST_DEPTH);
    pcre2_set_heap_limit(limits, MOST_HEAP_KIB);
    splitting x = {s, work, sink, limits};
    plim_status status = split_from(&x, 0, plim__str_text(&work->text), work->text.length, error);
    pcre2_match_context_free(limits);
    return status;
}
