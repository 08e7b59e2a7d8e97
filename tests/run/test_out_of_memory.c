/* Memory that runs out at any moment: loading, making, running and freeing a model answers PLIM_NO_MEMORY with a
 * message, leaks nothing, and the same call succeeds right afterwards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "plim_test.h"
#include "plimsoll/plimsoll.h"

#define OUTPUTS 512

/* The whole life of a model. Its first output's beginning goes to `out`. */
static plim_status live(const char *path, float out[OUTPUTS], plim_error *error) {
    plim_graph *g = NULL;
    plim_session *s = NULL;
    plim_status status = plim_graph_load(path, &g, error);
    if (status == PLIM_OK)
        status = plim_session_create(g, &(plim_session_options){.batch = 2, .measure = 1}, &s, error);
    if (status == PLIM_OK) {
        const plim_graph *run = plim_session_graph(s);
        for (size_t i = 0; i < plim_graph_input_count(run); i++) {
            plim_value v = plim_graph_input_at(run, i);
            int64_t dims[PLIM_MAX_RANK], count = 1;
            int rank = plim_graph_value_shape(run, v, dims);
            for (int k = 0; k < rank; k++) count *= dims[k];
            void *memory = plim_session_input(s, plim_graph_value_name(run, v));
            for (int64_t k = 0; k < count; k++)
                if (plim_graph_value_dtype(run, v) == PLIM_F32)
                    ((float *)memory)[k] = (float)(k % 17) / 17;
                else
                    ((int64_t *)memory)[k] = k % 5;
        }
        status = plim_session_run(s, error);
        plim_value y = plim_graph_output_at(run, 0);
        int64_t dims[PLIM_MAX_RANK], count = 1;
        int rank = plim_graph_value_shape(run, y, dims);
        for (int k = 0; k < rank; k++) count *= dims[k];
        const float *result = plim_session_output(s, plim_graph_value_name(run, y));
        if (status == PLIM_OK) memcpy(out, result, sizeof(float) * (size_t)(count < OUTPUTS ? count : OUTPUTS));
    }
    plim_session_free(s);
    plim_graph_free(g);
    return status;
}

static void save_model(const char *name, const plim_zoo_options *options, char path[64]) {
    strcpy(path, "/tmp/plim_oom_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    plim_graph *g = NULL;
    plim_error error = {0};
    if (plim_zoo_create(name, options, &g, &error) != PLIM_OK || plim_graph_save(g, path, &error) != PLIM_OK)
        fail_msg("%s: %s", name, error.message);
    plim_graph_free(g);
}

/* Fails every `stride`-th allocation, one at a time. */
static void sweep(const char *name, const plim_zoo_options *options, size_t stride) {
    char path[64];
    save_model(name, options, path);
    static float right[OUTPUTS], got[OUTPUTS];
    plim_error error = {0};
    assert_int_equal(live(path, right, &error), PLIM_OK);
    size_t before = plim__alloc_count();
    assert_int_equal(live(path, right, &error), PLIM_OK);
    size_t total = plim__alloc_count() - before;
    assert_true(total > 100);
    for (size_t n = 1; n <= total; n += stride) {
        error = (plim_error){0};
        plim__alloc_fail_at(n);
        plim_status status = live(path, got, &error);
        plim__alloc_fail_at(0);
        if (status != PLIM_NO_MEMORY || error.status != PLIM_NO_MEMORY || !*error.message)
            fail_msg("%s: allocation %zu of %zu failed, and the answer is %s: %s", name, n, total,
                     plim_status_name(status), error.message);
        if (n % (16 * stride) != 1 && stride == 1) continue; /* recovery is checked now and then: it takes time */
        assert_int_equal(live(path, got, &error), PLIM_OK);
        assert_memory_equal(got, right, sizeof(float) * 8);
    }
    unlink(path);
}

static void any_failed_allocation_of_lenet_is_told_and_recovered_from(void **state) {
    (void)state;
    sweep("lenet", &(plim_zoo_options){.width = 4}, 1);
}

static void failed_allocations_of_a_transformer_are_told_and_recovered_from(void **state) {
    (void)state;
    sweep("gpt2-tiny", &(plim_zoo_options){.seq = 8, .width = 16, .layers = 1, .heads = 2}, 7);
}

static void failed_allocations_of_a_residual_network_are_told_and_recovered_from(void **state) {
    (void)state;
    sweep("mobilenet_v2", &(plim_zoo_options){.image = 32, .width = 8, .classes = 10}, 61);
}

static void failed_allocations_of_a_recurrent_network_are_told_and_recovered_from(void **state) {
    (void)state;
    sweep("lstm", &(plim_zoo_options){.seq = 4, .width = 8, .classes = 16}, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_failed_allocation_of_lenet_is_told_and_recovered_from),
        cmocka_unit_test(failed_allocations_of_a_transformer_are_told_and_recovered_from),
        cmocka_unit_test(failed_allocations_of_a_residual_network_are_told_and_recovered_from),
        cmocka_unit_test(failed_allocations_of_a_recurrent_network_are_told_and_recovered_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
