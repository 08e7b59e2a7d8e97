/* no-drop-path: stochastic depth outside training. Modules multiply by a random mask that is 1 on average, only while they
 * train; the exporter writes it as arithmetic, which tells nothing of training.
 *
 *   x · (M / p)    (x / p) · M    (x · M) / p    and the same with a product by 1 / p, where
 *   M = 1 with probability p, else 0:   Cast(U < p)   Floor(U + p)   Bernoulli(p)   with U uniform in [0, 1)
 */
#include <math.h>

#include "graph/pass.h"
#include "graph/passes/match.h"

static plim_value behind_casts(const plim_graph *g, plim_value v) {
    for (plim__node *node;
         (node = plim__match_producer(g, v, "Cast")) || (node = plim__match_producer(g, v, "CastLike"));)
        v = plim__node_in(node, 0);
    return v;
}

static bool is_uniform(const plim_graph *g, plim_value v) {
    v = behind_casts(g, v);
    plim__node *node = plim__match_producer(g, v, "RandomUniformLike");
    if (!node) node = plim__match_producer(g, v, "RandomUniform");
    return node && plim__node_float(node, "low", 0) == 0 && plim__node_float(node, "high", 1) == 1;
}

/* A number, or a tensor that was filled with one. */
static bool is_number(const plim_graph *g, plim_value v, double *number) {
    v = behind_casts(g, v);
    plim__node *node = plim__match_producer(g, v, "Expand");
    plim__tensor *tensor = plim__graph_tensor(g, v);
    if (node) return is_number(g, plim__node_in(node, 0), number);
    if (!tensor || plim__shape_elements(&tensor->shape) < 1 || !plim__match_load(g, tensor)) return false;
    *number = plim__tensor_at(tensor, 0);
    for (int64_t i = 1; i < plim__shape_elements(&tensor->shape); i++)
        if (plim__tensor_at(tensor, i) != *number) return false;
    return true;
}

/* U < p, p > U, and the same with ≤. */
static bool is_comparison(const plim_graph *g, plim_value v, double *p) {
    static const char *const below[] = {"Less", "LessOrEqual"}, *const above[] = {"Greater", "GreaterOrEqual"};
    for (size_t i = 0; i < 2; i++) {
        const plim__node *node = plim__match_producer(g, v, below[i]);
        if (node && is_uniform(g, node->inputs.items[0])) return is_number(g, node->inputs.items[1], p);
        node = plim__match_producer(g, v, above[i]);
        if (node && is_uniform(g, node->inputs.items[1])) return is_number(g, node->inputs.items[0], p);
        if (!node || !is_uniform(g, node->inputs.items[0]) || !is_number(g, node->inputs.items[1], p)) continue;
        *p = 1 - *p;
        return true;
    }
    return false;
}

/* The mask M; *p is how often it is 1. */
static bool is_mask(const plim_graph *g, plim_value v, double *p) {
    v = behind_casts(g, v);
    plim__node *node = plim__match_producer(g, v, "Bernoulli");
    if (node) return is_number(g, plim__node_in(node, 0), p);
    plim__node *floor = plim__match_producer(g, v, "Floor");
    plim_value uniform;
    if (floor)
        return plim__match_with_scalar(g, plim__match_producer(g, floor->inputs.items[0], "Add"), NAN, &uniform, p) &&
               is_uniform(g, uniform) && *p > 0 && *p < 1;
    return is_comparison(g, v, p);
}

/* v = *other / *p, or a product with the reciprocal. */
static bool is_scaled(const plim_graph *g, plim_value v, plim_value *other, double *p) {
    if (plim__match_with_scalar(g, plim__match_producer(g, v, "Div"), NAN, other, p)) return true;
    if (!plim__match_with_scalar(g, plim__match_producer(g, v, "Mul"), NAN, other, p)) return false;
    *p = 1 / *p;
    return true;
}

/* What the product of a and b is without its mask; PLIM_NO_VALUE when it has none of mean 1. */
static plim_value without_mask(const plim_graph *g, plim_value a, plim_value b) {
    double p, scale;
    plim_value other;
    if (is_scaled(g, b, &other, &scale) && is_mask(g, other, &p) && plim__match_near(scale, p)) return a;
    if (is_mask(g, b, &p) && is_scaled(g, a, &other, &scale) && plim__match_near(scale, p)) return other;
    return PLIM_NO_VALUE;
}

/* The same for what a node makes, with its inputs in either order, and for (x · M) / p. */
static plim_value kept(const plim_graph *g, const plim__node *node) {
    plim_value x = PLIM_NO_VALUE, product;
    double p, scale;
    if (plim__match_op(node, "Mul")) {
        x = without_mask(g, node->inputs.items[0], node->inputs.items[1]);
        if (x < 0) x = without_mask(g, node->inputs.items[1], node->inputs.items[0]);
        if (x >= 0) return x;
    }
    const plim__node *inner =
        is_scaled(g, plim__node_out(node, 0), &product, &scale) ? plim__match_producer(g, product, "Mul") : NULL;
    for (size_t i = 0; inner && x < 0 && i < 2; i++)
        if (is_mask(g, inner->inputs.items[i], &p) && plim__match_near(scale, p)) x = inner->inputs.items[1 - i];
    return x;
}

static bool is_output(const plim_graph *g, plim_value v) {
    for (size_t i = 0; i < g->outputs.count; i++)
        if (g->outputs.items[i] == v) return true;
    return false;
}

plim_status plim__pass_drop_path(plim_graph *g, bool *changed, plim_error *error) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        plim__node *node = &g->nodes.items[n];
        plim_value out = plim__node_out(node, 0);
        if (node->dead || *node->domain || out < 0 || is_output(g, out)) continue;
        plim_value x = kept(g, node);
        if (x < 0 || !plim__shape_equal(&g->values.items[x].shape, &g->values.items[out].shape)) continue;
        node->dead = *changed = true;
        g->values.items[out].producer = -1;
        if (plim__graph_replace(g, out, x) != PLIM_OK) return g->failure.status;
    }
    return plim_graph_status(g, error);
}
