/* Bytes of shapes and files are those that PyTorch, NumPy and safetensors count. */
#include "plimsoll/size.h"

#include <stdio.h>
#include <string.h>

#include "plim_test.h"

#define DATA PLIM_SOURCE_DIR "/tests/format/data/"

static plim_error error;
static plim_tensor_size size;

static uint64_t bytes_of(const char *shape, const char *dtype, int64_t batch) {
    if (plim_tensor_size_parse(shape, dtype, batch, &size, &error) != PLIM_OK) fail_msg("%s: %s", shape, error.message);
    return size.bytes;
}

static void shapes_are_read_in_every_notation(void **state) {
    (void)state;
    assert_int_equal(bytes_of("32x32x239x239", "float32", 0), 233967616);
    assert_int_equal(bytes_of("17x23x31", NULL, 0), 48484);
    assert_int_equal(bytes_of("[8, 3, 224, 224]", NULL, 0), 4816896);
    assert_int_equal(size.rank, 4);
    assert_int_equal(size.dims[1], 3);
    static const char *const same[] = {
        "2x3x4",      "2X3X4", "2,3,4", "2 3 4",        "(2,3,4)", "[2,3,4]", " [ 2 , 3 , 4 ] ",
        "{2,3,4}",    "2*3*4", "2×3×4", "2 x 3 x 4",    "[2 3 4]", "2,3,4,",  "torch.Size([2, 3, 4])",
        "f32[2,3,4]", "Nx3x4", "N,3,4", "[None, 3, 4]", "?x3x4",   "-1,3,4",  "batch_size,3,4",
        "(B, 3, 4)"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (bytes_of(same[i], NULL, 2) != 96 || size.rank != 3) fail_msg("%s", same[i]);
    assert_int_equal(bytes_of("(5,)", "int8", 0), 5);
    assert_int_equal(bytes_of("5", "int8", 0), 5);
    assert_int_equal(bytes_of("[]", "float64", 0), 8);
    assert_int_equal(bytes_of("()", "float64", 0), 8);
    assert_int_equal(bytes_of("0x7", "float64", 0), 0);
    assert_int_equal(bytes_of("bf16[3,5]", NULL, 0), 30);
    assert_int_equal(bytes_of("N,3,224,224", NULL, 64), 38535168);
}

static void nonsense_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"",         " ",      "x",     "hello",  "3xx",
                                      "3x-4",     "[3, 4",  "3, 4]", "(3, 4]", "3.5x2",
                                      "[3, , 4]", "foo[3]", "f32",   "3x4 5]", "torch.Size([3, 4]",
                                      "N,3",      "[[3]]",  "3x4y"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (plim_tensor_size_parse(bad[i], NULL, 0, &size, &error) != PLIM_INVALID) fail_msg("'%s' was read", bad[i]);
    assert_int_equal(plim_tensor_size_parse("3", "float33", 0, &size, &error), PLIM_INVALID);
    assert_int_equal(plim_tensor_size_parse("3", "string", 0, &size, &error), PLIM_UNSUPPORTED);
}

static void overflow_is_an_error(void **state) {
    (void)state;
    static const char *const bad[] = {"99999999999999999999", "4294967296x4294967296", "2305843009213693952",
                                      "3037000500x3037000500x2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(plim_tensor_size_parse(bad[i], "float32", 0, &size, &error), PLIM_OVERFLOW);
    assert_int_equal(bytes_of("9223372036854775807", "uint8", 0), INT64_MAX);
    assert_int_equal(bytes_of("4294967296x4294967296x0", NULL, 0), 0);
}

static void every_dtype_has_the_nbytes_of_pytorch(void **state) {
    (void)state;
    FILE *file = fopen(DATA "torch_nbytes.txt", "r");
    assert_non_null(file);
    char line[256], dtype[64], shape[64];
    unsigned long long elements, nbytes;
    size_t rows = 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%63s %63s %llu %llu", dtype, shape, &elements, &nbytes) != 4 || *dtype == '#') continue;
        if (bytes_of(shape, dtype, 0) != nbytes || size.elements != elements)
            fail_msg("%s gave %llu", line, (unsigned long long)size.bytes);
        rows++;
    }
    fclose(file);
    assert_int_equal(rows, 46 * 5);
}

static void types_of_onnx_are_packed(void **state) {
    (void)state;
    static const struct {
        const char *dtype;
        uint64_t bytes; /* of 17 elements */
    } rows[] = {
        {"FLOAT", 68},        {"UINT8", 17},          {"INT8", 17},       {"UINT16", 34},         {"INT16", 34},
        {"INT32", 68},        {"INT64", 136},         {"BOOL", 17},       {"FLOAT16", 34},        {"DOUBLE", 136},
        {"UINT32", 68},       {"UINT64", 136},        {"COMPLEX64", 136}, {"COMPLEX128", 272},    {"BFLOAT16", 34},
        {"FLOAT8E4M3FN", 17}, {"FLOAT8E4M3FNUZ", 17}, {"FLOAT8E5M2", 17}, {"FLOAT8E5M2FNUZ", 17}, {"UINT4", 9},
        {"INT4", 9},          {"FLOAT4E2M1", 9},      {"FLOAT8E8M0", 17}, {"UINT2", 5},           {"INT2", 5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (bytes_of("17", rows[i].dtype, 0) != rows[i].bytes) fail_msg("%s", rows[i].dtype);
}

static void files_have_the_bytes_that_their_libraries_count(void **state) {
    (void)state;
    FILE *file = fopen(DATA "weights/expected.txt", "r");
    assert_non_null(file);
    char name[128], path[512];
    unsigned long long tensors, bytes;
    size_t rows = 0;
    while (fscanf(file, "%127s %llu %llu", name, &tensors, &bytes) == 3) {
        plim_size_file found;
        snprintf(path, sizeof path, DATA "weights/%s", name);
        if (plim_size_file_load(path, &found, &error) != PLIM_OK) fail_msg("%s", error.message);
        if (found.tensors != tensors || found.bytes != bytes) fail_msg("%s", name);
        uint64_t sum = 0;
        for (size_t i = 0; i < found.dtype_count; i++) sum += found.by_dtype[i].bytes;
        assert_int_equal(sum, bytes);
        plim_size_file_free(&found);
        rows++;
    }
    fclose(file);
    assert_int_equal(rows, 19);
}

/* state.pt: conv (8, 3, 3, 3) + 8, batch norm 8 + 8 with statistics 8 + 8 and a counter, linear (10, 32) + 10. */
static void training_adds_gradients_masters_and_state(void **state) {
    (void)state;
    plim_size_file file;
    assert_int_equal(plim_size_file_load(DATA "weights/state.pt", &file, &error), PLIM_OK);
    uint64_t n = 216 + 8 + 8 + 8 + 320 + 10;
    assert_int_equal(file.trained, n);
    const plim_size_training *adam = file.training[PLIM_SIZE_ADAM];
    assert_int_equal(adam[PLIM_SIZE_FP32].gradients, 4 * n);
    assert_int_equal(adam[PLIM_SIZE_FP32].masters, 0);
    assert_int_equal(adam[PLIM_SIZE_FP32].state, 8 * n);
    assert_int_equal(adam[PLIM_SIZE_FP32].added, 12 * n);
    assert_int_equal(adam[PLIM_SIZE_BF16].gradients, 2 * n);
    assert_int_equal(adam[PLIM_SIZE_BF16].masters, 4 * n);
    assert_int_equal(adam[PLIM_SIZE_BF16].added, 14 * n);
    assert_int_equal(adam[PLIM_SIZE_BF16].weights, 2 * n + 4 * 16 + 8); /* statistics and the counter as they are */
    assert_int_equal(file.training[PLIM_SIZE_SGD][PLIM_SIZE_FP32].state, 0);
    assert_int_equal(file.training[PLIM_SIZE_MOMENTUM][PLIM_SIZE_FP16].state, 4 * n);
    /* torch.optim.Adafactor: row_var (8, 3, 3, 1), col_var (8, 3, 1, 3); (10, 1) and (1, 32); others whole. */
    assert_int_equal(file.training[PLIM_SIZE_ADAFACTOR][PLIM_SIZE_FP32].state,
                     4 * (72 + 72 + 10 + 32 + 8 + 8 + 8 + 10));
    assert_int_equal(file.training[PLIM_SIZE_ADAM8BIT][PLIM_SIZE_FP32].state, 8 * n); /* all tensors are small */
    plim_size_file_free(&file);
    /* packed.npz: one tensor of a million, in 489 blocks of 2048; the small ones (12 + 1 + 6 floats) as in Adam. */
    assert_int_equal(plim_size_file_load(DATA "weights/packed.npz", &file, &error), PLIM_OK);
    assert_int_equal(file.training[PLIM_SIZE_ADAM8BIT][PLIM_SIZE_FP32].state, 2 * 1000000 + 8 * 489 + 8 * (12 + 1 + 6));
    plim_size_file_free(&file);
}

static void tied_weights_count_once(void **state) {
    (void)state;
    plim_size_file file;
    assert_int_equal(plim_size_file_load(DATA "weights/tied.pt", &file, &error), PLIM_OK);
    assert_int_equal(file.tensors, 3);
    assert_int_equal(file.bytes, 64);
    assert_int_equal(file.trained, 16); /* not 36: the head and the row are the embedding's */
    plim_size_file_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_read_in_every_notation),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(overflow_is_an_error),
        cmocka_unit_test(every_dtype_has_the_nbytes_of_pytorch),
        cmocka_unit_test(types_of_onnx_are_packed),
        cmocka_unit_test(files_have_the_bytes_that_their_libraries_count),
        cmocka_unit_test(training_adds_gradients_masters_and_state),
        cmocka_unit_test(tied_weights_count_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
