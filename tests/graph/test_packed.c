/* Matrices in few bits are those of bitsandbytes 0.50 (quantize_4bit with nf4 and blocks of 64, int8_vectorwise_quant), code by
 * code, from memory and from files of 32 and 16 bits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/half.h"
#include "graph/packed.h"
#include "graph/tensor.h"
#include "plim_test.h"

static plim_error error;

static void must(plim_status status) {
    if (status != PLIM_OK) fail_msg("%s", error.message);
}

/* FNV-1a of the codes that bitsandbytes makes of matrix_of(rows, columns). */
static const struct {
    int64_t rows, columns;
    uint64_t nf4, int8;
} known[] = {{3, 64, 0x8834fc6999decfd6u, 0x4c6a511d19a9f77fu},
             {5, 96, 0x7c20c02b228373b2u, 0xca5b37e6c0364994u},
             {7, 50, 0x370ba3795e3125c1u, 0x142c64e1e94e3f59u},
             {64, 192, 0x4e6525d2f9cc1801u, 0x809dc2be311ed8eu}};

/* Numbers that float16 has too. */
static float *matrix_of(int64_t rows, int64_t columns) {
    static const float first[] = {0, 2.5f, -3, 0.001f};
    float *x = malloc((size_t)(rows * columns) * sizeof *x);
    for (int64_t i = 0; i < rows * columns; i++) x[i] = (float)(i * 7919 % 2003 - 1001) / 512;
    memcpy(x, first, sizeof first);
    return x;
}

static uint64_t hash(const uint8_t *bytes, size_t count) {
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < count; i++) h = (h ^ bytes[i]) * 1099511628211u;
    return h;
}

static uint8_t *read_packed(plim__tensor *matrix, plim__packed_form form, plim__packed *p) {
    plim__tensor *packed;
    *p = (plim__packed){form, matrix->shape.dims[0], matrix->shape.dims[1]};
    must(plim__tensor_packed(matrix, form, &packed, &error));
    assert_int_equal(packed->bytes, plim__packed_bytes(p));
    uint8_t *bytes = malloc(packed->bytes);
    must(plim__tensor_read(packed, bytes, &error));
    plim__tensor_release(packed);
    return bytes;
}

static void must_be_known(plim__tensor *matrix, plim__packed_form form, uint64_t codes) {
    plim__packed p;
    uint8_t *bytes = read_packed(matrix, form, &p);
    size_t at = plim__packed_codes(&p);
    uint64_t found = hash(bytes + at, plim__packed_bytes(&p) - at);
    if (found != codes)
        fail_msg("%lld x %lld in %s: %llx, bitsandbytes has %llx", (long long)p.rows, (long long)p.columns,
                 plim__packed_name(form), (unsigned long long)found, (unsigned long long)codes);
    float scales[2];
    memcpy(scales, bytes, sizeof scales);
    assert_true(scales[0] == 3); /* of its first block, and of its first row */
    free(bytes);
}

static void codes_are_those_of_bitsandbytes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        plim__shape shape = {.rank = 2, .dims = {known[i].rows, known[i].columns}};
        plim__tensor *matrix;
        must(plim__tensor_take(PLIM_F32, &shape, matrix_of(shape.dims[0], shape.dims[1]), &matrix, &error));
        must_be_known(matrix, PLIM__PACKED_NF4, known[i].nf4);
        must_be_known(matrix, PLIM__PACKED_INT8, known[i].int8);
        plim__tensor_release(matrix);
    }
}

/* A matrix of more than one piece, in a file: read a piece at a time, it is what it is in memory. */
static void a_file_is_packed_as_memory_is(void **state) {
    (void)state;
    plim__shape shape = {.rank = 2, .dims = {300, 460}};
    size_t count = 300 * 460;
    char path[] = "packed.XXXXXX";
    int fd = mkstemp(path);
    float *x = matrix_of(300, 460);
    for (size_t i = 0; i < count; i++) {
        uint16_t half = plim__float_to_half(x[i]);
        x[i] = plim__half_to_float(half);
        assert_int_equal(pwrite(fd, &half, sizeof half, (off_t)(count * sizeof *x + i * sizeof half)), sizeof half);
    }
    assert_int_equal(pwrite(fd, x, count * sizeof *x, 0), count * sizeof *x);
    close(fd);
    plim__source *source = plim__source_open(path, &error);
    plim__tensor *memory, *wide, *narrow, *cast;
    must(plim__tensor_take(PLIM_F32, &shape, x, &memory, &error));
    must(plim__tensor_in_file(PLIM_F32, &shape, source, 0, &wide, &error));
    must(plim__tensor_in_file(PLIM_F16, &shape, source, count * sizeof *x, &narrow, &error));
    must(plim__tensor_cast(narrow, PLIM_F32, &cast, &error));
    for (int form = PLIM__UNPACKED + 1; form < PLIM__PACKED_FILE; form++) {
        plim__packed p;
        uint8_t *a = read_packed(memory, (plim__packed_form)form, &p),
                *b = read_packed(wide, (plim__packed_form)form, &p),
                *c = read_packed(cast, (plim__packed_form)form, &p);
        assert_memory_equal(a, b, plim__packed_bytes(&p));
        assert_memory_equal(a, c, plim__packed_bytes(&p));
        free(a);
        free(b);
        free(c);
    }
    plim__tensor_release(memory);
    plim__tensor_release(wide);
    plim__tensor_release(cast);
    plim__tensor_release(narrow);
    plim__source_release(source);
    unlink(path);
}

static void zeros_and_short_blocks_are_packed(void **state) {
    (void)state;
    plim__packed p = {PLIM__PACKED_NF4, 1, 65};
    float x[65] = {0};
    uint8_t bytes[256] = {0};
    x[64] = -2;
    plim__packed_write(&p, 0, 65, x, bytes);
    float scales[2];
    memcpy(scales, bytes, sizeof scales);
    assert_true(scales[0] == 0 && scales[1] == 2);
    assert_int_equal(bytes[64], 0x77);      /* two zeros */
    assert_int_equal(bytes[64 + 32], 0x00); /* -1, and nothing */
    assert_int_equal(plim__packed_bytes(&p), 64 + 33);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(codes_are_those_of_bitsandbytes),
                                       cmocka_unit_test(a_file_is_packed_as_memory_is),
                                       cmocka_unit_test(zeros_and_short_blocks_are_packed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
