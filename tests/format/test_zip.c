/* Zip archives: what is in them is read, what lies about itself is refused, and a bomb never goes off. */
#include "format/zip.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/alloc.h"
#include "core/file.h"
#include "plimsoll/size.h"
#include "zip_maker.h"

static plim_error error;
static char path[] = "/tmp/plim-zip-XXXXXX";
static int fd;

static int make_file(void **state) {
    (void)state;
    fd = mkstemp(path);
    return fd < 0;
}

static int remove_file(void **state) {
    (void)state;
    close(fd);
    return unlink(path);
}

static void store(const void *bytes, size_t size) {
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, bytes, size, 0), size);
}

static plim_status size_of(zip_made *zip) {
    plim_size_file file;
    store(zip->bytes.data, zip->bytes.length);
    plim_status status = plim_size_file_load(path, &file, &error);
    plim_size_file_free(&file);
    assert_null(strchr(status == PLIM_OK ? "" : error.message, '\n'));
    zip_free(zip);
    return status;
}

static void stored_and_deflated_entries_are_read(void **state) {
    (void)state;
    zip_made made = {0};
    char text[5000], *data;
    size_t size, got;
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(i % 251);
    zip_add(&made, "plain", text, sizeof text, 0, 0);
    zip_add(&made, "packed", text, sizeof text, 8, 0);
    zip_finish(&made);
    store(made.bytes.data, made.bytes.length);
    zip_free(&made);
    plim__zip zip;
    assert_int_equal(plim__zip_open(&zip, fd, path, &error), PLIM_OK);
    assert_int_equal(zip.count, 2);
    assert_null(plim__zip_find(&zip, "other"));
    for (size_t i = 0; i < 2; i++) {
        char start[100];
        assert_int_equal(plim__zip_read(&zip, &zip.entries[i], 5000, &data, &size, &error), PLIM_OK);
        assert_int_equal(size, sizeof text);
        assert_memory_equal(data, text, size);
        plim__free(data);
        assert_int_equal(plim__zip_read_start(&zip, &zip.entries[i], start, sizeof start, &got, &error), PLIM_OK);
        assert_int_equal(got, sizeof start);
        assert_memory_equal(start, text, sizeof start);
        assert_int_equal(plim__zip_read(&zip, &zip.entries[i], 4999, &data, &size, &error), PLIM_BUDGET);
    }
    plim__zip_close(&zip);
}

static void a_zip_bomb_is_refused_in_bounded_memory(void **state) {
    (void)state;
    size_t size = (size_t)80 << 20;
    char *zeros = calloc(size, 1);
    zip_made made = {0};
    zip_add(&made, "model/data.pkl", zeros, size, 8, 0);
    zip_finish(&made);
    free(zeros);
    size_t before = plim__alloc_count();
    assert_int_equal(size_of(&made), PLIM_BUDGET);
    assert_true(plim__alloc_count() - before < 64);
    /* A small archive that claims gigabytes: more than deflate can make of its bytes. */
    zip_add(&made, "x.npy", "abc", 3, 8, 4000000000u);
    zip_finish(&made);
    assert_int_equal(size_of(&made), PLIM_CORRUPT);
    /* Many entries, one piece of data. */
    zip_add(&made, "a.npy", "abcdefgh", 8, 0, 0);
    for (int i = 0; i < 1000; i++) zip_row(&made, "b.npy", (struct zip_entry){0, 0, 8, 8, 0});
    zip_finish(&made);
    assert_int_equal(size_of(&made), PLIM_CORRUPT);
    assert_non_null(strstr(error.message, "overlap"));
    /* A plain archive of zeros is no file of weights. */
    zip_add(&made, "lib.txt", "abcdefgh", 8, 0, 0);
    zip_finish(&made);
    assert_int_equal(size_of(&made), PLIM_UNSUPPORTED);
}

static void a_pickle_that_would_run_code_is_refused(void **state) {
    (void)state;
#define PICKLE(text)                                                                                                   \
    { text, sizeof text - 1 }
    static const struct {
        const char *bytes;
        size_t length;
    } evil[] = {
        PICKLE("\x80\x02"
               "cposix\nsystem\nX\x01\0\0\0x\x85R."), /* the root */
        PICKLE("\x80\x02"
               "cposix\nsystem\nX\x01\0\0\0x\x85R0}."),                      /* its result is thrown away */
        PICKLE("\x80\x02}X\x01\0\0\0kcbuiltins\neval\nX\x01\0\0\0x\x85Rs."), /* inside of a dict */
        PICKLE("(S'x'\nios\nsystem\n."),                                     /* INST */
        PICKLE("(cos\nsystem\nS'x'\no."),                                    /* OBJ */
        PICKLE("\x80\x04\x8c\x05torch\x8c\x09os.system\x93\x8c\x01x\x85R."), /* an attribute of an attribute */
    };
#undef PICKLE
    for (size_t i = 0; i < sizeof evil / sizeof *evil; i++) {
        zip_made made = {0};
        zip_add(&made, "model/data.pkl", evil[i].bytes, evil[i].length, 0, 0);
        zip_finish(&made);
        if (size_of(&made) != PLIM_UNSUPPORTED) fail_msg("row %zu: %s", i, error.message);
        assert_non_null(strstr(error.message, "nothing was executed"));
    }
}

static void damaged_archives_are_refused(void **state) {
    (void)state;
    zip_made made = {0};
    char *data, text[3000];
    size_t size;
    uint32_t noise = 1; /* does not compress, so that every byte below is data */
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)((noise = noise * 1664525 + 1013904223) >> 24);
    zip_add(&made, "packed", text, sizeof text, 8, 0);
    zip_finish(&made);
    for (size_t at = 40; at < 400; at += 7) {
        made.bytes.data[at] ^= 1;
        store(made.bytes.data, made.bytes.length);
        made.bytes.data[at] ^= 1;
        plim__zip zip;
        assert_int_equal(plim__zip_open(&zip, fd, path, &error), PLIM_OK);
        assert_int_equal(plim__zip_read(&zip, &zip.entries[0], 3000, &data, &size, &error), PLIM_CORRUPT);
        plim__zip_close(&zip);
    }
    zip_free(&made);
}

/* Every prefix of files that the real libraries made: refused, never misread. */
static void truncated_files_are_refused_at_every_length(void **state) {
    (void)state;
    static const char *const names[] = {"state.pt", "legacy.pt", "packed.npz", "zip64.npz", "dtypes.safetensors"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char source[512], *whole;
        size_t size;
        snprintf(source, sizeof source, PLIM_SOURCE_DIR "/tests/format/data/weights/%s", names[i]);
        assert_int_equal(plim__file_read(source, 1 << 20, &whole, &size, &error), PLIM_OK);
        for (size_t length = 0; length < size; length += length < 64 || length + 64 > size ? 1 : 13) {
            plim_size_file file;
            store(whole, length);
            if (plim_size_file_load(path, &file, &error) == PLIM_OK)
                fail_msg("%s at %zu of %zu", names[i], length, size);
            plim_size_file_free(&file);
        }
        plim__free(whole);
    }
}

static void every_failed_allocation_is_reported(void **state) {
    (void)state;
    static const char *const names[] = {"state.pt", "packed.npz", "dtypes.safetensors", "model.safetensors.index.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char source[512];
        snprintf(source, sizeof source, PLIM_SOURCE_DIR "/tests/format/data/weights/%s", names[i]);
        for (size_t n = 1;; n++) {
            plim_size_file file;
            plim__alloc_fail_at(n);
            plim_status status = plim_size_file_load(source, &file, &error);
            plim__alloc_fail_at(0);
            plim_size_file_free(&file);
            if (status == PLIM_OK) break;
            if (status != PLIM_NO_MEMORY) fail_msg("%s, allocation %zu: %s", names[i], n, error.message);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_and_deflated_entries_are_read),
        cmocka_unit_test(a_zip_bomb_is_refused_in_bounded_memory),
        cmocka_unit_test(a_pickle_that_would_run_code_is_refused),
        cmocka_unit_test(damaged_archives_are_refused),
        cmocka_unit_test(truncated_files_are_refused_at_every_length),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
