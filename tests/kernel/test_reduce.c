/* Reductions fold the right elements, however the axes lie in memory and whoever shares the work. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/forward/reduce.h"
#include "plim_test.h"
#include "random_layout.h"

static double fold(plim__fold_kind kind, double acc, double x) {
    switch (kind) {
    case PLIM__FOLD_SUM: return acc + x;
    case PLIM__FOLD_SUM_ABS: return acc + fabs(x);
    case PLIM__FOLD_SUM_SQUARE: return acc + x * x;
    case PLIM__FOLD_SUM_EXP: return acc + exp(x);
    case PLIM__FOLD_PROD: return acc * x;
    case PLIM__FOLD_MAX: return x > acc ? x : acc;
    default: return x < acc ? x : acc;
    }
}

/* Row-major over the whole input; each element goes to the result with the same kept coordinates. */
static void fold_plainly(plim__fold_kind kind, const plim__layout *in, const float *data, const bool *axes,
                         double *results, int64_t count) {
    double start = kind == PLIM__FOLD_PROD  ? 1
                   : kind == PLIM__FOLD_MAX ? -INFINITY
                   : kind == PLIM__FOLD_MIN ? INFINITY
                                            : 0;
    for (int64_t i = 0; i < count; i++) results[i] = start;
    for (int64_t i = 0; i < plim__shape_elements(&in->shape); i++) {
        int64_t rest = i, result = 0, scale = 1;
        for (int k = in->shape.rank - 1; k >= 0; k--) {
            if (!axes[k]) result += rest % in->shape.dims[k] * scale, scale *= in->shape.dims[k];
            rest /= in->shape.dims[k];
        }
        results[result] = fold(kind, results[result], (double)data[place_of(in, &in->shape, i)]);
    }
}

static void check_reduction(const plim__shape *shape, const bool *axes, plim__fold_kind kind, int threads) {
    int64_t room;
    plim__layout in = random_layout(PLIM_F32, shape, &room);
    float *data = malloc((size_t)room * sizeof *data);
    for (int64_t i = 0; i < room; i++) data[i] = kind == PLIM__FOLD_PROD ? 1 + random_real() / 500 : random_real();
    plim__reduction r;
    plim__reduction_init(&r, &in, axes, kind, kind == PLIM__FOLD_SUM_EXP ? PLIM__END_LOG : PLIM__END_NONE);
    float *out = malloc((size_t)r.results * sizeof *out + 1);
    double *expected = malloc((size_t)r.results * sizeof *expected + 1);
    void *scratch = malloc(plim__reduction_scratch(threads));
    fold_plainly(kind, &in, data, axes, expected, r.results);
    plim__reduction_run(&r, data, out, scratch, threads);
    for (int64_t i = 0; i < r.results; i++) {
        double right = kind == PLIM__FOLD_SUM_EXP ? log(expected[i]) : expected[i];
        if (fabs((double)out[i] - right) > 1e-5 * fabs(right) + 1e-4)
            fail_msg("kind %d, result %d: %g, expected %g", (int)kind, (int)i, (double)out[i], right);
    }
    free(data), free(out), free(expected), free(scratch);
}

static void any_axes_of_any_strides_match_a_plain_loop(void **state) {
    (void)state;
    for (int i = 0; i < 600; i++) {
        plim__shape shape = random_shape(5, 6);
        bool axes[PLIM_MAX_RANK];
        for (int k = 0; k < shape.rank; k++) axes[k] = random_below(2) != 0;
        check_reduction(&shape, axes, (plim__fold_kind)(i % PLIM__FOLD_COUNT), 2);
    }
}

static void large_odd_shapes_match_when_threads_share_them(void **state) {
    (void)state;
    plim__shape shape = {3, {17, 93, 61}}, wide = {2, {61, 1201}}, tall = {2, {20011, 5}};
    for (int mask = 0; mask < 8; mask++) {
        bool axes[3] = {mask & 1, mask >> 1 & 1, mask >> 2};
        for (int kind = 0; kind < PLIM__FOLD_COUNT; kind++) {
            if (kind == PLIM__FOLD_PROD) continue;
            check_reduction(&shape, axes, (plim__fold_kind)kind, 2);
        }
        check_reduction(&wide, axes, PLIM__FOLD_SUM, 2);
        check_reduction(&tall, axes, PLIM__FOLD_MAX, 2);
    }
}

static void reduce_vector(plim_dtype dtype, const void *data, int64_t n, plim__fold_kind kind, plim__fold_end end,
                          void *out) {
    plim__shape shape = {1, {n}};
    plim__layout layout = plim__layout_dense(dtype, &shape);
    plim__reduction r;
    void *scratch = malloc(plim__reduction_scratch(2));
    plim__reduction_init(&r, &layout, (bool[]){true}, kind, end);
    plim__reduction_run(&r, data, out, scratch, 2);
    free(scratch);
}

static void folding_nothing_gives_the_neutral_element(void **state) {
    (void)state;
    float y = 7;
    reduce_vector(PLIM_F32, &y, 0, PLIM__FOLD_SUM, PLIM__END_NONE, &y);
    assert_true(y == 0);
    reduce_vector(PLIM_F32, &y, 0, PLIM__FOLD_PROD, PLIM__END_NONE, &y);
    assert_true(y == 1);
    reduce_vector(PLIM_F32, &y, 0, PLIM__FOLD_MAX, PLIM__END_NONE, &y);
    assert_true(y == -INFINITY);
    int8_t least = 7;
    reduce_vector(PLIM_I8, &least, 0, PLIM__FOLD_SUM, PLIM__END_MEAN, &least);
    assert_int_equal(least, 0);
}

static void nan_and_infinity_come_through(void **state) {
    (void)state;
    float x[1000], y;
    for (int i = 0; i < 1000; i++) x[i] = -(float)i;
    x[777] = NAN;
    reduce_vector(PLIM_F32, x, 1000, PLIM__FOLD_MAX, PLIM__END_NONE, &y);
    assert_true(isnan(y));
    reduce_vector(PLIM_F32, x, 1000, PLIM__FOLD_MIN, PLIM__END_NONE, &y);
    assert_true(isnan(y));
    for (int i = 0; i < 1000; i++) x[i] = -INFINITY;
    reduce_vector(PLIM_F32, x, 1000, PLIM__FOLD_SUM_EXP, PLIM__END_LOG, &y);
    assert_true(y == -INFINITY);
    x[0] = 1000;
    reduce_vector(PLIM_F32, x, 1000, PLIM__FOLD_SUM_EXP, PLIM__END_LOG, &y);
    assert_true(y == 1000);
}

static void long_sums_stay_exact(void **state) {
    (void)state;
    int64_t n = 3000001;
    float *x = malloc((size_t)n * sizeof *x), y;
    for (int64_t i = 0; i < n; i++) x[i] = 0.1f;
    reduce_vector(PLIM_F32, x, n, PLIM__FOLD_SUM, PLIM__END_MEAN, &y);
    assert_true(y == 0.1f);
    free(x);
}

static void whole_numbers_keep_their_type_and_wrap(void **state) {
    (void)state;
    int32_t x[] = {-7, 3, INT32_MAX, 5}, y;
    reduce_vector(PLIM_I32, x, 2, PLIM__FOLD_SUM, PLIM__END_MEAN, &y);
    assert_int_equal(y, -2);
    reduce_vector(PLIM_I32, x, 4, PLIM__FOLD_SUM, PLIM__END_NONE, &y);
    assert_int_equal(y, INT32_MIN);
    reduce_vector(PLIM_I32, x, 2, PLIM__FOLD_SUM_ABS, PLIM__END_NONE, &y);
    assert_int_equal(y, 10);
    uint64_t big[] = {UINT64_MAX, 1, UINT64_MAX - 1}, most;
    reduce_vector(PLIM_U64, big, 3, PLIM__FOLD_MAX, PLIM__END_NONE, &most);
    assert_true(most == UINT64_MAX);
    reduce_vector(PLIM_U64, big, 3, PLIM__FOLD_MIN, PLIM__END_NONE, &most);
    assert_true(most == 1);
}

static void softmax_rows_and_columns_sum_to_one_even_when_masked(void **state) {
    (void)state;
    enum { N = 37, WIDTH = 19 };
    static float x[N * WIDTH], rows[N * WIDTH], columns[N * WIDTH], logs[N * WIDTH], peaks[WIDTH], sums[WIDTH];
    for (int i = 0; i < N * WIDTH; i++) x[i] = i % 7 == 0 ? -INFINITY : random_real() * 40;
    const plim__simd_reduce *loops = plim__simd_reduce_table();
    loops->softmax_columns(columns, x, (plim__columns){N, WIDTH, WIDTH}, peaks, sums, 0);
    loops->softmax_columns(logs, x, (plim__columns){N, WIDTH, WIDTH}, peaks, sums, 1);
    for (int j = 0; j < WIDTH; j++) {
        double peak = -INFINITY, total = 0;
        for (int i = 0; i < N; i++) peak = fmax(peak, (double)x[i * WIDTH + j]);
        for (int i = 0; i < N; i++) total += exp((double)x[i * WIDTH + j] - peak);
        for (int i = 0; i < N; i++) {
            double right = exp((double)x[i * WIDTH + j] - peak) / total;
            assert_true(fabs((double)columns[i * WIDTH + j] - right) <= 1e-6 * right + 1e-30);
            if (isfinite(x[i * WIDTH + j]))
                assert_true(fabs((double)logs[i * WIDTH + j] - log(right)) <= 1e-5 * fabs(log(right)) + 1e-5);
            rows[j * N + i] = x[i * WIDTH + j];
        }
    }
    for (int j = 0; j < WIDTH; j++) {
        loops->softmax(rows + j * N, rows + j * N, N);
        for (int i = 0; i < N; i++) assert_true(fabsf(rows[j * N + i] - columns[i * WIDTH + j]) <= 1e-6f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_axes_of_any_strides_match_a_plain_loop),
        cmocka_unit_test(large_odd_shapes_match_when_threads_share_them),
        cmocka_unit_test(folding_nothing_gives_the_neutral_element),
        cmocka_unit_test(nan_and_infinity_come_through),
        cmocka_unit_test(long_sums_stay_exact),
        cmocka_unit_test(whole_numbers_keep_their_type_and_wrap),
        cmocka_unit_test(softmax_rows_and_columns_sum_to_one_even_when_masked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
