/* Spill files: what is written is read back, a full disk and a disk that is memory are met before anything is written,
 * and messages name the folder. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/alloc.h"
#include "mem/spill.h"

#include "plim_test.h"

#define MIB ((size_t)1 << 20)

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/var/tmp/plimsoll-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder); /* fails when something is left in it */
}

static plim__spill *open_spill(size_t bytes) {
    plim__spill *spill;
    plim_error error = {0};
    if (plim__spill_create(folder, bytes, &spill, &error) != PLIM_OK) fail_msg("%s", error.message);
    return spill;
}

static void a_new_file_reads_as_zeros(void **state) {
    (void)state;
    plim__spill *spill = open_spill(MIB);
    char *data = malloc(MIB), *zeros = calloc(1, MIB);
    memset(data, 7, MIB);
    assert_int_equal(plim__spill_read(spill, data, MIB, 0, NULL), PLIM_OK);
    assert_memory_equal(data, zeros, MIB);
    free(data);
    free(zeros);
    plim__spill_free(spill);
}

static void what_is_written_is_read_back(void **state) {
    (void)state;
    plim__spill *spill = open_spill(MIB);
    static const struct {
        int64_t at;
        size_t bytes;
    } parts[] = {{0, 1}, {1, 4095}, {4096, 8192}, {100001, 77777}, {(int64_t)MIB - 3, 3}, {(int64_t)MIB, 0}};
    char *data = malloc(MIB), *got = malloc(MIB);
    for (size_t i = 0; i < MIB; i++) data[i] = (char)(i * 31 + i / 251);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_int_equal(plim__spill_write(spill, data + parts[i].at, parts[i].bytes, parts[i].at, NULL), PLIM_OK);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        assert_int_equal(plim__spill_read(spill, got, parts[i].bytes, parts[i].at, NULL), PLIM_OK);
        assert_memory_equal(got, data + parts[i].at, parts[i].bytes);
    }
    free(data);
    free(got);
    plim__spill_free(spill);
}

/* Whole pages go around the cache, the rest through it: both see the same bytes. */
static void around_the_cache_the_same_bytes_are_there(void **state) {
    (void)state;
    for (int around = 0; around < 2; around++) {
        plim__spill *spill = open_spill(MIB - 5);
        if (around) plim__spill_go_around_cache(spill);
        char *data = aligned_alloc(PLIM__SPILL_PAGE, MIB), *room = aligned_alloc(PLIM__SPILL_PAGE, MIB),
             *got = malloc(MIB);
        for (size_t i = 0; i < MIB; i++) data[i] = (char)(i * 31 + i / 251);
        assert_int_equal(plim__spill_write(spill, data, 3 * PLIM__SPILL_PAGE, 0, NULL), PLIM_OK);
        assert_int_equal(plim__spill_read_pages(spill, room, 3 * PLIM__SPILL_PAGE, 0, NULL), PLIM_OK);
        assert_memory_equal(room, data, 3 * PLIM__SPILL_PAGE);
        assert_int_equal(plim__spill_write_pages(spill, data, MIB - 5, 0, NULL), PLIM_OK);
        assert_int_equal(plim__spill_read(spill, got, MIB - 5, 0, NULL), PLIM_OK);
        assert_memory_equal(got, data, MIB - 5);
        assert_int_equal(plim__spill_read_by(spill, got + 1, 5000, 8192, room, NULL), PLIM_OK);
        assert_memory_equal(got + 1, data + 8192, 5000);
        plim_error error = {0};
        assert_int_equal(plim__spill_write_pages(spill, data, 4096, (int64_t)MIB, &error), PLIM_IO);
        assert_int_equal(plim__spill_read_pages(spill, room, 4096, (int64_t)MIB, &error), PLIM_IO);
        assert_non_null(strstr(error.message, folder));
        free(data);
        free(room);
        free(got);
        plim__spill_free(spill);
    }
}

static void beyond_its_end_a_message_names_the_folder(void **state) {
    (void)state;
    plim__spill *spill = open_spill(MIB);
    char data[16] = {0};
    plim_error error = {0};
    assert_int_equal(plim__spill_read(spill, data, sizeof data, (int64_t)MIB - 8, &error), PLIM_IO);
    assert_non_null(strstr(error.message, folder));
    error = (plim_error){0};
    assert_int_equal(plim__spill_write(spill, data, sizeof data, (int64_t)MIB - 8, &error), PLIM_IO);
    assert_non_null(strstr(error.message, folder));
    plim__spill_free(spill);
}

static void a_file_has_no_name(void **state) {
    (void)state;
    plim__spill *spill = open_spill(MIB);
    DIR *list = opendir(folder);
    int entries = 0;
    while (readdir(list)) entries++;
    closedir(list);
    assert_int_equal(entries, 2); /* . and .. */
    plim__spill_free(spill);
}

static void too_little_room_is_refused_before_the_first_byte(void **state) {
    (void)state;
    struct rlimit before, small;
    plim__spill *spill;
    plim_error error = {0};
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = MIB;
    setrlimit(RLIMIT_FSIZE, &small);
    plim_status status = plim__spill_create(folder, 2 * MIB, &spill, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, PLIM_IO);
    assert_null(spill);
    assert_non_null(strstr(error.message, folder));
    assert_non_null(strstr(error.message, "MiB"));
    /* and more than any disk has */
    assert_int_equal(plim__spill_create(folder, (uint64_t)1 << 62, &spill, &error), PLIM_IO);
    assert_null(spill);
}

static void a_folder_in_memory_is_refused(void **state) {
    (void)state;
    struct statfs info;
    plim__spill *spill;
    plim_error error = {0};
    if (statfs("/dev/shm", &info) != 0 || info.f_type != 0x01021994) skip();
    assert_int_equal(plim__spill_check("/dev/shm", NULL, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "/dev/shm"));
    assert_int_equal(plim__spill_create("/dev/shm", MIB, &spill, &error), PLIM_INVALID);
}

static void a_folder_that_is_none_is_refused_by_name(void **state) {
    (void)state;
    plim__spill *spill;
    plim_error error = {0};
    assert_int_not_equal(plim__spill_create("/var/tmp/no/such/folder", MIB, &spill, &error), PLIM_OK);
    assert_non_null(strstr(error.message, "/var/tmp/no/such/folder"));
    assert_int_not_equal(plim__spill_check("/etc/passwd", NULL, &error), PLIM_OK);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    for (size_t n = 1;; n++) {
        plim__spill *spill;
        plim__alloc_fail_at(n);
        plim_status status = plim__spill_create(folder, MIB, &spill, NULL);
        plim__alloc_fail_at(0);
        if (status == PLIM_OK) {
            assert_true(n > 1);
            plim__spill_free(spill);
            return;
        }
        assert_int_equal(status, PLIM_NO_MEMORY);
        assert_null(spill);
    }
}

static void the_default_folder_follows_the_environment(void **state) {
    (void)state;
    const char *given = getenv("TMPDIR");
    char *before = given ? strdup(given) : NULL;
    setenv("TMPDIR", folder, 1);
    assert_string_equal(plim__spill_default_folder(), folder);
    unsetenv("TMPDIR");
    assert_string_equal(plim__spill_default_folder(), "/var/tmp");
    if (before) setenv("TMPDIR", before, 1);
    free(before);
}

static void a_rate_is_measured(void **state) {
    (void)state;
    double rate = 0;
    plim_error error = {0};
    if (plim__spill_rate(folder, &rate, &error) != PLIM_OK) fail_msg("%s", error.message);
    assert_true(rate > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_file_reads_as_zeros),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(around_the_cache_the_same_bytes_are_there),
        cmocka_unit_test(beyond_its_end_a_message_names_the_folder),
        cmocka_unit_test(a_file_has_no_name),
        cmocka_unit_test(too_little_room_is_refused_before_the_first_byte),
        cmocka_unit_test(a_folder_in_memory_is_refused),
        cmocka_unit_test(a_folder_that_is_none_is_refused_by_name),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(the_default_folder_follows_the_environment),
        cmocka_unit_test(a_rate_is_measured),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
