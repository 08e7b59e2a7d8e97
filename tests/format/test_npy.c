/* .npy files made by NumPy read as NumPy wrote them; broken ones are refused. */
#include "format/npy.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/alloc.h"
#include "core/file.h"

#define DATA PLIM_SOURCE_DIR "/tests/format/data/npy/"

static plim__npy_header header;
static plim_error error;

static void *load(const char *name) {
    char path[512];
    void *data = NULL;
    snprintf(path, sizeof path, DATA "%s", name);
    if (plim__npy_read(path, &header, &data, &error) != PLIM_OK) fail_msg("%s: %s", name, error.message);
    return data;
}

/* One half of binary16 is enough for the small whole numbers of the fixtures. */
static double from_half(uint16_t bits) {
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double value = exponent ? (double)(1024 + mantissa) : mantissa;
    for (int e = exponent ? exponent : 1; e > 25; e--) value *= 2;
    for (int e = exponent ? exponent : 1; e < 25; e++) value /= 2;
    return bits >> 15 ? -value : value;
}

static double element(const void *data, plim_dtype dtype, size_t k, int part) {
    switch (dtype) {
    case PLIM_BOOL:
    case PLIM_U8: return ((const uint8_t *)data)[k];
    case PLIM_I8: return ((const int8_t *)data)[k];
    case PLIM_I16: return ((const int16_t *)data)[k];
    case PLIM_I32: return ((const int32_t *)data)[k];
    case PLIM_I64: return (double)((const int64_t *)data)[k];
    case PLIM_U16: return ((const uint16_t *)data)[k];
    case PLIM_U32: return ((const uint32_t *)data)[k];
    case PLIM_U64: return (double)((const uint64_t *)data)[k];
    case PLIM_F16: return from_half(((const uint16_t *)data)[k]);
    case PLIM_F32: return ((const float *)data)[k];
    case PLIM_F64: return ((const double *)data)[k];
    case PLIM_C64: return ((const float *)data)[2 * k + (size_t)part];
    case PLIM_C128: return ((const double *)data)[2 * k + (size_t)part];
    default: return -1e9;
    }
}

static const struct {
    const char *code;
    plim_dtype dtype;
} types[] = {
    {"b1", PLIM_BOOL}, {"i1", PLIM_I8},  {"i2", PLIM_I16}, {"i4", PLIM_I32},   {"i8", PLIM_I64},
    {"u1", PLIM_U8},   {"u2", PLIM_U16}, {"u4", PLIM_U32}, {"u8", PLIM_U64},   {"f2", PLIM_F16},
    {"f4", PLIM_F32},  {"f8", PLIM_F64}, {"c8", PLIM_C64}, {"c16", PLIM_C128},
};

static void check_fixture(const char *code, plim_dtype dtype, const char *order, char layout) {
    char name[64];
    snprintf(name, sizeof name, "%s-%s-%c.npy", code, order, layout);
    void *data = load(name);
    assert_int_equal(header.dtype, dtype);
    assert_int_equal(header.rank, 3);
    assert_int_equal(header.dims[0], 2);
    assert_int_equal(header.dims[2], 4);
    assert_int_equal(header.bytes, 24 * (size_t)plim_dtype_bits(dtype) / 8);
    for (size_t k = 0; k < 24; k++) {
        double wanted = code[0] == 'b' ? (double)(k % 2) : code[0] == 'u' ? (double)k : (double)k - 5;
        if (element(data, dtype, k, 0) != wanted)
            fail_msg("%s: element %zu is %g", name, k, element(data, dtype, k, 0));
        if (code[0] == 'c' && element(data, dtype, k, 1) != 2 * (double)k) fail_msg("%s: imaginary part %zu", name, k);
    }
    plim__free(data);
}

static void every_type_reads_in_every_byte_order_and_layout(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int variant = 0; variant < 4; variant++)
            check_fixture(types[i].code, types[i].dtype, variant & 1 ? "big" : "little", variant & 2 ? 'F' : 'C');
}

static void versions_1_to_3_read_alike(void **state) {
    (void)state;
    for (int version = 1; version <= 3; version++) {
        char name[32];
        snprintf(name, sizeof name, "version-%d.npy", version);
        float *data = load(name);
        assert_int_equal(header.elements, 24);
        for (int k = 0; k < 24; k++) assert_true(data[k] == (float)(k - 5));
        plim__free(data);
    }
}

static void odd_shapes_keep_their_meaning(void **state) {
    (void)state;
    void *data = load("scalar.npy");
    assert_int_equal(header.rank, 0);
    assert_int_equal(header.elements, 1);
    assert_true(*(float *)data == 7);
    plim__free(data);
    data = load("empty.npy");
    assert_int_equal(header.rank, 2);
    assert_int_equal(header.bytes, 0);
    plim__free(data);
    data = load("rank-8.npy");
    assert_int_equal(header.rank, 8);
    assert_int_equal(((uint16_t *)data)[255], 255);
    plim__free(data);
}

static plim_status header_of(const char *name) {
    char path[512];
    snprintf(path, sizeof path, DATA "%s", name);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    plim_status status = plim__npy_read_header(fd, path, &header, &error);
    close(fd);
    return status;
}

static void text_and_dates_have_a_size_but_no_numbers(void **state) {
    (void)state;
    assert_int_equal(header_of("text.npy"), PLIM_OK);
    assert_int_equal(header.dtype, PLIM_DTYPE_NONE);
    assert_int_equal(header.bytes, 2 * 8 * 4);
    assert_int_equal(header_of("dates.npy"), PLIM_OK);
    assert_int_equal(header.bytes, 8);
    void *data;
    assert_int_equal(plim__npy_read(DATA "text.npy", &header, &data, &error), PLIM_UNSUPPORTED);
    assert_null(data);
}

static void objects_records_and_nine_dimensions_are_refused(void **state) {
    (void)state;
    assert_int_equal(header_of("objects.npy"), PLIM_UNSUPPORTED);
    assert_int_equal(header_of("records.npy"), PLIM_UNSUPPORTED);
    assert_int_equal(header_of("rank-9.npy"), PLIM_UNSUPPORTED);
}

static plim_status parse(const char *dict) {
    char bytes[512] = "\x93NUMPY\x01";
    size_t length = strlen(dict);
    memcpy(bytes + 10, dict, length);
    bytes[8] = (char)length;
    return plim__npy_parse_header(bytes, 10 + length, &header, &error);
}

static void malformed_headers_are_refused(void **state) {
    (void)state;
    assert_int_equal(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 4L), }\n"), PLIM_OK);
    assert_int_equal(parse("{\"shape\":(3,4),\"descr\":\"=f4\",\"fortran_order\":True}"), PLIM_OK);
    assert_int_equal(header.bytes, 48);
    static const char *const bad[] = {
        "",
        "{",
        "{}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, -4), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3 4), }",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (3, 4), }",
        "{'descr': '<q4', 'fortran_order': False, 'shape': (3, 4), }",
        "{'descr': '<f', 'fortran_order': False, 'shape': (3, 4), }",
        "{'descr': '<f4x', 'fortran_order': False, 'shape': (3, 4), }",
        "{'descr': '<f4', 'shape': (3, 4), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (parse(bad[i]) != PLIM_CORRUPT) fail_msg("read: %s", bad[i]);
    assert_int_equal(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }"),
                     PLIM_OVERFLOW);
    assert_int_equal(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }"),
                     PLIM_OVERFLOW);
    assert_int_equal(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4, 0), }"),
                     PLIM_OK);
}

static void truncated_files_are_refused_at_every_length(void **state) {
    (void)state;
    char *whole, path[] = "/tmp/plim-npy-XXXXXX";
    size_t size;
    assert_int_equal(plim__file_read(DATA "f4-little-C.npy", 1 << 20, &whole, &size, &error), PLIM_OK);
    int fd = mkstemp(path);
    for (size_t length = 0; length < size; length++) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, whole, length, 0), length);
        void *data;
        assert_int_equal(plim__npy_read(path, &header, &data, &error), PLIM_CORRUPT);
        assert_non_null(strstr(error.message, path));
    }
    close(fd);
    unlink(path);
    plim__free(whole);
}

static void what_is_written_is_what_numpy_writes(void **state) {
    (void)state;
    char *ours, *theirs, path[] = "/tmp/plim-npy-XXXXXX";
    size_t our_size, their_size;
    static const char *const names[] = {"f4-little-C.npy", "i8-little-C.npy", "b1-little-C.npy", "c16-little-C.npy",
                                        "vector.npy",      "scalar.npy",      "empty.npy",       "rank-8.npy"};
    close(mkstemp(path));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char source[512];
        void *data = load(names[i]);
        assert_int_equal(plim__npy_write(path, header.dtype, header.rank, header.dims, data, &error), PLIM_OK);
        plim__free(data);
        snprintf(source, sizeof source, DATA "%s", names[i]);
        assert_int_equal(plim__file_read(path, 1 << 20, &ours, &our_size, &error), PLIM_OK);
        assert_int_equal(plim__file_read(source, 1 << 20, &theirs, &their_size, &error), PLIM_OK);
        assert_int_equal(our_size, their_size);
        assert_memory_equal(ours, theirs, our_size);
        plim__free(ours);
        plim__free(theirs);
    }
    int64_t dims[] = {1};
    assert_int_equal(plim__npy_write(path, PLIM_BF16, 1, dims, "ab", &error), PLIM_DTYPE);
    assert_int_equal(plim__npy_write("/nowhere/at/all.npy", PLIM_U8, 1, dims, "a", &error), PLIM_NOT_FOUND);
    unlink(path);
}

static void every_failed_allocation_is_reported(void **state) {
    (void)state;
    for (size_t n = 1;; n++) {
        void *data;
        plim__alloc_fail_at(n);
        plim_status status = plim__npy_read(DATA "f4-big-F.npy", &header, &data, &error);
        plim__alloc_fail_at(0);
        plim__free(data);
        if (status == PLIM_OK) break;
        assert_int_equal(status, PLIM_NO_MEMORY);
        assert_true(n < 50);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_reads_in_every_byte_order_and_layout),
        cmocka_unit_test(versions_1_to_3_read_alike),
        cmocka_unit_test(odd_shapes_keep_their_meaning),
        cmocka_unit_test(text_and_dates_have_a_size_but_no_numbers),
        cmocka_unit_test(objects_records_and_nine_dimensions_are_refused),
        cmocka_unit_test(malformed_headers_are_refused),
        cmocka_unit_test(truncated_files_are_refused_at_every_length),
        cmocka_unit_test(what_is_written_is_what_numpy_writes),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
