/* Strided and mapped copies move every element to its place, whatever the strides. */
#include "kernel/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "plim_test.h"

static uint64_t seed = 1;

static int64_t random_below(int64_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

static int64_t product(const int64_t *dims, int rank) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    return n;
}

struct copy {
    const int64_t *dims, *to, *from; /* strides, in elements */
    int64_t first, source;           /* of the source: the first element that is read, and how many it has */
    int rank;
    size_t size; /* of an element */
    int threads;
};

/* Element by element, by index arithmetic alone. */
static void reference(char *dst, const char *src, const struct copy *c) {
    for (int64_t i = 0, n = product(c->dims, c->rank); i < n; i++) {
        int64_t to = 0, from = 0, rest = i;
        for (int a = c->rank - 1; a >= 0; a--) {
            to += rest % c->dims[a] * c->to[a];
            from += rest % c->dims[a] * c->from[a];
            rest /= c->dims[a];
        }
        memcpy(dst + to * (int64_t)c->size, src + from * (int64_t)c->size, c->size);
    }
}

static void permuted(const int64_t *dims, const int *order, int rank, int64_t *strides) {
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[order[i]] = step;
        step *= dims[order[i]];
    }
}

static void check(struct copy c) {
    size_t bytes = (size_t)product(c.dims, c.rank) * c.size, source_bytes = (size_t)c.source * c.size;
    char *src = malloc(source_bytes + 1), *dst = malloc(bytes + 1), *expected = malloc(bytes + 1);
    for (size_t i = 0; i < source_bytes; i++) src[i] = (char)random_below(256);
    memset(dst, 0x5a, bytes + 1);
    memset(expected, 0x5a, bytes + 1);
    const char *first = src + c.first * (int64_t)c.size;
    plim__copy_strided(dst, first, &(plim__strided){c.rank, c.dims, c.to, c.from, c.size}, c.threads);
    reference(expected, first, &c);
    assert_memory_equal(dst, expected, bytes + 1);
    free(src), free(dst), free(expected);
}

static void any_permutation_of_any_odd_shape_is_copied_exactly(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 4, 8, 16};
    for (int round = 0; round < 2000; round++) {
        int rank = (int)random_below(6), a[6], b[6];
        int64_t dims[6], to[6], from[6], first = 0;
        for (int i = 0; i < rank; i++) dims[i] = 1 + random_below(i < 2 ? 23 : 6), a[i] = b[i] = i;
        if (rank > 0 && random_below(40) == 0) dims[random_below(rank)] = 0;
        for (int i = rank - 1; i > 0; i--) {
            int j = (int)random_below(i + 1), k = (int)random_below(i + 1), t = a[i];
            a[i] = a[j], a[j] = t, t = b[i], b[i] = b[k], b[k] = t;
        }
        permuted(dims, a, rank, to);
        permuted(dims, b, rank, from);
        int64_t source = product(dims, rank);
        for (int i = 0; i < rank && source > 0; i++) {
            if (random_below(6) == 0)
                from[i] = 0; /* broadcast */
            else if (random_below(6) == 0)
                first += (dims[i] - 1) * from[i], from[i] = -from[i]; /* reversed */
        }
        check((struct copy){dims, to, from, first, source, rank, sizes[random_below(5)], 1});
    }
}

static void threads_split_large_copies_without_gaps(void **state) {
    (void)state;
    check((struct copy){(int64_t[]){100003}, (int64_t[]){1}, (int64_t[]){1}, 0, 100003, 1, 4, 2});
    check((struct copy){(int64_t[]){100003}, (int64_t[]){1}, (int64_t[]){0}, 0, 1, 1, 8, 3});
    check((struct copy){(int64_t[]){401, 307}, (int64_t[]){307, 1}, (int64_t[]){1, 401}, 0, 401 * 307, 2, 4, 2});
    check((struct copy){(int64_t[]){401, 307}, (int64_t[]){307, 1}, (int64_t[]){1, 401}, 0, 401 * 307, 2, 2, 2});
    check((struct copy){(int64_t[]){17, 33, 129}, (int64_t[]){33 * 129, 129, 1}, (int64_t[]){1, 17, 17 * 33}, 0,
                        17 * 33 * 129, 3, 4, 2});
    check((struct copy){(int64_t[]){3, 5000, 7}, (int64_t[]){35000, 7, 1}, (int64_t[]){7, 21, 1}, 0, 105000, 3, 4, 2});
    check((struct copy){(int64_t[]){2, 8, 8, 1024}, (int64_t[]){65536, 8192, 1024, 1},
                        (int64_t[]){65536, 1024, 8192, 1}, 0, 131072, 4, 4, 2});
}

static void holes_of_the_source_are_skipped(void **state) {
    (void)state;
    /* the middle columns 2..5 of an 8 × 9 matrix */
    check((struct copy){(int64_t[]){8, 4}, (int64_t[]){4, 1}, (int64_t[]){9, 1}, 2, 72, 2, 4, 1});
    /* every third element */
    check((struct copy){(int64_t[]){5, 3}, (int64_t[]){3, 1}, (int64_t[]){9, 3}, 0, 45, 2, 8, 1});
}

static void mapped_copies_look_up_every_axis_and_fill_outside(void **state) {
    (void)state;
    for (int round = 0; round < 500; round++) {
        int rank = (int)random_below(4);
        int64_t in[3], out[3], strides[3], maps[3][40];
        plim__map_axis axes[3];
        for (int i = 0; i < rank; i++) in[i] = 1 + random_below(9), out[i] = random_below(12);
        plim__dense_strides(in, rank, strides);
        for (int i = 0; i < rank; i++) {
            int64_t start = random_below(7) - 3, ordered = random_below(2);
            for (int64_t k = 0; k < out[i]; k++) {
                int64_t index = ordered ? start + k : random_below(in[i] + 1) - 1;
                maps[i][k] = index < 0 || index >= in[i] ? -1 : index;
            }
            axes[i] = (plim__map_axis){out[i], strides[i], maps[i]};
        }
        int64_t sources = product(in, rank), count = product(out, rank);
        int32_t *src = malloc((size_t)sources * 4), *dst = malloc((size_t)count * 4 + 4), fill = -7;
        for (int64_t i = 0; i < sources; i++) src[i] = (int32_t)i;
        plim__copy_mapped(dst, src, &(plim__lookup){rank, axes, &fill, 4}, 1);
        for (int64_t i = 0; i < count; i++) {
            int64_t rest = i, from = 0, outside = 0;
            for (int a = rank - 1; a >= 0; a--) {
                int64_t index = maps[a][rest % out[a]];
                outside |= index < 0;
                from += index * strides[a];
                rest /= out[a];
            }
            assert_int_equal(dst[i], outside ? fill : src[from]);
        }
        free(src), free(dst);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_permutation_of_any_odd_shape_is_copied_exactly),
        cmocka_unit_test(threads_split_large_copies_without_gaps),
        cmocka_unit_test(holes_of_the_source_are_skipped),
        cmocka_unit_test(mapped_copies_look_up_every_axis_and_fill_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
