/* Products with a packed factor compute what a product of doubles does, in every shape and order of factors, and read
 * and write nothing beside the matrices; the gradient of a softmax is what differences of the softmax say. */
#include "kernel/simd/panels.h"

#include <math.h>
#include <stdlib.h>

#include "kernel/simd/reduce.h"
#include "plim_test.h"
#include "random_layout.h"

static size_t tables(const plim__simd_panels *list[3]) {
    size_t count = 0;
    list[count++] = &plim__panels_baseline;
#if defined(__x86_64__)
    if (plim__isa_best() >= PLIM__ISA_AVX2) list[count++] = &plim__panels_avx2;
    if (plim__isa_best() >= PLIM__ISA_AVX512) list[count++] = &plim__panels_avx512;
#endif
    return count;
}

static float *random_floats(int64_t n) {
    float *data = malloc((size_t)(n > 0 ? n : 1) * sizeof *data);
    assert_non_null(data);
    for (int64_t i = 0; i < n; i++) data[i] = (float)random_below(2001) / 1000 - 1;
    return data;
}

/* Elements of a matrix whose rows are `row` apart: the last row has no gap behind it, so that the sanitizer sees its end. */
static int64_t extent(int64_t rows, int64_t columns, int64_t row) {
    return rows > 0 && columns > 0 ? (rows - 1) * row + columns : 0;
}

static void check(const plim__simd_panels *table, int64_t m, int64_t n, int64_t k, bool a_turned, bool b_turned) {
    int64_t gap = random_below(5), step = k + random_below(3), width = table->width;
    int64_t a_row = (a_turned ? m : k) + gap, b_row = (b_turned ? k : n) + gap, c_row = n + gap;
    float *a = random_floats(a_turned ? extent(k, m, a_row) : extent(m, k, a_row));
    float *b = random_floats(b_turned ? extent(n, k, b_row) : extent(k, n, b_row));
    float *c = random_floats(extent(m, n, c_row));
    float *panels = random_floats((n + width - 1) / width * width * step);
    double *expected = calloc((size_t)(m * n + 1), sizeof *expected);
    assert_non_null(expected);
    plim__panels_product p = {
        m, n, k, 0.7f, a, a_turned ? 1 : a_row, a_turned ? a_row : 1, panels, step, c, c_row, random_below(2) == 1};
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t q = 0; q < k; q++)
                sum += (double)a[i * p.a_row + q * p.a_column] * (double)b[b_turned ? j * b_row + q : q * b_row + j];
            expected[i * n + j] = (double)p.scale * sum + (p.add ? (double)c[i * c_row + j] : 0);
        }
    (b_turned ? table->pack_turned : table->pack)(k, n, b, b_row, step, panels);
    table->multiply(&p);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            if (!(fabs((double)c[i * c_row + j] - expected[i * n + j]) <= 2e-7 * (double)(k + 8)))
                fail_msg("width %d, %lld×%lld×%lld: (%lld, %lld) is %g, not %g", table->width, (long long)m,
                         (long long)n, (long long)k, (long long)i, (long long)j, (double)c[i * c_row + j],
                         expected[i * n + j]);
    free(a);
    free(b);
    free(c);
    free(panels);
    free(expected);
}

static void products_of_every_shape_are_right(void **state) {
    (void)state;
    const plim__simd_panels *list[3];
    for (size_t t = 0, count = tables(list); t < count; t++) {
        for (int64_t m = 1; m < 20; m++)
            for (int64_t n = 1; n < 70; n += 3) check(list[t], m, n, 1 + random_below(40), m % 2, n % 2);
        for (int i = 0; i < 40; i++)
            check(list[t], random_below(70), random_below(140), random_below(80), i % 2, i / 2 % 2);
        check(list[t], 7, 33, 1200, true, false); /* several blocks of the depth */
        check(list[t], 9, 65, 513, false, true);
    }
}

static void the_gradient_of_a_softmax_is_its_slope(void **state) {
    (void)state;
    const plim__simd_panels *list[3];
    for (size_t t = 0, count = tables(list); t < count; t++)
        for (int64_t n = 1; n < 50; n++) {
            float *x = random_floats(n), *p = random_floats(n), *dy = random_floats(n), *d = random_floats(n);
            plim__simd_reduce_table()->softmax(p, x, n);
            for (int64_t j = 0; j < n; j++) d[j] = dy[j];
            list[t]->softmax_grad(n, p, d, 0.5f);
            for (int64_t j = 0; j < n; j++) { /* of the scores s, where x = s / 2 */
                double value[2];
                for (int side = 0; side < 2; side++) {
                    double sum = 0, all = 0;
                    for (int64_t i = 0; i < n; i++) {
                        double e = exp((double)x[i] + (i == j ? (side ? 5e-6 : -5e-6) : 0));
                        all += e;
                        sum += e * (double)dy[i];
                    }
                    value[side] = sum / all;
                }
                assert_true(fabs((double)d[j] - (value[1] - value[0]) / 2e-5) < 1e-6);
            }
            free(x);
            free(p);
            free(dy);
            free(d);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_of_every_shape_are_right),
                                       cmocka_unit_test(the_gradient_of_a_softmax_is_its_slope)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
