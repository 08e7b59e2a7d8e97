/* fuse-gelu: the spelled-out GELU becomes one operator.
 *
 *   erf form   x · ½ · (1 + erf(x / √2))
 *   tanh form  ½ · x · (1 + tanh(√(2/π) · (x + 0.044715 x³)))
 */
#include <math.h>

#include "graph/pass.h"
#include "graph/passes/kernels.h"
#include "graph/passes/match.h"

/* x / √2 or x · 1/√2 */
static bool is_scaled(const plim_graph *g, plim_value v, plim_value *x) {
    plim__node *node = plim__match_producer(g, v, "Div");
    if (plim__match_with_scalar(g, node, sqrt(2), x, NULL)) return true;
    return plim__match_with_scalar(g, plim__match_producer(g, v, "Mul"), sqrt(0.5), x, NULL);
}

/* x³ as Pow(x, 3) or Mul(Mul(x, x), x) */
static bool is_cube(const plim_graph *g, plim_value v, plim_value *x) {
    if (plim__match_with_scalar(g, plim__match_producer(g, v, "Pow"), 3, x, NULL)) return true;
    plim__node *outer = plim__match_producer(g, v, "Mul");
    for (size_t i = 0; outer && i < 2; i++) {
        plim__node *square = plim__match_producer(g, outer->inputs.items[i], "Mul");
        *x = outer->inputs.items[1 - i];
        if (square && square->inputs.items[0] == *x && square->inputs.items[1] == *x) return true;
    }
    return false;
}

/* √(2/π) · (x + 0.044715 x³) */
static bool is_inner(const plim_graph *g, plim_value v, plim_value *x) {
    plim_value sum, scaled, cubed;
    if (!plim__match_with_scalar(g, plim__match_producer(g, v, "Mul"), sqrt(2 / M_PI), &sum, NULL)) return false;
    plim__node *add = plim__match_producer(g, sum, "Add");
    for (size_t i = 0; add && i < 2; i++) {
        scaled = add->inputs.items[i];
        if (plim__match_with_scalar(g, plim__match_producer(g, scaled, "Mul"), 0.044715, &cubed, NULL) &&
            is_cube(g, cubed, x) && add->inputs.items[1 - i] == *x)
            return true;
    }
    return false;
}

/* 1 + erf(...) or 1 + tanh(...) */
static bool is_gate(const plim_graph *g, plim_value v, plim_value *x, bool *tanh_form) {
    plim_value bell;
    if (!plim__match_with_scalar(g, plim__match_producer(g, v, "Add"), 1, &bell, NULL)) return false;
    plim__node *erf = plim__match_producer(g, bell, "Erf"), *tanh = plim__match_producer(g, bell, "Tanh");
    *tanh_form = tanh != NULL;
    if (erf) return is_scaled(g, erf->inputs.items[0], x);
    return tanh && is_inner(g, tanh->inputs.items[0], x);
}

/* The three factors x, ½ and gate may be multiplied in any order. Exporters that spell a kernel out multiply ½ with the gate or last;
 * a program's own ½ · x · (...) multiplies it with x first: `kernels` leaves that as it is. */
static bool is_gelu(const plim_graph *g, const plim__node *mul, plim_value *x, bool *tanh_form, bool kernels) {
    for (size_t i = 0; i < 2; i++) {
        plim_value a = mul->inputs.items[i], b = mul->inputs.items[1 - i], half;
        if (!kernels && is_gate(g, a, x, tanh_form)) { /* gate · (½ · x) */
            if (plim__match_with_scalar(g, plim__match_producer(g, b, "Mul"), 0.5, &half, NULL) && half == *x)
                return true;
        }
        double scalar;
        if (plim__match_scalar(g, b, &scalar) && plim__match_near(scalar, 0.5)) { /* ½ · (x · gate) */
            plim__node *product = plim__match_producer(g, a, "Mul");
            for (size_t k = 0; product && k < 2; k++)
                if (is_gate(g, product->inputs.items[k], x, tanh_form) && product->inputs.items[1 - k] == *x)
                    return true;
        }
        plim__node *halved = plim__match_producer(g, a, "Mul"); /* x · (½ · gate) */
        if (plim__match_with_scalar(g, halved, 0.5, &half, NULL) && is_gate(g, half, x, tanh_form) && b == *x)
            return true;
    }
    return false;
}

static plim_status join(plim_graph *g, bool *changed, bool kernels) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        plim__node *node = &g->nodes.items[n];
        plim_value x;
        bool tanh_form;
        if (!plim__match_op(node, "Mul") || !is_gelu(g, node, &x, &tanh_form, kernels)) continue;
        plim_value old = node->outputs.items[0];
        int32_t made = plim__match_build(g, (plim__made){"", "Gelu", 20}, node->name, &x, 1, old);
        if (tanh_form) plim_graph_set_string(g, made, "approximate", "tanh");
        if (plim__match_replace(g, old, made) != PLIM_OK) return g->failure.status;
        *changed = true;
    }
    return PLIM_OK;
}

plim_status plim__pass_gelu(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    return join(g, changed, false);
}

plim_status plim__join_gelu(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    return join(g, changed, true);
}
