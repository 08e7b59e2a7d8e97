/* The pictures drawn on a terminal: exact widths, nothing lost, plain where plain was asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cli/terminal.c" /* the program's own files are in no library */

static const plim__terminal plain = {.unicode = false, .width = 60, .height = 24};
static const plim__terminal unicode = {.unicode = true, .width = 60, .height = 24};
static const plim__terminal coloured = {
    .is_terminal = true, .colour = true, .unicode = true, .width = 60, .height = 24};

static void bar_has_exactly_its_width(void **state) {
    (void)state;
    const plim__bar_part parts[] = {{3, PLIM_STYLE_RED, 'a'},
                                    {0.0001, PLIM_STYLE_GREEN, 'b'},
                                    {4, PLIM_STYLE_BLUE, 'c'},
                                    {9, PLIM_STYLE_CYAN, 'd'}};
    const plim__terminal *terminals[] = {&plain, &unicode, &coloured};
    for (int t = 0; t < 3; t++)
        for (int width = 0; width < 90; width++)
            for (double total = 0; total < 40; total += 3.7) {
                plim__str out = {0};
                plim__terminal_bar(&out, terminals[t], parts, 4, total, width);
                assert_int_equal(plim__terminal_columns(plim__str_text(&out)), width);
                plim__str_free(&out);
            }
}

static void bar_shows_each_part(void **state) {
    (void)state;
    const plim__bar_part parts[] = {
        {50, PLIM_STYLE_RED, 'a'}, {0.0001, PLIM_STYLE_GREEN, 'b'}, {25, PLIM_STYLE_BLUE, 'c'}};
    plim__str out = {0};
    plim__terminal_bar(&out, &plain, parts, 3, 100, 20);
    assert_string_equal(out.data, "aaaaaaaaaabcccc.....");
    plim__str_free(&out);
}

static void colour_is_off_for_files(void **state) {
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_false(plim__terminal_of(fileno(file)).colour);
    fclose(file);
    assert_string_equal(plim__terminal_style(&plain, PLIM_STYLE_RED), "");
    assert_string_equal(plim__terminal_style(&coloured, PLIM_STYLE_RED), "\033[31m");
    assert_int_equal(plim__terminal_columns("\033[31m▁x\033[0m"), 2);
}

static void chart_keeps_a_peak_of_one_sample(void **state) {
    (void)state;
    static double y[100000];
    for (int i = 0; i < 100000; i++) y[i] = 10;
    y[56789] = 1000;
    plim__str out = {0};
    plim__terminal_chart(&out, &plain, &(plim__chart){.y = y, .count = 100000, .height = 5});
    char *line = strtok(out.data, "\n"); /* the top row */
    assert_non_null(strchr(line, '#'));
    plim__str_free(&out);
}

static void chart_fits_its_width(void **state) {
    (void)state;
    double y[500];
    for (int i = 0; i < 500; i++) y[i] = i * 1e6;
    for (int width = 40; width < 300; width += 7) {
        plim__str out = {0};
        plim__terminal_chart(&out, &unicode, &(plim__chart){.y = y, .count = 500, .width = width, .limit = 6e8});
        assert_non_null(strstr(out.data, "limit"));
        for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n"))
            assert_true(plim__terminal_columns(line) <= (size_t)width);
        plim__str_free(&out);
    }
}

static void one_sample_and_none_are_drawn(void **state) {
    (void)state;
    plim__str out = {0};
    plim__terminal_chart(&out, &plain, &(plim__chart){0});
    plim__terminal_spark(&out, &plain, NULL, 0, 10);
    assert_string_equal(plim__str_text(&out), "");
    double zero = 0;
    plim__terminal_chart(&out, &unicode, &(plim__chart){.y = &zero, .count = 1});
    assert_non_null(strstr(out.data, "0 s"));
    plim__str_free(&out);
}

static void spark_goes_from_low_to_high(void **state) {
    (void)state;
    const double rise[] = {0, 1, 2, 3, 4, 5, 6, 7};
    plim__str out = {0};
    plim__terminal_spark(&out, &unicode, rise, 8, 80);
    assert_string_equal(out.data, "▁▂▃▄▅▆▇█");
    plim__str_free(&out);
}

static void seconds_read_well(void **state) {
    (void)state;
    const struct {
        double seconds;
        const char *text;
    } cases[] = {{0, "0 s"},          {1.25, "1.2 s"},     {12.4, "12 s"},     {59.7, "1 min"},
                 {200, "3 min 20 s"}, {7500, "2 h 5 min"}, {1e6, "11 d 13 h"}, {NAN, "0 s"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[PLIM_SECONDS_TEXT];
        plim__seconds_format(cases[i].seconds, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bar_has_exactly_its_width),   cmocka_unit_test(bar_shows_each_part),
        cmocka_unit_test(colour_is_off_for_files),     cmocka_unit_test(chart_keeps_a_peak_of_one_sample),
        cmocka_unit_test(chart_fits_its_width),        cmocka_unit_test(one_sample_and_none_are_drawn),
        cmocka_unit_test(spark_goes_from_low_to_high), cmocka_unit_test(seconds_read_well)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
