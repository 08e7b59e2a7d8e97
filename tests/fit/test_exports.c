/* Modules that PyTorch exported, beside the most bytes that PyTorch's own dispatcher and autograd held in their steps
 * (tests/fit/make_exports.py): what is one kernel there, and what is spelled out and kept in parts. */
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

#define FOLDER PLIM_SOURCE_DIR "/tests/fit/exports/"

static uint64_t predicted(const char *name) {
    char path[512];
    plim_graph *graph = NULL;
    plim_prediction *prediction = NULL;
    plim_prediction_result result;
    plim_model_options options = {.batch = 512, .optimizer = PLIM_MODEL_SGD};
    plim_pool_options pool = {0};
    plim_error error;
    snprintf(path, sizeof path, FOLDER "%s.onnx", name);
    assert_int_equal(plim_graph_load(path, &graph, &error), PLIM_OK);
    assert_int_equal(plim_prediction_create(graph, &options, &prediction, &error), PLIM_OK);
    assert_int_equal(plim_prediction_run(prediction, NULL, &pool, &result, &error), PLIM_OK);
    plim_prediction_free(prediction);
    plim_graph_free(graph);
    return result.requested;
}

static void exported_modules_need_what_pytorch_holds(void **state) {
    (void)state;
    FILE *file = fopen(FOLDER "peaks.txt", "r");
    char name[64];
    unsigned long long held;
    int count = 0;
    assert_non_null(file);
    for (; fscanf(file, "%63s %llu", name, &held) == 2; count++) {
        double off = (double)predicted(name) / (double)held - 1;
        if (off < -0.001 || off > 0.005) /* the RMS norm: a temporary lives one operator longer */
            fail_msg("%s: %+.2f %% of %llu bytes", name, 100 * off, held);
    }
    fclose(file);
    assert_int_equal(count, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(exported_modules_need_what_pytorch_holds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
