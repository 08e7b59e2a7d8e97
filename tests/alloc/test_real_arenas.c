/* Allocators beside the real ones: what whole models ask onnxruntime's arena and TensorFlow's allocator for, and their own
 * figures. ort_requests.txt and tf_requests.txt have both; the scripts of the same names make them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pool.h"

enum { MOST_REQUESTS = 4096 };

/* onnxruntime tells four figures after each run, TensorFlow one at the end. */
typedef struct record {
    const char *path, *allocator;
    size_t least_models, figures;
} record;

/* What the arena holds: memory that was reserved before the first run is beside its regions, and not rounded. */
typedef struct arena {
    plim_pool *pool;
    uint64_t reserved, most;
    uint64_t addresses[MOST_REQUESTS]; /* of each request; 0: reserved, or given back */
    uint64_t bytes[MOST_REQUESTS];
    size_t count;
} arena;

static void add(arena *a, char kind, uint64_t bytes) {
    assert_true(a->count < MOST_REQUESTS);
    a->bytes[a->count] = bytes;
    a->addresses[a->count++] = kind == 'a' ? take(a->pool, bytes) : 0;
    if (kind == 'a') assert_true(a->addresses[a->count - 1] != 0);
    if (kind == 'r') a->reserved += bytes;
    uint64_t used = a->reserved + stats_of(a->pool).allocated;
    if (used > a->most) a->most = used;
}

static void drop(arena *a, uint64_t number) {
    assert_true(number < a->count);
    if (a->addresses[number])
        give(a->pool, a->addresses[number]);
    else
        a->reserved -= a->bytes[number];
    a->addresses[number] = 0;
}

static size_t compare(const arena *a, const char *line) {
    uint64_t taken, used, most, extensions;
    int found = sscanf(line, "holds %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &taken, &used, &most, &extensions);
    plim_pool_stats stats = stats_of(a->pool);
    if (found == 1) {
        assert_int_equal(stats.allocated_peak, taken);
        return 1;
    }
    assert_int_equal(found, 4);
    assert_int_equal(a->reserved + stats.reserved, taken);
    assert_int_equal(a->reserved + stats.allocated, used);
    assert_int_equal(a->most, most);
    assert_int_equal(stats.segments_taken, extensions);
    return 4;
}

static void replay(const record *r) {
    static arena a;
    FILE *file = fopen(r->path, "r");
    assert_non_null(file);
    char line[128];
    size_t models = 0, figures = 0;
    while (fgets(line, sizeof line, file)) {
        uint64_t number = 0;
        char kind = '\0';
        if (strncmp(line, "model ", 6) == 0) {
            plim_pool_free(a.pool);
            memset(&a, 0, sizeof a);
            a.pool = make(r->allocator, 0);
            models++;
        } else if (strncmp(line, "holds ", 6) == 0) {
            figures += compare(&a, line);
        } else if (sscanf(line, "%c %" SCNu64, &kind, &number) == 2) {
            kind == 'f' ? drop(&a, number) : add(&a, kind, number);
        }
    }
    fclose(file);
    plim_pool_free(a.pool);
    a.pool = NULL;
    assert_true(models >= r->least_models);
    assert_int_equal(figures, models * r->figures);
}

static void whole_models_hold_what_the_arena_of_onnxruntime_holds(void **state) {
    (void)state;
    replay(&(record){PLIM_SOURCE_DIR "/tests/alloc/ort_requests.txt", "onnxruntime", 10, 16});
}

static void whole_models_hold_what_the_allocator_of_tensorflow_holds(void **state) {
    (void)state;
    replay(&(record){PLIM_SOURCE_DIR "/tests/alloc/tf_requests.txt", "tensorflow:falling_addresses:True", 4, 1});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_models_hold_what_the_arena_of_onnxruntime_holds),
        cmocka_unit_test(whole_models_hold_what_the_allocator_of_tensorflow_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
