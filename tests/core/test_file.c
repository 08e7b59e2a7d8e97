/* Files that are written appear whole or not at all, and only where a file may be. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/file.h"
#include "plim_test.h"

static char folder[] = "/tmp/plimsoll-file-XXXXXX";
static char path[64];

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/target", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails when a temporary file was left */
}

static void a_regular_file_is_replaced_only_by_commit(void **state) {
    (void)state;
    plim_error error;
    plim__file_writer writer;
    char *data;
    size_t size;
    assert_int_equal(plim__file_write(path, "old", 3, &error), PLIM_OK);
    assert_int_equal(plim__file_writer_open(&writer, path, &error), PLIM_OK);
    assert_int_equal(plim__file_writer_write(&writer, "new", 3, &error), PLIM_OK);
    plim__file_writer_discard(&writer);
    assert_int_equal(plim__file_read(path, 10, &data, &size, &error), PLIM_OK);
    assert_string_equal(data, "old");
    plim__free(data);
    assert_int_equal(plim__file_write(path, "new", 3, &error), PLIM_OK);
    assert_int_equal(plim__file_read(path, 10, &data, &size, &error), PLIM_OK);
    assert_string_equal(data, "new");
    plim__free(data);
    unlink(path);
}

/* /dev/null is the device that people give; a pipe is the one that a test may lose. */
static void what_is_no_regular_file_is_written_and_stays_what_it_is(void **state) {
    (void)state;
    plim_error error;
    struct stat info;
    char got[8] = "";
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_int_equal(plim__file_write(path, "bytes", 5, &error), PLIM_OK);
    assert_int_equal(read(reader, got, sizeof got), 5);
    assert_memory_equal(got, "bytes", 5);
    close(reader);
    assert_int_equal(stat(path, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    unlink(path);
}

/* Whoever asks for a page at the end of a long training learns it before the training. */
static void a_folder_is_refused_when_the_writer_opens(void **state) {
    (void)state;
    plim_error error;
    plim__file_writer writer;
    assert_int_equal(plim__file_writer_open(&writer, folder, &error), PLIM_IO);
    assert_non_null(strstr(error.message, folder));
}

/* remove_folder finds the folder empty while it is still open. */
static void a_file_without_a_name_can_be_used_and_leaves_nothing(void **state) {
    (void)state;
    char got[5];
    int fd = plim__file_unnamed(folder);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "bytes", 5), 5);
    assert_int_equal(pread(fd, got, sizeof got, 0), 5);
    assert_memory_equal(got, "bytes", 5);
    assert_int_equal(plim__file_unnamed("/no/such/folder"), -1);
    assert_int_equal(errno, ENOENT);
}

static void a_file_keeps_its_mode_when_it_is_written_again(void **state) {
    (void)state;
    plim_error error;
    struct stat info;
    assert_int_equal(plim__file_write(path, "old", 3, &error), PLIM_OK);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(plim__file_write(path, "new", 3, &error), PLIM_OK);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    unlink(path);
}

/* Relative and absolute, to a file that is there and to one that is not yet. */
static void a_symbolic_link_stays_one_and_its_target_is_written(void **state) {
    (void)state;
    plim_error error;
    struct stat info;
    char link[80];
    char *data;
    size_t size;
    snprintf(link, sizeof link, "%s/link", folder);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(symlink(round == 1 ? path : "target", link), 0);
        if (round == 2) unlink(path);
        assert_int_equal(plim__file_write(link, "bytes", 5, &error), PLIM_OK);
        assert_int_equal(lstat(link, &info), 0);
        assert_true(S_ISLNK(info.st_mode));
        assert_int_equal(plim__file_read(path, 10, &data, &size, &error), PLIM_OK);
        assert_string_equal(data, "bytes");
        plim__free(data);
        unlink(link);
    }
    unlink(path);
}

static void a_ring_of_links_is_refused(void **state) {
    (void)state;
    plim_error error;
    assert_int_equal(symlink("target", path), 0);
    assert_int_equal(plim__file_write(path, "bytes", 5, &error), PLIM_IO);
    assert_non_null(strstr(error.message, path));
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_regular_file_is_replaced_only_by_commit),
        cmocka_unit_test(what_is_no_regular_file_is_written_and_stays_what_it_is),
        cmocka_unit_test(a_folder_is_refused_when_the_writer_opens),
        cmocka_unit_test(a_file_without_a_name_can_be_used_and_leaves_nothing),
        cmocka_unit_test(a_file_keeps_its_mode_when_it_is_written_again),
        cmocka_unit_test(a_symbolic_link_stays_one_and_its_target_is_written),
        cmocka_unit_test(a_ring_of_links_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
