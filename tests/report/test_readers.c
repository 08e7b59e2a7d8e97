/* Whatever allocation fails while a file is read and shown, it is said and nothing leaks or is half written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "report/report.h"

#include "plim_test.h"

static char folder[] = "/tmp/plimsoll-readers-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder); /* fails when something was left behind */
}

/* Reads a file and makes everything of it. */
static plim_status read_and_show(const char *path, const char *out, plim_error *error) {
    plim__timeline timeline;
    plim__summary summary = {0};
    plim__timeline_init(&timeline, PLIM__SOURCE_RUN);
    plim_status status = plim__report_read(path, -1, &timeline, error);
    if (status == PLIM_OK) status = plim__summary_make(&timeline, &summary, error);
    if (status == PLIM_OK) status = plim__export_torch(&timeline, out, error);
    if (status == PLIM_OK) status = plim__export_perfetto(&timeline, out, error);
    if (status == PLIM_OK) status = plim__export_csv(&timeline, &summary, out, error);
    if (status == PLIM_OK) status = plim__report_html(&timeline, &summary, out, error);
    plim__summary_free(&summary);
    plim__timeline_free(&timeline);
    return status;
}

static void sweep(const char *name) {
    char path[512], out[128];
    plim_error error;
    snprintf(path, sizeof path, "%s/fuzz/seeds/fuzz_report/%s", PLIM_SOURCE_DIR, name);
    snprintf(out, sizeof out, "%s/out", folder);
    assert_int_equal(read_and_show(path, out, &error), PLIM_OK);
    size_t before = plim__alloc_count();
    assert_int_equal(read_and_show(path, out, &error), PLIM_OK);
    size_t allocations = plim__alloc_count() - before, step = allocations / 400 + 1;
    for (size_t n = 1; n <= allocations; n += step) {
        plim__alloc_fail_at(n);
        plim_status status = read_and_show(path, out, &error);
        plim__alloc_fail_at(0);
        /* some allocations are only wanted, not needed (syncing a folder) */
        if (status != PLIM_OK) assert_int_equal(status, PLIM_NO_MEMORY);
    }
    unlink(out);
}

static void a_trace_survives_any_failed_allocation(void **state) {
    (void)state;
    sweep("steps.trace");
    sweep("names.trace");
}

static void a_snapshot_survives_any_failed_allocation(void **state) {
    (void)state;
    sweep("snapshot-4.pickle");
    sweep("old-0.pickle");
}

static void a_dump_survives_any_failed_allocation(void **state) {
    (void)state;
    sweep("tensorflow.log");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_survives_any_failed_allocation),
        cmocka_unit_test(a_snapshot_survives_any_failed_allocation),
        cmocka_unit_test(a_dump_survives_any_failed_allocation),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
