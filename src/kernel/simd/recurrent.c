/* The recurrent product, a small matrix product in registers, and the activations of cells. */
#include "kernel/simd/recurrent.h"

#include <math.h>
#include <string.h>

#include "kernel/simd/functions.h"

/* One vector of units; how many of them are accumulated at once so that they stay in registers. */
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
#define MOST_ROWS 12

typedef float lanes __attribute__((vector_size(WIDTH * 4)));
typedef float loose_lanes __attribute__((vector_size(WIDTH * 4), aligned(4))); /* anywhere in memory */

/* --- product -------------------------------------------------------------------------------------------------- */

/* Whole vectors with a condition for each lane: instruction sets with masks need one instruction each. */
static __attribute__((noinline)) void store_some(float *y, lanes sum, const float *bias, bool add, int32_t n) {
#pragma omp simd
    for (int32_t i = 0; i < WIDTH; i++)
        if (i < n) y[i] = sum[i] + bias[i] + (add ? y[i] : 0);
}

static inline __attribute__((always_inline)) void store(float *y, lanes sum, const float *bias, bool add, int64_t n) {
    if (n < WIDTH) {
        store_some(y, sum, bias, add, (int32_t)n);
        return;
    }
    sum += *(const loose_lanes *)bias;
    if (add) sum += *(const loose_lanes *)y;
    *(loose_lanes *)y = sum;
}

/* `rows` rows from `row` on, n units from `unit` on; rows and gates are constants where this is called. */
static inline __attribute__((always_inline)) void tile(const plim__cell_product *p, int64_t unit, int64_t n,
                                                       int64_t row, int rows, int gates) {
    lanes sums[MOST_ROWS][4];
    const float *x[MOST_ROWS];
    int64_t step = (int64_t)p->all_gates * WIDTH;
    const float *w = p->packed + unit * p->depth * p->all_gates + p->first_gate * WIDTH;
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++) {
        x[r] = p->x + (row + r) * p->x_step;
#pragma GCC unroll 4
        for (int g = 0; g < gates; g++) sums[r][g] = (lanes){0};
    }
    for (int64_t k = 0; k < p->depth; k++, w += step) {
        lanes weights[4];
#pragma GCC unroll 4
        for (int g = 0; g < gates; g++) weights[g] = *(const loose_lanes *)(w + g * WIDTH);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int g = 0; g < gates; g++) sums[r][g] += weights[g] * x[r][k];
    }
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int g = 0; g < gates; g++) {
            const plim__cell_target *to = &p->to[g];
            store(to->y + (row + r) * to->row_step + unit, sums[r][g], p->bias + g * p->depth + unit, to->add, n);
        }
}

/* All rows, in equal tiles of as many as fit the registers. */
static inline __attribute__((always_inline)) void all_rows(const plim__cell_product *p, int64_t unit, int64_t n,
                                                           int gates) {
    const int full = ACCUMULATORS / gates < MOST_ROWS ? ACCUMULATORS / gates : MOST_ROWS;
    for (int64_t row = 0, tiles = (p->rows + full - 1) / full; tiles > 0; tiles--) {
        int64_t rows = (p->rows - row + tiles - 1) / tiles;
        switch (rows) {
#define ROWS(count)                                                                                                    \
    case count:                                                                                                        \
        if (count <= full) tile(p, unit, n, row, count, gates);                                                        \
        break
            ROWS(1);
            ROWS(2);
            ROWS(3);
            ROWS(4);
            ROWS(5);
            ROWS(6);
            ROWS(7);
            ROWS(8);
            ROWS(9);
            ROWS(10);
            ROWS(11);
            ROWS(12);
        }
        row += rows;
    }
}

static void product(const plim__cell_product *p, int64_t from, int64_t to) {
    for (int64_t unit = from; unit < to; unit += WIDTH) {
        int64_t n = to - unit < WIDTH ? to - unit : WIDTH;
        switch (p->gates) {
        case 1: all_rows(p, unit, n, 1); break;
        case 2: all_rows(p, unit, n, 2); break;
        case 3: all_rows(p, unit, n, 3); break;
        default: all_rows(p, unit, n, 4); break;
        }
    }
}

/* --- activations ---------------------------------------------------------------------------------------------- */

/* cell_Sigmoid, ...: for cells that are written out. */
#define FUNCTION(name, zero, where, formula) where(name, formula)
#define ALONE(name, formula)
#define ELSEWHERE(name, formula)
#define CELL_ONLY(name, formula)
#define CELL(name, formula)                                                                                            \
    static inline float cell_##name(float x, float a, float b) {                                                       \
        (void)a, (void)b;                                                                                              \
        return formula;                                                                                                \
    }
#include "ops/activation.def"
#undef CELL
#undef CELL_ONLY

#define EACH(expression)                                                                                               \
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                                              \
        float x = v[i] < -clip ? -clip : v[i];                                                                         \
        x = x > clip ? clip : x;                                                                                       \
        v[i] = expression;                                                                                             \
    }                                                                                                                  \
    break

static void activate(const plim__cell_function *f, float *v, int64_t n) {
    float a = f->alpha, b = f->beta, clip = f->clip;
    switch (f->kind) {
#define FUNCTION(name, zero, where, formula) where(name, formula)
#define CELL(name, formula)                                                                                            \
    case PLIM__FUNCTION_##name:                                                                                        \
        EACH(formula);
#define CELL_ONLY(name, formula) CELL(name, formula)
#include "ops/activation.def"
    default: break; /* no cell has the others */
    }
}

#define SIGMOID(x) cell_Sigmoid(x, 0, 0)
#define TANH(x)    cell_Tanh(x, 0, 0)

/* keep is a constant where this is called. */
static inline __attribute__((always_inline)) void lstm_units(int64_t n, plim__lstm_gates gates, const float *last,
                                                             float *c, float *restrict h, bool keep) {
    float *restrict i = gates.i, *restrict o = gates.o, *restrict f = gates.f, *restrict g = gates.g;
#pragma omp simd
    for (int64_t k = 0; k < n; k++) {
        float in = SIGMOID(i[k]), out = SIGMOID(o[k]), forget = SIGMOID(f[k]), fresh = TANH(g[k]);
        float cell = forget * last[k] + in * fresh;
        c[k] = cell;
        h[k] = out * TANH(cell);
        if (keep) i[k] = in, o[k] = out, f[k] = forget, g[k] = fresh;
    }
}

/* n units that fill no vector, in one of their own: by themselves they would cost as much as several vectors. */
static __attribute__((noinline)) void lstm_rest(int64_t n, plim__lstm_gates gates, const float *last, float *c,
                                                float *h, bool keep) {
    float part[7][WIDTH] = {{0}};
    const size_t bytes = (size_t)n * sizeof(float);
    memcpy(part[0], gates.i, bytes);
    memcpy(part[1], gates.o, bytes);
    memcpy(part[2], gates.f, bytes);
    memcpy(part[3], gates.g, bytes);
    memcpy(part[4], last, bytes);
    lstm_units(WIDTH, (plim__lstm_gates){part[0], part[1], part[2], part[3]}, part[4], part[5], part[6], true);
    memcpy(c, part[5], bytes);
    memcpy(h, part[6], bytes);
    if (!keep) return;
    memcpy(gates.i, part[0], bytes);
    memcpy(gates.o, part[1], bytes);
    memcpy(gates.f, part[2], bytes);
    memcpy(gates.g, part[3], bytes);
}

static void lstm(int64_t n, plim__lstm_gates gates, const float *last, float *c, float *h, bool keep) {
    int64_t full = n - n % WIDTH;
    if (keep)
        lstm_units(full, gates, last, c, h, true);
    else
        lstm_units(full, gates, last, c, h, false);
    if (full == n) return;
    plim__lstm_gates rest = {gates.i + full, gates.o + full, gates.f + full, gates.g + full};
    lstm_rest(n - full, rest, last + full, c + full, h + full, keep);
}

static inline __attribute__((always_inline)) void gru_units(int64_t n, float *restrict z, float *restrict a,
                                                            const float *restrict h, float *restrict y, bool keep) {
#pragma omp simd
    for (int64_t k = 0; k < n; k++) {
        float fresh = TANH(a[k]), stays = SIGMOID(z[k]);
        y[k] = fresh + stays * (h[k] - fresh);
        if (keep) a[k] = fresh, z[k] = stays;
    }
}

static void gru(int64_t n, float *z, float *a, const float *h, float *y, bool keep) {
    if (keep)
        gru_units(n, z, a, h, y, true);
    else
        gru_units(n, z, a, h, y, false);
}

static inline __attribute__((always_inline)) void lstm_grad_units(int64_t n, const plim__lstm_grad *row) {
    float *restrict i = row->i, *restrict o = row->o, *restrict f = row->f, *restrict g = row->g,
                    *restrict dh = row->dh, *restrict dc = row->dc;
    const float *restrict c = row->c, *last = row->last, *dy = row->dy; /* both may be the same zeros */
#pragma omp simd
    for (int64_t k = 0; k < n; k++) {
        float in = i[k], out = o[k], forget = f[k], fresh = g[k], seen = TANH(c[k]), d = dh[k] + dy[k];
        float e = dc[k] + d * out * (1 - seen * seen);
        i[k] = e * fresh * (in * (1 - in));
        o[k] = d * seen * (out * (1 - out));
        f[k] = e * last[k] * (forget * (1 - forget));
        g[k] = e * in * (1 - fresh * fresh);
        dc[k] = e * forget;
        dh[k] = 0;
    }
}

static __attribute__((noinline)) void lstm_grad_rest(int64_t n, const plim__lstm_grad *row) {
    float *const given[6] = {row->i, row->o, row->f, row->g, row->dh, row->dc};
    const float *const read[3] = {row->c, row->last, row->dy};
    float part[9][WIDTH] = {{0}};
    const size_t bytes = (size_t)n * sizeof(float);
    for (int i = 0; i < 6; i++) memcpy(part[i], given[i], bytes);
    for (int i = 0; i < 3; i++) memcpy(part[6 + i], read[i], bytes);
    lstm_grad_units(WIDTH, &(plim__lstm_grad){.i = part[0],
                                              .o = part[1],
                                              .f = part[2],
                                              .g = part[3],
                                              .dh = part[4],
                                              .dc = part[5],
                                              .c = part[6],
                                              .last = part[7],
                                              .dy = part[8]});
    for (int i = 0; i < 6; i++) memcpy(given[i], part[i], bytes);
}

static void lstm_grad(int64_t n, const plim__lstm_grad *row) {
    int64_t full = n - n % WIDTH;
    lstm_grad_units(full, row);
    if (full == n) return;
    lstm_grad_rest(n - full, &(plim__lstm_grad){.i = row->i + full,
                                                .o = row->o + full,
                                                .f = row->f + full,
                                                .g = row->g + full,
                                                .dh = row->dh + full,
                                                .dc = row->dc + full,
                                                .c = row->c + full,
                                                .last = row->last + full,
                                                .dy = row->dy + full});
}

static void gru_blend_grad(int64_t n, float *restrict z, float *restrict g, const float *restrict before,
                           const float *restrict dy, float *restrict dh) {
#pragma omp simd
    for (int64_t k = 0; k < n; k++) {
        float keep = z[k], fresh = g[k], d = dh[k] + dy[k];
        g[k] = d * (1 - keep) * (1 - fresh * fresh);
        z[k] = d * (before[k] - fresh) * (keep * (1 - keep));
        dh[k] = d * keep;
    }
}

/* passed may be the factor itself */
static void gru_reset_grad(int64_t n, float *restrict r, const float *restrict d, const float *factor, float *passed,
                           bool add) {
    if (add) {
#pragma omp simd
        for (int64_t k = 0; k < n; k++) {
            passed[k] += d[k] * r[k];
            r[k] = d[k] * factor[k] * (r[k] * (1 - r[k]));
        }
        return;
    }
#pragma omp simd
    for (int64_t k = 0; k < n; k++) {
        float is = factor[k], reset = r[k];
        passed[k] = d[k] * reset;
        r[k] = d[k] * is * (reset * (1 - reset));
    }
}

static void add(int64_t n, const float *restrict x, float *restrict y) {
#pragma omp simd
    for (int64_t k = 0; k < n; k++) y[k] += x[k];
}

static void sum_rows(const float *x, int64_t rows, int64_t step, int64_t n, double *restrict sums) {
    typedef double wide_lanes __attribute__((vector_size(WIDTH * 8)));
    int64_t u = 0;
    for (; u + WIDTH <= n; u += WIDTH) {
        wide_lanes sum = {0};
        for (int64_t r = 0; r < rows; r++)
            sum += __builtin_convertvector(*(const loose_lanes *)(x + r * step + u), wide_lanes);
        for (int i = 0; i < WIDTH; i++) sums[u + i] += sum[i];
    }
    for (; u < n; u++) {
        double sum = 0;
        for (int64_t r = 0; r < rows; r++) sum += (double)x[r * step + u];
        sums[u] += sum;
    }
}

const plim__simd_recurrent PLIM__ISA(plim__simd_recurrent_table) = {.width = WIDTH,
                                                                    .product = product,
                                                                    .activate = activate,
                                                                    .lstm = lstm,
                                                                    .gru = gru,
                                                                    .lstm_grad = lstm_grad,
                                                                    .gru_blend_grad = gru_blend_grad,
                                                                    .gru_reset_grad = gru_reset_grad,
                                                                    .add = add,
                                                                    .sum_rows = sum_rows};
