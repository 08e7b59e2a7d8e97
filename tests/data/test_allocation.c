/* Opening any data set with the n-th allocation failing, for every n: an error or success, never a crash or a leak. */
#include "core/alloc.h"
#include "data/fixtures.h"
#include "format/npy.h"
#include "plimsoll/data.h"

/* Opens and reads one batch; whether that worked. */
static bool try_once(const char *path, const plim_data_options *options) {
    plim_error error = {0};
    plim_data *data = NULL;
    plim_data_batch batch;
    plim_status status = plim_data_create(path, options, &data, &error);
    assert_true((status == PLIM_OK) == (data != NULL));
    if (status == PLIM_OK) status = plim_data_next(data, &batch, &error);
    plim_data_free(data);
    if (status != PLIM_OK && status != PLIM_NO_MEMORY) fail_msg("%s", error.message);
    if (status != PLIM_OK) assert_true(error.message[0]);
    return status == PLIM_OK;
}

static void sweep(const char *path, plim_data_options options) {
    options.workers = 1;
    bool succeeded = false;
    size_t n = 1;
    for (size_t before = 0; n < 1000 && !(succeeded && before < n); n++) {
        before = plim__alloc_count();
        plim__alloc_fail_at(n);
        succeeded = try_once(path, &options);
        before = plim__alloc_count() - before; /* fewer than n were made: nothing failed */
    }
    plim__alloc_fail_at(0);
    assert_in_range(n, 5, 999);
}

static void files(void **state) {
    fixture *f = *state;
    plim_error error;
    char named[600];
    const float x[] = {1, 2, 3, 4};
    const unsigned char idx[] = {0, 0, 8, 1, 0, 0, 0, 3, 4, 0, 2};
    sweep(write_text(f, "a.txt", "some text to read"), (plim_data_options){.seq = 4});
    sweep(write_text(f, "a.csv", "a,b\n1,yes\n2,no\n"), (plim_data_options){.target = "b"});
    sweep(write_file(f, "a.idx", idx, sizeof idx), (plim_data_options){0});
    assert_int_equal(plim__npy_write(path_of(f, "x.npy"), PLIM_F32, 2, (int64_t[]){2, 2}, x, &error), PLIM_OK);
    assert_int_equal(plim__npy_write(path_of(f, "y.npy"), PLIM_F32, 1, (int64_t[]){2}, x, &error), PLIM_OK);
    sweep(path_of(f, "x.npy"), (plim_data_options){0});
    snprintf(named, sizeof named, "%s/tests/data/files/split-packed.npz", PLIM_SOURCE_DIR);
    sweep(named, (plim_data_options){0});
}

static void image_folders(void **state) {
    fixture *f = *state;
    write_jpeg(f, "i/a/a.jpg", 9, 9, (int[]){1, 2, 3});
    write_png(f, "i/b/b.png", 9, 9, (int[]){1, 2, 3});
    sweep(path_of(f, "i"), (plim_data_options){.height = 8, .skip_bad = 1});
}

static void synthetic(void **state) {
    (void)state;
    plim_data_field field = {.name = "x", .dtype = PLIM_F32, .rank = 1, .dims = {3}};
    sweep("synthetic", (plim_data_options){.fields = &field, .field_count = 1, .samples = 2});
}

int main(void) {
    const struct CMUnitTest tests[] = {WITH_FIXTURE(files), WITH_FIXTURE(image_folders), cmocka_unit_test(synthetic)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
