/* Pickles of every protocol read alike, nothing in them is executed, and broken or hostile ones are refused within
 * the memory limit. */
#include "format/pickle.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/alloc.h"
#include "core/file.h"
#include "core/str.h"

#define DATA PLIM_SOURCE_DIR "/tests/format/data/pickle/"

typedef plim__pickle_value value;
static plim_error error;

static plim__pickle *load(const char *name, const plim__pickle_options *options) {
    char path[512];
    snprintf(path, sizeof path, DATA "%s", name);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    plim__pickle *pickle;
    if (plim__pickle_read_fd(fd, 0, options, &pickle, &error) != PLIM_OK) fail_msg("%s: %s", name, error.message);
    close(fd);
    return pickle;
}

static int64_t number(value v) {
    int64_t n;
    assert_true(plim__pickle_int(v, &n));
    return n;
}

static double real(value v) {
    double n;
    assert_true(plim__pickle_double(v, &n));
    return n;
}

static void check_numbers(value root) {
    static const int64_t ints[] = {0,
                                   1,
                                   -1,
                                   255,
                                   256,
                                   65535,
                                   65536,
                                   INT32_MAX,
                                   INT32_MIN,
                                   INT64_C(1) << 31,
                                   INT64_C(1) << 62,
                                   -(INT64_C(1) << 62),
                                   INT64_MAX,
                                   INT64_MIN};
    value list = plim__pickle_get(root, "ints"), big = plim__pickle_get(root, "big");
    assert_int_equal(plim__pickle_count(list), sizeof ints / sizeof *ints);
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) assert_true(number(plim__pickle_at(list, i)) == ints[i]);
    static const double bigs[] = {0x1p63, 0x1p64, 0x1p64, -0x1p63, 0x1p100, -0x1p100};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(plim__pickle_type_of(plim__pickle_at(big, i)), PLIM__PICKLE_BIG);
        assert_true(real(plim__pickle_at(big, i)) == bigs[i]);
    }
    uint64_t address;
    assert_true(plim__pickle_uint(plim__pickle_get(root, "high"), &address));
    assert_true(address == UINT64_C(0xffffffff00000000));
    assert_true(plim__pickle_uint(plim__pickle_at(big, 1), &address) && address == UINT64_MAX);
    assert_false(plim__pickle_uint(plim__pickle_at(big, 2), &address));
    assert_false(plim__pickle_uint(plim__pickle_at(list, 2), &address));
    value floats = plim__pickle_get(root, "floats");
    assert_true(real(plim__pickle_at(floats, 1)) == -1.5);
    assert_true(real(plim__pickle_at(floats, 2)) == 1e300);
    assert_true(real(plim__pickle_at(floats, 3)) > 1e308);
}

static void check_text(value root) {
    static const char *const texts[] = {"", "plain", "quote ' and \" and \\ and \n", "é", "日本語", "😀"};
    value list = plim__pickle_get(root, "text");
    for (size_t i = 0; i < 6; i++) assert_string_equal(plim__pickle_text(plim__pickle_at(list, i), NULL), texts[i]);
    size_t length;
    assert_non_null(plim__pickle_text(plim__pickle_at(list, 6), &length));
    assert_int_equal(length, 300);
    assert_memory_equal(plim__pickle_text(plim__pickle_at(list, 7), &length), "nul\0inside", 10);
    assert_int_equal(length, 10);
}

static void check_containers(value root) {
    value key, item, tuples = plim__pickle_get(root, "tuples"), ordered = plim__pickle_get(root, "ordered");
    for (size_t i = 0; i < 5; i++) assert_int_equal(plim__pickle_count(plim__pickle_at(tuples, i)), i);
    assert_int_equal(plim__pickle_count(plim__pickle_get(root, "long list")), 1200);
    value pairs = plim__pickle_get(root, "long dict");
    assert_int_equal(plim__pickle_count(pairs), 1200);
    assert_true(plim__pickle_pair(pairs, 1199, &key, &item) && number(key) == 1199 && number(item) == -1199);
    assert_false(plim__pickle_pair(pairs, 1200, &key, &item));
    /* One object, referred to twice. */
    assert_true(plim__pickle_get(root, "first").word == plim__pickle_get(root, "second").word);
    assert_true(plim__pickle_global_is(plim__pickle_callable(ordered), "collections", "OrderedDict"));
}

static void check_objects(value root, int protocol) {
    const char *module, *name;
    value thing = plim__pickle_get(root, "thing");
    assert_int_equal(plim__pickle_type_of(thing), PLIM__PICKLE_CALL);
    assert_int_equal(number(plim__pickle_get(plim__pickle_state(thing), "size")), 7);
    assert_true(plim__pickle_global(plim__pickle_get(root, "class"), &module, &name));
    assert_string_equal(module, "nowhere.to.be.found");
    assert_string_equal(name, "Thing");
    assert_int_equal(plim__pickle_type_of(plim__pickle_get(root, "none")), PLIM__PICKLE_NONE);
    assert_int_equal(plim__pickle_type_of(plim__pickle_get(root, "true")), PLIM__PICKLE_BOOL);
    assert_int_equal(number(plim__pickle_get(root, "true")), 1);
    assert_int_equal(number(plim__pickle_get(root, "false")), 0);
    assert_int_equal(plim__pickle_type_of(plim__pickle_get(root, "missing")), PLIM__PICKLE_ABSENT);
    value raw = plim__pickle_at(plim__pickle_get(root, "bytes"), 1);
    size_t length;
    if (protocol >= 3)
        assert_true(plim__pickle_text(raw, &length) && length == 5);
    else
        assert_int_equal(plim__pickle_type_of(raw), PLIM__PICKLE_CALL); /* _codecs.encode, never called */
    if (protocol >= 4) assert_int_equal(plim__pickle_count(plim__pickle_get(root, "frozen")), 1);
}

static void every_protocol_gives_the_same_values(void **state) {
    (void)state;
    for (int protocol = 0; protocol <= 5; protocol++) {
        char name[64];
        snprintf(name, sizeof name, "everything-%d.pickle", protocol);
        plim__pickle *pickle = load(name, NULL);
        value root = plim__pickle_root(pickle);
        check_numbers(root);
        check_text(root);
        check_containers(root);
        check_objects(root, protocol);
        assert_int_equal(plim__pickle_protocol(pickle), protocol < 2 ? 0 : protocol);
        plim__pickle_free(pickle);
    }
}

static void nothing_is_executed(void **state) {
    (void)state;
    unlink("/tmp/plimsoll-was-here");
    plim__pickle *pickle = load("evil.pickle", NULL);
    value evil = plim__pickle_get(plim__pickle_root(pickle), "evil");
    assert_true(plim__pickle_global_is(plim__pickle_callable(evil), "posix", "system"));
    assert_int_equal(plim__pickle_count(plim__pickle_arguments(evil)), 1);
    assert_int_equal(number(plim__pickle_get(plim__pickle_root(pickle), "safe")), 1);
    plim__pickle_free(pickle);
    assert_int_equal(access("/tmp/plimsoll-was-here", F_OK), -1);
}

static void what_contains_itself_is_read_and_freed(void **state) {
    (void)state;
    plim__pickle *pickle = load("cycle.pickle", NULL);
    value root = plim__pickle_root(pickle);
    assert_true(plim__pickle_at(root, 1).word == root.word);
    plim__pickle_free(pickle);
}

/* --- streaming ------------------------------------------------------------------------------------------------ */

typedef struct recorder {
    size_t frames, stacks, events, freed, shared, blocks;
    bool drop;
} recorder;

static plim__pickle_verdict record(void *context, value key, value container, int64_t *token, plim_error *problem) {
    (void)problem;
    recorder *seen = context;
    if (plim__pickle_get(container, "filename").word) {
        *token = (int64_t)seen->frames++;
        return PLIM__PICKLE_FOLD;
    }
    if (plim__pickle_text_is(key, "frames")) {
        int64_t frame;
        for (size_t i = 0; i < plim__pickle_count(container); i++)
            assert_true(plim__pickle_token(plim__pickle_at(container, i), &frame));
        *token = (int64_t)seen->stacks++;
        return PLIM__PICKLE_FOLD;
    }
    value action = plim__pickle_get(container, "action");
    if (!action.word) return PLIM__PICKLE_KEEP;
    int64_t stack;
    assert_true(plim__pickle_token(plim__pickle_get(container, "frames"), &stack));
    assert_true(stack == (int64_t)(seen->events / 2 % 3));
    seen->freed += plim__pickle_text_is(action, "free_completed");
    *token = (int64_t)seen->events++;
    return seen->drop ? PLIM__PICKLE_DROP : PLIM__PICKLE_FOLD;
}

static void a_visitor_sees_each_container_once_and_folds_it(void **state) {
    (void)state;
    for (int round = 0; round < 12; round++) {
        char name[64];
        recorder seen = {.drop = round >= 6};
        plim__pickle_options options = {.visitor = {&seen, record, NULL}};
        snprintf(name, sizeof name, "snapshot-%d.pickle", round % 6);
        plim__pickle *pickle = load(name, &options);
        assert_int_equal(seen.frames, 5);
        assert_int_equal(seen.stacks, 3);
        assert_int_equal(seen.events, 300);
        assert_int_equal(seen.freed, 150);
        value traces = plim__pickle_at(plim__pickle_get(plim__pickle_root(pickle), "device_traces"), 0);
        assert_int_equal(plim__pickle_count(traces), seen.drop ? 0 : 300);
        plim__pickle_free(pickle);
    }
}

static plim__pickle_verdict fold(void *context, value key, value container, int64_t *token, plim_error *problem) {
    (void)context, (void)key, (void)container, (void)problem;
    *token = 7;
    return PLIM__PICKLE_FOLD;
}

/* The container that is being filled belongs to the call, and the call is folded while it is filled. */
static void a_call_among_its_own_items_may_be_folded(void **state) {
    (void)state;
    static const char pairs[] = "cmodule\nname\n)Rq\0(K\1h\0K\2h\0K\3h\0u.";
    static const char items[] = "cmodule\nname\n)Rq\0(h\0h\0h\0e.";
    plim__pickle_options options = {.visitor = {NULL, fold, NULL}};
    plim__pickle *pickle;
    assert_int_equal(plim__pickle_read_memory(pairs, sizeof pairs - 1, &options, &pickle, &error), PLIM_OK);
    plim__pickle_free(pickle);
    assert_int_equal(plim__pickle_read_memory(items, sizeof items - 1, &options, &pickle, &error), PLIM_OK);
    plim__pickle_free(pickle);
}

static plim_status feed(void *context, void *buffer, size_t capacity, size_t *got, plim_error *problem) {
    (void)problem;
    *got = fread(buffer, 1, capacity < 7 ? capacity : 7, context); /* a slow pipe */
    return PLIM_OK;
}

static void a_source_that_cannot_rewind_gives_the_same(void **state) {
    (void)state;
    FILE *file = fopen(DATA "everything-4.pickle", "rb");
    plim__pickle_source source = {file, feed, NULL};
    plim__pickle *pickle;
    assert_int_equal(plim__pickle_read(&source, NULL, &pickle, &error), PLIM_OK);
    check_numbers(plim__pickle_root(pickle));
    check_text(plim__pickle_root(pickle));
    check_containers(plim__pickle_root(pickle));
    assert_int_equal(plim__pickle_length(pickle), ftell(file));
    plim__pickle_free(pickle);
    fclose(file);
}

/* --- memory --------------------------------------------------------------------------------------------------- */

/* A list of `count` dicts, each memoized as CPython does, none referred to again. */
static void make_events(plim__str *into, size_t count) {
    static const char start[] = "\x80\x04]\x94(\x8c\x04size\x94\x8c\x04"
                                "addr\x94"
                                "00";
    static const char event[] = "}\x94(h\x01K\x05h\x02\x8a\x08\x01\x02\x03\x04\x05\x06\x07\x00u";
    plim__str_addn(into, start, sizeof start - 1);
    for (size_t i = 0; i < count; i++) {
        if (i && i % 1000 == 0) plim__str_addn(into, "e(", 2);
        plim__str_addn(into, event, sizeof event - 1);
    }
    plim__str_addn(into, "e.", 2);
}

static plim__pickle_verdict drop_dicts(void *context, value key, value container, int64_t *token, plim_error *problem) {
    (void)key, (void)token, (void)problem;
    ++*(size_t *)context;
    return plim__pickle_type_of(container) == PLIM__PICKLE_DICT ? PLIM__PICKLE_DROP : PLIM__PICKLE_KEEP;
}

static void a_long_list_of_dropped_events_takes_no_memory(void **state) {
    (void)state;
    plim__str text = {0};
    make_events(&text, 200000);
    assert_false(text.failed);
    size_t seen = 0;
    plim__pickle_options options = {.visitor = {&seen, drop_dicts, NULL}};
    plim__pickle *pickle;
    assert_int_equal(plim__pickle_read_memory(text.data, text.length, &options, &pickle, &error), PLIM_OK);
    assert_int_equal(seen, 200000);
    assert_int_equal(plim__pickle_count(plim__pickle_root(pickle)), 0);
    assert_true(plim__pickle_peak(pickle) < 1 << 19); /* a batch of 1,000 events, not 200,000 */
    plim__pickle_free(pickle);
    options = (plim__pickle_options){.memory_limit = 1 << 20};
    assert_int_equal(plim__pickle_read_memory(text.data, text.length, &options, &pickle, &error), PLIM_BUDGET);
    plim__str_free(&text);
}

static plim_status read_text(const char *text, size_t length) {
    plim__pickle *pickle;
    plim__pickle_options options = {.memory_limit = 8 << 20};
    plim_status status = plim__pickle_read_memory(text, length, &options, &pickle, &error);
    plim__pickle_free(pickle);
    return status;
}

static void malformed_pickles_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        plim_status status;
    } bad[] = {
        {"", 0, PLIM_CORRUPT},
        {".", 1, PLIM_CORRUPT},
        {"N", 1, PLIM_CORRUPT},
        {"\xff.", 2, PLIM_CORRUPT},
        {"\x80\x06N.", 4, PLIM_UNSUPPORTED},
        {"h\x00.", 3, PLIM_CORRUPT}, /* a memo number that was never given */
        {"Nq\x00j\x01\x00\x00\x00.", 9, PLIM_CORRUPT},
        {"Nr\xff\xff\xff\xffj\xff\xff\xff\xff.", 12, PLIM_BUDGET},
        {"e.", 2, PLIM_CORRUPT},        /* no mark */
        {"(e.", 3, PLIM_CORRUPT},       /* nothing to append to */
        {"K\x01(Ne.", 6, PLIM_CORRUPT}, /* appends to an integer */
        {"}(Nu.", 5, PLIM_CORRUPT},     /* a key without a value */
        {"R.", 2, PLIM_CORRUPT},
        {"(o.", 3, PLIM_CORRUPT},
        {"b.", 2, PLIM_CORRUPT},
        {"NN\x93.", 4, PLIM_CORRUPT},
        {"I1x\n.", 5, PLIM_CORRUPT},
        {"Fx\n.", 4, PLIM_CORRUPT},
        {"Sx\n.", 4, PLIM_CORRUPT},
        {"S'\\q'\n.", 7, PLIM_CORRUPT},
        {"V\\u12\n.", 7, PLIM_CORRUPT},
        {"gx\n.", 4, PLIM_CORRUPT},
        {"X\xff\xff\xff\x7f"
         "abc.",
         9, PLIM_CORRUPT}, /* claims 2 GiB, has 4 bytes */
        {"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"
         "abc.",
         13, PLIM_CORRUPT},
        {"0.", 2, PLIM_CORRUPT},
        {"(N1.", 4, PLIM_CORRUPT},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (read_text(bad[i].bytes, bad[i].length) != bad[i].status) fail_msg("row %zu: %s", i, error.message);
    assert_int_equal(read_text("]q\x00(h\x00h\x00"
                               "e2.",
                               12),
                     PLIM_OK);
}

static void deep_nesting_is_refused_and_never_recurses(void **state) {
    (void)state;
    static const char *const shapes[] = {"\x85", "Q", "\x81"}; /* tuples, persistent ids, calls of calls */
    for (size_t s = 0; s < 3; s++) {
        plim__str text = {0};
        plim__str_addc(&text, ')');
        for (int i = 0; i < 100000; i++) plim__str_add(&text, s == 2 ? ")\x81" : shapes[s]);
        plim__str_addc(&text, '.');
        assert_int_equal(read_text(text.data, text.length), PLIM_BUDGET);
        plim__str_free(&text);
    }
}

static void truncated_pickles_are_refused_at_every_length(void **state) {
    (void)state;
    char *whole;
    size_t size;
    for (int protocol = 0; protocol <= 4; protocol += 2) {
        char path[512];
        snprintf(path, sizeof path, DATA "everything-%d.pickle", protocol);
        assert_int_equal(plim__file_read(path, 1 << 20, &whole, &size, &error), PLIM_OK);
        for (size_t length = 0; length < size; length += length < 2000 ? 1 : 97)
            assert_int_equal(read_text(whole, length), PLIM_CORRUPT);
        plim__free(whole);
    }
}

static void every_failed_allocation_is_reported(void **state) {
    (void)state;
    for (size_t n = 1;; n += n < 400 ? 1 : 61) {
        plim__pickle *pickle = NULL;
        char *whole;
        size_t size;
        assert_int_equal(plim__file_read(DATA "everything-0.pickle", 1 << 20, &whole, &size, &error), PLIM_OK);
        plim__alloc_fail_at(n);
        plim_status status = plim__pickle_read_memory(whole, size, NULL, &pickle, &error);
        plim__alloc_fail_at(0);
        plim__pickle_free(pickle);
        plim__free(whole);
        if (status == PLIM_OK) break;
        assert_int_equal(status, PLIM_NO_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_protocol_gives_the_same_values),
        cmocka_unit_test(nothing_is_executed),
        cmocka_unit_test(what_contains_itself_is_read_and_freed),
        cmocka_unit_test(a_visitor_sees_each_container_once_and_folds_it),
        cmocka_unit_test(a_call_among_its_own_items_may_be_folded),
        cmocka_unit_test(a_source_that_cannot_rewind_gives_the_same),
        cmocka_unit_test(a_long_list_of_dropped_events_takes_no_memory),
        cmocka_unit_test(malformed_pickles_are_refused),
        cmocka_unit_test(deep_nesting_is_refused_and_never_recurses),
        cmocka_unit_test(truncated_pickles_are_refused_at_every_length),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
