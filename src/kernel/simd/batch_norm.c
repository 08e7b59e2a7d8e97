/* Batch norm in training: a vector is one pixel of a block of channels, or eight pixels of one channel. */
#include "kernel/simd/batch_norm.h"

#include <string.h>

#define CHUNK 64 /* vectors whose sums are floats */
#define SUMS  4  /* sums at once, since one addition waits for the last */

/* Whole vectors but for the last one. */
#define LOAD(name, L, from, left) ((left) >= L ? load_##name(from, L) : load_##name(from, left))
#define STORE(L, to, v, left)                                                                                          \
    do {                                                                                                               \
        if ((left) >= L)                                                                                               \
            memcpy(to, &(v), L * sizeof(float));                                                                       \
        else                                                                                                           \
            memcpy(to, &(v), (size_t)(left) * sizeof(float));                                                          \
    } while (0)

/* What differs between blocks and single channels: how many lanes a vector has, and how many channels they are. */
#define NORM(name, L, C)                                                                                               \
    typedef float real_##name __attribute__((vector_size(4 * L)));                                                     \
    typedef int32_t whole_##name __attribute__((vector_size(4 * L)));                                                  \
                                                                                                                       \
    static inline real_##name load_##name(const float *x, int64_t count) {                                             \
        real_##name v = {0};                                                                                           \
        memcpy(&v, x, (size_t)count * sizeof *x);                                                                      \
        return v;                                                                                                      \
    }                                                                                                                  \
    /* A number of each channel, in every lane of the channel. */                                                      \
    static inline real_##name spread_##name(const float *x) {                                                          \
        real_##name v;                                                                                                 \
        for (int i = 0; i < L; i++) v[i] = x[i % C];                                                                   \
        return v;                                                                                                      \
    }                                                                                                                  \
    static inline void collect_##name(double *to, real_##name v) {                                                     \
        for (int i = 0; i < L; i++) to[i % C] += (double)v[i];                                                         \
    }                                                                                                                  \
                                                                                                                       \
    static void moments_##name(plim__norm_group *g, const float *x) {                                                  \
        int64_t size = g->pixels * C, whole = size / L * L;                                                            \
        double sums[C] = {0}, squares[C] = {0};                                                                        \
        float first[C];                                                                                                \
        for (int c = 0; c < C; c++) { /* numbers near the mean: differences lose no digits */                          \
            float few = 0, count = (float)(g->pixels < 16 ? g->pixels : 16);                                           \
            for (int64_t i = 0; i < g->pixels && i < 16; i++) few += x[i * C + c];                                     \
            first[c] = few / count;                                                                                    \
        }                                                                                                              \
        real_##name origin = spread_##name(first);                                                                     \
        for (int64_t p = 0; p < g->planes; p++) {                                                                      \
            const float *plane = x + p * g->step;                                                                      \
            for (int64_t at = 0; at < whole; at += CHUNK * L) {                                                        \
                int64_t end = at + CHUNK * L < whole ? at + CHUNK * L : whole, i = at;                                 \
                real_##name s[SUMS] = {0}, q[SUMS] = {0};                                                              \
                for (; i + SUMS * L <= end; i += SUMS * L)                                                             \
                    for (int w = 0; w < SUMS; w++) {                                                                   \
                        real_##name d = load_##name(plane + i + w * L, L) - origin;                                    \
                        s[w] += d;                                                                                     \
                        q[w] += d * d;                                                                                 \
                    }                                                                                                  \
                for (; i < end; i += L) {                                                                              \
                    real_##name d = load_##name(plane + i, L) - origin;                                                \
                    s[0] += d;                                                                                         \
                    q[0] += d * d;                                                                                     \
                }                                                                                                      \
                collect_##name(sums, (s[0] + s[1]) + (s[2] + s[3]));                                                   \
                collect_##name(squares, (q[0] + q[1]) + (q[2] + q[3]));                                                \
            }                                                                                                          \
            for (int64_t i = whole; i < size; i++) {                                                                   \
                double d = (double)plane[i] - (double)first[i % C];                                                    \
                sums[i % C] += d;                                                                                      \
                squares[i % C] += d * d;                                                                               \
            }                                                                                                          \
        }                                                                                                              \
        double count = (double)(g->planes * g->pixels);                                                                \
        for (int c = 0; c < C; c++) {                                                                                  \
            double mean = sums[c] / count, variance = squares[c] / count - mean * mean;                                \
            g->mean[c] = (float)((double)first[c] + mean);                                                             \
            g->variance[c] = (float)(variance < 0 ? 0 : variance);                                                     \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static inline real_##name smaller_##name(real_##name a, real_##name b) {                                           \
        whole_##name mask = a > b; /* not a number stays */                                                            \
        return (real_##name)(((whole_##name)b & mask) | ((whole_##name)a & ~mask));                                    \
    }                                                                                                                  \
    static inline real_##name larger_##name(real_##name a, real_##name b) {                                            \
        whole_##name mask = a < b;                                                                                     \
        return (real_##name)(((whole_##name)b & mask) | ((whole_##name)a & ~mask));                                    \
    }                                                                                                                  \
    static void apply_##name(const plim__norm_group *g, const float *x, float *y) {                                    \
        int64_t size = g->pixels * C;                                                                                  \
        real_##name mean = spread_##name(g->mean), factor = spread_##name(g->factor), bias = spread_##name(g->bias),   \
                    low = (real_##name){0} + g->low, high = (real_##name){0} + g->high;                                \
        for (int64_t p = 0; p < g->planes; p++)                                                                        \
            for (int64_t i = p * g->step, end = i + size; i < end; i += L) {                                           \
                real_##name z = (LOAD(name, L, x + i, end - i) - mean) * factor + bias;                                \
                z = smaller_##name(larger_##name(z, low), high);                                                       \
                STORE(L, y + i, z, end - i);                                                                           \
            }                                                                                                          \
    }                                                                                                                  \
                                                                                                                       \
    /* dy where (x - mean) · factor + bias, as the forward pass had it, lay between the bounds. */                    \
    static inline real_##name passed_##name(real_##name d, real_##name dy, real_##name factor, real_##name bias,       \
                                            real_##name low, real_##name high) {                                       \
        real_##name z = d * factor + bias;                                                                             \
        return (real_##name)((whole_##name)dy & (z > low) & (z < high));                                               \
    }                                                                                                                  \
    static void sums_##name(plim__norm_group *g, const float *x, const float *dy) {                                    \
        int64_t size = g->pixels * C;                                                                                  \
        real_##name mean = spread_##name(g->mean), factor = spread_##name(g->factor), bias = spread_##name(g->bias),   \
                    low = (real_##name){0} + g->low, high = (real_##name){0} + g->high;                                \
        double sums[C] = {0}, products[C] = {0};                                                                       \
        for (int64_t p = 0; p < g->planes; p++)                                                                        \
            for (int64_t at = 0; at < size; at += CHUNK * L) {                                                         \
                int64_t end = at + CHUNK * L < size ? at + CHUNK * L : size, i = at, o = p * g->step;                  \
                real_##name s[SUMS] = {0}, q[SUMS] = {0};                                                              \
                for (; i + SUMS * L <= end; i += SUMS * L)                                                             \
                    for (int w = 0; w < SUMS; w++) {                                                                   \
                        real_##name d = load_##name(x + o + i + w * L, L) - mean;                                      \
                        real_##name z = passed_##name(d, load_##name(dy + o + i + w * L, L), factor, bias, low, high); \
                        s[w] += z;                                                                                     \
                        q[w] += z * d;                                                                                 \
                    }                                                                                                  \
                for (; i < end; i += L) { /* lanes after the end hold dy = 0 */                                        \
                    real_##name d = LOAD(name, L, x + o + i, end - i) - mean;                                          \
                    real_##name z = passed_##name(d, LOAD(name, L, dy + o + i, end - i), factor, bias, low, high);     \
                    s[0] += z;                                                                                         \
                    q[0] += z * d;                                                                                     \
                }                                                                                                      \
                collect_##name(sums, (s[0] + s[1]) + (s[2] + s[3]));                                                   \
                collect_##name(products, (q[0] + q[1]) + (q[2] + q[3]));                                               \
            }                                                                                                          \
        for (int c = 0; c < C; c++) g->sums[c] = sums[c], g->products[c] = products[c];                                \
    }                                                                                                                  \
    static void back_##name(const plim__norm_group *g, const float *x, const float *dy, float *dx) {                   \
        int64_t size = g->pixels * C;                                                                                  \
        real_##name mean = spread_##name(g->mean), factor = spread_##name(g->factor), bias = spread_##name(g->bias),   \
                    constant = spread_##name(g->constant), slope = spread_##name(g->slope),                            \
                    low = (real_##name){0} + g->low, high = (real_##name){0} + g->high;                                \
        for (int64_t p = 0; p < g->planes; p++)                                                                        \
            for (int64_t i = p * g->step, end = i + size; i < end; i += L) {                                           \
                real_##name d = LOAD(name, L, x + i, end - i) - mean;                                                  \
                real_##name z = passed_##name(d, LOAD(name, L, dy + i, end - i), factor, bias, low, high);             \
                real_##name v = factor * z - constant - slope * d;                                                     \
                STORE(L, dx + i, v, end - i);                                                                          \
            }                                                                                                          \
    }

NORM(of8, 8, 8)
NORM(of16, 16, 16)
NORM(of1, 8, 1)

/* --- channels last: a vector is one pixel's channels of the group, 16 or what is left at the end ------------------- */

#define EACH_PIECE(lanes, move)                                                                                        \
    do {                                                                                                               \
        int64_t at = 0;                                                                                                \
        if ((lanes)&8) move(8);                                                                                        \
        if ((lanes)&4) move(4);                                                                                        \
        if ((lanes)&2) move(2);                                                                                        \
        if ((lanes)&1) move(1);                                                                                        \
    } while (0)
#define FETCH(n) memcpy((float *)&v + at, x + at, (n) * sizeof *x), at += (n)
#define PUT(n)   memcpy(y + at, (const float *)&v + at, (n) * sizeof *y), at += (n)

/* Lanes after the last channel are 0. */
static inline real_of16 load_strip(const float *x, int64_t lanes) {
    real_of16 v = {0};
    if (lanes == PLIM__NORM_WIDTH)
        memcpy(&v, x, sizeof v);
    else
        EACH_PIECE(lanes, FETCH);
    return v;
}
static inline void store_strip(float *y, real_of16 v, int64_t lanes) {
    if (lanes == PLIM__NORM_WIDTH)
        memcpy(y, &v, sizeof v);
    else
        EACH_PIECE(lanes, PUT);
}

/* Adds up what `each` makes of pixels i: CHUNK of them in floats, SUMS at once, then in doubles. */
#define ADD_UP(sums, products, each)                                                                                   \
    for (int64_t p = 0; p < g->planes; p++)                                                                            \
        for (int64_t at = 0; at < g->pixels; at += CHUNK) {                                                            \
            int64_t end = at + CHUNK < g->pixels ? at + CHUNK : g->pixels, i = at;                                     \
            real_of16 s[SUMS] = {0}, q[SUMS] = {0};                                                                    \
            for (; i + SUMS <= end; i += SUMS)                                                                         \
                for (int w = 0; w < SUMS; w++) each(p * g->step + (i + w) * g->apart, s[w], q[w]);                     \
            for (; i < end; i++) each(p * g->step + i * g->apart, s[0], q[0]);                                         \
            collect_of16(sums, (s[0] + s[1]) + (s[2] + s[3]));                                                         \
            collect_of16(products, (q[0] + q[1]) + (q[2] + q[3]));                                                     \
        }

static void moments_strip(plim__norm_group *g, const float *x) {
    double sums[PLIM__NORM_WIDTH] = {0}, squares[PLIM__NORM_WIDTH] = {0};
    real_of16 origin = {0};
    int64_t few = g->pixels < 16 ? g->pixels : 16;
    for (int64_t i = 0; i < few; i++) origin += load_strip(x + i * g->apart, g->lanes);
    origin /= (float)few;
#define EACH(o, s, q)                                                                                                  \
    do {                                                                                                               \
        real_of16 d = load_strip(x + (o), g->lanes) - origin;                                                          \
        s += d;                                                                                                        \
        q += d * d;                                                                                                    \
    } while (0)
    ADD_UP(sums, squares, EACH)
#undef EACH
    double count = (double)(g->planes * g->pixels);
    for (int64_t c = 0; c < g->lanes; c++) {
        double mean = sums[c] / count, variance = squares[c] / count - mean * mean;
        g->mean[c] = (float)((double)origin[c] + mean);
        g->variance[c] = (float)(variance < 0 ? 0 : variance);
    }
}

/* What a channel has, for the loops below. */
#define READ_GROUP                                                                                                     \
    real_of16 mean = spread_of16(g->mean), factor = spread_of16(g->factor), bias = spread_of16(g->bias),               \
              low = (real_of16){0} + g->low, high = (real_of16){0} + g->high

static void apply_strip(const plim__norm_group *g, const float *x, float *y) {
    READ_GROUP;
    for (int64_t p = 0; p < g->planes; p++)
        for (int64_t i = 0, o = p * g->step; i < g->pixels; i++, o += g->apart) {
            real_of16 z = (load_strip(x + o, g->lanes) - mean) * factor + bias;
            store_strip(y + o, smaller_of16(larger_of16(z, low), high), g->lanes);
        }
}

static void sums_strip(plim__norm_group *g, const float *x, const float *dy) {
    READ_GROUP;
    memset(g->sums, 0, sizeof g->sums);
    memset(g->products, 0, sizeof g->products);
#define EACH(o, s, q)                                                                                                  \
    do {                                                                                                               \
        real_of16 d = load_strip(x + (o), g->lanes) - mean;                                                            \
        real_of16 z = passed_of16(d, load_strip(dy + (o), g->lanes), factor, bias, low, high);                         \
        s += z;                                                                                                        \
        q += z * d;                                                                                                    \
    } while (0)
    ADD_UP(g->sums, g->products, EACH)
#undef EACH
}

static void back_strip(const plim__norm_group *g, const float *x, const float *dy, float *dx) {
    READ_GROUP;
    real_of16 constant = spread_of16(g->constant), slope = spread_of16(g->slope);
    for (int64_t p = 0; p < g->planes; p++)
        for (int64_t i = 0, o = p * g->step; i < g->pixels; i++, o += g->apart) {
            real_of16 d = load_strip(x + o, g->lanes) - mean;
            real_of16 z = passed_of16(d, load_strip(dy + o, g->lanes), factor, bias, low, high);
            store_strip(dx + o, factor * z - constant - slope * d, g->lanes);
        }
}

const plim__simd_batch_norm PLIM__ISA(plim__simd_batch_norm_table) = {
    .moments = {moments_of8, moments_of16, moments_of1, moments_strip},
    .apply = {apply_of8, apply_of16, apply_of1, apply_strip},
    .sums = {sums_of8, sums_of16, sums_of1, sums_strip},
    .back = {back_of8, back_of16, back_of1, back_strip},
};
