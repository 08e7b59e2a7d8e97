/* Einsum's equations: letters become numbered labels, an ellipsis becomes one label for each axis it hides. */
#include <ctype.h>
#include <string.h>

#include "ops/movement.h"

#define LETTERS 52
/* Labels of hidden axes, counted from the right as broadcasting does. */
#define HIDDEN(from_right) (LETTERS + (from_right))

static int letter_label(char c) { return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? 26 + c - 'A' : -1; }

/* One term: its letters, and where the ellipsis stands (-1 for none). */
typedef struct term {
    int labels[PLIM_MAX_RANK], count, ellipsis;
} term;

static plim_status read_term(plim__infer *ctx, const char *text, size_t length, term *t) {
    *t = (term){.ellipsis = -1};
    for (size_t i = 0; i < length; i++) {
        if (isspace((unsigned char)text[i])) continue;
        if (text[i] == '.' && length - i >= 3 && text[i + 1] == '.' && text[i + 2] == '.' && t->ellipsis < 0) {
            t->ellipsis = t->count;
            i += 2;
            continue;
        }
        int label = letter_label(text[i]);
        if (label < 0 || t->count == PLIM_MAX_RANK)
            return plim__infer_fail(ctx, PLIM_INVALID, "the equation is not understood at '%.*s'", (int)length, text);
        t->labels[t->count++] = label;
    }
    return PLIM_OK;
}

/* Labels of a term for a tensor of this rank. */
static plim_status spread_term(plim__infer *ctx, const term *t, int rank, int *labels) {
    int hidden = rank - t->count;
    if (hidden < 0 || (t->ellipsis < 0 && hidden > 0))
        return plim__infer_fail(ctx, PLIM_SHAPE, "a term of %d letters for rank %d", t->count, rank);
    int next = 0;
    for (int i = 0; i < t->count; i++) {
        if (i == t->ellipsis)
            for (int k = hidden - 1; k >= 0; k--) labels[next++] = HIDDEN(k);
        labels[next++] = t->labels[i];
    }
    if (t->ellipsis == t->count)
        for (int k = hidden - 1; k >= 0; k--) labels[next++] = HIDDEN(k);
    return PLIM_OK;
}

static plim_status read_input(plim__infer *ctx, plim__einsum *e, const char *text, size_t length, int *hidden_most) {
    int k = e->inputs;
    if (k == PLIM__EINSUM_INPUTS)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator Einsum of more than %d inputs",
                                PLIM__EINSUM_INPUTS);
    if (!plim__infer_has(ctx, (size_t)k))
        return plim__infer_fail(ctx, PLIM_INVALID, "the equation has more terms than inputs");
    const plim__shape *shape = plim__infer_shape(ctx, (size_t)k);
    term t;
    PLIM_TRY(read_term(ctx, text, length, &t));
    PLIM_TRY(spread_term(ctx, &t, shape->rank, e->labels[k]));
    if (t.ellipsis >= 0 && shape->rank - t.count > *hidden_most) *hidden_most = shape->rank - t.count;
    for (int i = 0; i < shape->rank; i++) {
        int64_t *size = &e->size[e->labels[k][i]], dim = shape->dims[i];
        if (*size >= 0 && *size != dim && *size != 1 && dim != 1)
            return plim__infer_fail(ctx, PLIM_SHAPE, "input %d, axis %d: %lld elements where another has %lld", k, i,
                                    (long long)dim, (long long)*size);
        if (*size < 0 || *size == 1) *size = dim;
    }
    e->rank[k] = shape->rank;
    e->inputs++;
    return PLIM_OK;
}

/* Without "->": hidden axes, then every letter that occurs once, in alphabetical order (capitals first). */
static plim_status implicit_output(plim__infer *ctx, plim__einsum *e, int hidden) {
    int uses[LETTERS] = {0};
    for (int k = 0; k < e->inputs; k++)
        for (int i = 0; i < e->rank[k]; i++)
            if (e->labels[k][i] < LETTERS) uses[e->labels[k][i]]++;
    for (int i = hidden - 1; i >= 0; i--) e->out_labels[e->out_rank++] = HIDDEN(i);
    for (int pass = 0; pass < LETTERS; pass++) {
        int label = (pass + 26) % LETTERS;
        if (uses[label] != 1) continue;
        if (e->out_rank == PLIM_MAX_RANK)
            return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator Einsum of rank > 8");
        e->out_labels[e->out_rank++] = label;
    }
    return PLIM_OK;
}

static plim_status explicit_output(plim__infer *ctx, plim__einsum *e, const char *text, int hidden) {
    term t;
    PLIM_TRY(read_term(ctx, text, strlen(text), &t));
    e->out_rank = t.count + (t.ellipsis >= 0 ? hidden : 0);
    if (e->out_rank > PLIM_MAX_RANK)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator Einsum of rank > 8");
    PLIM_TRY(spread_term(ctx, &t, e->out_rank, e->out_labels));
    for (int i = 0; i < e->out_rank; i++) {
        if (e->size[e->out_labels[i]] < 0)
            return plim__infer_fail(ctx, PLIM_INVALID, "an output letter is in no input");
        for (int j = 0; j < i; j++)
            if (e->out_labels[j] == e->out_labels[i])
                return plim__infer_fail(ctx, PLIM_INVALID, "an output letter is given twice");
    }
    return PLIM_OK;
}

plim_status plim__einsum_read(plim__infer *ctx, plim__einsum *e) {
    const char *equation = plim__node_string(ctx->node, "equation", NULL);
    if (!equation) return plim__infer_fail(ctx, PLIM_CORRUPT, "the equation is missing");
    memset(e, 0, sizeof *e);
    for (int i = 0; i < PLIM__EINSUM_LABELS; i++) e->size[i] = -1;
    const char *arrow = strstr(equation, "->"), *end = arrow ? arrow : equation + strlen(equation);
    int hidden = 0;
    for (const char *start = equation;;) {
        const char *comma = memchr(start, ',', (size_t)(end - start)), *stop = comma ? comma : end;
        PLIM_TRY(read_input(ctx, e, start, (size_t)(stop - start), &hidden));
        if (!comma) break;
        start = comma + 1;
    }
    if ((size_t)e->inputs != ctx->node->inputs.count)
        return plim__infer_fail(ctx, PLIM_INVALID, "%d terms for %zu inputs", e->inputs, ctx->node->inputs.count);
    /* every product of sizes that planning makes stays below this one */
    int64_t combinations = 4;
    for (int i = 0; i < PLIM__EINSUM_LABELS; i++)
        if (e->size[i] > 1 &&
            (__builtin_mul_overflow(combinations, e->size[i], &combinations) || combinations > INT64_MAX / 16))
            return plim__infer_fail(ctx, PLIM_OVERFLOW, "there are too many combinations of labels");
    return arrow ? explicit_output(ctx, e, arrow + 2, hidden) : implicit_output(ctx, e, hidden);
}

plim_status plim__infer_einsum(plim__infer *ctx) {
    plim__einsum e;
    PLIM_TRY(plim__einsum_read(ctx, &e));
    plim__shape shape = {.rank = e.out_rank};
    for (int i = 0; i < e.out_rank; i++) shape.dims[i] = e.size[e.out_labels[i]];
    for (size_t k = 1; k < ctx->node->inputs.count; k++)
        if (plim__infer_dtype(ctx, k) != plim__infer_dtype(ctx, 0))
            return plim__infer_fail(ctx, PLIM_DTYPE, "inputs are %s and %s", plim_dtype_name(plim__infer_dtype(ctx, 0)),
                                    plim_dtype_name(plim__infer_dtype(ctx, k)));
    return plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &shape);
}

/* Two flops for each combination of labels. */
void plim__cost_einsum(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    plim__cost_pointwise(g, node, cost);
    union {
        const plim_graph *fixed;
        plim_graph *graph;
    } borrowed = {.fixed = g}; /* the reader changes nothing */
    plim__infer ctx = {borrowed.graph, node, NULL};
    plim__einsum e;
    if (plim__einsum_read(&ctx, &e) != PLIM_OK) return;
    cost->flops = 2;
    for (int i = 0; i < PLIM__EINSUM_LABELS; i++)
        if (e.size[i] >= 0) cost->flops *= (double)e.size[i];
}
