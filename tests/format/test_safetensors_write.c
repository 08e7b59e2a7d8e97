/* safetensors files: what is written is read back, in an order that depends on the tensors alone, or nothing is. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/file.h"
#include "format/safetensors.h"
#include "format/weights_case.h"
#include "plim_test.h"

static plim_error error;
static char folder[] = "/tmp/plim-safetensors-XXXXXX", path[64];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/w.safetensors", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails when something else was left behind */
}

static const float kernel[6] = {1, 2, 3, 4, 5, 6}, bias[1] = {-0.5f};
static const int64_t numbers[2] = {-1, INT64_MAX};
static const unsigned char bytes[3] = {7, 8, 9};

static const plim__weight items[] = {
    {"b\"\\\n\xc3\xa9", PLIM_U8, {1, {3}}}, {"layer.weight", PLIM_F32, {2, {2, 3}}}, {"count", PLIM_I64, {1, {2}}},
    {"layer.bias", PLIM_F32, {0, {0}}},     {"empty", PLIM_F16, {2, {0, 9}}},
};
enum { COUNT = sizeof items / sizeof *items };

static weights_case contents = {.data = {bytes, kernel, numbers, bias, ""}, .fails_at = SIZE_MAX};

static const plim__safetensors_note notes[] = {{"format", "pt"}, {"a \"key\"", "line 1\nline 2 \xe2\x82\xac"}};

static void must_be_as_written(void) {
    int fd = open(path, O_RDONLY);
    plim__safetensors file;
    if (plim__safetensors_open(&file, fd, path, &error) != PLIM_OK) fail_msg("%s", error.message);
    static const size_t order[COUNT] = {2, 3, 1, 4, 0}; /* widest first, then by name */
    assert_int_equal(file.count, COUNT);
    uint64_t end = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const plim__safetensors_tensor *tensor = &file.tensors[i];
        const plim__weight *weight = &items[order[i]];
        assert_string_equal(tensor->name, weight->name);
        assert_ptr_equal(tensor->element, plim__element_find(plim_dtype_name(weight->dtype)));
        assert_int_equal(tensor->rank, weight->shape.rank);
        for (int k = 0; k < tensor->rank; k++) assert_int_equal(tensor->dims[k], weight->shape.dims[k]);
        if (i > 0) assert_int_equal(tensor->offset, end); /* no holes: the package refuses them */
        assert_int_equal(tensor->offset % (tensor->element->bits / 8), 0);
        end = tensor->offset + tensor->bytes;
        char data[64];
        assert_int_equal(plim__file_read_at(fd, data, tensor->bytes, tensor->offset, path, &error), PLIM_OK);
        assert_memory_equal(data, contents.data[order[i]], tensor->bytes);
    }
    assert_int_equal(file.tensors[0].offset % 8, 0);
    assert_int_equal(lseek(fd, 0, SEEK_END), end);
    for (size_t i = 0, seal = file.note_count - 2; i < 2; i++) {
        assert_string_equal(file.notes[seal + i].key, notes[i].key);
        assert_string_equal(file.notes[seal + i].value, notes[i].value);
    }
    plim__safetensors_close(&file);
    close(fd);
}

static void tensors_and_notes_are_read_back(void **state) {
    (void)state;
    plim__weights weights = case_weights(&contents, items, COUNT);
    for (int in_place = 0; in_place < 2; in_place++)
        for (int sealed = 0; sealed < 2; sealed++) {
            contents.in_place = in_place;
            contents.reads = 0;
            plim_status status = sealed ? plim__safetensors_write_sealed(path, &weights, notes, 2, &error)
                                        : plim__safetensors_write(path, &weights, notes, 2, &error);
            if (status != PLIM_OK) fail_msg("%s", error.message);
            assert_int_equal(contents.reads, in_place ? 0 : COUNT); /* each once, none that lies there already */
            must_be_as_written();
        }
    contents.in_place = false;
}

static void the_same_weights_give_the_same_file(void **state) {
    (void)state;
    plim__weight turned[COUNT];
    weights_case other = {.fails_at = SIZE_MAX};
    for (size_t i = 0; i < COUNT; i++) {
        turned[i] = items[COUNT - 1 - i];
        other.data[i] = contents.data[COUNT - 1 - i];
    }
    plim__weights a = case_weights(&contents, items, COUNT), b = case_weights(&other, turned, COUNT);
    char *first, *second;
    size_t sizes[2];
    assert_int_equal(plim__safetensors_write_sealed(path, &a, notes, 2, &error), PLIM_OK);
    assert_int_equal(plim__file_read(path, 1 << 20, &first, &sizes[0], &error), PLIM_OK);
    assert_int_equal(plim__safetensors_write_sealed(path, &b, notes, 2, &error), PLIM_OK);
    assert_int_equal(plim__file_read(path, 1 << 20, &second, &sizes[1], &error), PLIM_OK);
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(first, second, sizes[0]);
    plim__free(first);
    plim__free(second);
}

static void a_file_without_tensors_or_notes_is_valid(void **state) {
    (void)state;
    plim__weights none = {0};
    assert_int_equal(plim__safetensors_write(path, &none, NULL, 0, &error), PLIM_OK);
    char *data;
    size_t size;
    assert_int_equal(plim__file_read(path, 1 << 20, &data, &size, &error), PLIM_OK);
    assert_int_equal(size, 16);
    assert_memory_equal(data, "\10\0\0\0\0\0\0\0{}      ", 16);
    plim__free(data);
}

static void must_refuse(const plim__weight *list, size_t count, plim_status status, const char *words) {
    weights_case c = {.data = {kernel, kernel}, .fails_at = SIZE_MAX};
    plim__weights weights = case_weights(&c, list, count);
    plim_status got = plim__safetensors_write(path, &weights, NULL, 0, &error);
    if (got != status || !strstr(error.message, words)) fail_msg("%s: %s", plim_status_name(got), error.message);
    assert_int_equal(access(path, F_OK), -1);
}

static void what_the_format_cannot_hold_is_refused(void **state) {
    (void)state;
    must_refuse((plim__weight[]){{"a", PLIM_F32, {1, {1}}}, {"a", PLIM_F64, {1, {1}}}}, 2, PLIM_INVALID, "'a'");
    must_refuse((plim__weight[]){{"__metadata__", PLIM_F32, {1, {1}}}}, 1, PLIM_INVALID, "__metadata__");
    must_refuse((plim__weight[]){{"a\xff", PLIM_F32, {1, {1}}}}, 1, PLIM_INVALID, "UTF-8");
    must_refuse((plim__weight[]){{"q", PLIM_I4, {1, {1}}}}, 1, PLIM_UNSUPPORTED, "'q'");
    must_refuse((plim__weight[]){{"huge", PLIM_F32, {2, {INT64_MAX, 2}}}}, 1, PLIM_OVERFLOW, "'huge'");
    must_refuse((plim__weight[]){{"open", PLIM_F32, {1, {-1}}}}, 1, PLIM_OVERFLOW, "'open'");
}

static void a_failure_leaves_the_old_file(void **state) {
    (void)state;
    plim__weights weights = case_weights(&contents, items, COUNT);
    assert_int_equal(plim__safetensors_write(path, &weights, notes, 2, &error), PLIM_OK);
    contents.fails_at = 0; /* the last one in the file */
    assert_int_equal(plim__safetensors_write(path, &weights, NULL, 0, &error), PLIM_IO);
    assert_non_null(strstr(error.message, "no data for"));
    contents.fails_at = SIZE_MAX;
    must_be_as_written();

    struct rlimit old, small; /* stands for a full disk: the write fails in the middle */
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    small = old;
    small.rlim_cur = 200;
    setrlimit(RLIMIT_FSIZE, &small);
    plim_status status = plim__safetensors_write_sealed(path, &weights, notes, 2, &error);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(status, PLIM_IO);
    assert_non_null(strstr(error.message, path));
    must_be_as_written();
}

static void every_failing_allocation_is_told(void **state) {
    (void)state;
    plim__weights weights = case_weights(&contents, items, COUNT);
    plim_status status = PLIM_NO_MEMORY;
    for (size_t n = 1; status != PLIM_OK; n++) {
        assert_true(n < 1000);
        plim__alloc_fail_at(n);
        status = plim__safetensors_write_sealed(path, &weights, notes, 2, &error);
        plim__alloc_fail_at(0);
        if (status != PLIM_OK) assert_int_equal(status, PLIM_NO_MEMORY);
        if (status != PLIM_OK) assert_int_equal(access(path, F_OK), -1);
    }
    must_be_as_written();
}

/* --- of models ------------------------------------------------------------------------------------------------ */

static void a_models_parameters_are_saved_as_they_are_now(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    static const float changed[4] = {9, 8, 7, 6};
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 1, (int64_t[]){2});
    plim_value w = plim_graph_parameter(g, "w", PLIM_F32, 2, (int64_t[]){2, 2}, kernel);
    plim_value b = plim_graph_parameter(g, "b", PLIM_F32, 1, (int64_t[]){2}, kernel);
    plim_graph_parameter(g, "unused", PLIM_F32, 1, (int64_t[]){2}, kernel);
    plim_value y = plim_graph_apply(g, "MatMul", (plim_value[]){x, w}, 2);
    plim_graph_output(g, plim_graph_apply(g, "Add", (plim_value[]){y, b}, 2), "y");
    plim__weight list[] = {{"w", PLIM_F32, {2, {2, 2}}}};
    weights_case c = {.data = {changed}, .fails_at = SIZE_MAX};
    plim__weights weights = case_weights(&c, list, 1);
    if (plim__safetensors_save(g, &weights, path, &error) != PLIM_OK) fail_msg("%s", error.message);

    int fd = open(path, O_RDONLY);
    plim__safetensors file;
    float data[6];
    assert_int_equal(plim__safetensors_open(&file, fd, path, &error), PLIM_OK);
    assert_int_equal(file.count, 2);
    assert_int_equal(plim__file_read_at(fd, data, sizeof data, file.tensors[0].offset, path, &error), PLIM_OK);
    assert_memory_equal(data, kernel, 2 * sizeof *data); /* b, as the graph has it */
    assert_memory_equal(data + 2, changed, sizeof changed);
    plim__safetensors_close(&file);
    close(fd);

    list[0].shape.dims[0] = 4;
    assert_int_equal(plim__safetensors_save(g, &weights, path, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "'w' is float32[2,2] in the model, not float32[4,2]"));
    list[0].name = "v";
    assert_int_equal(plim__safetensors_save(g, &weights, path, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "no weight 'v'"));
    plim_graph_free(g);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(tensors_and_notes_are_read_back),
        IN_FOLDER(the_same_weights_give_the_same_file),
        IN_FOLDER(a_file_without_tensors_or_notes_is_valid),
        IN_FOLDER(what_the_format_cannot_hold_is_refused),
        IN_FOLDER(a_failure_leaves_the_old_file),
        IN_FOLDER(every_failing_allocation_is_told),
        IN_FOLDER(a_models_parameters_are_saved_as_they_are_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
