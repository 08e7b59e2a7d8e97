/* The batch axis under changes of shape: merged with other axes it is still found, cut apart it is not. */
#include "graph/batch_axis.h"
#include "plim_test.h"

enum { N = 6, PART = 3 };

static plim__shape shape(int rank, int64_t a, int64_t b, int64_t c, int64_t d) {
    return (plim__shape){.rank = rank, .dims = {a, b, c, d}};
}

static plim__batch along(int axis, int64_t outer, int64_t inner) {
    return (plim__batch){.kind = PLIM__BATCH_AXIS, .axis = (int8_t)axis, .outer = outer, .inner = inner};
}

static void must_become(plim__batch from, plim__shape a, plim__shape b, int axis, int64_t outer, int64_t inner) {
    plim__batch to;
    assert_true(plim__batch_reshape(&from, &a, &b, N, &to));
    assert_int_equal(to.kind, PLIM__BATCH_AXIS);
    assert_int_equal(to.axis, axis);
    assert_int_equal(to.outer, outer);
    assert_int_equal(to.inner, inner);
}

static void must_be_lost(plim__batch from, plim__shape a, plim__shape b) {
    plim__batch to;
    assert_false(plim__batch_reshape(&from, &a, &b, N, &to));
}

static void merged_axes_keep_the_samples(void **state) {
    (void)state;
    must_become(along(0, 1, 1), shape(3, N, 4, 8, 0), shape(2, N * 4, 8, 0, 0), 0, 1, 4); /* rows of all samples */
    must_become(along(0, 1, 4), shape(2, N * 4, 8, 0, 0), shape(3, N, 4, 8, 0), 0, 1, 1); /* and back */
    must_become(along(1, 1, 1), shape(3, 4, N, 8, 0), shape(2, 4 * N, 8, 0, 0), 0, 4, 1); /* time first */
    must_become(along(0, 4, 1), shape(2, 4 * N, 8, 0, 0), shape(3, 4, N, 8, 0), 1, 1, 1);
    must_become(along(0, 1, 1), shape(4, N, 2, 4, 8), shape(3, N * 2, 4, 8, 0), 0, 1, 2); /* heads of attention */
    must_become(along(0, 1, 1), shape(3, N, 4, 8, 0), shape(2, 1, N * 32, 0, 0), 1, 1, 32);
    must_become(along(0, 1, 1), shape(2, N, 8, 0, 0), shape(4, 1, N, 1, 8), 1, 1, 1);
}

static void samples_that_are_cut_apart_are_lost(void **state) {
    (void)state;
    must_be_lost(along(0, 1, 1), shape(2, N, 8, 0, 0), shape(3, 2, N / 2, 8, 0)); /* groups of samples */
    must_be_lost(along(0, 1, 1), shape(3, N, 4, 8, 0), shape(3, 4, N, 8, 0));     /* a transposition that is none */
    must_be_lost(along(1, 1, 1), shape(2, 8, N, 0, 0), shape(2, N, 8, 0, 0));
    must_be_lost(along(0, 1, 1), shape(2, N, 0, 0, 0), shape(2, 0, N, 0, 0)); /* nothing is where nothing is */
}

static void shapes_of_parts_differ_in_the_batch_alone(void **state) {
    (void)state;
    plim__shape whole = shape(2, 2 * N * 5, 8, 0, 0), part = shape(2, 2 * PART * 5, 8, 0, 0);
    plim__batch batch = along(0, 2, 5), none = {.kind = PLIM__BATCH_NONE};
    assert_true(plim__batch_fits(&batch, &whole, N, &part, PART));
    assert_false(plim__batch_fits(&none, &whole, N, &part, PART));
    assert_true(plim__batch_fits(&none, &whole, N, &whole, PART));
    part.dims[1] = 4;
    assert_false(plim__batch_fits(&batch, &whole, N, &part, PART));
    batch.axis = 2;
    assert_false(plim__batch_fits(&batch, &whole, N, &part, PART));
}

static void the_batch_is_found_between_two_sizes(void **state) {
    (void)state;
    plim__shape a = shape(3, 4, N * 3, 8, 0), same = a, b = shape(3, 4, PART * 3, 8, 0),
                c = shape(3, 4, N * 3 - 1, 8, 0);
    assert_int_equal(plim__batch_axis_between(&a, N, &b, PART), 1);
    assert_int_equal(plim__batch_axis_between(&a, N, &same, PART), -1);
    assert_int_equal(plim__batch_axis_between(&a, N, &c, PART), -2); /* not in proportion */
    b.dims[0] = 2;
    assert_int_equal(plim__batch_axis_between(&a, N, &b, PART), -2); /* two axes */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_axes_keep_the_samples),
        cmocka_unit_test(samples_that_are_cut_apart_are_lost),
        cmocka_unit_test(shapes_of_parts_differ_in_the_batch_alone),
        cmocka_unit_test(the_batch_is_found_between_two_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
