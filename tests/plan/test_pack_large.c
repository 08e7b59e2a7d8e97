/* Packings of the sizes and shapes that plans have. */
#include "plan/pack_cases.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "plan/pack_csv.h"

enum { most = 20000 };
static plim_pack_buffer buffers[most];
static int64_t offsets[most];

static void real_problems_fit_their_capacity(void **state) {
    (void)state;
    const char *folder = getenv("PACKING_INSTANCES"); /* MiniMalloc's, which are not a part of this repository */
    if (!folder) skip();
    for (const char *name = "ACEGIK"; *name; name++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%c.1048576.csv", folder, *name);
        plim__pack_csv csv;
        plim_error error = {0};
        if (plim__pack_csv_read(&csv, path, &error) != PLIM_OK) fail_msg("%s", error.message);
        plim_pack_options options = {.capacity = 1048576, .work = 2000000000};
        plim_pack_result result = cases_pack(csv.buffers, csv.count, &options, offsets);
        assert_true(result.fits);
        plim__pack_csv_free(&csv);
    }
}

static void training_steps_pack_within_two_percent(void **state) {
    (void)state;
    for (int64_t layers = 3; layers < 2200; layers = layers * 3 / 2 + 1) {
        size_t count = cases_training_step(buffers, layers);
        plim_pack_options options = {.work = 100000000};
        plim_pack_result result = cases_pack(buffers, count, &options, offsets);
        assert_true((double)result.height <= 1.02 * (double)result.lower_bound);
    }
}

static void twenty_thousand_buffers_pack_within_the_default_work(void **state) {
    (void)state;
    static const struct {
        int64_t times, longest;
        double ratio;
    } shapes[] = {{20000, 200, 1.12}, {20000, 20000, 1.03}, {50, 20, 1.04}, {1, 1, 1.0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        cases_random(buffers, most, shapes[i].times, shapes[i].longest, 1000000);
        plim_pack_result result = cases_pack(buffers, most, NULL, offsets);
        assert_true((double)result.height <= shapes[i].ratio * (double)result.lower_bound);
    }
}

static void nested_lifetimes_need_nothing_above_the_lower_bound(void **state) {
    (void)state;
    for (int64_t i = 0; i < most; i++)
        buffers[i] =
            (plim_pack_buffer){.lower = i, .upper = 2 * most - i, .size = cases_pick(1, 1 << 20), .alignment = 64};
    plim_pack_result result = cases_pack(buffers, most, NULL, offsets);
    assert_true(result.exact);
    assert_int_equal(result.nodes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_problems_fit_their_capacity),
        cmocka_unit_test(training_steps_pack_within_two_percent),
        cmocka_unit_test(twenty_thousand_buffers_pack_within_the_default_work),
        cmocka_unit_test(nested_lifetimes_need_nothing_above_the_lower_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
