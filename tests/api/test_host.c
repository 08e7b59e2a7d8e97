/* What the library does to its host process can be declined: the heap, OpenMP, oneDNN's cache, files of rates. The functions
 * that would do it are replaced by ones that count. */
#include <dirent.h>
#include <malloc.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <oneapi/dnnl/dnnl.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

static int heap_calls, cache_calls;

int mallopt(int parameter, int value) {
    (void)parameter, (void)value;
    heap_calls++;
    return 1;
}

int malloc_trim(size_t pad) {
    (void)pad;
    heap_calls++;
    return 0;
}

dnnl_status_t dnnl_set_primitive_cache_capacity(int capacity) {
    (void)capacity;
    cache_calls++;
    return dnnl_success;
}

static plim_status train_within_a_budget(int threads, plim_error *error) {
    plim_graph *model = NULL;
    plim_trainer *trainer = NULL;
    plim_trainer_options o = {.batch = 4, .threads = threads, .budget = (uint64_t)1 << 40};
    plim_status status = plim_zoo_create("mlp", &(plim_zoo_options){.width = 8}, &model, error);
    if (status == PLIM_OK) status = plim_trainer_create(model, &o, &trainer, error);
    plim_trainer_free(trainer);
    plim_graph_free(model);
    return status;
}

static void the_heap_stays_as_it_is(void **state) {
    (void)state;
    plim_error error = {0};
    assert_int_equal(plim_host_configure(&(plim_host_options){.keep_heap = 1}, &error), PLIM_OK);
    heap_calls = 0;
    assert_int_equal(train_within_a_budget(1, &error), PLIM_OK);
    assert_int_equal(plim_machine_prepare(1, &error), PLIM_OK);
    assert_int_equal(heap_calls, 0);
    assert_int_equal(plim_host_configure(NULL, &error), PLIM_OK);
    assert_int_equal(train_within_a_budget(1, &error), PLIM_OK);
    assert_true(heap_calls > 0); /* else the test sees nothing */
}

static void the_cache_of_kernels_stays_as_it_is(void **state) {
    (void)state;
    plim_error error = {0};
    assert_int_equal(plim_host_configure(&(plim_host_options){.keep_kernels = 1}, &error), PLIM_OK);
    cache_calls = 0;
    assert_int_equal(train_within_a_budget(1, &error), PLIM_OK);
    assert_int_equal(cache_calls, 0);
    assert_int_equal(plim_host_configure(NULL, &error), PLIM_OK);
    assert_int_equal(train_within_a_budget(1, &error), PLIM_OK);
    assert_true(cache_calls > 0);
}

static void the_number_of_threads_stays_as_it_is(void **state) {
    (void)state;
    plim_error error = {0};
    omp_set_num_threads(2);
    assert_int_equal(plim_host_configure(&(plim_host_options){.keep_openmp = 1}, &error), PLIM_OK);
    assert_int_equal(train_within_a_budget(1, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "keep_openmp"));
    assert_int_equal(train_within_a_budget(2, &error), PLIM_OK);
    assert_int_equal(plim_machine_prepare(2, &error), PLIM_OK);
    assert_int_equal(omp_get_max_threads(), 2);
    assert_int_equal(plim_host_configure(NULL, &error), PLIM_OK);
    assert_int_equal(train_within_a_budget(1, &error), PLIM_OK);
    assert_int_equal(omp_get_max_threads(), 1);
}

static int files_in(const char *folder) {
    DIR *dir = opendir(folder);
    int count = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) count += entry->d_name[0] != '.';
    if (dir) closedir(dir);
    return count;
}

static void no_files_are_written_to_the_cache_folder(void **state) {
    (void)state;
    plim_error error = {0};
    char folder[] = "/tmp/plim-host-XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    setenv("XDG_CACHE_HOME", folder, 1);
    unsetenv("PLIMSOLL_COSTS");
    assert_int_equal(plim_host_configure(&(plim_host_options){.no_cache_files = 1}, &error), PLIM_OK);
    assert_int_equal(plim_machine_measure(1, 1, NULL, &error), PLIM_OK);
    assert_int_equal(files_in(folder), 0);
    assert_int_equal(plim_host_configure(NULL, &error), PLIM_OK);
    assert_int_equal(plim_machine_measure(1, 1, NULL, &error), PLIM_OK);
    assert_int_equal(files_in(folder), 1);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_heap_stays_as_it_is),
        cmocka_unit_test(the_cache_of_kernels_stays_as_it_is),
        cmocka_unit_test(the_number_of_threads_stays_as_it_is),
        cmocka_unit_test(no_files_are_written_to_the_cache_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
