/* What oneDNN packs for a matrix product is measured on a smaller one: it is as much as the product itself takes. */
#include "kernel/product_heap.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "mem/heap.h"
#include "plim_test.h"

static size_t fault_bytes(void) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (size_t)usage.ru_minflt * (size_t)sysconf(_SC_PAGESIZE);
}

/* The least of three runs: the first also meets pages of code. */
static size_t taken(const plim__product *p) {
    float *a = calloc((size_t)(p->m * p->k), sizeof *a), *b = calloc((size_t)(p->k * p->n), sizeof *b);
    float *c = calloc((size_t)(p->m * p->n), sizeof *c);
    size_t least = SIZE_MAX;
    assert_true(a && b && c);
    for (int run = 0; run < 4; run++) { /* the first of all touches the matrices */
        size_t before = fault_bytes();
        assert_int_equal(dnnl_sgemm(p->ta, p->tb, p->m, p->n, p->k, 1, a, p->lda, b, p->ldb, 0, c, p->ldc),
                         dnnl_success);
        size_t bytes = fault_bytes() - before;
        if (run > 0 && bytes < least) least = bytes;
    }
    free(a);
    free(b);
    free(c);
    return least;
}

static void deep_and_tall_products_pack_as_much_as_was_measured(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its heap is another */
#endif
    static const plim__product products[] = {
        {'N', 'N', false, 1024, 768, 5000, 5000, 768, 768},
        {'N', 'T', false, 512, 1536, 3000, 3000, 3000, 1536},
        {'T', 'N', false, 12000, 640, 384, 12000, 640, 640},
        {'N', 'N', false, 64, 64, 20000, 20000, 64, 64}, /* split along its depth where there are threads */
    };
    int threads = 2;
    plim__heap_prepare();
    omp_set_num_threads(threads);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        plim_error error = {0};
        size_t measured, real = taken(&products[i]);
        if (plim__product_packed(&products[i], threads, &measured, &error) != PLIM_OK) fail_msg("%s", error.message);
        size_t apart = measured > real ? measured - real : real - measured;
        if (apart > real / 10 + ((size_t)128 << 10))
            fail_msg("product %zu: %zu bytes measured, %zu taken", i, measured, real);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(deep_and_tall_products_pack_as_much_as_was_measured)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
