/* Large blocks leave nothing behind in a heap whose holes are plugged, and holes can be used again afterwards. */
#include "mem/heap.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "mem/resident.h"

#include "plim_test.h"

#define BLOCKS 512
#define SMALL  ((size_t)8 << 10)
#define LARGE  ((size_t)1 << 20)

static void *blocks[BLOCKS];

/* A hole of some megabytes below a block that stays; nothing of it is resident. */
static void make_hole(void) {
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(SMALL);
        assert_non_null(blocks[i]);
        memset(blocks[i], 1, SMALL);
    }
    for (int i = 1; i < BLOCKS - 1; i++) free(blocks[i]);
    plim__heap_trim();
}

static void end_hole(void) {
    free(blocks[0]);
    free(blocks[BLOCKS - 1]);
}

/* What a large block leaves resident when it was used and freed. */
static uint64_t left_behind(void) {
    uint64_t before = plim__resident_now();
    volatile char *large = malloc(LARGE);
    assert_non_null(large);
    for (size_t i = 0; i < LARGE; i++) large[i] = 1;
    free((void *)large);
    uint64_t after = plim__resident_now();
    return after > before ? after - before : 0;
}

static void a_large_block_leaves_nothing_where_holes_are_plugged(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its heap is another */
#endif
    plim__heap_prepare();
    left_behind(); /* what comes with the first time */
    make_hole();
    plim__heap_plug *plugs = plim__heap_plug_holes();
    assert_non_null(plugs);
    assert_true(left_behind() < LARGE / 4);
    plim__heap_unplug(plugs);
    plim__heap_trim();
    assert_true(left_behind() > LARGE / 2); /* or else the hole was none */
    end_hole();
}

static void a_heap_without_holes_has_no_plugs(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    plim__heap_prepare();
    plim__heap_trim();
    plim__heap_plug *first = plim__heap_plug_holes(), *second = plim__heap_plug_holes();
    assert_null(second); /* the first have taken all there were */
    plim__heap_unplug(first);
    plim__heap_unplug(NULL);
}

/* A plug that cannot be had leaves its hole open, and the others are as they were. */
static void a_failed_plug_leaves_a_hole(void **state) {
    (void)state;
    plim__heap_prepare();
    size_t count = 1;
    for (size_t n = 1; n <= count; n++) {
        make_hole();
        size_t before = plim__alloc_count();
        plim__alloc_fail_at(n);
        plim__heap_plug *plugs = plim__heap_plug_holes();
        plim__alloc_fail_at(0);
        count = plim__alloc_count() - before;
        plim__heap_unplug(plugs);
        end_hole();
    }
    assert_true(count > 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_block_leaves_nothing_where_holes_are_plugged),
        cmocka_unit_test(a_heap_without_holes_has_no_plugs),
        cmocka_unit_test(a_failed_plug_leaves_a_hole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
