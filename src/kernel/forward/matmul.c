/* Matrix products: MatMul, Gemm and the fused Linear, on oneDNN for float32, on plain loops for the types
 * that it does not know. Where the target multiplies 16 bits, both factors are read so; addends and y stay float32.
 *
 *   Linear:  y = activation(x·w + bias + residual)    x (..., M, K)   w (K, N)   bias (N)   residual like y
 */
#include <string.h>

#include "core/half.h"
#include "kernel/copies.h"
#include "kernel/forward/epilogue.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"

/* oneDNN wants one of the last two strides to be 1, and no zero strides. */
static bool is_matrix(const plim__layout *m) {
    int r = m->shape.rank;
    if (m->blocked || r < 2) return false;
    for (int i = 0; i < r; i++)
        if (m->shape.dims[i] > 1 && m->strides[i] <= 0) return false;
    const int64_t *d = m->shape.dims + r - 2, *s = m->strides + r - 2;
    bool rows = (s[1] == 1 || d[1] == 1) && (d[0] == 1 || s[0] >= d[1]);
    bool columns = (s[0] == 1 || d[0] == 1) && (d[1] == 1 || s[1] >= d[0]);
    return rows || columns;
}

/* Strides of axes of size 1 mean nothing; give them the values that a dense matrix would have. */
static void tidy(plim__layout *m) {
    int r = m->shape.rank;
    int64_t *d = m->shape.dims, *s = m->strides;
    bool columns = d[r - 1] > 1 && d[r - 2] > 1 && s[r - 2] == 1 && s[r - 1] != 1;
    if (d[r - 1] == 1 && d[r - 2] > 1 && s[r - 2] == 1)
        s[r - 1] = d[r - 2], columns = true;
    else if (d[r - 1] == 1)
        s[r - 1] = 1;
    if (!columns && d[r - 2] == 1) s[r - 2] = d[r - 1] * s[r - 1];
    for (int i = r - 3; i >= 0; i--)
        if (d[i] == 1) s[i] = d[i + 1] * s[i + 1] > 0 ? d[i + 1] * s[i + 1] : 1;
}

/* Brings a layout to `rank` axes by putting ones in front. */
static void raise_rank(plim__layout *m, int rank) {
    int more = rank - m->shape.rank;
    if (more <= 0) return;
    memmove(m->shape.dims + more, m->shape.dims, (size_t)m->shape.rank * sizeof *m->shape.dims);
    memmove(m->strides + more, m->strides, (size_t)m->shape.rank * sizeof *m->strides);
    for (int i = 0; i < more; i++) m->shape.dims[i] = m->strides[i] = 1;
    m->shape.rank = rank;
}

static void append_axis(plim__layout *m) {
    m->shape.dims[m->shape.rank] = 1;
    m->strides[m->shape.rank++] = 1;
}

static bool is_matrix_or_vector(const plim__layout *m) {
    plim__layout seen = *m;
    if (seen.shape.rank == 1 && !seen.blocked) append_axis(&seen);
    return is_matrix(&seen);
}

/* A node input that oneDNN can take as a matrix, dense when its strides do not allow it. */
static plim_status matrix_input(plim__lower *l, size_t i, plim_dtype as, plim__layout *m) {
    if (as != plim__lower_input_dtype(l, i)) return plim__lower_input_narrow(l, i, as, is_matrix_or_vector, m);
    return plim__lower_input(l, i, is_matrix_or_vector(plim__lower_peek(l, i)) ? PLIM__STRIDED : PLIM__DENSE, m);
}

/* What the factors are read as. Only products of matrices, or of as many pairs of them: for the other ones oneDNN has no kernel of
 * 16 bits that is worth it. */
static plim_dtype factor_type(const plim__lower *l) {
    const plim__shape *a = plim__lower_input_shape(l, 0), *b = plim__lower_input_shape(l, 1);
    plim_dtype own = plim__lower_input_dtype(l, 0);
    if (own != PLIM_F32 || plim__shape_elements(a) == 0 || plim__shape_elements(b) == 0) return own;
    bool pairs = a->rank == b->rank && a->rank >= 2;
    for (int i = 0; pairs && i < a->rank - 2; i++) pairs = a->dims[i] == b->dims[i];
    return pairs || (a->rank >= 2 && b->rank == 2) ? plim__lower_factors(l) : own;
}

static const char *label_of(plim_dtype factors, const char *wide, const char *narrow) {
    return factors == PLIM_BF16 ? narrow : wide;
}

struct product {
    plim_dtype factors;
    plim__layout a, b, y;  /* ranks equal, batches broadcastable, y dense */
    size_t bias, residual; /* node inputs; 0 for none */
    float scale;           /* of the product */
    float after;           /* of everything, 1 for none */
    bool fuse_activation;
};

/* With one matrix on the right, the batch axes of the left are only more rows. */
static void merge_rows(struct product *p) {
    int r = p->a.shape.rank;
    if (r <= 2 || plim__shape_product(&p->b.shape, 0, r - 2) != 1) return;
    plim__shape rows = {.rank = 2, .dims = {plim__shape_product(&p->a.shape, 0, r - 1), p->a.shape.dims[r - 1]}};
    plim__layout merged;
    if (!plim__layout_reshape(&p->a, &rows, &merged) || !is_matrix(&merged)) return;
    p->a = merged;
    p->b.shape = (plim__shape){.rank = 2, .dims = {p->b.shape.dims[r - 2], p->b.shape.dims[r - 1]}};
    p->b.strides[0] = p->b.strides[r - 2];
    p->b.strides[1] = p->b.strides[r - 1];
    plim__shape out = {.rank = 2, .dims = {rows.dims[0], p->b.shape.dims[1]}};
    p->y = plim__layout_dense(p->y.dtype, &out);
}

/* How a bias, residual or C of Gemm lines up with y: dense, ones in front; merged rows like y's. */
static bool addend_layout(const struct product *p, const plim__layout *from, plim__layout *to) {
    *to = *from;
    if (from->shape.rank <= p->y.shape.rank) {
        raise_rank(to, p->y.shape.rank);
        return true;
    }
    return plim__layout_reshape(from, &p->y.shape, to);
}

static plim_status append_addend(plim__lower *l, struct product *p, size_t input, dnnl_post_ops_t ops,
                                 plim__argument *argument) {
    plim__layout raw = plim__layout_dense(plim__lower_input_dtype(l, input), plim__lower_input_shape(l, input)),
                 lined_up;
    if (!addend_layout(p, &raw, &lined_up))
        return plim__lower_fail(l, PLIM_SHAPE, "an addend does not fit the product");
    raw = plim__layout_dense(lined_up.dtype, &lined_up.shape);
    if (!plim__layout_md(&raw, &argument->md)) return plim__lower_unsupported(l, "with this type");
    argument->id = DNNL_ARG_ATTR_MULTIPLE_POST_OP(dnnl_post_ops_len(ops)) | DNNL_ARG_SRC_1;
    return plim__lower_dnnl(l, dnnl_post_ops_append_binary(ops, dnnl_binary_add, &argument->md), "addend");
}

static plim_status describe(plim__lower *l, struct product *p, dnnl_primitive_attr_t attr, plim__argument arguments[],
                            int *count, dnnl_primitive_desc_t *pd) {
    dnnl_post_ops_t ops;
    PLIM_TRY(plim__lower_dnnl(l, dnnl_post_ops_create(&ops), "epilogue"));
    plim_status status = PLIM_OK;
    if (p->bias) status = append_addend(l, p, p->bias, ops, &arguments[(*count)++]);
    if (status == PLIM_OK && p->residual) status = append_addend(l, p, p->residual, ops, &arguments[(*count)++]);
    if (status == PLIM_OK && p->after != 1)
        status =
            plim__lower_dnnl(l, dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_linear, p->after, 0), "epilogue");
    if (status == PLIM_OK && p->fuse_activation) status = plim__epilogue_activation(l, ops);
    if (status == PLIM_OK) status = plim__lower_dnnl(l, dnnl_primitive_attr_set_post_ops(attr, ops), "epilogue");
    dnnl_post_ops_destroy(ops);
    if (status == PLIM_OK && p->scale != 1)
        status = plim__lower_dnnl(l, dnnl_primitive_attr_set_output_scales(attr, 1, 0, &p->scale), "scale");
    dnnl_matmul_desc_t desc;
    if (status == PLIM_OK)
        status = plim__lower_dnnl(
            l, dnnl_matmul_desc_init(&desc, &arguments[0].md, &arguments[1].md, NULL, &arguments[2].md),
            "matrix product");
    if (status == PLIM_OK)
        status = plim__lower_dnnl(l, dnnl_primitive_desc_create(pd, &desc, attr, plim__lower_dnnl_engine(l), NULL),
                                  "matrix product");
    return status;
}

/* oneDNN 2.6 keeps some sizes in an int: larger ones end the process in a division by zero. */
static bool is_countable(const plim__shape *shape) {
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] > INT32_MAX) return false;
    return true;
}

/* Operands: in 0 = a, in 1 = b, then addends in order. */
static plim_status lower_product(plim__lower *l, struct product *p, const char *label) {
    tidy(&p->a);
    tidy(&p->b);
    if (!is_countable(&p->a.shape) || !is_countable(&p->b.shape))
        return plim__lower_unsupported(l, "with an axis of more than 2147483647 elements");
    plim__argument arguments[6] = {{.id = DNNL_ARG_SRC, .operand = 0},
                                   {.id = DNNL_ARG_WEIGHTS, .operand = 1},
                                   {.id = DNNL_ARG_DST, .operand = PLIM__OUT(0)}};
    int count = 3;
    if (!plim__layout_md(&p->a, &arguments[0].md) || !plim__layout_md(&p->b, &arguments[1].md) ||
        !plim__layout_md(&p->y, &arguments[2].md))
        return plim__lower_unsupported(l, "with this type");
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t pd = NULL;
    PLIM_TRY(plim__lower_attr(l, &attr));
    plim_status status = describe(l, p, attr, arguments, &count, &pd);
    dnnl_primitive_attr_destroy(attr);
    PLIM_TRY(status);
    size_t addends[] = {p->bias, p->residual};
    int operand = 2;
    for (size_t i = 0; status == PLIM_OK && i < 2; i++)
        if (addends[i]) status = plim__lower_input(l, addends[i], PLIM__DENSE, NULL);
    for (int i = 3; i < count; i++) arguments[i].operand = operand++;
    if (status == PLIM_OK) status = plim__lower_output(l, 0, NULL);
    if (status != PLIM_OK) {
        dnnl_primitive_desc_destroy(pd);
        return status;
    }
    return plim__lower_primitive(l, label, pd, arguments, count);
}

/* --- types that oneDNN does not know -------------------------------------------------------------------------- */

struct plain {
    plim_dtype dtype;
    int64_t batch, m, n, k;
    int64_t *a_batch, *b_batch; /* element offsets of each batch's matrices */
    int64_t a_row, a_column, b_row, b_column;
};

#define PRODUCT(type, accumulate, load, store)                                                                         \
    for (int64_t i = 0; i < s->m; i++)                                                                                 \
        for (int64_t j = 0; j < s->n; j++) {                                                                           \
            const type *x = (const type *)call->in[0] + s->a_batch[b] + i * s->a_row;                                  \
            const type *w = (const type *)call->in[1] + s->b_batch[b] + j * s->b_column;                               \
            accumulate sum = 0;                                                                                        \
            for (int64_t k = 0; k < s->k; k++)                                                                         \
                sum += (accumulate)load(x[k * s->a_column]) * (accumulate)load(w[k * s->b_row]);                       \
            ((type *)call->out[0])[(b * s->m + i) * s->n + j] = (type)store(sum);                                      \
        }                                                                                                              \
    break

static plim_status run_plain(const plim__call *call) {
    const struct plain *s = call->state;
    for (int64_t b = 0; b < s->batch; b++) switch (s->dtype) {
        case PLIM_F32: PRODUCT(float, float, , );
        case PLIM_F64: PRODUCT(double, double, , );
        case PLIM_F16: PRODUCT(uint16_t, float, plim__half_to_float, plim__float_to_half);
        case PLIM_BF16: PRODUCT(uint16_t, float, plim__bfloat_to_float, plim__float_to_bfloat);
        case PLIM_I32: PRODUCT(int32_t, uint32_t, , );
        case PLIM_U32: PRODUCT(uint32_t, uint32_t, , );
        case PLIM_I64: PRODUCT(int64_t, uint64_t, , );
        case PLIM_U64: PRODUCT(uint64_t, uint64_t, , );
        default: return PLIM_UNSUPPORTED;
        }
    return PLIM_OK;
}

static void release_plain(void *state) {
    struct plain *s = state;
    plim__free(s->a_batch);
    plim__free(s->b_batch);
    plim__free(s);
}

/* Element offset of the b-th matrix of y inside a factor that may broadcast. */
static int64_t batch_offset(const plim__layout *factor, const plim__shape *y, int64_t b) {
    int64_t offset = 0;
    for (int i = y->rank - 3; i >= 0; i--) {
        if (factor->shape.dims[i] != 1) offset += b % y->dims[i] * factor->strides[i];
        b /= y->dims[i];
    }
    return offset;
}

static plim_status lower_plain(plim__lower *l, const struct product *p, const char *label) {
    if (plim_dtype_bits(p->y.dtype) < 16 || p->y.dtype == PLIM_I16 || p->y.dtype == PLIM_U16)
        return plim__lower_unsupported(l, "with this type");
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    struct plain *s = plim__alloc_zero(1, sizeof *s);
    if (!s) return plim__lower_fail(l, PLIM_NO_MEMORY, "out of memory while planning");
    int r = p->y.shape.rank;
    *s = (struct plain){.dtype = p->y.dtype,
                        .batch = plim__shape_product(&p->y.shape, 0, r - 2),
                        .m = p->y.shape.dims[r - 2],
                        .n = p->y.shape.dims[r - 1],
                        .k = p->a.shape.dims[r - 1],
                        .a_row = p->a.strides[r - 2],
                        .a_column = p->a.strides[r - 1],
                        .b_row = p->b.strides[r - 2],
                        .b_column = p->b.strides[r - 1]};
    plim_status status = plim__lower_table(l, s->batch, sizeof *s->a_batch, &s->a_batch);
    if (status == PLIM_OK) status = plim__lower_table(l, s->batch, sizeof *s->b_batch, &s->b_batch);
    if (status != PLIM_OK) {
        release_plain(s);
        return status;
    }
    for (int64_t b = 0; b < s->batch; b++) {
        s->a_batch[b] = batch_offset(&p->a, &p->y.shape, b);
        s->b_batch[b] = batch_offset(&p->b, &p->y.shape, b);
    }
    return plim__lower_emit(l, label, run_plain, s, release_plain);
}

/* --- operators ------------------------------------------------------------------------------------------------ */

/* Both factors with equal ranks >= 2, and the product's layout; in operands 0 and 1. */
static plim_status factors(plim__lower *l, struct product *p) {
    p->factors = factor_type(l);
    PLIM_TRY(matrix_input(l, 0, p->factors, &p->a));
    PLIM_TRY(matrix_input(l, 1, p->factors, &p->b));
    if (p->a.shape.rank == 1) raise_rank(&p->a, 2);
    if (p->b.shape.rank == 1) append_axis(&p->b);
    int rank = p->a.shape.rank > p->b.shape.rank ? p->a.shape.rank : p->b.shape.rank;
    raise_rank(&p->a, rank);
    raise_rank(&p->b, rank);
    plim__shape y = {.rank = rank};
    for (int i = 0; i < rank - 2; i++) y.dims[i] = p->a.shape.dims[i] == 1 ? p->b.shape.dims[i] : p->a.shape.dims[i];
    y.dims[rank - 2] = p->a.shape.dims[rank - 2];
    y.dims[rank - 1] = p->b.shape.dims[rank - 1];
    p->y = plim__layout_dense(plim__lower_output_dtype(l, 0), &y);
    return PLIM_OK;
}

plim_status plim__lower_matmul(plim__lower *l) {
    struct product p = {.scale = 1, .after = 1};
    PLIM_TRY(factors(l, &p));
    bool empty = plim__shape_elements(&p.y.shape) == 0 || p.a.shape.dims[p.a.shape.rank - 1] == 0;
    if (p.y.dtype != PLIM_F32 || empty) return lower_plain(l, &p, "MatMul");
    merge_rows(&p);
    return lower_product(l, &p, label_of(p.factors, "MatMul", "MatMulBf16"));
}

plim_status plim__lower_linear(plim__lower *l) {
    struct product p = {.scale = 1, .after = 1, .fuse_activation = true};
    PLIM_TRY(factors(l, &p));
    if (plim__shape_elements(&p.y.shape) == 0) return lower_plain(l, &p, "Linear");
    if (p.a.shape.dims[p.a.shape.rank - 1] == 0) return plim__lower_unsupported(l, "over an empty axis");
    merge_rows(&p);
    p.bias = plim__lower_has_input(l, 2) ? 2 : 0;
    p.residual = plim__lower_has_input(l, 3) ? 3 : 0;
    return lower_product(l, &p, label_of(p.factors, "Linear", "LinearBf16"));
}

static void transpose(plim__layout *m) {
    int64_t d = m->shape.dims[0], s = m->strides[0];
    m->shape.dims[0] = m->shape.dims[1];
    m->strides[0] = m->strides[1];
    m->shape.dims[1] = d;
    m->strides[1] = s;
}

/* Gemm of the other types: y = alpha·a·b + beta·c in two plain passes. */
struct gemm_plain {
    struct plain *product;
    float alpha, beta;
    int64_t c_row, c_column; /* strides of c against y; 0 where it broadcasts */
    bool has_c;
};

static void release_gemm_plain(void *state) {
    struct gemm_plain *s = state;
    if (s->product) release_plain(s->product);
    plim__free(s);
}

#define ADD_C(type, load, store)                                                                                       \
    for (int64_t i = 0; i < s->product->m; i++)                                                                        \
        for (int64_t j = 0; j < s->product->n; j++) {                                                                  \
            type *y = (type *)call->out[0] + i * s->product->n + j;                                                    \
            double sum = (double)load(*y) * (double)s->alpha;                                                          \
            if (s->has_c)                                                                                              \
                sum += (double)load(((const type *)call->in[2])[i * s->c_row + j * s->c_column]) * (double)s->beta;    \
            *y = (type)store(sum);                                                                                     \
        }                                                                                                              \
    break

static uint16_t half_of(double x) { return plim__float_to_half((float)x); }
static uint16_t bfloat_of(double x) { return plim__float_to_bfloat((float)x); }

static plim_status run_gemm_plain(const plim__call *call) {
    const struct gemm_plain *s = call->state;
    plim__call inner = *call;
    inner.state = s->product;
    PLIM_TRY(run_plain(&inner));
    switch (s->product->dtype) {
    case PLIM_F32: ADD_C(float, , );
    case PLIM_F64: ADD_C(double, , );
    case PLIM_F16: ADD_C(uint16_t, plim__half_to_float, half_of);
    case PLIM_BF16: ADD_C(uint16_t, plim__bfloat_to_float, bfloat_of);
    case PLIM_I32: ADD_C(int32_t, , );
    case PLIM_U32: ADD_C(uint32_t, , );
    case PLIM_I64: ADD_C(int64_t, , );
    case PLIM_U64: ADD_C(uint64_t, , );
    default: return PLIM_UNSUPPORTED;
    }
    return PLIM_OK;
}

static plim_status lower_gemm_plain(plim__lower *l, const struct product *p, float alpha, float beta) {
    struct gemm_plain *s = plim__alloc_zero(1, sizeof *s);
    struct plain *product = plim__alloc_zero(1, sizeof *product);
    if (!s || !product || !(product->a_batch = plim__alloc_zero(1, sizeof(int64_t))) ||
        !(product->b_batch = plim__alloc_zero(1, sizeof(int64_t)))) {
        if (product) release_plain(product);
        plim__free(s);
        return plim__lower_fail(l, PLIM_NO_MEMORY, "out of memory while planning");
    }
    product->dtype = p->y.dtype;
    product->batch = 1;
    product->m = p->y.shape.dims[0];
    product->n = p->y.shape.dims[1];
    product->k = p->a.shape.dims[1];
    product->a_row = p->a.strides[0];
    product->a_column = p->a.strides[1];
    product->b_row = p->b.strides[0];
    product->b_column = p->b.strides[1];
    *s = (struct gemm_plain){.product = product, .alpha = alpha, .beta = beta, .has_c = p->bias != 0};
    plim_status status = PLIM_OK;
    if (s->has_c) {
        const plim__shape *c = plim__lower_input_shape(l, 2);
        s->c_column = c->rank >= 1 && c->dims[c->rank - 1] > 1;
        s->c_row = c->rank == 2 && c->dims[0] > 1 ? c->dims[1] : 0;
        status = plim__lower_input(l, 2, PLIM__DENSE, NULL);
    }
    if (status == PLIM_OK) status = plim__lower_output(l, 0, NULL);
    if (status != PLIM_OK) {
        release_gemm_plain(s);
        return status;
    }
    return plim__lower_emit(l, "Gemm", run_gemm_plain, s, release_gemm_plain);
}

plim_status plim__lower_gemm(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    float alpha = plim__node_float(node, "alpha", 1), beta = plim__node_float(node, "beta", 1);
    struct product p = {.scale = alpha, .after = 1, .fuse_activation = true};
    p.factors = factor_type(l);
    PLIM_TRY(matrix_input(l, 0, p.factors, &p.a));
    PLIM_TRY(matrix_input(l, 1, p.factors, &p.b));
    if (plim__node_int(node, "transA", 0)) transpose(&p.a);
    if (plim__node_int(node, "transB", 0)) transpose(&p.b);
    p.y = plim__layout_dense(plim__lower_output_dtype(l, 0), plim__lower_output_shape(l, 0));
    bool empty = plim__shape_elements(&p.y.shape) == 0 || p.a.shape.dims[1] == 0;
    if (plim__lower_has_input(l, 2) && beta != 0) {
        p.bias = 2;
        p.scale = alpha / beta;
        p.after = beta;
    }
    if (p.y.dtype != PLIM_F32 || empty) return lower_gemm_plain(l, &p, alpha, beta);
    return lower_product(l, &p, label_of(p.factors, "Gemm", "GemmBf16"));
}
