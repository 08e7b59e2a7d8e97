/* What is said to be resident stays the same while a process runs its own code, and follows what others map. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mem/resident.h"

#include "plim_test.h"

#define MIB ((size_t)1 << 20)

/* File pages of `bytes`, resident. */
static void *hold_file(size_t bytes) {
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), (off_t)bytes), 0);
    char *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fileno(file), 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    fclose(file);
    for (size_t i = 0; i < bytes; i += 4096) (void)*(volatile char *)(at + i);
    return at;
}

/* Pages of files, those in memory too. */
static size_t files_now(void) {
    char line[256];
    size_t kib, sum = 0;
    FILE *status = fopen("/proc/self/status", "r");
    assert_non_null(status);
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "RssFile: %zu", &kib) == 1 || sscanf(line, "RssShmem: %zu", &kib) == 1) sum += kib << 10;
    fclose(status);
    return sum;
}

/* The figure has cells that end at 1 + 8 n MiB: the process is brought to a MiB below an end, and then beyond it. */
static void code_that_a_run_touches_does_not_change_the_coarse_figure(void **state) {
    (void)state;
    size_t files = files_now(), end = MIB;
    while (end < files + 2 * MIB) end += 8 * MIB;
    size_t before = end - MIB - files;
    void *held = hold_file(before);
    uint64_t first = plim__resident_coarse(0);
    for (size_t mib = 1; mib <= 4; mib++) {
        void *pages = hold_file(mib * MIB);
        assert_int_equal(plim__resident_coarse(0), first);
        munmap(pages, mib * MIB);
    }
    munmap(held, before);
}

static void files_that_a_program_maps_later_are_counted(void **state) {
    (void)state;
    uint64_t first = plim__resident_coarse(0);
    void *pages = hold_file(64 * MIB);
    assert_true(plim__resident_coarse(0) >= first + 56 * MIB);
    munmap(pages, 64 * MIB);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_that_a_run_touches_does_not_change_the_coarse_figure),
        cmocka_unit_test(files_that_a_program_maps_later_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
