/* Dates and embedded categories in tables: the days that the C library counts, the numbers that networks get, and cells that are none. */
#include <math.h>
#include <time.h>

#include "core/str.h"
#include "data/date.h"
#include "data/fixtures.h"
#include "plimsoll/data.h"
#include "plimsoll/table.h"

#define DAYS_TO_2000 10957 /* from 1970 */

static plim_error error;

static void days_are_those_of_the_c_library(void **state) {
    (void)state;
    for (int64_t day = -40000; day < 80000; day += 13) { /* 1890 to 2219 */
        time_t seconds = (time_t)((day + DAYS_TO_2000) * 86400 + 45296);
        struct tm t;
        char text[64];
        double days;
        float numbers[PLIM__DATE_NUMBERS - 1];
        assert_non_null(gmtime_r(&seconds, &t));
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &t);
        assert_true(plim__date_parse(text, &days));
        assert_true(fabs(days - ((double)day + 45296.0 / 86400)) < 1e-9);
        plim__date_numbers(days, numbers);
        double year = 6.283185307179586 * t.tm_yday / 365.25, week = 6.283185307179586 * ((t.tm_wday + 6) % 7) / 7;
        assert_float_equal(numbers[0], (float)sin(year), 1e-6);
        assert_float_equal(numbers[1], (float)cos(year), 1e-6);
        assert_float_equal(numbers[2], (float)sin(week), 1e-6);
        assert_float_equal(numbers[3], (float)cos(week), 1e-6);
        assert_float_equal(numbers[4], 45296.0f / 86400, 1e-5);
    }
}

static void forms_of_dates(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double days; /* NAN: it is none */
    } cases[] = {{"2000-01-01", 0},
                 {"2000/01/02", 1},
                 {"01.02.2000", 31},
                 {"2000-01-01 12:00", 0.5},
                 {"2000-01-01T06:00:00.000Z", 0.25},
                 {"2000-01-01T01:00+02:00", -1.0 / 24},
                 {"2000-01-01T00:30:00-0130", 2.0 / 24},
                 {"2024-02-29", 8825},
                 {"2023-02-29", NAN},
                 {"1900-02-29", NAN},
                 {"2000-13-01", NAN},
                 {"2000-00-01", NAN},
                 {"2000-01-32", NAN},
                 {"2000-1-1", NAN},
                 {"2000-01/01", NAN},
                 {"2000-01-01x", NAN},
                 {"2000-01-01T", 0},
                 {"2000-01-01 25:00", NAN},
                 {"2000-01-01 12:00 nonsense", NAN},
                 {"01/02/2000", NAN},
                 {"20000101", NAN},
                 {"", NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double days;
        bool is = plim__date_parse(cases[i].text, &days);
        if (is == isnan(cases[i].days)) fail_msg("'%s' is taken for %s date", cases[i].text, is ? "a" : "no");
        if (is && fabs(days - cases[i].days) > 1e-9) fail_msg("'%s' is day %g", cases[i].text, days);
    }
}

static const char *const text = "when,price,sold\n2000-01-01,1,yes\n2001-12-31,2,no\n,3,yes\n2002-07-02T12:00,4,no\n";

static void a_column_of_dates_is_six_numbers(void **state) {
    fixture *f = *state;
    plim_data *data, *again;
    plim_data_batch batch;
    plim_data_options o = {.target = "sold", .missing = "mean", .in_order = 1};
    const char *path = write_text(f, "t.csv", text);
    if (plim_data_create(path, &o, &data, &error) != PLIM_OK) fail_msg("%s", error.message);
    assert_int_equal(plim_data_field_at(data, 0)->dims[0], 7);
    assert_int_equal(plim_data_next(data, &batch, &error), PLIM_OK);
    const float *x = batch.fields[0];
    float numbers[PLIM__DATE_NUMBERS - 1];
    plim__date_numbers(730, numbers);
    assert_float_equal(x[0], 0, 1e-6);
    assert_float_equal(x[7], 730 / 365.25f, 1e-5); /* years since 2000 */
    assert_memory_equal(x + 8, numbers, sizeof numbers);
    assert_float_equal(x[14], (0 + 730 + 913.5f) / 3 / 365.25f,
                       1e-4); /* a missing one: the mean, and no place in the year */
    for (int i = 15; i < 20; i++) assert_true(x[i] == 0);
    assert_float_equal(x[21 + 5], 0.5f, 1e-3);
    plim_data_options like = {.target = "sold", .table = plim_data_table(data), .in_order = 1};
    if (plim_data_create(path, &like, &again, &error) != PLIM_OK) fail_msg("%s", error.message);
    plim_data_batch second;
    assert_int_equal(plim_data_next(again, &second, &error), PLIM_OK);
    assert_memory_equal(batch.fields[0], second.fields[0], 4 * 7 * sizeof(float));
    plim_data_free(again);
    plim_data_free(data);
    plim_table *table;
    plim_table_column column;
    assert_int_equal(plim_table_read(path, &table, &error), PLIM_OK);
    assert_true(plim_table_get_column(table, 0, &column) && column.dates == 3 && column.missing == 1);
    plim_table_free(table);
}

static void a_cell_that_is_no_date_is_named(void **state) {
    fixture *f = *state;
    plim_data *data;
    plim_data_options o = {.target = "sold"};
    const char *path = write_text(f, "t.csv", "when,sold\n2000-01-01,yes\nsoon,no\n");
    assert_int_equal(plim_data_create(path, &o, &data, &error), PLIM_CORRUPT);
    assert_non_null(strstr(error.message, "line 3 column 1 (when): 'soon' is no date"));
    o.categories = "when";
    if (plim_data_create(path, &o, &data, &error) != PLIM_OK) fail_msg("%s", error.message);
    assert_int_equal(plim_data_field_at(data, 0)->dims[0], 2);
    plim_data_free(data);
}

static void embedded_categories_are_rows_of_one_table(void **state) {
    fixture *f = *state;
    plim_data *data, *again;
    plim_data_batch batch;
    plim_data_options o = {.target = "y", .embed = "city,shop", .missing = "zero", .in_order = 1};
    const char *path = write_text(f, "e.csv", "n,city,shop,y\n1,Rome,7,a\n2,,12,b\n3,Bonn,7,a\n4,Oslo,100,b\n");
    if (plim_data_create(path, &o, &data, &error) != PLIM_OK) fail_msg("%s", error.message);
    const plim_data_field *rows = plim_data_field_at(data, 1);
    assert_string_equal(rows->name, "categories");
    assert_true(rows->dtype == PLIM_I64 && rows->rank == 1 && rows->dims[0] == 2);
    assert_int_equal(rows->classes,
                     8); /* missing, Bonn, Oslo, Rome; missing, 100, 12, 7: in the order of their texts */
    assert_int_equal(plim_data_field_at(data, 0)->dims[0], 1);
    assert_int_equal(plim_data_next(data, &batch, &error), PLIM_OK);
    const int64_t expected[] = {3, 7, 0, 6, 1, 7, 2, 5}, labels[] = {0, 1, 0, 1};
    assert_memory_equal(batch.fields[1], expected, sizeof expected);
    assert_memory_equal(batch.fields[2], labels, sizeof labels);
    plim_data_options like = {.target = "y", .table = plim_data_table(data), .in_order = 1};
    path = write_text(f, "more.csv", "shop,y,city,n\n100,a,Rome,5\n");
    if (plim_data_create(path, &like, &again, &error) != PLIM_OK) fail_msg("%s", error.message);
    assert_int_equal(plim_data_next(again, &batch, &error), PLIM_OK);
    assert_true(((const int64_t *)batch.fields[1])[0] == 3 && ((const int64_t *)batch.fields[1])[1] == 5);
    plim_data_free(again);
    plim_data_free(data);
    o.embed = "town";
    assert_int_equal(plim_data_create(path, &o, &data, &error), PLIM_NOT_FOUND);
    assert_non_null(strstr(error.message, "no column 'town'"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(days_are_those_of_the_c_library),
                                       cmocka_unit_test(forms_of_dates), WITH_FIXTURE(a_column_of_dates_is_six_numbers),
                                       WITH_FIXTURE(a_cell_that_is_no_date_is_named),
                                       WITH_FIXTURE(embedded_categories_are_rows_of_one_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
