/* Attention, RotaryEmbedding and RMSNormalization of ONNX, spelled out in older operators: passes fuse what can be fused,
 * and gradients are those of the parts.
 *
 *   Y = softmax(softcap(scale · Q·Kᵀ) + mask) · V
 *
 *   Q (B, Hq, Tq, D) or (B, Tq, Hq·D)    K (B, Hk, Tk, D) or (B, Tk, Hk·D)    V (B, Hk, Tk, E) or (B, Tk, Hk·E)
 *   mask broadcasts to (B, Hq, Tq, S), S = past + Tk; shorter in its last axis, it hides the rest */
#include <math.h>

#include "ops/expand.h"

struct attention {
    plim__expand e;
    plim_dtype dtype;
    int64_t batch, heads, kv_heads, queries, keys; /* keys with those of the past */
    int64_t past, depth, width;                    /* of queries and keys, of values */
    bool flat;                                     /* three axes */
    bool causal, hides;                            /* hides: some query may see no key */
    double scale, softcap;
    int64_t mode, precision;
    plim_value in[7], out[4];
};

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, VALID };

static plim_status wrong_shapes(plim__infer *ctx) {
    return plim__infer_fail(ctx, PLIM_SHAPE, "queries, keys and values do not fit");
}

static plim_status read_sizes(plim__infer *ctx, struct attention *a) {
    const plim__shape *q = plim__infer_shape(ctx, Q), *k = plim__infer_shape(ctx, K), *v = plim__infer_shape(ctx, V);
    if ((q->rank != 3 && q->rank != 4) || k->rank != q->rank || v->rank != q->rank || q->dims[0] != k->dims[0] ||
        q->dims[0] != v->dims[0])
        return wrong_shapes(ctx);
    a->flat = q->rank == 3;
    a->batch = q->dims[0];
    a->heads = a->flat ? plim__node_int(ctx->node, "q_num_heads", 0) : q->dims[1];
    a->kv_heads = a->flat ? plim__node_int(ctx->node, "kv_num_heads", 0) : k->dims[1];
    if (a->heads < 1 || a->kv_heads < 1 || a->heads % a->kv_heads != 0)
        return plim__infer_fail(ctx, PLIM_SHAPE, "%lld heads of queries for %lld of keys", (long long)a->heads,
                                (long long)a->kv_heads);
    int last = q->rank - 1;
    if (a->flat && (q->dims[2] % a->heads || k->dims[2] % a->kv_heads || v->dims[2] % a->kv_heads))
        return wrong_shapes(ctx);
    a->queries = q->dims[last - 1];
    a->keys = k->dims[last - 1];
    a->depth = a->flat ? q->dims[2] / a->heads : q->dims[3];
    a->width = a->flat ? v->dims[2] / a->kv_heads : v->dims[3];
    int64_t key_depth = a->flat ? k->dims[2] / a->kv_heads : k->dims[3];
    if (v->dims[last - 1] != a->keys || key_depth != a->depth || (!a->flat && v->dims[1] != a->kv_heads))
        return wrong_shapes(ctx);
    return PLIM_OK;
}

static plim_status read_attention(plim__infer *ctx, struct attention *a) {
    const plim__node *node = ctx->node;
    PLIM_TRY(read_sizes(ctx, a));
    for (size_t i = 0; i < 7; i++) a->in[i] = plim__node_in(node, i);
    if ((a->in[PAST_KEY] >= 0) != (a->in[PAST_VALUE] >= 0))
        return plim__infer_fail(ctx, PLIM_CORRUPT, "past keys and past values come together or not at all");
    if (a->in[PAST_KEY] >= 0) {
        const plim__shape *past = plim__infer_shape(ctx, PAST_KEY), *values = plim__infer_shape(ctx, PAST_VALUE);
        if (a->in[VALID] >= 0) return plim__infer_fail(ctx, PLIM_CORRUPT, "nonpad_kv_seqlen excludes past keys");
        if (past->rank != 4 || values->rank != 4 || past->dims[2] != values->dims[2]) return wrong_shapes(ctx);
        a->past = past->dims[2];
        a->keys += a->past;
    }
    a->dtype = plim__infer_dtype(ctx, Q);
    a->causal = plim__node_int(node, "is_causal", 0) != 0;
    a->scale = (double)plim__node_float(node, "scale", 0);
    if (a->scale == 0) a->scale = 1 / sqrt((double)(a->depth > 0 ? a->depth : 1));
    a->softcap = (double)plim__node_float(node, "softcap", 0);
    a->mode = plim__node_int(node, "qk_matmul_output_mode", 0);
    a->precision = plim__node_int(node, "softmax_precision", a->dtype);
    if (a->mode < 0 || a->mode > 3) return plim__infer_fail(ctx, PLIM_INVALID, "qk_matmul_output_mode is not 0 to 3");
    return PLIM_OK;
}

/* (B, T, H·D) to (B, H, T, D); (B, H, T, D) as it is. */
static plim_value by_heads(struct attention *a, plim_value x, int64_t tokens, int64_t heads, int64_t size) {
    if (!a->flat) return x;
    x = plim__expand_reshape(&a->e, x, (int64_t[]){a->batch, tokens, heads, size}, 4);
    return plim__expand_transpose(&a->e, x, (int64_t[]){0, 2, 1, 3}, 4);
}

/* Every head of keys or values serves several of the queries'. */
static plim_value repeated(struct attention *a, plim_value x, int64_t size) {
    int64_t times = a->heads / a->kv_heads;
    if (times == 1) return x;
    x = plim__expand_reshape(&a->e, x, (int64_t[]){a->batch, a->kv_heads, 1, a->keys, size}, 5);
    int64_t wide[] = {a->batch, a->kv_heads, times, a->keys, size};
    x = plim__expand_two(&a->e, "Expand", x, plim__expand_ints(&a->e, wide, 5));
    return plim__expand_reshape(&a->e, x, (int64_t[]){a->batch, a->heads, a->keys, size}, 4);
}

static plim_value scaled(struct attention *a, plim_value x, double factor) {
    return plim__expand_two(&a->e, "Mul", x, plim__expand_number(&a->e, a->dtype, factor));
}

/* 0 where the condition holds, minus infinity elsewhere, added to the scores. */
static plim_value hide(struct attention *a, plim_value scores, plim_value condition) {
    plim_value zero = plim__expand_number(&a->e, a->dtype, 0),
               hidden = plim__expand_number(&a->e, a->dtype, -(double)INFINITY);
    plim_value added = plim__expand_value(&a->e, "Where", (plim_value[]){condition, zero, hidden}, 3);
    return plim__expand_two(&a->e, "Add", scores, added);
}

/* (first + 0, first + 1, ...) along the last axis or the one before it, of a matrix. */
static plim_value numbers(struct attention *a, int64_t first, int64_t count, bool rows) {
    plim__tensor *t;
    plim_error error;
    plim__shape shape = {.rank = 2, .dims = {rows ? count : 1, rows ? 1 : count}};
    if (plim__tensor_create(PLIM_I64, &shape, &t, &error) != PLIM_OK) {
        plim__graph_fail(a->e.g, error.status, "%s", error.message);
        return PLIM_NO_VALUE;
    }
    for (int64_t i = 0; i < count; i++) ((int64_t *)t->data)[i] = first + i;
    return plim__graph_add_tensor(a->e.g, NULL, PLIM__VALUE_CONSTANT, t);
}

static plim_value add_given_mask(struct attention *a, plim_value scores, const plim__shape *mask, plim_dtype dtype) {
    plim_value given = a->in[MASK];
    int64_t length = mask->rank ? mask->dims[mask->rank - 1] : 1;
    if (length != a->keys && length != 1) { /* what it does not tell is hidden */
        int64_t pads[2 * PLIM_MAX_RANK] = {0};
        pads[2 * mask->rank - 1] = a->keys - length;
        plim_value fill = plim__expand_number(&a->e, dtype, dtype == PLIM_BOOL ? 0 : -(double)INFINITY);
        plim_value inputs[] = {given, plim__expand_ints(&a->e, pads, 2 * (size_t)mask->rank), fill};
        given = plim__expand_value(&a->e, "Pad", inputs, 3);
    }
    a->hides = true;
    if (dtype == PLIM_BOOL) return hide(a, scores, given);
    if (dtype != a->dtype) given = plim__expand_cast(&a->e, given, a->dtype);
    return plim__expand_two(&a->e, "Add", scores, given);
}

/* Query i sees keys up to i + offset; with nonpad_kv_seqlen the offset is each sample's own. */
static plim_value add_order(struct attention *a, plim_value scores) {
    plim_value keys = numbers(a, 0, a->keys, false), valid = a->in[VALID];
    if (valid >= 0) valid = plim__expand_reshape(&a->e, valid, (int64_t[]){a->batch, 1, 1, 1}, 4);
    if (valid >= 0) {
        scores = hide(a, scores, plim__expand_two(&a->e, "Less", keys, valid));
        a->hides = true;
    }
    if (!a->causal) return scores;
    plim_value queries = numbers(a, valid >= 0 ? -a->queries : a->past, a->queries, true);
    if (valid >= 0) queries = plim__expand_two(&a->e, "Add", queries, valid);
    return hide(a, scores, plim__expand_two(&a->e, "LessOrEqual", keys, queries));
}

static plim_value weigh(struct attention *a, plim_value scores) {
    bool other = a->precision != a->dtype;
    if (other) scores = plim__expand_cast(&a->e, scores, (plim_dtype)a->precision);
    plim_value weights = plim__expand_one(&a->e, "Softmax", scores);
    if (a->hides) { /* a query that sees nothing has no weights */
        plim_value zero = plim__expand_number(&a->e, (plim_dtype)a->precision, 0);
        weights = plim__expand_value(&a->e, "Where",
                                     (plim_value[]){plim__expand_one(&a->e, "IsNaN", weights), zero, weights}, 3);
    }
    return other ? plim__expand_cast(&a->e, weights, a->dtype) : weights;
}

static plim_status spell_attention(plim__infer *ctx, struct attention *a, const plim__shape *mask, plim_dtype type) {
    plim__expand *e = &a->e;
    int64_t fresh = a->keys - a->past;
    plim_value q = by_heads(a, a->in[Q], a->queries, a->heads, a->depth);
    plim_value k = by_heads(a, a->in[K], fresh, a->kv_heads, a->depth);
    plim_value v = by_heads(a, a->in[V], fresh, a->kv_heads, a->width);
    if (a->in[PAST_KEY] >= 0) {
        k = plim__expand_concat(e, (plim_value[]){a->in[PAST_KEY], k}, 2, 2);
        v = plim__expand_concat(e, (plim_value[]){a->in[PAST_VALUE], v}, 2, 2);
    }
    a->out[1] = k;
    a->out[2] = v;
    k = plim__expand_transpose(e, repeated(a, k, a->depth), (int64_t[]){0, 1, 3, 2}, 4);
    plim_value scores = scaled(a, plim__expand_two(e, "MatMul", q, k), a->scale), stages[4] = {scores};
    if (a->softcap > 0) scores = scaled(a, plim__expand_one(e, "Tanh", scaled(a, scores, 1 / a->softcap)), a->softcap);
    stages[1] = scores;
    if (a->in[MASK] >= 0) scores = add_given_mask(a, scores, mask, type);
    stages[2] = scores = add_order(a, scores);
    stages[3] = weigh(a, scores);
    a->out[3] = stages[a->mode];
    plim_value y = plim__expand_two(e, "MatMul", stages[3], repeated(a, v, a->width));
    if (a->flat) {
        y = plim__expand_transpose(e, y, (int64_t[]){0, 2, 1, 3}, 4);
        y = plim__expand_reshape(e, y, (int64_t[]){a->batch, a->queries, a->heads * a->width}, 3);
    }
    a->out[0] = y;
    return plim__expand_end(e, a->out, ctx->graph->nodes.items[e->node].outputs.count);
}

plim_status plim__infer_onnx_attention(plim__infer *ctx) {
    struct attention a = {.e = plim__expand_begin(ctx)};
    plim__shape mask = {.rank = 0};
    PLIM_TRY(read_attention(ctx, &a));
    if (a.in[MASK] >= 0) mask = *plim__infer_shape(ctx, MASK);
    if (mask.rank > 4 || (mask.rank && mask.dims[mask.rank - 1] > a.keys))
        return plim__infer_fail(ctx, PLIM_SHAPE, "the mask is longer than the keys");
    return spell_attention(ctx, &a, &mask, a.in[MASK] >= 0 ? plim__infer_dtype(ctx, MASK) : a.dtype);
}

/* --- RotaryEmbedding ------------------------------------------------------------------------------------------ */

struct rotary {
    plim__expand e;
    int64_t batch, tokens, heads, size, turned; /* of each head, and how many of its numbers are turned */
    bool flat, interleaved;
};

static plim_status read_rotary(plim__infer *ctx, struct rotary *r) {
    const plim__shape *x = plim__infer_shape(ctx, 0), *c = plim__infer_shape(ctx, 1), *s = plim__infer_shape(ctx, 2);
    if (x->rank != 3 && x->rank != 4) return plim__infer_fail(ctx, PLIM_SHAPE, "its input has %d axes", x->rank);
    r->flat = x->rank == 3;
    r->batch = x->dims[0];
    r->heads = r->flat ? plim__node_int(ctx->node, "num_heads", 0) : x->dims[1];
    r->tokens = r->flat ? x->dims[1] : x->dims[2];
    if (r->heads < 1 || (r->flat && x->dims[2] % r->heads))
        return plim__infer_fail(ctx, PLIM_SHAPE, "num_heads is %lld", (long long)r->heads);
    r->size = r->flat ? x->dims[2] / r->heads : x->dims[3];
    r->turned = plim__node_int(ctx->node, "rotary_embedding_dim", 0);
    if (r->turned == 0) r->turned = r->size;
    r->interleaved = plim__node_int(ctx->node, "interleaved", 0) != 0;
    if (r->turned < 2 || r->turned > r->size || r->turned % 2 || c->rank < 2 || !plim__shape_equal(c, s) ||
        c->dims[c->rank - 1] != r->turned / 2 || c->rank != (plim__infer_has(ctx, 3) ? 2 : 3))
        return plim__infer_fail(ctx, PLIM_SHAPE, "the tables of cosines and sines do not fit");
    return PLIM_OK;
}

/* (B, T, turned / 2) with an axis for the heads. */
static plim_value table(struct rotary *r, plim_value cache, plim_value positions) {
    if (positions >= 0) cache = plim__expand_two(&r->e, "Gather", cache, positions);
    return plim__expand_two(&r->e, "Unsqueeze", cache, plim__expand_ints(&r->e, &(int64_t){r->flat ? 2 : 1}, 1));
}

/* x₁·a + sign · x₂·b, with `sign` an operator. */
static plim_value turn(struct rotary *r, const char *sign, plim_value x1, plim_value a, plim_value x2, plim_value b) {
    return plim__expand_two(&r->e, sign, plim__expand_two(&r->e, "Mul", x1, a), plim__expand_two(&r->e, "Mul", x2, b));
}

static plim_value turn_pairs(struct rotary *r, plim_value x, plim_value cosines, plim_value sines) {
    plim__expand *e = &r->e;
    int64_t a = r->flat ? r->tokens : r->heads, b = r->flat ? r->heads : r->tokens, half = r->turned / 2;
    plim_value last = plim__expand_ints(e, &(int64_t){4}, 1);
    if (r->interleaved) x = plim__expand_reshape(e, x, (int64_t[]){r->batch, a, b, half, 2}, 5);
    int32_t parts = r->interleaved ? plim__expand_split(e, x, 4, (int64_t[]){1, 1}, 2)
                                   : plim__expand_split(e, x, 3, (int64_t[]){half, half}, 2);
    plim_value x1 = plim__expand_out(e, parts, 0), x2 = plim__expand_out(e, parts, 1);
    if (r->interleaved) {
        x1 = plim__expand_two(e, "Squeeze", x1, last);
        x2 = plim__expand_two(e, "Squeeze", x2, last);
    }
    plim_value both[] = {turn(r, "Sub", x1, cosines, x2, sines), turn(r, "Add", x1, sines, x2, cosines)};
    if (!r->interleaved) return plim__expand_concat(e, both, 2, 3);
    for (int i = 0; i < 2; i++) both[i] = plim__expand_two(e, "Unsqueeze", both[i], last);
    return plim__expand_reshape(e, plim__expand_concat(e, both, 2, 4), (int64_t[]){r->batch, a, b, r->turned}, 4);
}

plim_status plim__infer_rotary(plim__infer *ctx) {
    struct rotary r = {.e = plim__expand_begin(ctx)};
    PLIM_TRY(read_rotary(ctx, &r));
    plim_value x = plim__node_in(ctx->node, 0), cosines = plim__node_in(ctx->node, 1),
               sines = plim__node_in(ctx->node, 2), positions = plim__node_in(ctx->node, 3);
    plim__expand *e = &r.e;
    if (r.flat) x = plim__expand_reshape(e, x, (int64_t[]){r.batch, r.tokens, r.heads, r.size}, 4);
    plim_value rest = PLIM_NO_VALUE;
    if (r.turned < r.size) {
        int32_t parts = plim__expand_split(e, x, 3, (int64_t[]){r.turned, r.size - r.turned}, 2);
        x = plim__expand_out(e, parts, 0);
        rest = plim__expand_out(e, parts, 1);
    }
    plim_value y = turn_pairs(&r, x, table(&r, cosines, positions), table(&r, sines, positions));
    if (rest >= 0) y = plim__expand_concat(e, (plim_value[]){y, rest}, 2, 3);
    if (r.flat) y = plim__expand_reshape(e, y, (int64_t[]){r.batch, r.tokens, r.heads * r.size}, 3);
    return plim__expand_end(e, &y, 1);
}

/* --- RMSNormalization ----------------------------------------------------------------------------------------- */

/* Y = X / sqrt(mean(X²) + epsilon) · scale over the axes from `axis` on; the mean in float32 where X is narrower. */
plim_status plim__infer_onnx_rms_norm(plim__infer *ctx) {
    const plim__shape *shape = plim__infer_shape(ctx, 0);
    int axis;
    if (!plim__axis_normalize(plim__node_int(ctx->node, "axis", -1), shape->rank, &axis))
        return plim__infer_fail(ctx, PLIM_SHAPE, "the axis is out of range");
    int64_t axes[PLIM_MAX_RANK];
    size_t count = 0;
    for (int i = axis; i < shape->rank; i++) axes[count++] = i;
    plim_value x = plim__node_in(ctx->node, 0), scale = plim__node_in(ctx->node, 1);
    plim_dtype dtype = plim__infer_dtype(ctx, 0), type = plim__infer_dtype(ctx, 1);
    double epsilon = (double)plim__node_float(ctx->node, "epsilon", 1e-5f);
    bool narrow = plim_dtype_bits(dtype) < 32;
    plim__expand e = plim__expand_begin(ctx);
    plim_value wide = narrow ? plim__expand_cast(&e, x, PLIM_F32) : x;
    plim_value mean =
        plim__expand_two(&e, "ReduceMean", plim__expand_two(&e, "Mul", wide, wide), plim__expand_ints(&e, axes, count));
    plim_value sum = plim__expand_two(&e, "Add", mean, plim__expand_number(&e, narrow ? PLIM_F32 : dtype, epsilon));
    plim_value y = plim__expand_two(&e, "Div", wide, plim__expand_one(&e, "Sqrt", sum));
    if (narrow || type != dtype) y = plim__expand_cast(&e, y, type);
    y = plim__expand_two(&e, "Mul", y, scale);
    return plim__expand_end(&e, &y, 1);
}
