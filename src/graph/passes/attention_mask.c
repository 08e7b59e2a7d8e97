/* Masks of attention: what is added to scores or hides them, recognised and put together.
 *
 * A constant triangle becomes `causal` and costs nothing. Other masks are added; those of several layers that are the
 * same become one, and a constant that repeats itself along the batch or the heads is kept once. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "graph/passes/attention.h"
#include "graph/passes/match.h"

#define HIDDEN (-1e4) /* a score at or below this is as good as minus infinity beside one that is not hidden */
#define LOST   (-1e8) /* and adding this to a score leaves nothing of it, also where all are hidden */

static const plim__shape *shape_of(const plim_graph *g, plim_value v) { return &g->values.items[v].shape; }

/* --- triangles ------------------------------------------------------------------------------------------------ */

/* A constant (..., Tq, Tk) that shows (or, where not `boolean`, adds 0 to) exactly the keys up to the query. It must
 * have a row for each query: one row for all of them hides nothing, whatever a square would hide. */
static bool is_triangle(const plim_graph *g, plim_value v, plim_value scores, bool boolean, bool inverted) {
    plim__tensor *t = plim__graph_constant_tensor(g, v);
    const plim__shape *s = shape_of(g, scores);
    if (!t || t->shape.rank < 2 || s->rank < 2 || t->shape.dims[t->shape.rank - 2] != s->dims[s->rank - 2] ||
        t->shape.dims[t->shape.rank - 1] != s->dims[s->rank - 1])
        return false;
    if ((t->dtype == PLIM_BOOL) != boolean || !plim__match_load(g, t)) return false;
    int64_t rows = t->shape.dims[t->shape.rank - 2], columns = t->shape.dims[t->shape.rank - 1];
    if (rows == 0 || rows > columns) return false;
    int64_t lines = plim__shape_elements(&t->shape) / columns, at = 0;
    for (int64_t line = 0; line < lines; line++) {
        int64_t last = line % rows + columns - rows;
        for (int64_t i = 0; i < columns; i++) {
            bool visible = i <= last;
            double x = plim__tensor_at(t, at++);
            if (boolean ? (x != 0) != (visible != inverted) : visible ? x != 0 : !(x <= HIDDEN)) return false;
        }
    }
    return true;
}

/* --- peeling -------------------------------------------------------------------------------------------------- */

static bool push(plim__attention_pattern *p, plim__attention_mask mask) {
    if (p->mask_count == PLIM__ATTENTION_MASKS) return false;
    p->masks[p->mask_count++] = mask;
    return true;
}

/* Where(condition, 0, fill), or with 0 and fill the other way round: a mask that is spelled as a condition. */
static bool is_condition(const plim_graph *g, plim_value v, plim__attention_mask *mask) {
    plim__node *where = plim__match_producer(g, v, "Where");
    double a, b;
    if (!where || !plim__match_scalar(g, where->inputs.items[1], &a) ||
        !plim__match_scalar(g, where->inputs.items[2], &b) || !((a == 0 && b <= HIDDEN) || (b == 0 && a <= HIDDEN)))
        return false;
    bool inverted = b == 0 && a != 0;
    *mask = (plim__attention_mask){where->inputs.items[0], true, inverted, inverted ? a : b};
    return true;
}

/* scores = rest where the condition holds, fill elsewhere, or the other way round. */
static plim_value peel_where(const plim_graph *g, const plim__node *where, plim_value scores,
                             plim__attention_pattern *p) {
    plim_value condition = where->inputs.items[0];
    for (size_t i = 1; i < 3; i++) {
        double fill;
        if (!plim__shape_equal(shape_of(g, where->inputs.items[i]), shape_of(g, scores)) ||
            !plim__match_scalar(g, where->inputs.items[3 - i], &fill) || !(fill <= HIDDEN))
            continue;
        if (is_triangle(g, condition, scores, true, i == 2))
            p->causal = true;
        else if (!(fill <= LOST) || !push(p, (plim__attention_mask){condition, true, i == 2, fill}))
            continue;
        return where->inputs.items[i];
    }
    return PLIM_NO_VALUE;
}

/* Whether this is a product of matrices, scaled or not: where both terms of a sum have the shape of the scores, that tells
 * which of them are scores. */
static bool is_product(const plim_graph *g, plim_value v) {
    plim_value rest;
    for (int i = 0; i < 4; i++) {
        v = plim__match_through(g, v);
        if (plim__match_producer(g, v, "MatMul")) return true;
        if (!plim__match_with_scalar(g, plim__match_producer(g, v, "Mul"), NAN, &rest, NULL) &&
            !plim__match_with_scalar(g, plim__match_producer(g, v, "Div"), NAN, &rest, NULL))
            return false;
        v = rest;
    }
    return false;
}

static plim_value peel_add(const plim_graph *g, const plim__node *add, plim_value scores, plim__attention_pattern *p) {
    for (size_t i = 0; i < 2; i++) {
        plim_value value = add->inputs.items[i], rest = add->inputs.items[1 - i];
        const plim__shape *shape = shape_of(g, rest);
        if (!plim__shape_equal(shape, shape_of(g, scores)) ||
            (plim__shape_equal(shape, shape_of(g, value)) && !is_product(g, rest)))
            continue;
        plim__attention_mask mask = {.value = value};
        bool condition = is_condition(g, value, &mask);
        if (is_triangle(g, mask.value, scores, condition, mask.inverted))
            p->causal = true;
        else if (g->values.items[value].dtype != PLIM_F32)
            return PLIM_NO_VALUE;
        else if (!push(p, condition && plim__graph_constant_tensor(g, mask.value)
                              ? mask
                              : (plim__attention_mask){.value = value}))
            return PLIM_NO_VALUE;
        return rest;
    }
    return PLIM_NO_VALUE;
}

plim_value plim__attention_peel_masks(const plim_graph *g, plim_value scores, plim__attention_pattern *p) {
    for (;;) {
        scores = plim__match_through(g, scores);
        plim__node *where = plim__match_producer(g, scores, "Where"), *add = plim__match_producer(g, scores, "Add");
        if (!where && !add) return scores;
        plim_value rest = where ? peel_where(g, where, scores, p) : peel_add(g, add, scores, p);
        if (rest < 0) return rest;
        scores = rest;
    }
}

/* --- putting together ----------------------------------------------------------------------------------------- */

/* Whether two values are the same: the same data, or computed alike from the same. */
static bool same(const plim_graph *g, plim_value a, plim_value b, int depth) {
    if (a == b) return true;
    if (a < 0 || b < 0 || depth == 0) return false;
    const plim__value *x = &g->values.items[a], *y = &g->values.items[b];
    if (x->dtype != y->dtype || !plim__shape_equal(&x->shape, &y->shape)) return false;
    plim__tensor *s = plim__graph_constant_tensor(g, a), *t = plim__graph_constant_tensor(g, b);
    if (s && t) {
        if (s == t) return true;
        return plim__match_load(g, s) && plim__match_load(g, t) && memcmp(s->data, t->data, s->bytes) == 0;
    }
    if (x->producer < 0 || y->producer < 0 || x->producer == y->producer) return false;
    const plim__node *m = &g->nodes.items[x->producer], *n = &g->nodes.items[y->producer];
    if (!plim__match_op(m, n->op_name) || !plim__match_op(n, m->op_name) || m->outputs.count != 1 ||
        n->outputs.count != 1 || m->inputs.count != n->inputs.count || m->attributes.count || n->attributes.count ||
        strcmp(m->op_name, "Dropout") == 0)
        return false;
    for (size_t i = 0; i < m->inputs.count; i++)
        if (!same(g, m->inputs.items[i], n->inputs.items[i], depth - 1)) return false;
    return true;
}

/* The mask of an earlier layer that is the same, or this one. */
static plim_value shared(const plim_graph *g, plim_value mask) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (node->dead || strcmp(node->domain, PLIM__DOMAIN) != 0 || strcmp(node->op_name, "Attention") != 0) continue;
        if (same(g, plim__node_in(node, 3), mask, 6)) return node->inputs.items[3];
    }
    return mask;
}

/* A constant whose parts along an axis before the last two are all the same is one part of it. */
static plim_value collapsed(plim_graph *g, plim_value mask) {
    plim__tensor *t = plim__graph_constant_tensor(g, mask), *made;
    if (!t || !plim__match_load(g, t) || t->bytes == 0) return mask;
    plim__shape shape = t->shape;
    char *data = t->data;
    size_t bytes = t->bytes;
    int axis = 0;
    for (; axis < shape.rank - 2; axis++) { /* only from the front, so that a part is one piece */
        size_t part = bytes / (size_t)shape.dims[axis];
        bool equal = true;
        for (int64_t i = 1; equal && i < shape.dims[axis]; i++) equal = !memcmp(data, data + (size_t)i * part, part);
        if (!equal) break;
        shape.dims[axis] = 1;
        bytes = part;
    }
    if (bytes == t->bytes) return mask;
    plim_error error;
    if (plim__tensor_create(t->dtype, &shape, &made, &error) != PLIM_OK) {
        plim__graph_fail(g, error.status, "%s", error.message);
        return PLIM_NO_VALUE;
    }
    memcpy(made->data, data, bytes);
    return plim__graph_add_tensor(g, NULL, PLIM__VALUE_CONSTANT, made);
}

static plim_value build(plim_graph *g, const char *op, const plim_value *inputs, size_t count,
                        const plim__shape *shape) {
    int32_t node = plim__graph_add_node(g, "", op, "", 18);
    for (size_t i = 0; i < count; i++) plim__node_add_input(g, node, inputs[i]);
    plim_value made = plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, PLIM_F32, shape);
    plim__node_add_output(g, node, made);
    return made;
}

/* What is added for one mask. */
static plim_value addend(plim_graph *g, const plim__attention_mask *mask) {
    if (!mask->condition) return mask->value;
    plim_value condition = collapsed(g, mask->value);
    if (condition < 0) return condition;
    float zero = 0, fill = (float)mask->fill;
    plim_value shown = plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &zero),
               hidden = plim_graph_constant(g, NULL, PLIM_F32, 0, NULL, &fill);
    plim__shape shape = *shape_of(g, condition);
    return build(g, "Where",
                 (plim_value[]){condition, mask->inverted ? hidden : shown, mask->inverted ? shown : hidden}, 3,
                 &shape);
}

plim_value plim__attention_build_mask(plim_graph *g, const plim__attention_pattern *p, plim_value scores) {
    plim_value sum = PLIM_NO_VALUE;
    for (size_t i = 0; i < p->mask_count; i++) {
        plim_value mask = addend(g, &p->masks[i]);
        if (mask >= 0) mask = collapsed(g, mask);
        if (mask < 0) return mask;
        plim__shape shape;
        if (sum >= 0 && !plim__shape_broadcast(shape_of(g, sum), shape_of(g, mask), &shape))
            shape = *shape_of(g, scores);
        sum = sum < 0 ? mask : build(g, "Add", (plim_value[]){sum, mask}, 2, &shape);
    }
    return sum < 0 || g->failure.status != PLIM_OK ? PLIM_NO_VALUE : shared(g, sum);
}
