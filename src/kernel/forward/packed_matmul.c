/* Products with a matrix in few bits, or in a file. Some rows of it at a time are unpacked or read into scratch, and oneDNN
 * multiplies with these:
 *
 *   matrix S (R, C)       y = x·Sᵀ   a piece of p rows makes p columns of y
 *                         y = x·S    a piece adds p columns of x times its rows
 *
 * so that neither needs S transposed. Pieces follow each other in a fixed order: the sums are the same every time. */
#include "kernel/copies.h"
#include "kernel/loops.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"
#include "kernel/simd/narrow.h"
#include "kernel/simd/packed.h"
#include "ops/packed.h"

#define PIECE_BYTES ((int64_t)2 << 20) /* of scratch: within a core's cache, and large enough for the product's speed */

struct packed_product {
    plim__packed matrix;
    plim__tensor *file; /* where it is, of a matrix that is not in memory */
    int64_t count;      /* rows of x and y */
    int64_t piece;      /* rows of the matrix at a time */
    bool turned;        /* x·Sᵀ */
};

/* Blocks of 64 begin where they like; bytes are even. */
static void unpack_nf4(const plim__simd_packed *loops, const char *all, size_t codes_at, int64_t first, int64_t count,
                       float *to) {
    const float *scales = (const float *)(const void *)all;
    const uint8_t *codes = (const uint8_t *)all + codes_at;
    for (int64_t i = first, end = first + count; i < end;) {
        int64_t next = (i / 64 + 1) * 64, n = (next < end ? next : end) - i;
        float scale = scales[i / 64];
        if (i % 2) {
            *to++ = plim__nf4_levels[codes[i / 2] & 15] * scale;
            i++;
            continue;
        }
        loops->nibbles(n / 2, codes + i / 2, plim__nf4_levels, scale, to);
        if (n % 2) to[n - 1] = plim__nf4_levels[codes[(i + n) / 2] >> 4] * scale;
        to += n;
        i += n;
    }
}

/* One row of the matrix. */
static void unpack_row(const plim__packed *p, const char *all, size_t codes_at, int64_t row, float *to) {
    int64_t first = row * p->columns;
    switch (p->packing) {
    case PLIM__PACKED_NF4: unpack_nf4(plim__unpacks(), all, codes_at, first, p->columns, to); break;
    case PLIM__PACKED_INT8:
        plim__unpacks()->bytes(p->columns, (const int8_t *)all + codes_at + first,
                               ((const float *)(const void *)all)[row] / 127, to);
        break;
    default: plim__narrows()->from_bfloat(p->columns, (const uint16_t *)(const void *)all + first, to); break;
    }
}

/* What comes next is asked for while this piece is multiplied with. */
static plim_status read_rows(const struct packed_product *s, int64_t first, int64_t n, float *to, plim_error *error) {
    int64_t columns = s->matrix.columns, next = first + n, more = s->matrix.rows - next;
    PLIM_TRY(plim__tensor_read_part(s->file, first * columns, n * columns, to, error));
    if (more > 0) plim__tensor_expect_part(s->file, next * columns, (more < n ? more : n) * columns);
    return PLIM_OK;
}

static void unpack_rows(const struct packed_product *s, const char *all, int64_t first, int64_t n, float *to) {
    const plim__packed *p = &s->matrix;
    size_t codes_at = plim__packed_codes(p);
    int threads = plim__loop_threads(n * p->columns);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t r = 0; r < n; r++) unpack_row(p, all, codes_at, first + r, to + r * p->columns);
}

static plim_status run(const plim__call *call) {
    const struct packed_product *s = call->state;
    const plim__packed *p = &s->matrix;
    const float *x = call->in[0];
    float *y = call->out[0], *rows = call->scratch;
    for (int64_t first = 0; first < p->rows; first += s->piece) {
        int64_t n = p->rows - first < s->piece ? p->rows - first : s->piece;
        if (s->file)
            PLIM_TRY(read_rows(s, first, n, rows, call->error));
        else
            unpack_rows(s, call->in[1], first, n, rows);
        dnnl_status_t status = s->turned ? dnnl_sgemm('N', 'T', s->count, n, p->columns, 1, x, p->columns, rows,
                                                      p->columns, 0, y + first, p->rows)
                                         : dnnl_sgemm('N', 'N', s->count, p->columns, n, 1, x + first, p->rows, rows,
                                                      p->columns, first > 0, y, p->columns);
        if (status != dnnl_success) return status == dnnl_out_of_memory ? PLIM_NO_MEMORY : PLIM_INTERNAL;
    }
    return PLIM_OK;
}

/* A multiple of 16 where the matrix is that high: whole vectors of y. */
static int64_t piece_of(const plim__packed *p) {
    int64_t rows = PIECE_BYTES / (int64_t)sizeof(float) / p->columns;
    rows = rows < 16 ? 16 : rows / 16 * 16;
    return rows < p->rows ? rows : p->rows;
}

static void free_product(void *state) {
    plim__tensor_release(((struct packed_product *)state)->file);
    plim__free(state);
}

plim_status plim__lower_packed_matmul(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    const plim__shape *x = plim__lower_input_shape(l, 0);
    struct packed_product made = {.matrix = plim__packed_of(node), .turned = plim__node_int(node, "transB", 0) != 0};
    const plim__packed *p = &made.matrix;
    made.count = plim__shape_product(x, 0, x->rank - 1);
    made.piece = piece_of(p);
    bool file = p->packing == PLIM__PACKED_FILE;
    for (size_t i = 0; i < (file ? 1u : 2u); i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_scratch(l, (size_t)(made.piece * p->columns) * sizeof(float)));
    PLIM_TRY(plim__lower_product(l, made.turned ? (plim__product){'N', 'T', false, made.count, made.piece, p->columns,
                                                                  p->columns, p->columns, p->rows}
                                                : (plim__product){'N', 'N', false, made.count, p->columns, made.piece,
                                                                  p->rows, p->columns, p->columns}));
    struct packed_product *s;
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = made;
    if (file) s->file = plim__tensor_retain(plim__graph_constant_tensor(plim__lower_graph(l), plim__node_in(node, 1)));
    return plim__lower_emit(l, file ? "FileMatMul" : "PackedMatMul", run, s, free_product);
}
