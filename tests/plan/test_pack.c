/* Packings are valid, optimal where they say so, and the same every time. */
#include "plan/pack_cases.h"

#include "core/alloc.h"
#include "plan/pack_search.h"

enum { small = 7 };

/* Random small problems; `variety` adds alignments, or fixed offsets, or both. */
static void make_small(plim_pack_buffer *buffers, size_t count, int variety) {
    cases_random(buffers, count, 6, 5, variety ? 40 : 9);
    int64_t common = cases_pick(0, 3) * 4;
    for (size_t i = 0; i < count; i++) {
        if (variety == 1) buffers[i].alignment = common;
        if (variety == 2) buffers[i].alignment = (int64_t)1 << cases_pick(0, 4);
    }
}

/* Puts some buffers at the offsets of some packing, which leaves a solution. */
static void fix_some(plim_pack_buffer *buffers, size_t count) {
    int64_t offsets[small];
    for (size_t i = 0; i < count; i++) offsets[i] = -1;
    for (size_t i = 0; i < count; i++) {
        offsets[i] = cases_lowest(buffers, count, offsets, i);
        buffers[i].fixed = cases_pick(0, 2) == 0;
        int64_t raise = cases_pick(0, 2) * 16; /* above the others: leaves gaps below */
        buffers[i].offset = offsets[i] = i + 1 == count && buffers[i].fixed ? offsets[i] + raise : offsets[i];
    }
    plim_error error;
    if (plim_pack_check(buffers, count, offsets, &error) != PLIM_OK) buffers[count - 1].fixed = false;
}

static void check_against_brute_force(int variety, bool fixed, int rounds) {
    for (int round = 0; round < rounds; round++) {
        plim_pack_buffer buffers[small];
        int64_t offsets[small], start[small];
        size_t count = (size_t)cases_pick(1, small);
        make_small(buffers, count, variety);
        if (fixed) fix_some(buffers, count);
        for (size_t i = 0; i < count; i++) start[i] = buffers[i].fixed ? buffers[i].offset : -1;
        plim_pack_result result = cases_pack(buffers, count, NULL, offsets);
        assert_true(result.exact);
        int64_t optimum = cases_optimum(buffers, count, start);
        assert_int_equal(result.height, optimum);
        plim_pack_options tight = {.capacity = optimum};
        result = cases_pack(buffers, count, &tight, offsets);
        assert_true(result.fits);
        tight.capacity = optimum - 1;
        if (tight.capacity == 0) continue;
        result = cases_pack(buffers, count, &tight, offsets);
        assert_true(!result.fits && result.exact);
    }
}

static void small_packings_are_the_lowest(void **state) {
    (void)state;
    check_against_brute_force(0, false, 3000);
}

static void aligned_packings_are_the_lowest(void **state) {
    (void)state;
    check_against_brute_force(1, false, 1500);
    check_against_brute_force(2, false, 1500);
}

static void packings_around_fixed_offsets_are_the_lowest(void **state) {
    (void)state;
    check_against_brute_force(0, true, 1000);
    check_against_brute_force(1, true, 1000);
    check_against_brute_force(2, true, 1000);
}

/* Tries every offset for every buffer in turn: 1 when all fit below the capacity, 0 when not, -1 when it takes too
 * long. */
static int fits_by_trial(const plim_pack_buffer *buffers, size_t count, size_t done, int64_t capacity, int64_t *offsets,
                         int *patience) {
    if (done == count) return 1;
    for (int64_t at = 0; at + buffers[done].size <= capacity; at++) {
        if (--*patience < 0) return -1;
        bool free = true;
        for (size_t i = 0; i < done && free; i++)
            free = buffers[i].upper <= buffers[done].lower || buffers[done].upper <= buffers[i].lower ||
                   offsets[i] + buffers[i].size <= at || at + buffers[done].size <= offsets[i];
        if (!free) continue;
        offsets[done] = at;
        int found = fits_by_trial(buffers, count, done + 1, capacity, offsets, patience);
        if (found) return found;
    }
    return 0;
}

/* A problem where the sum of live bytes is the same at all times leaves no room for mistakes, and often no packing:
 * random buffers, and one more at each time that takes what is left. */
static size_t make_tight(plim_pack_buffer *buffers, size_t loose) {
    enum { times = 8 };
    int64_t live[times] = {0}, most = 0;
    size_t count = loose;
    for (size_t i = 0; i < loose; i++) {
        int64_t lower = cases_pick(0, times - 2), upper = lower + cases_pick(2, 5);
        buffers[i] =
            (plim_pack_buffer){.lower = lower, .upper = upper < times ? upper : times, .size = cases_pick(1, 4)};
        for (int64_t t = lower; t < buffers[i].upper; t++) live[t] += buffers[i].size;
    }
    for (int t = 0; t < times; t++) most = live[t] > most ? live[t] : most;
    for (int t = 0; t < times; t++)
        if (live[t] < most) buffers[count++] = (plim_pack_buffer){.lower = t, .upper = t + 1, .size = most - live[t]};
    return count;
}

static int earlier(const void *left, const void *right) {
    const plim_pack_buffer *a = left, *b = right;
    return a->lower != b->lower ? (a->lower > b->lower) - (a->lower < b->lower)
                                : (a->size < b->size) - (a->size > b->size);
}

static void every_style_of_search_agrees_with_trial_of_all_offsets(void **state) {
    (void)state;
    int possible = 0, impossible = 0;
    for (int round = 0; round < 1000; round++) {
        plim_pack_buffer buffers[16];
        int64_t offsets[16];
        size_t count = make_tight(buffers, 8);
        qsort(buffers, count, sizeof *buffers, earlier); /* trial and error goes astray less */
        plim__pack_problem problem;
        plim__pack_search *search;
        assert_int_equal(plim__pack_problem_init(&problem, buffers, count, NULL), PLIM_OK);
        assert_int_equal(plim__pack_problem_index(&problem, NULL), PLIM_OK);
        assert_int_equal(plim__pack_search_new(&problem, 0, &search, NULL), PLIM_OK);
        int64_t capacity = problem.lower_bound;
        int patience = 200000, fits = fits_by_trial(buffers, count, 0, capacity, offsets, &patience);
        for (int style = 0; style < PLIM__PACK_STYLES && fits >= 0; style++) {
            plim__pack_budget budget = {.work = INT64_MAX};
            plim__pack_outcome outcome;
            plim__pack_goal goal = {capacity - problem.base, style, INT64_MAX};
            assert_int_equal(plim__pack_search_run(search, &goal, &budget, offsets, &outcome, NULL), PLIM_OK);
            assert_int_equal(outcome, fits ? PLIM__PACK_FOUND : PLIM__PACK_IMPOSSIBLE);
        }
        possible += fits == 1;
        impossible += fits == 0;
        plim__pack_search_free(search);
        plim__pack_problem_free(&problem);
    }
    assert_true(possible > 50 && impossible > 50);
}

/* Long thin problems need the search, and come apart into independent stretches of time in it. */
static void proofs_do_not_depend_on_the_path(void **state) {
    (void)state;
    for (int round = 0; round < 60; round++) {
        enum { count = 24 };
        plim_pack_buffer buffers[count], mirrored[count];
        int64_t offsets[count];
        cases_random(buffers, count, 30, 9, 12);
        for (int i = 0; i < count; i++) {
            mirrored[count - 1 - i] = buffers[i];
            mirrored[count - 1 - i].lower = -buffers[i].upper;
            mirrored[count - 1 - i].upper = -buffers[i].lower;
        }
        plim_pack_result forward = cases_pack(buffers, count, NULL, offsets);
        plim_pack_result backward = cases_pack(mirrored, count, NULL, offsets);
        assert_true(forward.exact && backward.exact);
        assert_int_equal(forward.height, backward.height);
    }
}

static void the_same_problem_gets_the_same_offsets(void **state) {
    (void)state;
    enum { count = 300 };
    static plim_pack_buffer buffers[count];
    static int64_t first[count], second[count];
    plim_pack_options options = {.work = 40000000};
    cases_random(buffers, count, 200, 60, 5000);
    plim_pack_result one = cases_pack(buffers, count, &options, first),
                     two = cases_pack(buffers, count, &options, second);
    assert_true(one.nodes > 0);
    assert_int_equal(one.nodes, two.nodes);
    assert_memory_equal(first, second, sizeof first);
}

static void nothing_packs_into_nothing(void **state) {
    (void)state;
    plim_pack_result result = cases_pack(NULL, 0, NULL, NULL);
    assert_int_equal(result.height, 0);
    assert_true(result.exact && result.fits);
}

static void empty_buffers_take_no_room(void **state) {
    (void)state;
    plim_pack_buffer buffers[] = {{.lower = 0, .upper = 9, .size = 0},
                                  {.lower = 0, .upper = 9, .size = 5},
                                  {.lower = 3, .upper = 4, .size = 0, .fixed = true, .offset = 2},
                                  {.lower = 3, .upper = 4, .size = 7}};
    int64_t offsets[4];
    plim_pack_result result = cases_pack(buffers, 4, NULL, offsets);
    assert_int_equal(result.height, 12);
    assert_int_equal(offsets[2], 2);
}

static void lifetimes_are_half_open(void **state) {
    (void)state;
    plim_pack_buffer buffers[] = {{.lower = 0, .upper = 5, .size = 8}, {.lower = 5, .upper = 9, .size = 8}};
    int64_t offsets[2];
    assert_int_equal(cases_pack(buffers, 2, NULL, offsets).height, 8);
}

static plim_status pack_status(const plim_pack_buffer *buffers, size_t count, const char *mentions) {
    plim_error error = {0};
    plim_pack_result result;
    int64_t offsets[4];
    plim_status status = plim_pack(buffers, count, NULL, offsets, &result, &error);
    if (status != PLIM_OK) assert_non_null(strstr(error.message, mentions));
    return status;
}

static void malformed_buffers_are_refused_by_index(void **state) {
    (void)state;
    plim_pack_buffer good = {.lower = 0, .upper = 2, .size = 4};
    plim_pack_buffer negative[] = {good, {.lower = 0, .upper = 2, .size = -4}};
    plim_pack_buffer backwards[] = {good, {.lower = 2, .upper = 2, .size = 4}};
    plim_pack_buffer huge[] = {{.lower = 0, .upper = 2, .size = INT64_MAX / 4},
                               {.lower = 0, .upper = 2, .size = INT64_MAX / 4},
                               {.lower = 0, .upper = 2, .size = INT64_MAX}};
    plim_pack_buffer colliding[] = {good,
                                    {.lower = 1, .upper = 3, .size = 8, .fixed = true, .offset = 4},
                                    {.lower = 2, .upper = 3, .size = 8, .fixed = true, .offset = 11}};
    plim_pack_buffer crooked[] = {{.lower = 1, .upper = 3, .size = 8, .alignment = 8, .fixed = true, .offset = 4}};
    assert_int_equal(pack_status(negative, 2, "buffer 1"), PLIM_INVALID);
    assert_int_equal(pack_status(backwards, 2, "buffer 1"), PLIM_INVALID);
    assert_int_equal(pack_status(huge, 3, "buffer "), PLIM_OVERFLOW);
    assert_int_equal(pack_status(colliding, 3, "buffers 1 and 2"), PLIM_INVALID);
    assert_int_equal(pack_status(crooked, 1, "buffer 0"), PLIM_INVALID);
}

static void the_check_sees_every_kind_of_fault(void **state) {
    (void)state;
    plim_pack_buffer buffers[] = {{.lower = 0, .upper = 3, .size = 4, .alignment = 4},
                                  {.lower = 2, .upper = 5, .size = 4}};
    plim_error error;
    assert_int_equal(plim_pack_check(buffers, 2, (int64_t[]){0, 4}, &error), PLIM_OK);
    assert_int_equal(plim_pack_check(buffers, 2, (int64_t[]){0, 3}, &error), PLIM_INVALID);
    assert_int_equal(plim_pack_check(buffers, 2, (int64_t[]){8, 5}, &error), PLIM_INVALID);
    assert_int_equal(plim_pack_check(buffers, 2, (int64_t[]){0, 0}, &error), PLIM_INVALID);
    assert_int_equal(plim_pack_check(buffers, 2, (int64_t[]){2, 8}, &error), PLIM_INVALID);
    assert_int_equal(plim_pack_check(buffers, 2, (int64_t[]){4, -4}, &error), PLIM_INVALID);
    buffers[1].fixed = true;
    assert_int_equal(plim_pack_check(buffers, 2, (int64_t[]){0, 4}, &error), PLIM_INVALID);
}

static void every_failed_allocation_is_a_status(void **state) {
    (void)state;
    enum { count = 150 };
    plim_pack_buffer buffers[count];
    int64_t offsets[count];
    plim_pack_result result;
    plim_pack_options options = {.work = 3000000};
    cases_random(buffers, count, 80, 40, 500);
    buffers[0].fixed = true;
    size_t failing = 0;
    for (plim_status status = PLIM_NO_MEMORY; status != PLIM_OK;) {
        plim_error error = {0};
        plim__alloc_fail_at(++failing);
        status = plim_pack(buffers, count, &options, offsets, &result, &error);
        plim__alloc_fail_at(0);
        if (status != PLIM_OK) {
            assert_int_equal(status, PLIM_NO_MEMORY);
            assert_true(error.message[0] != 0);
        }
    }
    assert_true(result.nodes > 0);
    assert_true(failing > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_packings_are_the_lowest),
        cmocka_unit_test(aligned_packings_are_the_lowest),
        cmocka_unit_test(packings_around_fixed_offsets_are_the_lowest),
        cmocka_unit_test(every_style_of_search_agrees_with_trial_of_all_offsets),
        cmocka_unit_test(proofs_do_not_depend_on_the_path),
        cmocka_unit_test(the_same_problem_gets_the_same_offsets),
        cmocka_unit_test(nothing_packs_into_nothing),
        cmocka_unit_test(empty_buffers_take_no_room),
        cmocka_unit_test(lifetimes_are_half_open),
        cmocka_unit_test(malformed_buffers_are_refused_by_index),
        cmocka_unit_test(the_check_sees_every_kind_of_fault),
        cmocka_unit_test(every_failed_allocation_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
