/* Copies through index tables: each output axis says which source index it takes. Along the last axis the
 * table usually counts upwards for long stretches, which become single memcpy calls. */
#include "kernel/copy.h"

#include <string.h>

/* How many entries of the table from `i` on are consecutive (or all -1). */
static int64_t stretch(const int64_t *map, int64_t i, int64_t size) {
    int64_t step = map[i] < 0 ? 0 : 1, n = 1;
    while (i + n < size && map[i + n] == map[i] + n * step) n++;
    return n;
}

/* One row of the output. `from` is NULL when an outer index already lies outside. */
static void copy_row(char *to, const char *from, const plim__map_axis *axis, const char *fill, size_t size) {
    if (!from) {
        plim__fill(to, fill, axis->size, size, 1);
        return;
    }
    for (int64_t i = 0; i < axis->size;) {
        int64_t n = 1;
        if (axis->map[i] < 0) {
            n = stretch(axis->map, i, axis->size);
            plim__fill(to + i * (int64_t)size, fill, n, size, 1);
        } else if (axis->stride == 1 && (n = stretch(axis->map, i, axis->size)) > 1) {
            memcpy(to + i * (int64_t)size, from + axis->map[i] * (int64_t)size, (size_t)n * size);
        } else {
            const char *element = from + axis->map[i] * axis->stride * (int64_t)size;
            for (n = 1; i + n < axis->size && axis->map[i + n] == axis->map[i];) n++;
            plim__fill(to + i * (int64_t)size, element, n, size, 1);
        }
        i += n;
    }
}

/* Where the row with this number begins in the source; NULL when it is outside. */
static const char *row_source(const char *src, const plim__map_axis *axes, int outer, int64_t row, size_t size) {
    int64_t offset = 0;
    for (int i = outer - 1; i >= 0; i--) {
        int64_t index = axes[i].map[row % axes[i].size];
        row /= axes[i].size;
        if (index < 0) return NULL;
        offset += index * axes[i].stride;
    }
    return src + offset * (int64_t)size;
}

void plim__copy_mapped(void *dst, const void *src, const plim__lookup *how, int threads) {
    const plim__map_axis *axes = how->axes;
    int rank = how->rank;
    if (rank == 0) {
        memcpy(dst, src, how->element_size);
        return;
    }
    const plim__map_axis *last = &axes[rank - 1];
    int64_t rows = 1;
    for (int i = 0; i < rank - 1; i++) rows *= axes[i].size;
    int64_t bytes = last->size * (int64_t)how->element_size;
    if (bytes == 0) return;
    threads = plim__copy_threads(rows * last->size, threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t row = 0; row < rows; row++)
        copy_row((char *)dst + row * bytes, row_source(src, axes, rank - 1, row, how->element_size), last, how->fill,
                 how->element_size);
}
