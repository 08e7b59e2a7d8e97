/* Messages are one line that a terminal and JSON can take, whatever a file's names hold. */
#include <string.h>

#include "core/error.h"
#include "plim_test.h"

static void control_characters_in_names_become_question_marks(void **state) {
    (void)state;
    plim_error error;
    assert_int_equal(plim__fail(&error, PLIM_CORRUPT, "node '%s'", "a\nb\t\x1b[31mc\x7f"), PLIM_CORRUPT);
    assert_string_equal(error.message, "node 'a?b??[31mc?'");
}

static void text_of_any_language_stays(void **state) {
    (void)state;
    char text[] = "größe 大きさ 🚢 x·y";
    char before[sizeof text];
    memcpy(before, text, sizeof text);
    plim__error_clean(text);
    assert_string_equal(text, before);
}

static void what_is_not_utf8_becomes_question_marks(void **state) {
    (void)state;
    static const struct {
        const char *text, *clean;
    } cases[] = {{"a\xff"
                  "b",
                  "a?b"},
                 {"\xc3", "?"},
                 {"\xe5\xa4", "??"},
                 {"\xc0\xaf", "??"},
                 {"\xe0\x80\x80", "???"},
                 {"\xed\xa0\x80", "???"},
                 {"\xf4\x90\x80\x80", "????"},
                 {"\xc2\x9b"
                  "31m",
                  "??31m"},
                 {"\xf0\x9f\x9a", "???"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        strcpy(text, cases[i].text);
        plim__error_clean(text);
        assert_string_equal(text, cases[i].clean);
    }
}

static void a_message_that_is_cut_off_ends_in_whole_characters(void **state) {
    (void)state;
    char name[2048];
    for (size_t i = 0; i + 2 < sizeof name; i += 2) memcpy(name + i, "ä", 3);
    plim_error error;
    plim__fail(&error, PLIM_CORRUPT, "%s", name);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_int_equal(error.message[sizeof error.message - 2], '?'); /* half of the last one */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_in_names_become_question_marks),
        cmocka_unit_test(text_of_any_language_stays),
        cmocka_unit_test(what_is_not_utf8_becomes_question_marks),
        cmocka_unit_test(a_message_that_is_cut_off_ends_in_whole_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
