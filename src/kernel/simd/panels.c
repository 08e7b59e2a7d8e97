/* Products with a packed second factor: a tile of the result stays in registers while the depth is walked. */
#include "kernel/simd/panels.h"

#if defined(__AVX512F__)
#define WIDTH        16
#define ACCUMULATORS 24
#elif defined(__AVX2__)
#define WIDTH        8
#define ACCUMULATORS 12
#else
#define WIDTH        4
#define ACCUMULATORS 8
#endif
#define MOST_ROWS    8
#define MOST_VECTORS 4
#define DEPTH        512 /* of a block: what of the panels is walked again for each tile stays in the second cache */

typedef float lanes __attribute__((vector_size(WIDTH * 4)));
typedef float loose_lanes __attribute__((vector_size(WIDTH * 4), aligned(4))); /* anywhere in memory */

/* --- packing -------------------------------------------------------------------------------------------------- */

static void pack(int64_t k, int64_t n, const float *from, int64_t row, int64_t step, float *to) {
    for (int64_t j = 0; j < n; j += WIDTH, to += step * WIDTH)
        if (n - j >= WIDTH)
            for (int64_t q = 0; q < k; q++)
                *(loose_lanes *)(to + q * WIDTH) = *(const loose_lanes *)(from + q * row + j);
        else
            for (int64_t q = 0; q < k; q++)
                for (int64_t i = 0; i < WIDTH; i++) to[q * WIDTH + i] = i < n - j ? from[q * row + j + i] : 0;
}

/* A stage of a transposition exchanges one bit of the number of a row with the same bit of the number of a lane. */
#define LOWER(bit, i) ((i) & (bit) ? (i) - (bit) + WIDTH : (i))
#define UPPER(bit, i) ((i) & (bit) ? (i) + WIDTH : (i) + (bit))
#define FOUR(f, b, i) f(b, i), f(b, (i) + 1), f(b, (i) + 2), f(b, (i) + 3)
#if WIDTH == 16
#define ALL(f, b) FOUR(f, b, 0), FOUR(f, b, 4), FOUR(f, b, 8), FOUR(f, b, 12)
#elif WIDTH == 8
#define ALL(f, b) FOUR(f, b, 0), FOUR(f, b, 4)
#else
#define ALL(f, b) FOUR(f, b, 0)
#endif
#define STAGE(bit)                                                                                                     \
    for (int r = 0; r < WIDTH; r++)                                                                                    \
        if (!(r & (bit))) {                                                                                            \
            lanes low = __builtin_shufflevector(rows[r], rows[r + (bit)], ALL(LOWER, bit));                            \
            rows[r + (bit)] = __builtin_shufflevector(rows[r], rows[r + (bit)], ALL(UPPER, bit));                      \
            rows[r] = low;                                                                                             \
        }

static inline __attribute__((always_inline)) void turn_square(const float *from, int64_t row, float *to) {
    lanes rows[WIDTH];
#pragma GCC unroll 16
    for (int r = 0; r < WIDTH; r++) rows[r] = *(const loose_lanes *)(from + r * row);
#pragma GCC unroll 16
    STAGE(1)
#pragma GCC unroll 16
    STAGE(2)
#if WIDTH > 4
#pragma GCC unroll 16
    STAGE(4)
#endif
#if WIDTH > 8
#pragma GCC unroll 16
    STAGE(8)
#endif
#pragma GCC unroll 16
    for (int r = 0; r < WIDTH; r++) *(loose_lanes *)(to + r * WIDTH) = rows[r];
}

static void pack_turned(int64_t k, int64_t n, const float *from, int64_t row, int64_t step, float *to) {
    for (int64_t j = 0; j < n; j += WIDTH, to += step * WIDTH) {
        const float *at = from + j * row;
        int64_t there = n - j < WIDTH ? n - j : WIDTH, q = 0;
        if (there == WIDTH)
            for (; q + WIDTH <= k; q += WIDTH) turn_square(at + q, row, to + q * WIDTH);
        for (; q < k; q++)
            for (int64_t i = 0; i < WIDTH; i++) to[q * WIDTH + i] = i < there ? at[i * row + q] : 0;
    }
}

/* --- product -------------------------------------------------------------------------------------------------- */

/* Whole vectors with a condition for each lane: instruction sets with masks need one instruction each. */
static __attribute__((noinline)) void store_some(float *y, lanes sum, bool add, int32_t n) {
#pragma omp simd
    for (int32_t i = 0; i < WIDTH; i++)
        if (i < n) y[i] = sum[i] + (add ? y[i] : 0);
}

static inline __attribute__((always_inline)) void store(float *y, lanes sum, bool add, int64_t n) {
    if (n < WIDTH) {
        store_some(y, sum, add, (int32_t)n);
        return;
    }
    if (add) sum += *(const loose_lanes *)y;
    *(loose_lanes *)y = sum;
}

/* What all tiles of a block of the depth share. */
struct block {
    const plim__panels_product *p;
    int64_t first, k; /* rows of the panels */
    bool add;
};

/* `rows` rows from `row` on, `vectors` panels from that of column j on; both are constants where this is called. */
static inline __attribute__((always_inline)) void tile(const struct block *b, int64_t j, int64_t row, int rows,
                                                       int vectors) {
    const plim__panels_product *p = b->p;
    lanes sums[MOST_ROWS][MOST_VECTORS];
    const float *x[MOST_ROWS], *w = p->panels + j * p->step + b->first * WIDTH;
    int64_t next = p->step * WIDTH, column = p->a_column;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        x[r] = p->a + (row + r) * p->a_row + b->first * column;
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) sums[r][v] = (lanes){0};
    }
    for (int64_t q = 0, at = 0; q < b->k; q++, at += column, w += WIDTH) {
        lanes factor[MOST_VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) factor[v] = *(const loose_lanes *)(w + v * next);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) sums[r][v] += factor[v] * x[r][at];
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            store(p->c + (row + r) * p->c_row + j + v * WIDTH, sums[r][v] * p->scale, b->add, p->n - j - v * WIDTH);
}

/* All rows, in nearly equal tiles of as many as fit the registers. */
static inline __attribute__((always_inline)) void all_rows(const struct block *b, int64_t j, int vectors) {
    const int64_t most = ACCUMULATORS / vectors, full = most < MOST_ROWS ? most : MOST_ROWS;
    for (int64_t row = 0, tiles = (b->p->m + full - 1) / full; tiles > 0; tiles--) {
        int64_t rows = (b->p->m - row + tiles - 1) / tiles;
        switch (rows) {
#define ROWS(count)                                                                                                    \
    case count:                                                                                                        \
        if (count <= full) tile(b, j, row, count, vectors);                                                            \
        break
            ROWS(1);
            ROWS(2);
            ROWS(3);
            ROWS(4);
            ROWS(5);
            ROWS(6);
            ROWS(7);
            ROWS(8);
        }
        row += rows;
    }
}

static void multiply(const plim__panels_product *p) {
    int64_t panels = (p->n + WIDTH - 1) / WIDTH;
    struct block b = {p, 0, 0, p->add};
    do { /* a product without depth stores zeros */
        b.k = p->k - b.first < DEPTH ? p->k - b.first : DEPTH;
        for (int64_t j = 0, groups = (panels + MOST_VECTORS - 1) / MOST_VECTORS, left = panels; groups > 0; groups--) {
            int64_t vectors = (left + groups - 1) / groups;
            switch (vectors) {
            case 1: all_rows(&b, j, 1); break;
            case 2: all_rows(&b, j, 2); break;
            case 3: all_rows(&b, j, 3); break;
            default: all_rows(&b, j, 4); break;
            }
            j += vectors * WIDTH;
            left -= vectors;
        }
        b.first += b.k;
        b.add = true;
    } while (b.first < p->k);
}

/* --- softmax -------------------------------------------------------------------------------------------------- */

static void softmax_grad(int64_t n, const float *restrict p, float *restrict d, float scale) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++) sum += (double)p[j] * (double)d[j];
    float mean = (float)sum;
#pragma omp simd
    for (int64_t j = 0; j < n; j++) d[j] = scale * p[j] * (d[j] - mean);
}

const plim__simd_panels PLIM__ISA(plim__panels) = {
    .width = WIDTH,
    .pack = pack,
    .pack_turned = pack_turned,
    .multiply = multiply,
    .softmax_grad = softmax_grad,
};
