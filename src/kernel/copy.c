/* Strided copies. The axes are sorted by the destination's strides and merged where both sides are
 * contiguous, which leaves two inner axes, `row` and `col`, and whatever is outside of them:
 *
 *     outer[0] .. outer[n-1]   row   col
 *
 * col is the destination's fastest axis. The inner block is one of three: a run that memcpy can do, a
 * transpose (the source is fastest along row), done in tiles that fit the cache, or a plain double loop. */
#include "kernel/copy.h"

#include <omp.h>
#include <string.h>

typedef struct axis {
    int64_t size, to, from; /* strides in elements */
} axis;

typedef struct plan {
    int outer_count;
    axis outer[PLIM__COPY_MAX_RANK];
    axis row, col;
    int64_t outer_size, elements;
    int64_t piece; /* rows that are copied at a time */
    size_t size;   /* of an element */
    bool transposed;
} plan;

void plim__dense_strides(const int64_t *dims, int rank, int64_t *strides) {
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= dims[i];
    }
}

/* --- planning ------------------------------------------------------------------------------------------------- */

static int merged_axes(const plim__strided *how, axis *axes) {
    int count = 0;
    for (int i = 0; i < how->rank; i++) {
        if (how->dims[i] == 1) continue;
        axis a = {how->dims[i], how->to[i], how->from[i]};
        int j = count++;
        for (; j > 0 && axes[j - 1].to < a.to; j--) axes[j] = axes[j - 1];
        axes[j] = a;
    }
    int kept = 0;
    for (int i = 0; i < count; i++) {
        axis *last = kept > 0 ? &axes[kept - 1] : NULL;
        if (last && last->to == axes[i].to * axes[i].size && last->from == axes[i].from * axes[i].size)
            *last = (axis){last->size * axes[i].size, axes[i].to, axes[i].from};
        else
            axes[kept++] = axes[i];
    }
    return kept;
}

static plan make_plan(axis *axes, int count) {
    plan p = {.row = {1, 0, 0}, .col = {1, 1, 1}, .outer_size = 1};
    if (count > 0) p.col = axes[--count];
    int row = count - 1;
    if (p.col.to == 1 && p.col.from != 1)
        for (int i = 0; i < count; i++)
            if (axes[i].from == 1) row = i, p.transposed = true;
    for (int i = 0; i < count; i++) {
        if (i == row) {
            p.row = axes[i];
            continue;
        }
        p.outer[p.outer_count++] = axes[i];
        p.outer_size *= axes[i].size;
    }
    p.elements = p.outer_size * p.row.size * p.col.size;
    return p;
}

/* --- the inner block ------------------------------------------------------------------------------------------ */

typedef uint8_t __attribute__((may_alias)) word1;
typedef uint16_t __attribute__((may_alias)) word2;
typedef uint32_t __attribute__((may_alias)) word4;
typedef uint64_t __attribute__((may_alias)) word8;
typedef struct __attribute__((may_alias)) word16 {
    uint64_t half[2];
} word16;

#define TILE 16

#define INNER_LOOPS(word)                                                                                              \
    static void loop_##word(word *to, const word *from, axis row, axis col) {                                          \
        for (int64_t r = 0; r < row.size; r++) {                                                                       \
            word *t = to + r * row.to;                                                                                 \
            const word *f = from + r * row.from;                                                                       \
            if (col.to == 1 && col.from == 1)                                                                          \
                for (int64_t c = 0; c < col.size; c++) t[c] = f[c];                                                    \
            else if (col.to == 1 && col.from == 0)                                                                     \
                for (int64_t c = 0; c < col.size; c++) t[c] = *f;                                                      \
            else                                                                                                       \
                for (int64_t c = 0; c < col.size; c++) t[c * col.to] = f[c * col.from];                                \
        }                                                                                                              \
    }                                                                                                                  \
    static void transpose_##word(word *to, const word *from, axis row, axis col) {                                     \
        for (int64_t r = 0; r < row.size; r += TILE)                                                                   \
            for (int64_t c = 0; c < col.size; c += TILE) {                                                             \
                axis rows = {row.size - r < TILE ? row.size - r : TILE, row.to, row.from};                             \
                axis cols = {col.size - c < TILE ? col.size - c : TILE, col.to, col.from};                             \
                tile_##word(to + r * row.to + c, from + r + c * col.from, rows, cols);                                 \
            }                                                                                                          \
    }

#define SIMPLE_TILE(word)                                                                                              \
    static void tile_##word(word *to, const word *from, axis row, axis col) {                                          \
        for (int64_t r = 0; r < row.size; r++)                                                                         \
            for (int64_t c = 0; c < col.size; c++) to[r * row.to + c] = from[r + c * col.from];                        \
    }

SIMPLE_TILE(word1)
SIMPLE_TILE(word2)
SIMPLE_TILE(word8)
SIMPLE_TILE(word16)

typedef uint32_t four __attribute__((vector_size(16), may_alias));

static inline four load_four(const word4 *from) {
    four value;
    memcpy(&value, from, sizeof value);
    return value;
}

static inline void store_four(word4 *to, four value) { memcpy(to, &value, sizeof value); }

/* 4×4 in registers: two rounds of interleaving. */
static inline void transpose_four(word4 *to, int64_t to_stride, const word4 *from, int64_t from_stride) {
    four a = load_four(from), b = load_four(from + from_stride);
    four c = load_four(from + 2 * from_stride), d = load_four(from + 3 * from_stride);
    four ac0 = __builtin_shufflevector(a, c, 0, 4, 1, 5), ac1 = __builtin_shufflevector(a, c, 2, 6, 3, 7);
    four bd0 = __builtin_shufflevector(b, d, 0, 4, 1, 5), bd1 = __builtin_shufflevector(b, d, 2, 6, 3, 7);
    store_four(to, __builtin_shufflevector(ac0, bd0, 0, 4, 1, 5));
    store_four(to + to_stride, __builtin_shufflevector(ac0, bd0, 2, 6, 3, 7));
    store_four(to + 2 * to_stride, __builtin_shufflevector(ac1, bd1, 0, 4, 1, 5));
    store_four(to + 3 * to_stride, __builtin_shufflevector(ac1, bd1, 2, 6, 3, 7));
}

static void tile_word4(word4 *to, const word4 *from, axis row, axis col) {
    int64_t rows = row.size & ~(int64_t)3, cols = col.size & ~(int64_t)3;
    for (int64_t r = 0; r < rows; r += 4)
        for (int64_t c = 0; c < cols; c += 4)
            transpose_four(to + r * row.to + c, row.to, from + r + c * col.from, col.from);
    for (int64_t r = 0; r < row.size; r++)
        for (int64_t c = r < rows ? cols : 0; c < col.size; c++) to[r * row.to + c] = from[r + c * col.from];
}

INNER_LOOPS(word1)
INNER_LOOPS(word2)
INNER_LOOPS(word4)
INNER_LOOPS(word8)
INNER_LOOPS(word16)

static void copy_block(char *to, const char *from, axis row, axis col, bool transposed, size_t size) {
    if (!transposed && col.to == 1 && col.from == 1 && (size_t)col.size * size >= 64) {
        for (int64_t r = 0; r < row.size; r++)
            memcpy(to + r * row.to * (int64_t)size, from + r * row.from * (int64_t)size, (size_t)col.size * size);
        return;
    }
#define CASE(word)                                                                                                     \
    case sizeof(word):                                                                                                 \
        if (transposed)                                                                                                \
            transpose_##word((word *)(void *)to, (const word *)(const void *)from, row, col);                          \
        else                                                                                                           \
            loop_##word((word *)(void *)to, (const word *)(const void *)from, row, col);                               \
        break;
    switch (size) {
        CASE(word1)
        CASE(word2)
        CASE(word4)
        CASE(word8)
        CASE(word16)
    default: break;
    }
#undef CASE
}

/* --- the outer axes ------------------------------------------------------------------------------------------- */

/* Units first..last of the outer axes times pieces of rows. */
static void copy_units(const plan *p, char *dst, const char *src, int64_t first, int64_t last) {
    size_t size = p->size;
    int64_t piece = p->piece, pieces = (p->row.size + piece - 1) / piece;
    int64_t index[PLIM__COPY_MAX_RANK], to = 0, from = 0, rest = first / pieces;
    for (int i = p->outer_count - 1; i >= 0; i--) {
        index[i] = rest % p->outer[i].size;
        rest /= p->outer[i].size;
        to += index[i] * p->outer[i].to;
        from += index[i] * p->outer[i].from;
    }
    for (int64_t unit = first, part = first % pieces; unit < last; unit++) {
        axis row = p->row;
        int64_t begin = part * piece;
        row.size = row.size - begin < piece ? row.size - begin : piece;
        copy_block(dst + (to + begin * row.to) * (int64_t)size, src + (from + begin * row.from) * (int64_t)size, row,
                   p->col, p->transposed, size);
        if (++part < pieces) continue;
        part = 0;
        for (int i = p->outer_count - 1; i >= 0; i--) {
            to += p->outer[i].to;
            from += p->outer[i].from;
            if (++index[i] < p->outer[i].size) break;
            to -= index[i] * p->outer[i].to;
            from -= index[i] * p->outer[i].from;
            index[i] = 0;
        }
    }
}

static void copy_plan(plan *p, char *dst, const char *src, int threads) {
    threads = plim__copy_threads(p->elements, threads);
    p->piece = p->row.size;
    if (threads > 1 && p->outer_size < 4 * threads) {
        p->piece = (p->row.size * p->outer_size + 4 * threads - 1) / (4 * threads);
        p->piece = (p->piece + TILE - 1) / TILE * TILE;
    }
    int64_t units = p->outer_size * ((p->row.size + p->piece - 1) / p->piece);
    if (threads <= 1 || units < 2) {
        copy_units(p, dst, src, 0, units);
        return;
    }
#pragma omp parallel num_threads(threads)
    {
        int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
        copy_units(p, dst, src, units * me / team, units * (me + 1) / team);
    }
}

/* One long axis is seen as rows, so that there is something to split. */
static void copy_line(axis line, char *dst, const char *src, size_t size, int threads) {
    const int64_t chunk = 8192;
    plan p = {.row = {line.size / chunk, line.to * chunk, line.from * chunk},
              .col = {chunk, line.to, line.from},
              .outer_size = 1,
              .size = size};
    p.elements = p.row.size * chunk;
    if (p.elements > 0) {
        int64_t per_thread = threads > 1 ? (p.row.size + threads - 1) / threads : p.row.size;
        p.outer[0] = (axis){p.row.size / per_thread, per_thread * p.row.to, per_thread * p.row.from};
        axis rest = {p.row.size % per_thread, p.row.to, p.row.from};
        int64_t done = p.outer[0].size;
        p.outer_count = 1;
        p.outer_size = done;
        p.row.size = per_thread;
        copy_plan(&p, dst, src, threads);
        if (rest.size > 0)
            copy_block(dst + done * p.outer[0].to * (int64_t)size, src + done * p.outer[0].from * (int64_t)size, rest,
                       p.col, false, size);
    }
    axis tail = {line.size % chunk, line.to, line.from};
    int64_t begin = line.size - tail.size;
    copy_block(dst + begin * line.to * (int64_t)size, src + begin * line.from * (int64_t)size, (axis){1, 0, 0}, tail,
               false, size);
}

void plim__copy_strided(void *dst, const void *src, const plim__strided *how, int threads) {
    for (int i = 0; i < how->rank; i++)
        if (how->dims[i] == 0) return;
    axis axes[PLIM__COPY_MAX_RANK];
    int count = merged_axes(how, axes);
    if (count == 1 && axes[0].size >= 32768 && threads > 1) {
        copy_line(axes[0], dst, src, how->element_size, threads);
        return;
    }
    plan p = make_plan(axes, count);
    p.size = how->element_size;
    copy_plan(&p, dst, src, threads);
}

void plim__fill(void *dst, const void *value, int64_t count, size_t element_size, int threads) {
    plim__strided how = {1, &count, (int64_t[]){1}, (int64_t[]){0}, element_size};
    plim__copy_strided(dst, value, &how, threads);
}
