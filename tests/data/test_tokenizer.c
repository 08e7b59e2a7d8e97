/* Tokenizers: the numbers and texts of Hugging Face's library, on awkward texts; files of text in pieces; bad files. */
#include <jansson.h>

#include "core/alloc.h"
#include "data/fixtures.h"
#include "data/tokenizer.h"
#include "plimsoll/data.h"

#define FILES PLIM_SOURCE_DIR "/tests/data/files/tokenizers/"

static plim_error error;

static plim_status encode(const plim_tokenizer *t, const char *text, size_t length, int64_t *tokens, size_t room,
                          size_t *count) {
    plim_token_buffer buffer = {.tokens = tokens, .room = room};
    plim_status status = plim_tokenizer_encode(t, text, length, &buffer, &error);
    *count = buffer.count;
    return status;
}

static plim_tokenizer *load(const char *name) {
    char path[512];
    plim_tokenizer *t = NULL;
    snprintf(path, sizeof path, FILES "%s.json", name);
    if (plim_tokenizer_load(path, &t, &error) != PLIM_OK) fail_msg("%s: %s", name, error.message);
    return t;
}

/* What the real library made (make_tokenizers.py). */
static json_t *read_expected(void) {
    json_t *all = json_load_file(FILES "expected.json", JSON_ALLOW_NUL, NULL);
    assert_true(json_array_size(all) > 500);
    return all;
}

static void compare(const plim_tokenizer *t, const json_t *row) {
    const json_t *ids = json_object_get(row, "ids");
    const char *text = json_string_value(json_object_get(row, "text")),
               *decoded = json_string_value(json_object_get(row, "decoded")),
               *name = json_string_value(json_object_get(row, "tokenizer"));
    int64_t tokens[2048];
    size_t count;
    char *back;
    if (encode(t, text, strlen(text), tokens, 2048, &count) != PLIM_OK)
        fail_msg("%s: '%s': %s", name, text, error.message);
    for (size_t i = 0; i < count && i < json_array_size(ids); i++)
        if (tokens[i] != json_integer_value(json_array_get(ids, i)))
            fail_msg("%s: '%s': token %zu is %lld, it should be %lld", name, text, i, (long long)tokens[i],
                     (long long)json_integer_value(json_array_get(ids, i)));
    if (count != json_array_size(ids))
        fail_msg("%s: '%s': %zu tokens, there should be %zu", name, text, count, json_array_size(ids));
    assert_int_equal(plim_tokenizer_decode(t, tokens, count, &back, &error), PLIM_OK);
    if (strcmp(back, decoded) != 0) fail_msg("%s: '%s' came back as '%s', not as '%s'", name, text, back, decoded);
    plim_text_free(back);
}

static void numbers_and_texts_are_those_of_hugging_face(void **state) {
    (void)state;
    json_t *all = read_expected();
    plim_tokenizer *t = NULL;
    const char *last = "";
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *row = json_array_get(all, i);
        const char *name = json_string_value(json_object_get(row, "tokenizer"));
        if (strcmp(name, last) != 0) {
            plim_tokenizer_free(t);
            t = load(last = name);
        }
        compare(t, row);
    }
    plim_tokenizer_free(t);
    json_decref(all);
}

/* Three megabytes, so that chunks are cut; the numbers are those of the text as one. */
static void long_files_are_read_in_pieces_and_give_the_same_numbers(void **state) {
    fixture *f = *state;
    static const char *const names[] = {"gpt2", "llama3", "llama", "starcoder", "metaspace-first"};
    static const char *const lines[] = {"the ship's captain, 1876.\n", "Storm  north\n\n", "  water deep\n",
                                        "na\xc3\xafve 12,000\r\n",     "it's\n",           ".ok\n7 sails\n"};
    plim__str text = {0};
    for (unsigned i = 0; text.length < 3u << 20; i++)
        plim__str_add(&text, lines[i * 2654435761u >> 16 & 3 ? i % 6 : i % 5]);
    const char *path = write_file(f, "long.txt", plim__str_text(&text), text.length);
    int64_t *tokens = malloc(text.length * sizeof *tokens);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        plim_tokenizer *t = load(names[k]);
        plim__blob file, spool = PLIM__BLOB_EMPTY;
        size_t count;
        assert_true(t->cuts);
        assert_int_equal(encode(t, plim__str_text(&text), text.length, tokens, text.length, &count), PLIM_OK);
        assert_int_equal(plim__blob_open(&file, path, &error), PLIM_OK);
        assert_int_equal(plim__tokenizer_spool(t, &file, &spool, &error), PLIM_OK);
        for (size_t i = 0; i < count && i < spool.bytes / 4; i++) {
            uint32_t token;
            assert_int_equal(plim__blob_read(&spool, i * 4, &token, 4, &error), PLIM_OK);
            if (token != tokens[i]) fail_msg("%s: token %zu is %u, not %lld", names[k], i, token, (long long)tokens[i]);
        }
        if (spool.bytes != count * 4) fail_msg("%s: %zu tokens, not %zu", names[k], (size_t)spool.bytes / 4, count);
        plim__blob_close(&file);
        plim__blob_close(&spool);
        plim_tokenizer_free(t);
    }
    free(tokens);
    plim__str_free(&text);
}

static void text_data_has_the_tokenizers_numbers(void **state) {
    fixture *f = *state;
    const char *path = write_text(f, "a.txt", "the ship's captain sailed north in 1876, deep water");
    plim_data *data;
    plim_data_batch batch;
    plim_data_info info;
    plim_tokenizer *t = load("gpt2");
    int64_t tokens[64];
    size_t count;
    plim_data_options o = {.tokenizer = FILES "gpt2.json", .seq = 4, .stride = 1, .in_order = 1, .batch = 3};
    assert_int_equal(encode(t, "the ship's captain sailed north in 1876, deep water", 51, tokens, 64, &count), PLIM_OK);
    if (plim_data_create(path, &o, &data, &error) != PLIM_OK) fail_msg("%s", error.message);
    plim_data_get_info(data, &info);
    assert_int_equal(info.samples, count - 4);
    assert_int_equal(info.classes, plim_tokenizer_size(t));
    assert_true(info.tokenizer == plim_tokenizer_hash(t));
    assert_int_equal(plim_data_next(data, &batch, &error), PLIM_OK);
    for (int i = 0; i < 3; i++) {
        assert_memory_equal((const int64_t *)batch.fields[0] + 4 * i, tokens + i, 4 * sizeof *tokens);
        assert_memory_equal((const int64_t *)batch.fields[1] + 4 * i, tokens + i + 1, 4 * sizeof *tokens);
    }
    plim_data_free(data);
    plim_tokenizer_free(t);
}

static void refuse(fixture *f, const char *text, plim_status status, const char *words) {
    plim_tokenizer *t;
    assert_int_equal(plim_tokenizer_load(write_text(f, "t.json", text), &t, &error), status);
    assert_null(t);
    if (!strstr(error.message, words)) fail_msg("'%s' is not in '%s'", words, error.message);
}

#define MODEL "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}"

static void what_is_not_known_is_refused_by_name(void **state) {
    fixture *f = *state;
    refuse(f, "", PLIM_CORRUPT, "line");
    refuse(f, "[1", PLIM_CORRUPT, "line");
    refuse(f, "{}", PLIM_CORRUPT, "no model");
    refuse(f, "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0.0],[\"a\",-1.5]]}}",
           PLIM_UNSUPPORTED, "Unigram");
    refuse(f, "{\"model\":{\"type\":\"WordPiece\"}}", PLIM_UNSUPPORTED, "WordPiece");
    refuse(f, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}", PLIM_CORRUPT, "merge 0");
    refuse(f, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"ab\"]}}", PLIM_CORRUPT, "no pair");
    refuse(f, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}", PLIM_CORRUPT, "same number");
    refuse(f, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":99999999999},\"merges\":[]}}", PLIM_CORRUPT, "number");
    refuse(f, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}", PLIM_CORRUPT, "number");
    refuse(f, "{\"model\":{\"type\":\"BPE\",\"vocab\":[],\"merges\":[]}}", PLIM_CORRUPT, "vocabulary");
    refuse(f, "{\"model\":{\"type\":\"BPE\",\"dropout\":0.1}}", PLIM_UNSUPPORTED, "dropout");
    refuse(f, "{\"model\":{\"type\":\"BPE\",\"end_of_word_suffix\":\"</w>\"}}", PLIM_UNSUPPORTED, "end_of_word");
    refuse(f, "{" MODEL ",\"normalizer\":{\"type\":\"Lowercase\"}}", PLIM_UNSUPPORTED, "Lowercase");
    refuse(f, "{" MODEL ",\"pre_tokenizer\":{\"type\":\"Punctuation\"}}", PLIM_UNSUPPORTED, "Punctuation");
    refuse(f,
           "{" MODEL ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\"},\"behavior\":\"Isolated\"}}",
           PLIM_CORRUPT, "pattern '('");
    refuse(f, "{" MODEL ",\"decoder\":{\"type\":\"WordPiece\"}}", PLIM_UNSUPPORTED, "decoder");
}

#define LISTS(vocabulary, merges) "{\"model\":{\"vocab\":{" vocabulary "},\"merges\":[" merges "]}}"

/* Vocabulary and merges are not read by a library: what such a one refuses is refused. */
static void lists_are_read_strictly(void **state) {
    fixture *f = *state;
    static const struct {
        const char *text, *words;
    } bad[] = {{LISTS("\"a\":0,", ""), "comma"},
               {LISTS("\"a\" 0", ""), "':'"},
               {LISTS("\"a\":0 \"b\":1", ""), "strange"},
               {LISTS("\"a\":1.5", ""), "no number"},
               {LISTS("\"a\":\"0\"", ""), "no number"},
               {LISTS("a:0", ""), "strange"},
               {LISTS("\"\\ud800\":0", ""), "escape"},
               {LISTS("\"\\u0000\":0", ""), "escape"},
               {LISTS("\"\\x\":0", ""), "escape"},
               {LISTS("\"\xc3(\":0", ""), "UTF-8"},
               {LISTS("\"a\nb\":0", ""), "control character"},
               {LISTS("\"a\":0", "[\"a\"]"), "no pair"},
               {LISTS("\"a\":0", "[\"a\",\"a\",\"a\"]"), "no pair"},
               {LISTS("\"a\":0", "7"), "no pair"},
               {"{\"model\":{\"vocab\":{\"a\":0},\"vocab\":{\"b\":0},\"merges\":[]}}", "two"},
               {"{\"model\":{\"vocab\":{\"a\":0", "no number"},
               {"{\n\"model\":{\"vocab\":{\"a\":0,\n\"b\":1},\n\"merges\":[]}} x", "line 4"},
               {"{\"model\":{\"vocab\":{\"a", "does not end"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refuse(f, bad[i].text, PLIM_CORRUPT, bad[i].words);
    plim_tokenizer *t;
    int64_t tokens[8];
    size_t count;
    write_text(f, "t.json",
               "{ \"model\" :\n{\"merges\": [ [\"\\u00e9\", \"\\ud83d\\ude00\" ] ],\r\n\t\"vocab\" : { \"\\\"\":0 , "
               "\"\xc3\xa9\": 1,"
               "\"\xf0\x9f\x98\x80\":2,\"\xc3\xa9\xf0\x9f\x98\x80\":3, \"\\/\" : 4 } } }");
    if (plim_tokenizer_load(f->path, &t, &error) != PLIM_OK) fail_msg("%s", error.message);
    const char *text = "\xc3\xa9\xf0\x9f\x98\x80/\"\xc3\xa9";
    assert_int_equal(encode(t, text, strlen(text), tokens, 8, &count), PLIM_OK);
    static const int64_t right[] = {3, 4, 0, 1};
    assert_int_equal(count, 4);
    assert_memory_equal(tokens, right, sizeof right);
    plim_tokenizer_free(t);
}

static void patterns_that_never_end_are_stopped(void **state) {
    fixture *f = *state;
    plim_tokenizer *t;
    size_t count;
    char text[64];
    memset(text, 'a', sizeof text);
    write_text(
        f, "t.json",
        "{" MODEL
        ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(?:a+)+[^ab]\"},\"behavior\":\"Isolated\"}}");
    if (plim_tokenizer_load(f->path, &t, &error) != PLIM_OK) fail_msg("%s", error.message);
    assert_int_equal(encode(t, text, sizeof text, NULL, 0, &count), PLIM_UNSUPPORTED);
    plim_tokenizer_free(t);
}

static void bad_texts_are_named(void **state) {
    fixture *f = *state;
    plim_tokenizer *t = load("gpt2");
    int64_t tokens[4];
    size_t count;
    assert_int_equal(encode(t, "ab\xff", 3, tokens, 4, &count), PLIM_INVALID);
    assert_non_null(strstr(error.message, "byte 2"));
    assert_int_equal(encode(t, "ab\xe2\x82", 4, tokens, 4, &count), PLIM_INVALID);
    assert_int_equal(encode(t, "q w e r t z u", 13, tokens, 4, &count), PLIM_OVERFLOW);
    assert_true(count > 4);
    plim_tokenizer_free(t);
    plim_data *data;
    plim_data_options o = {.tokenizer = FILES "gpt2.json", .seq = 2};
    assert_int_equal(plim_data_create(write_text(f, "b.txt", "text \xc3( more"), &o, &data, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "byte 5"));
    assert_int_equal(plim_data_create(write_text(f, "c.csv", "a,b\n1,2\n"), &o, &data, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "for text"));
}

static void the_nth_allocation_fails(void **state) {
    fixture *f = *state;
    write_text(
        f, "t.json",
        "{" MODEL
        ",\"normalizer\":{\"type\":\"Prepend\",\"prepend\":\"a\"},\"added_tokens\":[{\"id\":3,\"content\":\"<s>\"}],"
        "\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"b+\"},\"behavior\":\"Isolated\"}}");
    bool done = false;
    for (size_t n = 1; n < 500 && !done; n++) {
        plim_tokenizer *t;
        int64_t tokens[16];
        size_t count, before = plim__alloc_count();
        char *back = NULL;
        plim__alloc_fail_at(n);
        plim_status status = plim_tokenizer_load(f->path, &t, &error);
        if (status == PLIM_OK) status = encode(t, "abab<s>ab", 9, tokens, 16, &count);
        if (status == PLIM_OK) status = plim_tokenizer_decode(t, tokens, count, &back, &error);
        plim_text_free(back);
        plim_tokenizer_free(t);
        plim__alloc_fail_at(0);
        if (status != PLIM_OK && status != PLIM_NO_MEMORY) fail_msg("%zu: %s", n, error.message);
        done = status == PLIM_OK && plim__alloc_count() - before < n;
    }
    assert_true(done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_texts_are_those_of_hugging_face),
        WITH_FIXTURE(long_files_are_read_in_pieces_and_give_the_same_numbers),
        WITH_FIXTURE(text_data_has_the_tokenizers_numbers),
        WITH_FIXTURE(what_is_not_known_is_refused_by_name),
        WITH_FIXTURE(lists_are_read_strictly),
        WITH_FIXTURE(patterns_that_never_end_are_stopped),
        WITH_FIXTURE(bad_texts_are_named),
        WITH_FIXTURE(the_nth_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
