/* Event files are those that TensorBoard's own writer makes, byte by byte. */
#include <time.h>

static int fixed_clock(int which, struct timespec *now);
#define clock_gettime fixed_clock
#include "cli/event_file.c" /* the program's own files are in no library */
#undef clock_gettime

#include <stdlib.h>

#include "plim_test.h"

/* 1700000000.25, as make_events.py has it */
static int fixed_clock(int which, struct timespec *now) {
    (void)which;
    *now = (struct timespec){.tv_sec = 1700000000, .tv_nsec = 250000000};
    return 0;
}

static void check_bytes(const char *path, const char *expected) {
    static char ours[1 << 16], theirs[1 << 16];
    FILE *a = fopen(path, "rb"), *b = fopen(expected, "rb");
    assert_non_null(a);
    assert_non_null(b);
    size_t count = fread(ours, 1, sizeof ours, a), other = fread(theirs, 1, sizeof theirs, b);
    fclose(a);
    fclose(b);
    assert_true(other > 700);
    assert_int_equal(count, other);
    assert_memory_equal(ours, theirs, count);
}

static void events_are_those_of_tensorboard(void **state) {
    (void)state;
    char root[] = "/tmp/plimsoll-events-XXXXXX", folder[64], tags[32][16];
    plim__event_file file;
    plim__event_scalar many[32];
    assert_non_null(mkdtemp(root));
    snprintf(folder, sizeof folder, "%s/a/b", root); /* neither is there */
    assert_int_equal(plim__event_file_open(&file, folder, NULL), PLIM_OK);
    const plim__event_scalar first[] = {{"train/loss", 2.25}, {"train/accuracy", 0.1}};
    const plim__event_scalar second[] = {{"train/loss", -1e-30},
                                         {"validation/a long name, with more than a byte of it: é", 3.4028235e38}};
    for (int i = 0; i < 32; i++) {
        snprintf(tags[i], sizeof tags[i], "tag/%d", i);
        many[i] = (plim__event_scalar){tags[i], i / 7.0};
    }
    assert_int_equal(plim__event_file_add(&file, 1, first, 2, NULL), PLIM_OK);
    assert_int_equal(plim__event_file_add(&file, 300, second, 2, NULL), PLIM_OK);
    assert_int_equal(plim__event_file_add(&file, (int64_t)1 << 40, many, 32, NULL), PLIM_OK);
    assert_int_equal(plim__event_file_restart(&file, 301, NULL), PLIM_OK);
    assert_int_equal(plim__event_file_close(&file, NULL), PLIM_OK);
    check_bytes(file.path, PLIM_SOURCE_DIR "/tests/cli/data/events.tfevents");
    unlink(file.path);
    rmdir(folder);
    snprintf(folder, sizeof folder, "%s/a", root);
    rmdir(folder);
    rmdir(root);
}

static void a_folder_that_cannot_be_written_is_named(void **state) {
    (void)state;
    plim__event_file file;
    plim_error error;
    assert_int_not_equal(plim__event_file_open(&file, "/dev/null/events", &error), PLIM_OK);
    assert_non_null(strstr(error.message, "/dev/null/events"));
    assert_int_equal(plim__event_file_close(&file, NULL), PLIM_OK);
}

/* Names that are longer than what fits are cut; nothing is written past the end. */
static void long_names_are_cut(void **state) {
    (void)state;
    char root[] = "/tmp/plimsoll-events-XXXXXX", name[4096];
    plim__event_file file;
    plim__event_scalar many[PLIM__EVENT_MOST_SCALARS + 8];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) many[i] = (plim__event_scalar){name, 1};
    assert_non_null(mkdtemp(root));
    assert_int_equal(plim__event_file_open(&file, root, NULL), PLIM_OK);
    off_t before = lseek(file.fd, 0, SEEK_CUR);
    assert_int_equal(plim__event_file_add(&file, 1, many, sizeof many / sizeof *many, NULL), PLIM_OK);
    off_t after = lseek(file.fd, 0, SEEK_CUR);
    /* 16 of the record, 9 + 2 of time and step, 3 of the summary, and each value with its key and length */
    assert_int_equal(after - before, 16 + 11 + 3 + PLIM__EVENT_MOST_SCALARS * (2 + 2 + 63 + 5));
    assert_int_equal(plim__event_file_close(&file, NULL), PLIM_OK);
    unlink(file.path);
    rmdir(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(events_are_those_of_tensorboard),
                                       cmocka_unit_test(a_folder_that_cannot_be_written_is_named),
                                       cmocka_unit_test(long_names_are_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
