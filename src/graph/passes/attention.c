/* fuse-attention: softmax(scale · q·k [+ masks]) · v becomes one operator that needs no T×T matrix.
 *
 * Exporters spell it in many forms: the scale on the scores, on q, on k or its root on both; masks that are added or select
 * (attention_mask.c); keys that are transposed as three axes; zeros in place of rows that are not numbers; weights that
 * are dropped. */
#include "graph/passes/attention.h"

#include <math.h>
#include <string.h>

#include "graph/pass.h"
#include "graph/passes/kernels.h"
#include "graph/passes/match.h"

static const plim__shape *shape_of(const plim_graph *g, plim_value v) { return &g->values.items[v].shape; }

/* --- weights -------------------------------------------------------------------------------------------------- */

/* Where(IsNaN(w), 0, w): the weights behind it. */
static plim_value peel_guard(const plim_graph *g, plim_value v, plim__attention_pattern *p) {
    plim__node *where = plim__match_producer(g, v, "Where");
    plim__node *question = where ? plim__match_producer(g, where->inputs.items[0], "IsNaN") : NULL;
    double zero;
    if (!question || question->inputs.items[0] != where->inputs.items[2] ||
        !plim__match_scalar(g, where->inputs.items[1], &zero) || zero != 0 || plim__graph_only_user(g, v) < 0 ||
        plim__graph_only_user(g, where->inputs.items[0]) < 0)
        return v;
    p->guarded = true;
    return where->inputs.items[2];
}

/* Weights are dropped by counters, whose numbers run along whole rows, and nothing else reads what is left. */
static plim_value peel_dropout(const plim_graph *g, plim_value v, plim__attention_pattern *p) {
    int32_t producer = g->values.items[v].producer;
    const plim__node *node = producer < 0 ? NULL : &g->nodes.items[producer];
    if (!node || node->dead || strcmp(node->domain, PLIM__DOMAIN) != 0 || strcmp(node->op_name, "DropoutTrain") != 0 ||
        node->outputs.count != 1 || plim__graph_only_user(g, v) < 0)
        return v;
    size_t count;
    const int64_t *samples = plim__node_ints(node, "samples", &count);
    const plim__shape *shape = shape_of(g, v);
    int64_t keys = shape->rank ? shape->dims[shape->rank - 1] : 0;
    if (keys < 1 || (samples && (count != 3 || samples[2] % keys != 0))) return v;
    p->dropout = producer;
    return node->inputs.items[0];
}

/* How many nodes read the softmax: the product, or in its place what guards it, twice. */
static bool is_read_only_here(const plim_graph *g, plim_value weights, bool guarded) {
    if (!guarded) return plim__graph_only_user(g, weights) >= 0;
    int32_t readers[3];
    return !plim__graph_is_output(g, weights) && plim__graph_readers(g, weights, readers, 3) == 2;
}

/* --- scales and keys ------------------------------------------------------------------------------------------ */

static plim_value peel_scale(const plim_graph *g, plim_value v, double *scale) {
    for (;;) {
        plim_value rest;
        double factor;
        v = plim__match_through(g, v);
        if (plim__match_with_scalar(g, plim__match_producer(g, v, "Mul"), NAN, &rest, &factor) && isfinite(factor))
            *scale *= factor;
        else if (plim__match_with_scalar(g, plim__match_producer(g, v, "Div"), NAN, &rest, &factor) && factor != 0)
            *scale /= factor;
        else
            return v;
        v = rest;
    }
}

static bool is_flip(const plim__node *node, size_t rank) {
    size_t count;
    const int64_t *order = node ? plim__node_ints(node, "perm", &count) : NULL;
    if (!order || count != rank) return false;
    for (size_t i = 0; i < rank; i++)
        if (order[i] != (int64_t)(i + 2 < rank ? i : 2 * rank - 3 - i)) return false;
    return true;
}

/* (..., T, D) whose last axes are swapped by way of three: Reshape to (N, T, D), Transpose, Reshape back. */
static plim_value behind_sandwich(const plim_graph *g, plim_value k) {
    plim__node *last = plim__match_producer(g, k, "Reshape");
    plim__node *flip = last ? plim__match_producer(g, last->inputs.items[0], "Transpose") : NULL;
    plim__node *first = flip && is_flip(flip, 3) ? plim__match_producer(g, flip->inputs.items[0], "Reshape") : NULL;
    if (!first) return PLIM_NO_VALUE;
    plim_value x = first->inputs.items[0];
    const plim__shape *from = shape_of(g, x), *middle = shape_of(g, flip->inputs.items[0]), *to = shape_of(g, k);
    int r = from->rank;
    bool fits = r >= 3 && to->rank == r && middle->dims[1] == from->dims[r - 2] &&
                middle->dims[2] == from->dims[r - 1] && to->dims[r - 1] == from->dims[r - 2] &&
                to->dims[r - 2] == from->dims[r - 1];
    for (int i = 0; fits && i < r - 2; i++) fits = from->dims[i] == to->dims[i];
    return fits ? x : PLIM_NO_VALUE;
}

static plim_value flip(plim_graph *g, plim_value x, plim_value like) {
    int64_t order[PLIM_MAX_RANK];
    size_t rank = (size_t)shape_of(g, x)->rank;
    for (size_t i = 0; i < rank; i++) order[i] = (int64_t)(i + 2 < rank ? i : 2 * rank - 3 - i);
    int32_t node = plim__match_build(g, (plim__made){"", "Transpose", 13}, "", &x, 1, like);
    plim_graph_set_ints(g, node, "perm", order, rank);
    return node < 0 ? PLIM_NO_VALUE : g->nodes.items[node].outputs.items[0];
}

/* Keys (..., D, T) without their scale and without detours. */
static plim_value straighten(plim_graph *g, plim_value k, double *scale) {
    k = peel_scale(g, k, scale);
    plim_value like = k, x = behind_sandwich(g, k);
    if (x < 0 && is_flip(plim__match_producer(g, k, "Transpose"), (size_t)shape_of(g, k)->rank))
        x = plim__match_producer(g, k, "Transpose")->inputs.items[0];
    plim_value bare = x < 0 ? x : peel_scale(g, x, scale);
    return x < 0 || (bare == x && plim__match_producer(g, k, "Transpose")) ? k : flip(g, bare, like);
}

/* --- the pass ------------------------------------------------------------------------------------------------- */

static bool fits(const plim_graph *g, const plim__attention_pattern *p, int rank) {
    const plim__shape *q = shape_of(g, p->q), *k = shape_of(g, p->k), *v = shape_of(g, p->v);
    bool equal = q->rank == rank && k->rank == rank && v->rank == rank && g->values.items[p->q].dtype == PLIM_F32;
    for (int i = 0; equal && i < rank - 2; i++) equal = q->dims[i] == k->dims[i] && q->dims[i] == v->dims[i];
    for (int i = 0; equal && i < rank; i++) equal = q->dims[i] > 0 && k->dims[i] > 0 && v->dims[i] > 0;
    return equal && (!p->causal || q->dims[rank - 2] <= k->dims[rank - 1]);
}

static bool matches(const plim_graph *g, const plim__node *mix, plim__attention_pattern *p) {
    *p = (plim__attention_pattern){.v = mix->inputs.items[1], .scale = 1, .dropout = -1};
    plim_value weights = mix->inputs.items[0], before = weights;
    weights = peel_guard(g, peel_dropout(g, plim__match_through(g, weights), p), p);
    plim__node *softmax = plim__match_producer(g, weights = plim__match_through(g, weights), "Softmax");
    if (!softmax || !is_read_only_here(g, weights, p->guarded) || plim__graph_only_user(g, before) < 0) return false;
    int rank = shape_of(g, weights)->rank;
    int64_t axis = plim__node_int(softmax, "axis", softmax->version < 13 ? 1 : -1);
    if (rank < 3 || (axis != -1 && axis != rank - 1)) return false;
    plim_value scores = plim__attention_peel_masks(g, softmax->inputs.items[0], p);
    if (scores >= 0) scores = peel_scale(g, scores, &p->scale);
    plim__node *product = scores >= 0 ? plim__match_producer(g, scores, "MatMul") : NULL;
    if (!product) return false;
    p->q = product->inputs.items[0];
    p->k = product->inputs.items[1];
    return fits(g, p, rank);
}

static void copy_dropout(plim_graph *g, int32_t from, int32_t to) {
    size_t count;
    const int64_t *samples = plim__node_ints(&g->nodes.items[from], "samples", &count);
    plim_graph_set_float(g, to, "ratio", plim__node_float(&g->nodes.items[from], "ratio", 0));
    plim_graph_set_int(g, to, "seed", plim__node_int(&g->nodes.items[from], "seed", 0));
    plim_graph_set_int(g, to, "counter", plim__node_int(&g->nodes.items[from], "counter", 0));
    if (samples) plim_graph_set_ints(g, to, "samples", samples, count);
}

static plim_status fuse(plim_graph *g, size_t n, plim__attention_pattern *p) {
    plim_value scores = g->nodes.items[n].inputs.items[0], old = g->nodes.items[n].outputs.items[0];
    plim_value mask = plim__attention_build_mask(g, p, scores);
    plim_value q = peel_scale(g, p->q, &p->scale), k = straighten(g, p->k, &p->scale);
    if (g->failure.status != PLIM_OK) return g->failure.status;
    int32_t made = plim__match_build(g, (plim__made){PLIM__DOMAIN, "Attention", 1}, g->nodes.items[n].name,
                                     (plim_value[]){q, k, p->v, mask}, mask >= 0 ? 4 : 3, old);
    plim_graph_set_float(g, made, "scale", (float)p->scale);
    plim_graph_set_int(g, made, "causal", p->causal);
    if (p->guarded) plim_graph_set_int(g, made, "guarded", 1);
    if (p->dropout >= 0) copy_dropout(g, p->dropout, made);
    return plim__match_replace(g, old, made);
}

/* scaled_dot_product_attention, as exporters spell it: the root of the scale on queries and keys. A program's own attention has it
 * on the scores or on one of them. */
static bool is_kernel(const plim_graph *g, const plim__attention_pattern *p) {
    double q = 1, k = 1;
    plim_value keys = peel_scale(g, p->k, &k);
    const plim__node *flipped = plim__match_producer(g, keys, "Transpose");
    if (flipped && k == 1) peel_scale(g, flipped->inputs.items[0], &k);
    peel_scale(g, p->q, &q);
    return p->scale == 1 && q != 1 && plim__match_near(q, k);
}

static plim_status join(plim_graph *g, bool *changed, bool kernels) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *mix = &g->nodes.items[n];
        plim__attention_pattern p;
        if (!plim__match_op(mix, "MatMul") || !matches(g, mix, &p) || (kernels && !is_kernel(g, &p))) continue;
        if (fuse(g, n, &p) != PLIM_OK) return g->failure.status;
        *changed = true;
    }
    return PLIM_OK;
}

plim_status plim__pass_attention(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    return join(g, changed, false);
}

plim_status plim__join_attention(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    return join(g, changed, true);
}
