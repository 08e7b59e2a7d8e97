/* The loop driver visits every element of every operand once, however they lie in memory. */
#include <stdlib.h>
#include <string.h>

#include "kernel/elementwise.h"
#include "plim_test.h"
#include "random_layout.h"

static plim__shape broadcast_part(const plim__shape *shape) {
    int drop = shape->rank ? (int)random_below(shape->rank + 1) / 2 : 0;
    plim__shape part = {.rank = shape->rank - drop};
    for (int i = 0; i < part.rank; i++) part.dims[i] = random_below(3) == 0 ? 1 : shape->dims[drop + i];
    return part;
}

static int32_t *random_ints(int64_t n) {
    int32_t *data = malloc((size_t)n * sizeof *data);
    assert_non_null(data);
    for (int64_t i = 0; i < n; i++) data[i] = (int32_t)random_below(100000);
    return data;
}

static void check_sum(const plim__shape *shape) {
    plim__shape left_shape = broadcast_part(shape), right_shape = broadcast_part(shape);
    int64_t rooms[3];
    plim__layout out = random_layout(PLIM_I32, shape, &rooms[0]),
                 left = random_layout(PLIM_I32, &left_shape, &rooms[1]),
                 right = random_layout(PLIM_I32, &right_shape, &rooms[2]);
    int32_t *y = random_ints(rooms[0]), *a = random_ints(rooms[1]), *b = random_ints(rooms[2]),
            *expected = malloc((size_t)rooms[0] * sizeof *expected);
    memcpy(expected, y, (size_t)rooms[0] * sizeof *expected); /* what lies in holes must stay */
    int64_t n = plim__shape_elements(shape);
    for (int64_t i = 0; i < n; i++)
        expected[place_of(&out, shape, i)] = a[place_of(&left, shape, i)] + b[place_of(&right, shape, i)];
    plim__loop loop;
    plim__loop_start(&loop, shape);
    plim__loop_add(&loop, &out);
    plim__loop_add(&loop, &left);
    plim__loop_add(&loop, &right);
    plim__loop_finish(&loop);
    plim__loop_run(&loop, (char *[]){(char *)y, (char *)a, (char *)b}, plim__binary_body(PLIM__BINARY_Add, PLIM_I32),
                   NULL);
    assert_memory_equal(y, expected, (size_t)rooms[0] * sizeof *y);
    free(y), free(a), free(b), free(expected);
}

static void broadcasting_over_any_strides_matches_a_plain_loop(void **state) {
    (void)state;
    for (int i = 0; i < 500; i++) {
        plim__shape shape = random_shape(5, 7);
        check_sum(&shape);
    }
}

static void large_odd_shapes_match_when_threads_share_them(void **state) {
    (void)state;
    static const plim__shape shapes[] = {
        {3, {17, 93, 31}}, {2, {3, 40001}}, {2, {40001, 3}}, {4, {5, 16, 23, 31}}, {1, {100003}}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int k = 0; k < 6; k++) check_sum(&shapes[i]);
}

static void count_calls(const void *context, int64_t n, char *const *at, const int64_t *steps) {
    (void)at, (void)steps;
    **(int64_t *const *)context += n;
}

static void an_empty_axis_means_no_work(void **state) {
    (void)state;
    plim__shape shape = {3, {4, 0, 5}};
    plim__layout layout = plim__layout_dense(PLIM_F32, &shape);
    plim__loop loop;
    int64_t calls = 0, *counter = &calls;
    plim__loop_start(&loop, &shape);
    plim__loop_add(&loop, &layout);
    plim__loop_finish(&loop);
    plim__loop_run(&loop, (char *[]){NULL}, count_calls, &counter);
    assert_int_equal(calls, 0);
}

static void equal_dense_operands_become_one_row(void **state) {
    (void)state;
    plim__shape shape = {3, {17, 23, 31}}, row = {1, {31}};
    plim__layout full = plim__layout_dense(PLIM_F32, &shape), bias = plim__layout_dense(PLIM_F32, &row),
                 permuted = full;
    permuted.strides[0] = 1, permuted.strides[1] = 17 * 31, permuted.strides[2] = 17;
    plim__loop loop;
    plim__loop_start(&loop, &shape);
    plim__loop_add(&loop, &permuted);
    plim__loop_add(&loop, &permuted);
    plim__loop_finish(&loop);
    assert_int_equal(loop.rank, 1);
    plim__loop_start(&loop, &shape);
    plim__loop_add(&loop, &full);
    plim__loop_add(&loop, &bias);
    plim__loop_finish(&loop);
    assert_int_equal(loop.rank, 2);
    assert_true(plim__layout_is_packed(&permuted));
    permuted.strides[1]++;
    assert_false(plim__layout_is_packed(&permuted));
}

static void writing_over_an_input_gives_the_same(void **state) {
    (void)state;
    plim__shape shape = {3, {17, 23, 31}};
    plim__layout layout = plim__layout_dense(PLIM_I32, &shape);
    int64_t n = 17 * 23 * 31;
    int32_t *a = random_ints(n), *b = random_ints(n), *y = random_ints(n);
    plim__loop loop;
    plim__loop_start(&loop, &shape);
    for (int k = 0; k < 3; k++) plim__loop_add(&loop, &layout);
    plim__loop_finish(&loop);
    plim__loop_body multiply = plim__binary_body(PLIM__BINARY_Mul, PLIM_I32);
    plim__loop_run(&loop, (char *[]){(char *)y, (char *)a, (char *)b}, multiply, NULL);
    plim__loop_run(&loop, (char *[]){(char *)b, (char *)a, (char *)b}, multiply, NULL);
    assert_memory_equal(y, b, (size_t)n * sizeof *y);
    free(a), free(b), free(y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcasting_over_any_strides_matches_a_plain_loop),
        cmocka_unit_test(large_odd_shapes_match_when_threads_share_them),
        cmocka_unit_test(an_empty_axis_means_no_work),
        cmocka_unit_test(equal_dense_operands_become_one_row),
        cmocka_unit_test(writing_over_an_input_gives_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
