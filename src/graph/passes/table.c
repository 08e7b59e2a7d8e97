/* table-first: a recurrent layer whose input are rows of a table, words of a text, multiplies the same rows again and again.
 *
 *   lstm(transpose(gather(table, tokens)), w, r)   ->   table_lstm(table·wᵀ, transpose(tokens), r)
 *
 * Of 2,048 tokens out of 256 that is an eighth of the operations, forward and in both gradients, and neither the rows nor
 * their gradient are ever made. Worth it where the table's products are no larger than these rows. */
#include "core/error.h"
#include "graph/pass.h"
#include "graph/passes/match.h"

/* What the pattern consists of. */
struct layer {
    plim_value table, tokens, w;
    bool turned; /* the tokens are (B, T) */
    const char *op;
};

static const plim__shape *shape_of(const plim_graph *g, plim_value v) { return &g->values.items[v].shape; }

static bool turns_batch_first(const plim__node *transpose) {
    size_t count;
    const int64_t *order = plim__node_ints(transpose, "perm", &count);
    return order && count == 3 && order[0] == 1 && order[1] == 0 && order[2] == 2;
}

/* The gather that makes x, where only this layer reads it. */
static const plim__node *gather_of(const plim_graph *g, plim_value x, const char *op, bool *turned) {
    const plim__node *transpose = plim__match_producer(g, x, "Transpose");
    *turned = transpose != NULL;
    if (!plim__match_user(g, x, op)) return NULL;
    if (!transpose) return plim__match_producer(g, x, "Gather");
    plim_value before = transpose->inputs.items[0];
    bool plain = turns_batch_first(transpose) && plim__match_user(g, before, "Transpose");
    return plain ? plim__match_producer(g, before, "Gather") : NULL;
}

/* The table's products are no larger than the rows that are no longer made, and half as many operations. */
static bool is_worth_it(const plim_graph *g, const struct layer *layer) {
    const plim__shape *table = shape_of(g, layer->table), *tokens = shape_of(g, layer->tokens),
                      *w = shape_of(g, layer->w);
    if (!plim__shape_is_concrete(table) || !plim__shape_is_concrete(tokens) || !plim__shape_is_concrete(w))
        return false;
    double rows = (double)tokens->dims[0] * (double)tokens->dims[1], of_table = (double)table->dims[0];
    return of_table >= 1 && 2 * of_table <= rows &&
           of_table * (double)w->dims[0] * (double)w->dims[1] <= rows * (double)table->dims[1];
}

static bool matches(const plim_graph *g, const plim__node *node, struct layer *layer) {
    static const char *const ops[][2] = {{"RNN", "TableRNN"}, {"GRU", "TableGRU"}, {"LSTM", "TableLSTM"}};
    const char *op = NULL;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (plim__match_op(node, ops[i][0])) op = ops[i][0], layer->op = ops[i][1];
    if (!op || plim__node_int(node, "layout", 0) != 0) return false;
    const plim__node *gather = gather_of(g, node->inputs.items[0], op, &layer->turned);
    if (!gather || plim__node_int(gather, "axis", 0) != 0) return false;
    layer->table = gather->inputs.items[0];
    layer->tokens = gather->inputs.items[1];
    layer->w = node->inputs.items[1];
    return g->values.items[layer->table].dtype == PLIM_F32 && g->values.items[layer->w].dtype == PLIM_F32 &&
           shape_of(g, layer->table)->rank == 2 && shape_of(g, layer->tokens)->rank == 2 &&
           shape_of(g, layer->w)->rank == 3 && is_worth_it(g, layer);
}

/* A node of one output whose type is known. */
static plim_value apply(plim_graph *g, const char *op, const plim_value *inputs, size_t count, plim__shape shape) {
    if (g->failure.status != PLIM_OK) return PLIM_NO_VALUE;
    int32_t node = plim__match_build(g, (plim__made){"", op, 13}, "", inputs, count, inputs[0]);
    if (node < 0) return PLIM_NO_VALUE;
    plim_value made = g->nodes.items[node].outputs.items[0];
    g->values.items[made].shape = shape;
    return made;
}

static plim_value turn(plim_graph *g, plim_value x) {
    const plim__shape *shape = x < 0 ? NULL : shape_of(g, x);
    plim_value made = shape
                          ? apply(g, "Transpose", &x, 1, plim__shape_of(2, (int64_t[]){shape->dims[1], shape->dims[0]}))
                          : PLIM_NO_VALUE;
    if (made >= 0) plim_graph_set_ints(g, g->values.items[made].producer, "perm", (int64_t[]){1, 0}, 2);
    return made;
}

/* table·wᵀ of all directions: (V, D G H). */
static plim_value multiply(plim_graph *g, const struct layer *layer) {
    plim__shape w = *shape_of(g, layer->w), table = *shape_of(g, layer->table);
    int64_t flat[] = {w.dims[0] * w.dims[1], w.dims[2]};
    plim_value as = plim_graph_constant(g, NULL, PLIM_I64, 1, (int64_t[]){2}, flat);
    plim_value matrix = apply(g, "Reshape", (plim_value[]){layer->w, as}, 2, plim__shape_of(2, flat));
    plim_value turned = turn(g, matrix);
    return apply(g, "MatMul", (plim_value[]){layer->table, turned}, 2,
                 plim__shape_of(2, (int64_t[]){table.dims[0], flat[0]}));
}

plim_status plim__pass_table_first(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    for (size_t n = 0, nodes = g->nodes.count; n < nodes; n++) {
        struct layer layer = {0};
        if (!matches(g, &g->nodes.items[n], &layer)) continue;
        plim_value products = multiply(g, &layer), tokens = layer.turned ? turn(g, layer.tokens) : layer.tokens;
        if (g->failure.status != PLIM_OK) return g->failure.status;
        PLIM_TRY(plim__node_become(g, (int32_t)n, layer.op));
        plim__node_set_input(g, (int32_t)n, 0, products);
        plim__node_set_input(g, (int32_t)n, 1, tokens);
        *changed = true;
    }
    return PLIM_OK;
}
