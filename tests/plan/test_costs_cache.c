/* A cache of rates that is damaged, cut off, hostile or somebody else's is as good as none: what was measured never makes a plan
 * worse than rates of an average machine, and nothing waits for a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "budget/costs_file.h"
#include "core/alloc.h"

#include "plim_test.h"

#define THREADS 2

static char folder[64] = "/tmp/plimsoll-costs-XXXXXX", path[256];

static plim__costs measured(void) {
    plim__costs costs = {.flops = 1e11, .bytes = 2e10, .step = 1e-5, .disk = 3e8, .count = 2};
    costs.rates[0] = (plim__rate){"Conv", 1.5e11, 0};
    costs.rates[1] = (plim__rate){"Relu", 0, 1.7e10};
    return costs;
}

/* The name that the cache has: found by storing one. */
static int find_path(void **state) {
    (void)state;
    plim__costs costs = measured();
    char command[200];
    alarm(60); /* whatever waits for a FIFO */
    unsetenv("PLIMSOLL_COSTS");
    if (!mkdtemp(folder) || setenv("XDG_CACHE_HOME", folder, 1) != 0) return 1;
    plim__costs_store(THREADS, &costs);
    snprintf(command, sizeof command, "ls -d %s/plimsoll/costs-*", folder);
    FILE *list = popen(command, "r");
    bool found = list && fgets(path, sizeof path, list);
    if (list) pclose(list);
    path[strcspn(path, "\n")] = 0;
    return !found;
}

static int clean(void **state) {
    (void)state;
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0;
}

static void put(const char *text, size_t size) {
    unlink(path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
}

static bool is_default(void) {
    static plim__costs costs;
    plim__costs average = plim__costs_default(THREADS);
    bool known = plim__costs_known(THREADS, &costs);
    return !known && costs.count == 0 && costs.flops == average.flops && costs.bytes == average.bytes &&
           costs.step == average.step && costs.disk == average.disk;
}

static bool is_measured(void) {
    static plim__costs costs;
    plim__costs truth = measured();
    return plim__costs_known(THREADS, &costs) && costs.count == 2 && costs.flops == truth.flops &&
           costs.bytes == truth.bytes && costs.step == truth.step && costs.disk == truth.disk &&
           costs.rates[0].flops == truth.rates[0].flops && costs.rates[1].bytes == truth.rates[1].bytes &&
           strcmp(costs.rates[0].label, "Conv") == 0 && strcmp(costs.rates[1].label, "Relu") == 0;
}

static void a_whole_cache_is_read(void **state) {
    (void)state;
    assert_true(is_measured());
}

static void no_change_of_a_byte_and_no_cut_changes_rates(void **state) {
    (void)state;
    plim__costs costs = measured();
    char *text = plim__costs_write(&costs);
    assert_non_null(text);
    size_t size = strlen(text);
    int unharmed = 0;
    for (size_t i = 0; i < size; i++) {
        for (unsigned bit = 1; bit < 256; bit *= 4) {
            char before = text[i];
            text[i] = (char)(before ^ (char)bit);
            put(text, size);
            bool same = is_measured(); /* white space */
            assert_true(same || is_default());
            unharmed += same;
            text[i] = before;
        }
        put(text, i);
        if (i < size - 1) assert_true(is_default());
    }
    assert_true(unharmed < (int)size);
    put(text, size);
    assert_true(is_measured());
    plim__free(text);
}

static void impossible_rates_are_not_used(void **state) {
    (void)state;
    for (int which = 0; which < 10; which++) {
        plim__costs costs = measured();
        switch (which) {
        case 0: costs.flops = 1e-300; break;
        case 1: costs.bytes = -5; break;
        case 2: costs.step = 1e300; break;
        case 3: costs.disk = 0; break;
        case 4: costs.rates[0].flops = 1e300; break;
        case 5: costs.rates[1].bytes = 1; break;
        case 6: costs.others = -1; break;
        case 7: costs.others = 0.9; break; /* others had the processors */
        case 8: costs.step = -1e-5; break;
        default: costs.disk = 1e300; break;
        }
        char *text = plim__costs_write(&costs);
        assert_non_null(text);
        put(text, strlen(text));
        assert_true(is_default());
        plim__free(text);
    }
}

static void what_is_no_file_of_ours_is_left_alone(void **state) {
    (void)state;
    static const char *const hostile[] = {"", "{}", "[]", "null", "{\"rates\": 7}", "\xff\xfe", "{\"rates\":[{}]}"};
    plim__costs costs = measured();
    char *deep = malloc(1 << 20);
    assert_non_null(deep);
    memset(deep, '[', 1 << 20);
    put(deep, (1 << 20) - 1);
    free(deep);
    assert_true(is_default());
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        put(hostile[i], strlen(hostile[i]));
        assert_true(is_default());
    }
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_true(is_default());
    plim__costs_store(THREADS, &costs);
    assert_false(plim__costs_storable(THREADS));
    unlink(path);
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_true(is_default());
    plim__costs_store(THREADS, &costs);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_true(is_default());
    plim__costs_store(THREADS, &costs);
    rmdir(path);
    plim__costs_store(THREADS, &costs);
    assert_true(is_measured());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_cache_is_read),
        cmocka_unit_test(no_change_of_a_byte_and_no_cut_changes_rates),
        cmocka_unit_test(impossible_rates_are_not_used),
        cmocka_unit_test(what_is_no_file_of_ours_is_left_alone),
    };
    return cmocka_run_group_tests(tests, find_path, clean);
}
