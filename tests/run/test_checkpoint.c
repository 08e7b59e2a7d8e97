/* Checkpoints: what was written comes back, whatever happened to the file is noticed, and a failed write leaves the
 * last good one. */
#include "run/checkpoint.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "format/weights_case.h"
#include "plim_test.h"
#include "plimsoll/onnx.h"
#include "plimsoll/version.h"

static plim_error error;
static char folder[] = "/tmp/plim-checkpoint-XXXXXX", path[64];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/run.checkpoint", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails when something else was left behind */
}

static const float weight[6] = {1, 2, 3, 4, 5, 6}, bias[3] = {-1, -2, -3};
static const double moments[3] = {0.1, 0.2, 0.3};
static const plim__weight model_items[] = {{"fc.weight", PLIM_F32, {2, {2, 3}}}, {"fc.bias", PLIM_F32, {1, {3}}}};
static const plim__weight state_items[] = {{"fc.bias", PLIM_F64, {1, {3}}}}; /* the same name on purpose */
static weights_case model_case = {.data = {weight, bias}, .fails_at = SIZE_MAX};
static weights_case state_case = {.data = {moments}, .fails_at = SIZE_MAX};
static const plim__safetensors_note extra[] = {{"note", "any text \"at\" all\n"}, {"update", "its own"}};

static const plim__checkpoint run = {
    .model = 0xfedcba9876543210u,
    .optimizer = "adamw",
    .settings = "rate=0.001",
    .update = 7,
    .epoch = 2,
    .sample = 1024,
    .seed = UINT64_MAX,
    .data = "idx",
    .data_samples = 60000,
    .data_bytes = INT64_MAX,
    .best = 0.1 + 0.2,
    .best_update = 5,
    .stale = 2,
    .extra = extra,
    .extra_count = 2,
};

static plim_status write_run(const plim__checkpoint *meta) {
    plim__weights model = case_weights(&model_case, model_items, 2), state = case_weights(&state_case, state_items, 1);
    return plim__checkpoint_write(path, meta, &model, &state, &error);
}

static void must_be_the_run(void) {
    plim__checkpoint_file file;
    if (plim__checkpoint_open(&file, path, &error) != PLIM_OK) fail_msg("%s", error.message);
    plim__weights model = case_weights(&model_case, model_items, 2), state = case_weights(&state_case, state_items, 1);
    if (plim__checkpoint_match(&file, &run, &model, &state, &error) != PLIM_OK) fail_msg("%s", error.message);
    if (plim__checkpoint_match_data(&file, &run, &error) != PLIM_OK) fail_msg("%s", error.message);
    const plim__checkpoint *meta = &file.meta;
    assert_string_equal(meta->program, PLIM_VERSION_STRING);
    assert_true(meta->model == run.model && meta->seed == run.seed);
    assert_string_equal(meta->optimizer, "adamw");
    assert_string_equal(meta->settings, "rate=0.001");
    assert_true(meta->update == 7 && meta->epoch == 2 && meta->sample == 1024);
    assert_true(meta->data_samples == 60000 && meta->data_bytes == INT64_MAX);
    assert_true(meta->best == 0.1 + 0.2 && meta->best_update == 5 && meta->stale == 2);
    assert_int_equal(meta->extra_count, 2);
    assert_string_equal(plim__checkpoint_extra(&file, "note"), extra[0].value);
    assert_string_equal(plim__checkpoint_extra(&file, "update"), "its own");
    assert_null(plim__checkpoint_extra(&file, "seed"));
    float floats[6];
    double doubles[3];
    assert_int_equal(plim__checkpoint_read(&file, PLIM__CHECKPOINT_MODEL, &model_items[0], floats, &error), PLIM_OK);
    assert_memory_equal(floats, weight, sizeof weight);
    assert_int_equal(plim__checkpoint_read(&file, PLIM__CHECKPOINT_MODEL, &model_items[1], floats, &error), PLIM_OK);
    assert_memory_equal(floats, bias, sizeof bias);
    assert_int_equal(plim__checkpoint_read(&file, PLIM__CHECKPOINT_STATE, &state_items[0], doubles, &error), PLIM_OK);
    assert_memory_equal(doubles, moments, sizeof moments);
    plim__checkpoint_close(&file);
    plim__checkpoint_close(&file); /* harmless */
}

static void a_run_comes_back_as_it_was(void **state) {
    (void)state;
    if (write_run(&run) != PLIM_OK) fail_msg("%s", error.message);
    must_be_the_run();
}

static void missing_texts_and_metrics_come_back_empty(void **state) {
    (void)state;
    plim__checkpoint_file file;
    plim__weights none = {0};
    plim__checkpoint empty = {.best = -1.0 / 0.0};
    assert_int_equal(plim__checkpoint_write(path, &empty, &none, &none, &error), PLIM_OK);
    if (plim__checkpoint_open(&file, path, &error) != PLIM_OK) fail_msg("%s", error.message);
    assert_string_equal(file.meta.optimizer, "");
    assert_true(file.meta.best == -1.0 / 0.0 && file.meta.best_update == 0);
    assert_int_equal(plim__checkpoint_match_data(&file, &empty, &error), PLIM_OK);
    plim__checkpoint_close(&file);
}

/* --- damage --------------------------------------------------------------------------------------------------- */

static void must_be_corrupt(const char *data, size_t size) {
    plim__checkpoint_file file;
    int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0644);
    assert_true(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    if (plim__checkpoint_open(&file, path, &error) != PLIM_CORRUPT) fail_msg("%zu bytes: %s", size, error.message);
    assert_non_null(strstr(error.message, path));
    assert_null(strchr(error.message, '\n'));
}

static void a_file_cut_off_anywhere_is_refused(void **state) {
    (void)state;
    char *data;
    size_t size;
    assert_int_equal(write_run(&run), PLIM_OK);
    assert_int_equal(plim__file_read(path, 1 << 20, &data, &size, &error), PLIM_OK);
    for (size_t length = 0; length < size; length++) must_be_corrupt(data, length);
    must_be_corrupt(data, size + 1); /* the zero that follows */
    assert_non_null(strstr(error.message, "is cut off or damaged"));
    plim__free(data);
}

static void every_flipped_bit_is_noticed(void **state) {
    (void)state;
    char *data;
    size_t size;
    assert_int_equal(write_run(&run), PLIM_OK);
    assert_int_equal(plim__file_read(path, 1 << 20, &data, &size, &error), PLIM_OK);
    for (size_t bit = 0; bit < size * 8; bit++) {
        data[bit / 8] = (char)(data[bit / 8] ^ 1 << bit % 8);
        must_be_corrupt(data, size);
        data[bit / 8] = (char)(data[bit / 8] ^ 1 << bit % 8);
    }
    plim__free(data);
}

static void what_is_no_checkpoint_is_refused(void **state) {
    (void)state;
    plim__checkpoint_file file;
    plim__weights model = case_weights(&model_case, model_items, 2);
    assert_int_equal(plim__safetensors_write(path, &model, NULL, 0, &error), PLIM_OK);
    assert_int_equal(plim__checkpoint_open(&file, path, &error), PLIM_CORRUPT);
    assert_non_null(strstr(error.message, "is not a checkpoint"));
    assert_int_equal(plim__safetensors_write_sealed(path, &model, NULL, 0, &error), PLIM_OK);
    assert_int_equal(plim__checkpoint_open(&file, path, &error), PLIM_CORRUPT);
    assert_non_null(strstr(error.message, "is not a checkpoint"));
    plim__safetensors_note later = {"plimsoll.checkpoint", "2"};
    assert_int_equal(plim__safetensors_write_sealed(path, &model, &later, 1, &error), PLIM_OK);
    assert_int_equal(plim__checkpoint_open(&file, path, &error), PLIM_UNSUPPORTED);
    assert_int_equal(plim__checkpoint_open(&file, "/nowhere/at/all", &error), PLIM_NOT_FOUND);
    assert_int_equal(plim__checkpoint_open(&file, folder, &error), PLIM_IO);
    assert_int_equal(plim__checkpoint_open(&file, "/dev/zero", &error), PLIM_IO);
}

/* --- another run ---------------------------------------------------------------------------------------------- */

static void must_not_match(const plim__checkpoint *other, const plim__weight *items, size_t count,
                           const plim__weight *states, size_t state_count, const char *words) {
    plim__checkpoint_file file;
    assert_int_equal(plim__checkpoint_open(&file, path, &error), PLIM_OK);
    plim__weights model = {items, count, NULL, NULL, NULL}, state = {states, state_count, NULL, NULL, NULL};
    plim_status status = plim__checkpoint_match(&file, other, &model, &state, &error);
    if (status == PLIM_OK) status = plim__checkpoint_match_data(&file, other, &error);
    if (status != PLIM_INVALID || !strstr(error.message, words)) fail_msg("%d: %s", (int)status, error.message);
    plim__checkpoint_close(&file);
}

static void a_checkpoint_of_another_run_is_named(void **state) {
    (void)state;
    assert_int_equal(write_run(&run), PLIM_OK);
    plim__weight other[3] = {model_items[0], model_items[1], {"more", PLIM_F32, {0, {0}}}};
    plim__weight flat = {"fc.bias", PLIM_F64, {1, {4}}};
    plim__checkpoint another = run; /* with the same model, only other weights can be frozen */
    another.model++;
    must_not_match(&another, other, 3, state_items, 1, "of another model: it has no parameter 'more'");
    must_not_match(&another, other, 1, state_items, 1, "of another model: parameter 'fc.bias' is not here");
    must_not_match(&run, other, 3, state_items, 1, "frozen weights: 'more' was frozen there, and is trained here");
    must_not_match(&run, other, 1, state_items, 1, "frozen weights: 'fc.bias' was trained there, and is frozen here");
    other[0].shape.dims[1] = 4;
    must_not_match(&run, other, 2, state_items, 1,
                   "of another model: parameter 'fc.weight' is float32[2,3] in it, and float32[2,4] here");
    other[0] = model_items[0];
    other[0].dtype = PLIM_F16;
    must_not_match(&run, other, 2, state_items, 1, "float16[2,3] here");
    must_not_match(&run, model_items, 2, &flat, 1,
                   "optimizer state 'fc.bias' is float64[3] in it, and float64[4] here");
    must_not_match(&run, model_items, 2, NULL, 0, "of another optimizer: optimizer state 'fc.bias' is not here");
    plim__checkpoint changed = run;
    changed.model++;
    must_not_match(&changed, model_items, 2, state_items, 1, "of another model: the parameters fit");
    changed = run;
    changed.optimizer = "sgd";
    must_not_match(&changed, model_items, 2, state_items, 1, "of a run with adamw, not with sgd");
    changed = run;
    changed.data_samples = 1;
    must_not_match(&changed, model_items, 2, state_items, 1, "other data: idx, 60000 samples");
}

/* --- failing writes ------------------------------------------------------------------------------------------- */

static void a_write_that_fails_leaves_the_last_good_one(void **state) {
    (void)state;
    assert_int_equal(write_run(&run), PLIM_OK);
    struct stat whole;
    assert_int_equal(stat(path, &whole), 0);
    struct rlimit old, small; /* stands for a full disk: the write fails in the middle */
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t limit = 0; limit < (rlim_t)whole.st_size; limit += 50) {
        plim__checkpoint next = run;
        next.update++;
        small = old;
        small.rlim_cur = limit;
        setrlimit(RLIMIT_FSIZE, &small);
        plim_status status = write_run(&next);
        setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(status, PLIM_IO);
        must_be_the_run();
    }
    state_case.fails_at = 0;
    assert_int_equal(write_run(&run), PLIM_IO);
    state_case.fails_at = SIZE_MAX;
    must_be_the_run();
}

static void every_failing_allocation_is_told(void **state) {
    (void)state;
    assert_int_equal(write_run(&run), PLIM_OK);
    plim__weights model = case_weights(&model_case, model_items, 2), states = case_weights(&state_case, state_items, 1);
    plim_status status = PLIM_NO_MEMORY;
    for (size_t n = 1; status != PLIM_OK; n++) {
        assert_true(n < 1000);
        plim__alloc_fail_at(n);
        status = write_run(&run);
        plim__alloc_fail_at(0);
        if (status != PLIM_OK) assert_int_equal(status, PLIM_NO_MEMORY);
        must_be_the_run();
    }
    status = PLIM_NO_MEMORY;
    for (size_t n = 1; status != PLIM_OK; n++) {
        plim__checkpoint_file file;
        double into[3];
        assert_true(n < 1000);
        plim__alloc_fail_at(n);
        status = plim__checkpoint_open(&file, path, &error);
        if (status == PLIM_OK) {
            status = plim__checkpoint_match(&file, &run, &model, &states, &error);
            if (status == PLIM_OK)
                status = plim__checkpoint_read(&file, PLIM__CHECKPOINT_STATE, &state_items[0], into, &error);
            plim__checkpoint_close(&file);
        }
        plim__alloc_fail_at(0);
        if (status != PLIM_OK) assert_int_equal(status, PLIM_NO_MEMORY);
    }
}

/* --- fingerprints --------------------------------------------------------------------------------------------- */

typedef struct recipe {
    const char *name, *op;
    int64_t width, axis, shift;
    float weight;
} recipe;

static plim_graph *cook(recipe r) {
    plim_graph *g = plim_graph_create();
    float weights[64];
    for (int i = 0; i < 64; i++) weights[i] = r.weight;
    int64_t n = plim_graph_symbol(g, "N");
    plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){n, 8});
    plim_value w = plim_graph_parameter(g, r.name, PLIM_F32, 2, (int64_t[]){8, r.width}, weights);
    plim_graph_parameter(g, "unused", PLIM_F32, 1, (int64_t[]){8}, weights);
    plim_value shape = plim_graph_constant(g, "shape", PLIM_I64, 1, (int64_t[]){2}, (int64_t[]){-1, r.shift});
    plim_value y = plim_graph_apply(g, "MatMul", (plim_value[]){x, w}, 2);
    y = plim_graph_apply(g, "Reshape", (plim_value[]){y, shape}, 2);
    int32_t node = plim_graph_node(g, r.op, NULL, &y, 1, 1);
    plim_graph_set_int(g, node, "axis", r.axis);
    plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
    return g;
}

static uint64_t fingerprint(plim_graph *g) {
    uint64_t value;
    if (plim__graph_fingerprint(g, &value, &error) != PLIM_OK) fail_msg("%s", error.message);
    plim_graph_free(g);
    return value;
}

static void fingerprints_tell_models_apart_but_not_their_weights(void **state) {
    (void)state;
    recipe base = {"w", "Softmax", 4, 1, 4, 0.5f}, other = base;
    uint64_t value = fingerprint(cook(base));
    other.weight = 7;
    assert_int_equal(fingerprint(cook(other)), value);
    other = base;
    other.name = "v";
    assert_int_not_equal(fingerprint(cook(other)), value);
    other = base;
    other.op = "LogSoftmax";
    assert_int_not_equal(fingerprint(cook(other)), value);
    other = base;
    other.width = 8;
    assert_int_not_equal(fingerprint(cook(other)), value);
    other = base;
    other.axis = 0;
    assert_int_not_equal(fingerprint(cook(other)), value);
    other = base;
    other.shift = 2;
    assert_int_not_equal(fingerprint(cook(other)), value);

    plim_graph *g = cook(base), *again;
    if (plim_graph_save(g, path, &error) != PLIM_OK) fail_msg("%s", error.message);
    if (plim_graph_load(path, &again, &error) != PLIM_OK) fail_msg("%s", error.message);
    assert_int_equal(fingerprint(again), value);
    assert_int_equal(fingerprint(plim_graph_clone(g)), value);
    plim_graph_free(g);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_run_comes_back_as_it_was),
        IN_FOLDER(missing_texts_and_metrics_come_back_empty),
        IN_FOLDER(a_file_cut_off_anywhere_is_refused),
        IN_FOLDER(every_flipped_bit_is_noticed),
        IN_FOLDER(what_is_no_checkpoint_is_refused),
        IN_FOLDER(a_checkpoint_of_another_run_is_named),
        IN_FOLDER(a_write_that_fails_leaves_the_last_good_one),
        IN_FOLDER(every_failing_allocation_is_told),
        IN_FOLDER(fingerprints_tell_models_apart_but_not_their_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
