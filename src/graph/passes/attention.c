/* fuse-attention: softmax(scale · q·k [+ mask]) · v becomes one operator that needs no T×T matrix. A constant
 * triangular mask, added or selected with Where, becomes `causal`. */
#include <math.h>
#include <string.h>

#include "graph/pass.h"
#include "graph/passes/match.h"

#define HIDDEN (-1e4) /* a score at or below this is as good as minus infinity */

/* A constant (..., Tq, Tk) that shows (or, where not `boolean`, adds 0 to) exactly the keys up to the query. It must
 * have a row for each query: one row for all of them hides nothing, whatever a square would hide. */
static bool is_triangle(const plim_graph *g, plim_value v, plim_value scores, bool boolean, bool inverted) {
    plim__tensor *t = plim__graph_constant_tensor(g, v);
    const plim__shape *s = &g->values.items[scores].shape;
    if (!t || t->shape.rank < 2 || s->rank < 2 || t->shape.dims[t->shape.rank - 2] != s->dims[s->rank - 2] ||
        t->shape.dims[t->shape.rank - 1] != s->dims[s->rank - 1])
        return false;
    if ((t->dtype == PLIM_BOOL) != boolean || !plim__match_load(g, t)) return false;
    int64_t rows = t->shape.dims[t->shape.rank - 2], columns = t->shape.dims[t->shape.rank - 1], area = rows * columns;
    if (area == 0 || rows > columns) return false;
    int64_t elements = plim__shape_elements(&t->shape);
    for (int64_t i = 0; i < elements; i++) {
        bool visible = i % columns <= i % area / columns + columns - rows;
        double x = plim__tensor_at(t, i);
        if (boolean ? (x != 0) != (visible != inverted) : visible ? x != 0 : !(x <= HIDDEN)) return false;
    }
    return true;
}

struct pattern {
    plim_value q, k, v, mask;
    bool causal;
    double scale;
};

/* Peels Where or Add off the scores. */
static plim_value peel_mask(const plim_graph *g, plim_value scores, struct pattern *p) {
    plim__node *where = plim__match_producer(g, scores, "Where"), *add = plim__match_producer(g, scores, "Add");
    double fill;
    if (where) {
        for (size_t i = 1; i < 3; i++)
            if (plim__shape_equal(&g->values.items[where->inputs.items[i]].shape, &g->values.items[scores].shape) &&
                plim__match_scalar(g, where->inputs.items[3 - i], &fill) && fill <= HIDDEN &&
                is_triangle(g, where->inputs.items[0], scores, true, i == 2)) {
                p->causal = true;
                return where->inputs.items[i];
            }
        return PLIM_NO_VALUE;
    }
    if (!add) return scores;
    for (size_t i = 0; i < 2; i++) {
        plim_value mask = add->inputs.items[i], rest = add->inputs.items[1 - i];
        const plim__shape *shape = &g->values.items[rest].shape, *out = &g->values.items[scores].shape;
        if (!plim__shape_equal(shape, out) || plim__shape_equal(shape, &g->values.items[mask].shape))
            continue; /* the mask broadcasts */
        p->causal = is_triangle(g, mask, scores, false, false);
        p->mask = p->causal ? PLIM_NO_VALUE : mask;
        return rest;
    }
    return PLIM_NO_VALUE;
}

static plim_value peel_scale(const plim_graph *g, plim_value scores, struct pattern *p) {
    plim_value rest;
    double scale;
    p->scale = 1;
    if (plim__match_with_scalar(g, plim__match_producer(g, scores, "Mul"), NAN, &rest, &scale)) {
        p->scale = scale;
        return rest;
    }
    if (plim__match_with_scalar(g, plim__match_producer(g, scores, "Div"), NAN, &rest, &scale) && scale != 0) {
        p->scale = 1 / scale;
        return rest;
    }
    return scores;
}

static bool matches(const plim_graph *g, const plim__node *mix, struct pattern *p) {
    *p = (struct pattern){.mask = PLIM_NO_VALUE, .v = mix->inputs.items[1]};
    plim__node *softmax = plim__match_producer(g, mix->inputs.items[0], "Softmax");
    if (!softmax || plim__graph_only_user(g, mix->inputs.items[0]) < 0) return false;
    int rank = g->values.items[mix->inputs.items[0]].shape.rank;
    int64_t axis = plim__node_int(softmax, "axis", softmax->version < 13 ? 1 : -1);
    if (rank < 3 || (axis != -1 && axis != rank - 1)) return false;
    plim_value scores = peel_mask(g, softmax->inputs.items[0], p);
    if (scores >= 0) scores = peel_scale(g, scores, p);
    plim__node *product = scores >= 0 ? plim__match_producer(g, scores, "MatMul") : NULL;
    if (!product) return false;
    p->q = product->inputs.items[0];
    p->k = product->inputs.items[1];
    const plim__shape *q = &g->values.items[p->q].shape, *k = &g->values.items[p->k].shape,
                      *v = &g->values.items[p->v].shape;
    bool equal = q->rank == rank && k->rank == rank && v->rank == rank && g->values.items[p->q].dtype == PLIM_F32;
    for (int i = 0; equal && i < rank - 2; i++) equal = q->dims[i] == k->dims[i] && q->dims[i] == v->dims[i];
    for (int i = 0; equal && i < rank; i++) equal = q->dims[i] > 0 && k->dims[i] > 0 && v->dims[i] > 0;
    return equal && (!p->causal || q->dims[rank - 2] <= k->dims[rank - 1]);
}

plim_status plim__pass_attention(plim_graph *g, bool *changed, plim_error *error) {
    (void)error;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *mix = &g->nodes.items[n];
        struct pattern p;
        if (!plim__match_op(mix, "MatMul") || !matches(g, mix, &p)) continue;
        plim_value old = mix->outputs.items[0];
        int32_t made = plim__match_build(g, (plim__made){PLIM__DOMAIN, "Attention", 1}, mix->name,
                                         (plim_value[]){p.q, p.k, p.v, p.mask}, p.mask >= 0 ? 4 : 3, old);
        plim_graph_set_float(g, made, "scale", (float)p.scale);
        plim_graph_set_int(g, made, "causal", p.causal);
        if (plim__match_replace(g, old, made) != PLIM_OK) return g->failure.status;
        *changed = true;
    }
    return PLIM_OK;
}
