/* Walking several strided operands together. */
#include "kernel/loops.h"

#include <omp.h>
#include <string.h>

#define GRAIN       32768 /* elements below which a second thread costs more than it brings */
#define CHUNK       4096  /* elements of a row between switching rows, so that shared inputs stay in cache */
#define SHORT_INNER 8     /* rows shorter than this are not worth a call */

void plim__loop_start(plim__loop *loop, const plim__shape *shape) {
    *loop = (plim__loop){.rank = shape->rank};
    for (int i = 0; i < shape->rank; i++) loop->dims[i] = shape->dims[i];
}

void plim__loop_add_at(plim__loop *loop, const plim__layout *layout, int axis) {
    int64_t bytes = plim_dtype_bits(layout->dtype) / 8, *strides = loop->strides[loop->operands++];
    for (int i = 0; i < layout->shape.rank; i++)
        if (axis + i >= 0 && axis + i < loop->rank)
            strides[axis + i] = layout->shape.dims[i] == 1 ? 0 : layout->strides[i] * bytes;
}

void plim__loop_add(plim__loop *loop, const plim__layout *layout) {
    plim__loop_add_at(loop, layout, loop->rank - layout->shape.rank);
}

void plim__loop_flat(plim__loop *loop, int64_t elements, int operands, const size_t *element_bytes) {
    *loop = (plim__loop){.operands = operands, .rank = 1, .dims = {elements}};
    for (int k = 0; k < operands; k++) loop->strides[k][0] = (int64_t)element_bytes[k];
}

static void swap_axes(plim__loop *loop, int i, int j) {
    int64_t dim = loop->dims[i];
    loop->dims[i] = loop->dims[j];
    loop->dims[j] = dim;
    for (int k = 0; k < loop->operands; k++) {
        int64_t stride = loop->strides[k][i];
        loop->strides[k][i] = loop->strides[k][j];
        loop->strides[k][j] = stride;
    }
}

static void copy_axis(plim__loop *loop, int to, int from) {
    loop->dims[to] = loop->dims[from];
    for (int k = 0; k < loop->operands; k++) loop->strides[k][to] = loop->strides[k][from];
}

static bool mergeable(const plim__loop *loop, int outer, int inner) {
    for (int k = 0; k < loop->operands; k++)
        if (loop->strides[k][outer] != loop->strides[k][inner] * loop->dims[inner]) return false;
    return true;
}

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

void plim__loop_finish(plim__loop *loop) {
    int rank = 0;
    for (int i = 0; i < loop->rank; i++)
        if (loop->dims[i] != 1) copy_axis(loop, rank++, i);
    loop->rank = rank;
    /* In the order of the output's memory, so that a permuted output is still walked straight. */
    for (int i = 1; i < rank; i++)
        for (int j = i; j > 0 && magnitude(loop->strides[0][j - 1]) < magnitude(loop->strides[0][j]); j--)
            swap_axes(loop, j - 1, j);
    int kept = 0;
    for (int i = 1; i < rank; i++) {
        if (mergeable(loop, kept, i)) {
            int64_t dim = loop->dims[kept];
            copy_axis(loop, kept, i);
            loop->dims[kept] *= dim;
        } else {
            copy_axis(loop, ++kept, i);
        }
    }
    loop->rank = rank ? kept + 1 : 1;
    if (!rank) {
        loop->dims[0] = 1;
        for (int k = 0; k < loop->operands; k++) loop->strides[k][0] = 0;
    }
    int last = loop->rank - 1, longest = last;
    if (loop->dims[last] >= SHORT_INNER) return;
    for (int i = 0; i < last; i++)
        if (loop->dims[i] > loop->dims[longest]) longest = i;
    if (longest != last) swap_axes(loop, longest, last);
}

struct walk {
    const plim__loop *loop;
    char *const *base;
    plim__loop_body body;
    const void *context;
};

/* Rows [from, to), elements [first, last) of each. */
static void run_rows(const struct walk *w, int64_t from, int64_t to, int64_t first, int64_t last) {
    const plim__loop *loop = w->loop;
    int inner = loop->rank - 1, operands = loop->operands;
    char *at[PLIM__LOOP_OPERANDS];
    int64_t index[PLIM__LOOP_RANK], steps[PLIM__LOOP_OPERANDS];
    for (int k = 0; k < operands; k++) {
        steps[k] = loop->strides[k][inner];
        at[k] = w->base[k] + first * steps[k];
    }
    int64_t rest = from;
    for (int i = inner - 1; i >= 0; i--) {
        index[i] = rest % loop->dims[i];
        rest /= loop->dims[i];
        for (int k = 0; k < operands; k++) at[k] += index[i] * loop->strides[k][i];
    }
    for (int64_t row = from; row < to; row++) {
        w->body(w->context, last - first, at, steps);
        for (int i = inner - 1; i >= 0; i--) {
            for (int k = 0; k < operands; k++) at[k] += loop->strides[k][i];
            if (++index[i] < loop->dims[i]) break;
            for (int k = 0; k < operands; k++) at[k] -= loop->strides[k][i] * loop->dims[i];
            index[i] = 0;
        }
    }
}

static void run_columns(const struct walk *w, int64_t rows, int64_t first, int64_t last) {
    int64_t chunk = rows == 1 ? last - first : CHUNK;
    for (int64_t a = first; a < last; a += chunk) run_rows(w, 0, rows, a, a + chunk < last ? a + chunk : last);
}

int plim__loop_threads(int64_t elements) {
    if (elements < GRAIN) return 1;
    int64_t useful = elements / (GRAIN / 2), most = omp_get_max_threads();
    return (int)(useful < most ? useful : most);
}

void plim__loop_run(const plim__loop *loop, char *const *base, plim__loop_body body, const void *context) {
    int64_t rows = 1, n = loop->dims[loop->rank - 1];
    for (int i = 0; i < loop->rank - 1; i++) rows *= loop->dims[i];
    if (rows == 0 || n == 0) return;
    int threads = plim__loop_threads(rows * n);
    bool by_columns = rows < SHORT_INNER || rows < 2 * threads;
    struct walk w = {loop, base, body, context};
    if (threads == 1) {
        if (by_columns)
            run_columns(&w, rows, 0, n);
        else
            run_rows(&w, 0, rows, 0, n);
        return;
    }
#pragma omp parallel num_threads(threads)
    {
        int64_t from, to;
        int t = omp_get_thread_num(), k = omp_get_num_threads();
        if (by_columns) {
            plim__loop_part((n + 15) / 16, t, k, &from, &to); /* whole cache lines */
            run_columns(&w, rows, from * 16, to * 16 < n ? to * 16 : n);
        } else {
            plim__loop_part(rows, t, k, &from, &to);
            run_rows(&w, from, to, 0, n);
        }
    }
}
