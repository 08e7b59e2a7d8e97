/* Recurrent networks.
 *
 *   T steps, B samples, D directions, G gates, I inputs, H hidden units
 *   X (T, B, I)   W (D, G H, I)   R (D, G H, H)   bias (D, 2 G H)   lengths (B)   h0, c0 (D, B, H)   P (D, 3 H)
 *   Y (T, D, B, H)   Y_h, Y_c (D, B, H)
 *   layout 1 puts B first: X (B, T, I), Y (B, T, D, H), states (B, D, H)
 *   of a table, whose rows X are: table·Wᵀ (V, D G H) and the row of each step and sample (T, B) stand where X and W do
 *   training forms: gates (D, T, B, (G + 1) H), with c of an LSTM or what a GRU resets last; time first in any layout */
#include <string.h>

#include "ops/op.h"

static plim_status expect(plim__infer *ctx, size_t i, const char *what, int rank, const int64_t *dims) {
    if (!plim__infer_has(ctx, i)) return PLIM_OK;
    char given[PLIM_SHAPE_TEXT], wanted[PLIM_SHAPE_TEXT];
    plim__shape shape = plim__shape_of(rank, dims);
    if (!plim__shape_equal(&shape, plim__infer_shape(ctx, i)))
        return plim__infer_fail(ctx, PLIM_SHAPE, "%s is %s, expected %s", what,
                                plim__shape_text(plim__infer_shape(ctx, i), NULL, given),
                                plim__shape_text(&shape, NULL, wanted));
    plim_dtype expected = i == 4 ? PLIM_I32 : plim__infer_dtype(ctx, 0);
    if (plim__infer_dtype(ctx, i) != expected)
        return plim__infer_fail(ctx, PLIM_DTYPE, "%s is %s, expected %s", what,
                                plim_dtype_name(plim__infer_dtype(ctx, i)), plim_dtype_name(expected));
    return PLIM_OK;
}

static plim_status directions(plim__infer *ctx, int64_t *count) {
    const char *name = plim__node_string(ctx->node, "direction", "forward");
    bool both = strcmp(name, "bidirectional") == 0;
    *count = both ? 2 : 1;
    if (both || strcmp(name, "forward") == 0 || strcmp(name, "reverse") == 0) return PLIM_OK;
    return plim__infer_fail(ctx, PLIM_CORRUPT, "direction '%.40s' is none of forward, reverse, bidirectional", name);
}

/* The table's product with W has a row for each of its rows, and the rows that are taken are whole numbers. */
static plim_status expect_table(plim__infer *ctx, int64_t units) {
    const plim__shape *products = plim__infer_shape(ctx, 0);
    plim_dtype index = plim__infer_dtype(ctx, 1);
    if (products->rank != 2 || products->dims[1] != units)
        return plim__infer_fail(ctx, PLIM_SHAPE, "the products of its table need %lld columns", (long long)units);
    if (index != PLIM_I64 && index != PLIM_I32)
        return plim__infer_fail(ctx, PLIM_DTYPE, "rows of a table are int32 or int64");
    return PLIM_OK;
}

static plim_status infer(plim__infer *ctx, int64_t gates, bool table) {
    const plim__shape *x = plim__infer_shape(ctx, table ? 1 : 0), *r = plim__infer_shape(ctx, 2);
    if (x->rank != (table ? 2 : 3) || r->rank != 3)
        return plim__infer_fail(ctx, PLIM_SHAPE, table ? "rows need two axes, R three" : "X and R need three axes");
    int64_t batch_first = plim__node_int(ctx->node, "layout", 0);
    if (batch_first != 0 && (batch_first != 1 || table))
        return plim__infer_fail(ctx, PLIM_CORRUPT, "layout is neither 0 nor 1");
    int64_t t = x->dims[batch_first ? 1 : 0], b = x->dims[batch_first ? 0 : 1], h = r->dims[2], d;
    PLIM_TRY(directions(ctx, &d));
    if (h < 1 || h > INT64_C(1) << 32) return plim__infer_fail(ctx, PLIM_SHAPE, "%lld hidden units", (long long)h);
    if (plim__node_int(ctx->node, "hidden_size", h) != h)
        return plim__infer_fail(ctx, PLIM_SHAPE, "hidden_size is %lld, R has %lld hidden units",
                                (long long)plim__node_int(ctx->node, "hidden_size", h), (long long)h);
    int64_t state[3] = {batch_first ? b : d, batch_first ? d : b, h};
    PLIM_TRY(table ? expect_table(ctx, d * gates * h) : expect(ctx, 1, "W", 3, (int64_t[]){d, gates * h, x->dims[2]}));
    PLIM_TRY(expect(ctx, 2, "R", 3, (int64_t[]){d, gates * h, h}));
    PLIM_TRY(expect(ctx, 3, "B", 2, (int64_t[]){d, 2 * gates * h}));
    PLIM_TRY(expect(ctx, 4, "sequence_lens", 1, &b));
    PLIM_TRY(expect(ctx, 5, "initial_h", 3, state));
    PLIM_TRY(expect(ctx, 6, "initial_c", 3, state));
    PLIM_TRY(expect(ctx, 7, "P", 2, (int64_t[]){d, 3 * h}));
    plim__shape y = {.rank = 4, .dims = {t, d, b, h}};
    if (batch_first) y = (plim__shape){.rank = 4, .dims = {b, t, d, h}};
    plim__shape last = plim__shape_of(3, state);
    PLIM_TRY(plim__infer_output(ctx, 0, plim__infer_dtype(ctx, 0), &y));
    PLIM_TRY(plim__infer_output(ctx, 1, plim__infer_dtype(ctx, 0), &last));
    return plim__infer_output(ctx, 2, plim__infer_dtype(ctx, 0), &last);
}

static plim_status infer_train(plim__infer *ctx, int64_t gates, bool table) {
    PLIM_TRY(infer(ctx, gates, table));
    const plim__shape *x = plim__infer_shape(ctx, table ? 1 : 0), *r = plim__infer_shape(ctx, 2);
    bool batch_first = plim__node_int(ctx->node, "layout", 0) == 1;
    int64_t units;
    if (__builtin_mul_overflow(gates + 1, r->dims[2], &units))
        return plim__infer_fail(ctx, PLIM_OVERFLOW, "its gates would be more bytes than fit in 63 bits");
    plim__shape shape = {.rank = 4,
                         .dims = {r->dims[0], x->dims[batch_first ? 1 : 0], x->dims[batch_first ? 0 : 1], units}};
    return plim__infer_output(ctx, 3, plim__infer_dtype(ctx, 0), &shape);
}

plim_status plim__infer_rnn(plim__infer *ctx) { return infer(ctx, 1, false); }
plim_status plim__infer_gru(plim__infer *ctx) { return infer(ctx, 3, false); }
plim_status plim__infer_lstm(plim__infer *ctx) { return infer(ctx, 4, false); }
plim_status plim__infer_gru_train(plim__infer *ctx) { return infer_train(ctx, 3, false); }
plim_status plim__infer_lstm_train(plim__infer *ctx) { return infer_train(ctx, 4, false); }
plim_status plim__infer_table_rnn(plim__infer *ctx) { return infer(ctx, 1, true); }
plim_status plim__infer_table_gru(plim__infer *ctx) { return infer(ctx, 3, true); }
plim_status plim__infer_table_lstm(plim__infer *ctx) { return infer(ctx, 4, true); }
plim_status plim__infer_table_gru_train(plim__infer *ctx) { return infer_train(ctx, 3, true); }
plim_status plim__infer_table_lstm_train(plim__infer *ctx) { return infer_train(ctx, 4, true); }

/* Two products a step and gate; some 30 operations for the activations of a hidden unit. */
void plim__cost_recurrent(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    const plim__shape *x = &g->values.items[node->inputs.items[0]].shape,
                      *w = &g->values.items[node->inputs.items[1]].shape,
                      *r = &g->values.items[node->inputs.items[2]].shape;
    plim__cost_pointwise(g, node, cost);
    double samples = (double)x->dims[0] * (double)x->dims[1], units = (double)w->dims[0] * (double)w->dims[1];
    cost->flops = samples * units * (2 * ((double)x->dims[2] + (double)r->dims[2]) + 8);
}

/* One product a step and gate: that of the table is a node of its own. */
void plim__cost_table_recurrent(const plim_graph *g, const plim__node *node, plim__cost *cost) {
    const plim__shape *rows = &g->values.items[node->inputs.items[1]].shape,
                      *r = &g->values.items[node->inputs.items[2]].shape;
    plim__cost_pointwise(g, node, cost);
    double samples = (double)rows->dims[0] * (double)rows->dims[1], units = (double)r->dims[0] * (double)r->dims[1];
    cost->flops = samples * units * (2 * (double)r->dims[2] + 9);
}
