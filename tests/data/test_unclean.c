/* Data as people have it: numbers with commas, names of columns that come twice, words for what is missing, integers where a
 * model takes floats, other encodings. Read as pandas reads it, or refused with what to do; never taken for something else. */
#include "fixtures.h"
#include "plimsoll/data.h"
#include "plimsoll/table.h"

static plim_error error;

static plim_data *open_it(const char *path, plim_data_options options) {
    plim_data *data;
    if (plim_data_create(path, &options, &data, &error) != PLIM_OK) fail_msg("%s", error.message);
    return data;
}

static void has(const char *path, plim_data_options options, const float *values, size_t bytes) {
    options.in_order = 1;
    plim_data *data = open_it(path, options);
    plim_data_batch batch;
    assert_int_equal(plim_data_next(data, &batch, &error), PLIM_OK);
    assert_int_equal((size_t)batch.count * plim_data_field_at(data, 0)->bytes, bytes);
    assert_memory_equal(batch.fields[0], values, bytes);
    plim_data_free(data);
}

static void refuses(const char *path, plim_data_options options, const char *words) {
    plim_data *data;
    assert_int_not_equal(plim_data_create(path, &options, &data, &error), PLIM_OK);
    if (!strstr(error.message, words)) fail_msg("'%s' does not say '%s'", error.message, words);
}

/* pandas.read_csv(sep=";", decimal=",", thousands=".") and read_csv(thousands=",") give these. */
static void numbers_with_commas_are_read_as_told_and_no_categories(void **state) {
    fixture *f = *state;
    const float european[] = {1234.5f, -2, 0.5f, 1e6f}, english[] = {1234.5f, 22235, -7, 1000000};
    const char *path = write_text(f, "a.csv", "a;y\n1.234,5;u\n0,5;v\n");
    refuses(path, (plim_data_options){.target = "y"}, "column 1 (a): its numbers have commas, as '1.234,5'");
    refuses(path, (plim_data_options){.target = "y"}, "--decimal comma reads them as decimals, --categories");
    path = write_text(f, "eu.csv", "a;b;y\n1.234,5;-2;u\n0,5;1.000.000;v\n");
    has(path, (plim_data_options){.target = "y", .decimal = ','}, european, sizeof european);
    path = write_text(f, "en.csv", "a;b;y\n1,234.5;\"22,235\";u\n-7;1,000,000;v\n");
    has(path, (plim_data_options){.target = "y", .decimal = '.'}, english, sizeof english);
    refuses(path, (plim_data_options){.target = "y"}, "--decimal point");
    plim_data *data = open_it(path, (plim_data_options){.target = "y", .categories = "a,b"}); /* texts, as asked for */
    assert_int_equal(plim_data_field_at(data, 0)->dims[0], 4);
    plim_data_free(data);
    /* groups of other than three digits, and points where commas were promised, are no numbers */
    refuses(write_text(f, "g.csv", "a;y\n1;5\n12,34;1\n"), (plim_data_options){.decimal = '.'}, "'12,34' is not");
    refuses(write_text(f, "p.csv", "a;y\n1;2\n0.5;1\n"), (plim_data_options){.decimal = ','},
            "'0.5' is not a finite number; --decimal point reads such ones");
    refuses(write_text(f, "t.csv", "a;y\n1;0,5\n2;1,5\n"), (plim_data_options){.target = "y"},
            "column 2 (y): its numbers");
    refuses(write_text(f, "t.csv", "a;y\n1;0,5\n2;1,5\n"), (plim_data_options){.target = "y", .float_target = 1},
            "'0,5' is not a finite number; --decimal comma reads");
    refuses(path, (plim_data_options){.decimal = ';'}, "the decimal mark of a table is ',' or '.'");
}

static void columns_that_share_a_name_are_told_apart(void **state) {
    fixture *f = *state;
    plim_table *table;
    plim_table_column column;
    const char *path = write_text(f, "d.csv", ",a,b,a,y\n7,1,2,3,u\n8,4,5,6,v\n"),
               *names[] = {"0", "a", "b", "a.1", "y"};
    assert_int_equal(plim_table_read(path, &table, &error), PLIM_OK);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(plim_table_get_column(table, i, &column), 1);
        assert_string_equal(column.name, names[i]);
    }
    plim_table_free(table);
    const float second[] = {3, 6}, first[] = {1, 4};
    has(path, (plim_data_options){.target = "y", .columns = "a.1"}, second, sizeof second);
    has(path, (plim_data_options){.target = "y", .columns = "a"}, first, sizeof first);
    /* by name in another file too */
    plim_data *data = open_it(path, (plim_data_options){.target = "y", .columns = "a.1"});
    char remembered[1024];
    snprintf(remembered, sizeof remembered, "%s", plim_data_table(data));
    plim_data_free(data);
    path = write_text(f, "e.csv", "y,a,b,a\nu,1,2,3\nv,4,5,6\n");
    has(path, (plim_data_options){.target = "y", .table = remembered}, second, sizeof second);
}

static void words_for_what_is_missing_are_no_categories(void **state) {
    fixture *f = *state;
    const float filled[] = {0, 1, 1, 2, 0, 3, 0, 4};
    const char *path = write_text(f, "n.csv", "a,b,y\nNone,1,u\nred,2,v\n-,3,u\n<NA>,4,v\n");
    refuses(path, (plim_data_options){.target = "y"},
            "line 2 column 1 (a): 'None' says that it is missing; --missing mean");
    has(path, (plim_data_options){.target = "y", .missing = "mean"}, filled, sizeof filled);
    plim_data *data = open_it(path, (plim_data_options){.target = "y", .categories = "a"});
    assert_int_equal(plim_data_field_at(data, 0)->dims[0], 5); /* four texts, as asked for, and b */
    plim_data_free(data);
    plim_table *table;
    plim_table_column column;
    path = write_text(f, "m.csv", "a,y\n1,u\n2,v\noops,u\n");
    assert_int_equal(plim_table_read(path, &table, &error), PLIM_OK);
    assert_true(plim_table_get_column(table, 0, &column));
    assert_string_equal(column.text, "oops");
    assert_int_equal(column.text_line, 4);
    plim_table_free(table);
}

static void integers_and_booleans_are_floats_where_a_model_takes_floats(void **state) {
    (void)state;
    const int32_t x[] = {1, -2, 3, 4};
    const uint8_t y[] = {1, 0};
    plim_data_array arrays[] = {{"x", PLIM_I32, 2, (int64_t[]){2, 2}, x, 0}, {"y", PLIM_BOOL, 1, (int64_t[]){2}, y, 1}};
    const float made[] = {1, -2, 3, 4};
    plim_data_options options = {.in_order = 1, .batch = 2, .float_inputs = 1};
    plim_data *data;
    plim_data_batch batch;
    assert_int_equal(plim_data_create_arrays(arrays, 2, &options, &data, &error), PLIM_OK);
    assert_int_equal(plim_data_next(data, &batch, &error), PLIM_OK);
    assert_memory_equal(batch.fields[0], made, sizeof made);
    assert_int_equal(plim_data_field_at(data, 1)->dtype, PLIM_I64); /* a class stays one */
    plim_data_free(data);
}

static void text_and_tables_in_utf16_are_named(void **state) {
    fixture *f = *state;
    const char little[] = "\xff\xfe"
                          "a\0b\0,\0c\0\n\0",
               big[] = "\xfe\xff"
                       "\0a\0b\0c\0\n";
    refuses(write_file(f, "a.txt", little, sizeof little - 1), (plim_data_options){.seq = 2}, "UTF-16");
    refuses(write_file(f, "b.txt", big, sizeof big - 1), (plim_data_options){.seq = 2}, "iconv");
    refuses(write_file(f, "c.csv", little, sizeof little - 1), (plim_data_options){0}, "UTF-16");
}

/* It was taken and had no effect: with a mean of 127.5 every picture was nearly the same. */
static void pixels_of_images_stay_bytes_where_that_is_asked_for(void **state) {
    fixture *f = *state;
    write_png(f, "photos/a/1.png", 4, 4, (const int[]){100, 20, 250});
    write_png(f, "photos/b/1.png", 4, 4, (const int[]){0, 0, 0});
    const float mean[] = {50}, deviation[] = {2};
    plim_data_options options = {.height = 4, .raw = 1, .in_order = 1, .mean = mean, .deviation = deviation};
    for (int normalised = 0; normalised < 2; normalised++) {
        options.normal_count = normalised;
        plim_data *data = open_it(path_of(f, "photos"), options);
        plim_data_batch batch;
        assert_int_equal(plim_data_next(data, &batch, &error), PLIM_OK);
        const float *x = batch.fields[0];
        assert_float_equal(x[0], (normalised ? 25 : 100), 1e-4);
        assert_float_equal(x[16], (normalised ? -15 : 20), 1e-4);
        assert_float_equal(x[32], (normalised ? 100 : 250), 1e-4);
        plim_data_free(data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(numbers_with_commas_are_read_as_told_and_no_categories),
        WITH_FIXTURE(columns_that_share_a_name_are_told_apart),
        WITH_FIXTURE(words_for_what_is_missing_are_no_categories),
        cmocka_unit_test(integers_and_booleans_are_floats_where_a_model_takes_floats),
        WITH_FIXTURE(pixels_of_images_stay_bytes_where_that_is_asked_for),
        WITH_FIXTURE(text_and_tables_in_utf16_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
