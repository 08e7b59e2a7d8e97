/* safetensors headers: what is true is read, what lies about the file is refused. */
#include "format/safetensors.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "plim_test.h"

static plim_error error;

static plim_status parse(const char *json) {
    plim__safetensors file;
    plim_status status =
        plim__safetensors_parse(&file, json, strlen(json), (plim__safetensors_place){"x.safetensors", 100, 64}, &error);
    plim__safetensors_close(&file);
    return status;
}

static void tensors_have_their_place(void **state) {
    (void)state;
    static const char json[] = "{\"__metadata__\":{\"a\":\"b\"},"
                               "\"b\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[16,28]},"
                               "\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]},"
                               "\"s\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[28,36]},"
                               "\"e\":{\"dtype\":\"F64\",\"shape\":[0,9],\"data_offsets\":[36,36]},"
                               "\"p\":{\"dtype\":\"F4\",\"shape\":[2,3],\"data_offsets\":[36,39]}}   ";
    plim__safetensors file;
    assert_int_equal(
        plim__safetensors_parse(&file, json, strlen(json), (plim__safetensors_place){"x", 100, 64}, &error), PLIM_OK);
    assert_int_equal(file.count, 5);
    assert_string_equal(file.tensors[0].name, "a");
    assert_int_equal(file.tensors[0].offset, 100);
    assert_int_equal(file.tensors[1].offset, 116);
    assert_int_equal(file.tensors[1].bytes, 12);
    assert_int_equal(file.tensors[2].rank, 0);
    assert_int_equal(file.tensors[2].elements, 1);
    plim__safetensors_close(&file);
}

static void lies_about_places_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "{",
        "{\"a\":1}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,16]}}",
        "{\"a\":{\"shape\":[4],\"data_offsets\":[0,16]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[16,0]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,12]}}",  /* too short for its shape */
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[56,72]}}", /* past the end */
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[-16,0]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[-4],\"data_offsets\":[0,16]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4.0],\"data_offsets\":[0,16]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]},"
        "\"b\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[8,24]}}", /* overlap */
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[16,32]}}", /* twice the same name */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (parse(bad[i]) != PLIM_CORRUPT) fail_msg("row %zu: %s", i, error.message);
    assert_int_equal(parse("{\"a\":{\"dtype\":\"F99\",\"shape\":[4],\"data_offsets\":[0,16]}}"), PLIM_UNSUPPORTED);
    assert_int_equal(parse("{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,16]}}"),
                     PLIM_OVERFLOW);
}

/* --- files ---------------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/plim-safetensors-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static const char *put(const char *name, const void *data, size_t size) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(plim__file_write(path, data, size, &error), PLIM_OK);
    return path;
}

static plim_status open_bytes(const void *data, size_t size) {
    plim__safetensors file;
    const char *path = put("x.safetensors", data, size);
    int fd = open(path, O_RDONLY);
    plim_status status = plim__safetensors_open(&file, fd, path, &error);
    close(fd);
    plim__safetensors_close(&file);
    return status;
}

static void a_header_of_8_EiB_is_refused(void **state) {
    (void)state;
    assert_int_equal(open_bytes("\0\0\0\0\0\0\0\x80{}", 10), PLIM_CORRUPT);
    assert_int_equal(open_bytes("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10), PLIM_CORRUPT);
    assert_int_equal(open_bytes("\0\0\0\1\0\0\0\0{}", 10), PLIM_CORRUPT); /* 16 MiB, of which two bytes are there */
    assert_int_equal(open_bytes("\3\0\0\0\0\0\0\0{}", 10), PLIM_CORRUPT);
    assert_int_equal(open_bytes("\2\0\0", 3), PLIM_CORRUPT);
    assert_int_equal(open_bytes("\2\0\0\0\0\0\0\0{}", 10), PLIM_OK);
}

static plim_status ignore(void *context, const plim__tensor_info *info, plim_error *problem) {
    (void)info, (void)problem;
    ++*(size_t *)context;
    return PLIM_OK;
}

static plim_status list_index(const char *json, size_t *tensors) {
    size_t shards;
    *tensors = 0;
    return plim__safetensors_index_list(put("m.safetensors.index.json", json, strlen(json)), ignore, tensors, &shards,
                                        &error);
}

static void an_index_reads_only_files_beside_it(void **state) {
    (void)state;
    static const char header[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}";
    char bytes[128] = {sizeof header - 1};
    memcpy(bytes + 8, header, sizeof header - 1);
    put("one.safetensors", bytes, 8 + sizeof header - 1 + 1);
    size_t tensors;
    assert_int_equal(list_index("{\"weight_map\":{\"a\":\"one.safetensors\"}}", &tensors), PLIM_OK);
    assert_int_equal(tensors, 1);
    assert_int_equal(list_index("{\"weight_map\":{\"b\":\"one.safetensors\"}}", &tensors),
                     PLIM_CORRUPT); /* not there */
    assert_int_equal(list_index("{\"weight_map\":{\"a\":\"two.safetensors\"}}", &tensors), PLIM_NOT_FOUND);
    static const char *const outside[] = {
        "../one.safetensors",  "/etc/passwd",          "", "..", "a/../one.safetensors",
        "sub/one.safetensors", "..\\\\one.safetensors"};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        char json[128];
        snprintf(json, sizeof json, "{\"weight_map\":{\"a\":\"%s\"}}", outside[i]);
        if (list_index(json, &tensors) != PLIM_CORRUPT) fail_msg("%s: %s", outside[i], error.message);
        assert_int_equal(tensors, 0);
    }
    assert_int_equal(list_index("{\"weight_map\":{\"a\":7}}", &tensors), PLIM_CORRUPT);
    assert_int_equal(list_index("{\"weights\":{}}", &tensors), PLIM_CORRUPT);
    assert_int_equal(list_index("not json", &tensors), PLIM_CORRUPT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_have_their_place),
        cmocka_unit_test(lies_about_places_are_refused),
        cmocka_unit_test(a_header_of_8_EiB_is_refused),
        cmocka_unit_test(an_index_reads_only_files_beside_it),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
